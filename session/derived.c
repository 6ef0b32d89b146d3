// SPDX-License-Identifier: MIT
// derived.c: the data of a derived program, from that of the program it was derived from.
//
// By docs/language.md 9.1 its buffers are those of the forward program, cotangents grad_o and ct_x
// going in, gradients grad_w coming out; the n-th order writes gradn_.
#include "session/bind.h"

#include "session/internal.h"

#include <stdlib.h>
#include <string.h>

static const char *without_prefix(const char *name)
{
    static const char *const prefixes[] = {"grad", "ct", "dot"};
    for (size_t i = 0; i < COUNT_OF(prefixes); i++) {
        const size_t n = strlen(prefixes[i]);
        if (strncmp(name, prefixes[i], n)) continue;
        const char *rest = name + n + strspn(name + n, "0123456789");
        if (*rest == '_' && rest[1]) return rest + 1;
    }
    return NULL;
}

const char *vys_source_name(const vy_buffer_info *info)
{
    const bool derived = info->role.kind == VY_IS_GRADIENT || info->role.kind == VY_IS_COTANGENT;
    if (info->role.kind != VY_IS_PARAMETER) return derived ? info->role.of : NULL;
    return without_prefix(info->name);
}

const vys_bound *vys_binding_base(const vys_binding *b, const vy_buffer_info *info)
{
    const vys_bound *found = info->role.root ? vys_binding_find(b, info->role.root) : NULL;
    const char *name = info->name;
    while (!found && (name = without_prefix(name))) found = vys_binding_find(b, name);
    return found;
}

static void take_from(vys_bound *buf, const vys_bound *base)
{
    if (!base || base->info.rank != buf->info.rank) return;
    memcpy(buf->value.shape, base->value.shape, sizeof base->value.shape);
    buf->state = VYS_SHAPE_FULL;
}

static void take_scalars(vys_binding *b, const vys_binding *forward)
{
    for (uint32_t i = 0; i < b->scalar_count; i++)
        for (uint32_t k = 0; k < forward->scalar_count; k++) {
            const vys_bound_scalar *from = &forward->scalars[k];
            if (strcmp(from->info.name, b->scalars[i].info.name)) continue;
            b->scalars[i].known = true;
            b->scalars[i].value = from->value;
        }
}

static bool copy_contents(vys_binding *b, const vys_binding *forward, vy_diag *d)
{
    for (uint32_t i = 0; i < b->buffer_count; i++) {
        vys_bound *buf = &b->buffers[i];
        const vys_bound *from = vys_binding_find(forward, buf->info.name);
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

void vys_binding_follow(vys_binding *b, const vys_binding *forward)
{
    take_scalars(b, forward);
    memcpy(b->groups, forward->groups, sizeof b->groups);
    for (uint32_t i = 0; i < b->buffer_count; i++) {
        vys_bound *buf = &b->buffers[i];
        const vys_bound *same = vys_binding_find(forward, buf->info.name);
        take_from(buf, same ? same : vys_binding_base(forward, &buf->info));
    }
}

bool vys_binding_derive(vys_binding *b, const vys_binding *forward, vys_seed seed, void *user,
                        vy_diag *d)
{
    vys_binding_follow(b, forward);
    for (uint32_t i = 0; i < b->buffer_count; i++) {
        vys_bound *buf = &b->buffers[i];
        if (vys_binding_find(forward, buf->info.name) || buf->info.cls == VY_OUT) continue;
        buf->given = seed ? seed(user, &buf->info) : NULL;
        buf->ones = !buf->given;
    }
    return vys_binding_fill(b, d) && copy_contents(b, forward, d);
}
