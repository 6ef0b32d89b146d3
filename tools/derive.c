// SPDX-License-Identifier: MIT
// derive.c: the data of a derived program, from that of the program it was derived from.
//
// By LANGUAGE.md, section 2, its buffers are those of the forward program, cotangents grad_o and ct_x
// going in, gradients grad_w coming out; the n-th order writes gradn_.
#include "tools/bind.h"

#include <stdlib.h>
#include <string.h>

// What follows `grad_`, `grad2_`, `ct_`, `dot_` … in a name, or NULL.
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

spec *specs_find_seed(const specs *ct, const char *buffer)
{
    const char *base = without_prefix(buffer);
    return base ? specs_find(ct, base) : NULL;
}

const bound_buffer *binding_base(const binding *b, const char *name)
{
    const bound_buffer *found = NULL;
    while (!found && (name = without_prefix(name))) found = binding_find(b, name);
    return found;
}

static void take_from(bound_buffer *buf, const bound_buffer *base)
{
    if (!base || base->info.rank != buf->info.rank) return;
    memcpy(buf->value.shape, base->value.shape, sizeof base->value.shape);
    buf->state = SHAPE_FULL;
}

static void take_scalars(binding *b, const binding *forward)
{
    for (uint32_t i = 0; i < b->scalar_count; i++)
        for (uint32_t k = 0; k < forward->scalar_count; k++) {
            const bound_scalar *from = &forward->scalars[k];
            if (strcmp(from->info.name, b->scalars[i].info.name)) continue;
            b->scalars[i].known = true;
            b->scalars[i].value = from->value;
        }
}

static bool copy_contents(binding *b, const binding *forward, vy_diag *d)
{
    for (uint32_t i = 0; i < b->buffer_count; i++) {
        bound_buffer *buf = &b->buffers[i];
        const bound_buffer *from = binding_find(forward, buf->info.name);
        if (!from || buf->info.cls == VY_OUT) continue;
        if (from->value.type != buf->value.type || from->value.count != buf->value.count)
            return fail(d, TOOL_SHAPE, "",
                        "%s of the derived program is another buffer than before", buf->info.name);
        if (from->value.count)
            memcpy(buf->value.data, from->value.data,
                   from->value.count * vy_type_size(from->value.type));
    }
    return true;
}

bool binding_derive(binding *b, const binding *forward, specs *ct, vy_diag *d)
{
    spec ones = {.kind = SPEC_CONST, .text = strdup("1")};
    bool ok = ones.text || fail_memory(d);
    take_scalars(b, forward);
    memcpy(b->groups, forward->groups, sizeof b->groups);
    for (uint32_t i = 0; ok && i < b->buffer_count; i++) {
        bound_buffer *buf = &b->buffers[i];
        const bound_buffer *same = binding_find(forward, buf->info.name);
        take_from(buf, same ? same : binding_base(forward, buf->info.name));
        if (same || buf->info.cls == VY_OUT) continue;
        buf->given = specs_find_seed(ct, buf->info.name);
        if (!buf->given) buf->given = &ones;
    }
    ok = ok && binding_fill(b, d) && copy_contents(b, forward, d);
    for (uint32_t i = 0; i < b->buffer_count; i++) b->buffers[i].given = NULL;
    spec_free(&ones);
    return ok;
}
