// SPDX-License-Identifier: MIT
// derived.c: the data of a derived program, from that of the program it was derived from.
//
// By docs/language.md 9.1 its buffers are those of the forward program, the cotangents grad_o and
// ct_x as inputs and the gradients grad_w as outputs; the n-th order writes gradn_.  In forward
// mode the tangents dot_w are inputs and dot_o outputs.
#include "session/bind.h"

#include "session/internal.h"

#include "autodiff/transform.h"

#include <stdlib.h>
#include <string.h>

const char *vys_source_name(const vy_buffer_info *info)
{
    const vy_derivative_kind kind = info->role.kind;
    if (kind == VY_IS_PARAMETER) return vy_text_base(info->name);
    return vy_is_gradient(kind) || kind == VY_IS_COTANGENT || vy_is_tangent(kind) ? info->role.of
                                                                                  : NULL;
}

// Roles refer to the first source.  Where that is not `b`, which is a derivative itself (made
// again, with parameters of other numbers), names decide, as they do for a text.
const vys_bound *vys_binding_source(const vys_binding *b, const vy_buffer_info *info)
{
    const vy_derivative_role *role = &info->role;
    if (b->derived || role->kind == VY_IS_PARAMETER) return vys_binding_find(b, info->name);
    const uint32_t id = vy_is_source(role->root_kind) ? role->root_parameter : 0;
    const uint32_t place = id && id <= vy_program_buffer_count(b->program) ? b->place[id] : 0;
    return place ? &b->buffers[place - 1] : NULL;
}

static void take_from(vys_bound *buf, const vys_bound *base)
{
    if (!base || base->info.rank != buf->info.rank) return;
    memcpy(buf->value.shape, base->value.shape, sizeof base->value.shape);
    buf->state = VYS_SHAPE_FULL;
}

// Those of a derivative are those of its source, in that order (autodiff/transform.h).
static void take_scalars(vys_binding *b, const vys_binding *forward)
{
    const bool ordered = b->derived && !forward->derived;
    for (uint32_t i = 0; i < b->scalar_count; i++) {
        const uint32_t k =
            ordered ? i : vy_program_find_scalar(forward->program, b->scalars[i].info.name);
        if (k >= forward->scalar_count) continue;
        b->scalars[i].known = true;
        b->scalars[i].value = forward->scalars[k].value;
    }
}

static bool copy_contents(vys_binding *b, const vys_binding *forward, vy_diag *d)
{
    for (uint32_t i = 0; i < b->buffer_count; i++) {
        vys_bound *buf = &b->buffers[i];
        const vys_bound *from = vys_binding_source(forward, &buf->info);
        if (!from || buf->info.cls == VY_OUT) continue;
        if (from->value.type != buf->value.type || from->value.count != buf->value.count)
            return vys_fail(d, VYS_SHAPE, "",
                            "%s of the derived program is another buffer than before",
                            buf->info.name);
        if (from->value.count)
            memcpy(buf->value.data, from->value.data,
                   from->value.count * vy_type_size(from->value.type));
    }
    return true;
}

// What the caller did not give; tangents that come out alone begin as zeros.
bool vys_begins_as_ones(const vys_bound *b)
{
    return !b->given && b->info.cls != VY_OUT && b->info.role.kind != VY_IS_TANGENT_OUT;
}

void vys_binding_follow(vys_binding *b, const vys_binding *forward)
{
    take_scalars(b, forward);
    memcpy(b->groups, forward->groups, sizeof b->groups);
    for (uint32_t i = 0; i < b->buffer_count; i++) {
        vys_bound *buf = &b->buffers[i];
        const vys_bound *same = vys_binding_source(forward, &buf->info);
        take_from(buf, same ? same : vys_binding_base(forward, &buf->info));
    }
}

bool vys_binding_derive(vys_binding *b, const vys_binding *forward, vys_seed seed, void *user,
                        vy_diag *d)
{
    vys_binding_follow(b, forward);
    for (uint32_t i = 0; i < b->buffer_count; i++) {
        vys_bound *buf = &b->buffers[i];
        if (vys_binding_source(forward, &buf->info) || buf->info.cls == VY_OUT) continue;
        buf->given = seed ? seed(user, &buf->info) : NULL;
        buf->ones = vys_begins_as_ones(buf);
    }
    return vys_binding_fill(b, d) && copy_contents(b, forward, d);
}
