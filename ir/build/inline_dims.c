// SPDX-License-Identifier: MIT
// inline_dims.c: dimensions of a pipeline over the signature for which it is rewritten.
#include "ir/build/edit.h"
#include "ir/build/pipe_inline.h"

void *inline_room(inlining *c, size_t count, size_t size)
{
    void *p = vy_arena_alloc(&c->arena, (count + 1) * size);
    if (!p) vy_build_oom(c->q->b);
    return p;
}

// -------------------------------------------------------------------------------------- dimensions
static vy_dim length(const inlining *c, const vy_pipe_arg *a, uint32_t axis)
{
    return c->q->b->p->buffers.data[a->buffer.id].dims[a->rank + axis];
}

static vy_dim translate(inlining *c, vy_dim d)
{
    const vy_dim_node *n = &c->sig->dims.data[d.id];
    vy_builder *b = c->q->b;
    if (c->dims[d.id].id || inline_stopped(c)) return c->dims[d.id];
    vy_dim made = {0};
    switch (n->op) {
    case VY_DIM_CONST: made = vy_dim_const(b, n->value); break;
    case VY_DIM_SCALAR: made = c->scalars[n->value].dim; break;
    case VY_DIM_UNKNOWN: // of no buffer: nothing uses it
        if (n->value) made = length(c, &c->places[n->value], 0);
        break;
    case VY_DIM_GROUPS:
        if (c->groups) made = c->groups[n->value];
        break;
    case VY_DIM_STEP: made = c->steps[n->value]; break;
    default: {
        const vy_dim x = translate(c, (vy_dim){n->a}), y = translate(c, (vy_dim){n->b});
        if (x.id && y.id) made = vy_dim_binary(b, n->op, x, y);
    }
    }
    return c->dims[d.id] = made;
}

// Operands come before what uses them: translated in their order, none is deep.
vy_dim inline_dim(inlining *c, vy_dim d)
{
    for (; c->known < d.id; c->known++) translate(c, (vy_dim){c->known});
    return translate(c, d);
}
