// SPDX-License-Identifier: MIT
// lower_extents.c: extents that only the run decides, each by its key (ir/core/host.h).
//
// ZERO gives the keys of its array their values, which hold to the end of the block that it is in:
// a value is read once in each block, and known to no step outside.  Then they have the ones again
// that they had before.  A replay that has no use for the array has no such ZERO; what a dispatch
// is passed there gets its shape from the dispatch, by its operands or from its other arguments
// (lower_call.c).
#include "ir/host/lower.h"

// What a key had before a ZERO in `block` gave it another value.
struct lower_known {
    uint32_t block;
    int64_t key;
    vy_dim before;
    lower_known *next;
};

static void know(lowering *w, uint32_t block, int64_t key, vy_dim extent)
{
    lower_known *k = block ? lower_room(w, 1, sizeof *k) : NULL;
    if (k) {
        *k = (lower_known){block, key, w->extent[key], w->known};
        w->known = k;
    }
    w->extent[key] = extent;
}

void lower_know_extents(lowering *w, uint32_t zero)
{
    const vy_program *h = w->h;
    const vy_buf *b = &h->buffers.data[h->insts.data[zero].aux];
    for (uint32_t k = 0, n = 0; k < b->rank; k++) {
        const vy_dim_node *d = &h->dims.data[b->dims[k].id];
        if (d->op == VY_DIM_STEP && n < h->insts.data[zero].nargs)
            know(w, w->s.parent[zero], d->value, lower_number(w, vy_arg(h, zero, n++)));
    }
}

void lower_know_results(lowering *w, uint32_t dispatch)
{
    const vy_host_call *c = vy_host_call_of(w->h, dispatch);
    const uint32_t first = w->h->insts.data[dispatch].nargs - c->extents;
    for (uint32_t k = 0; k < c->extents && !lower_stopped(w); k++)
        if (!w->extent[c->keys[k]].id)
            know(w, w->s.parent[dispatch], c->keys[k],
                 lower_number(w, vy_arg(w->h, dispatch, first + k)));
}

void lower_forget_extents(lowering *w, uint32_t block)
{
    for (; w->known && w->known->block == block; w->known = w->known->next)
        w->extent[w->known->key] = w->known->before;
}

// The extent that stands for `d`, with extents that the run decides; `d` itself if it has none; id
// 0: one of them is not known yet.  (The pipeline's own dimensions have greater numbers than those
// of the host program.)
static vy_dim extent_of(const lowering *w, vy_dim d)
{
    if (d.id >= w->h->dims.count) return d;
    const vy_dim_node *n = &w->h->dims.data[d.id];
    if (n->op == VY_DIM_STEP) return w->extent[n->value];
    if (n->op < VY_DIM_ADD) return d;
    const vy_dim a = extent_of(w, (vy_dim){n->a}),
                 b = n->b == n->a ? a : extent_of(w, (vy_dim){n->b});
    if (a.id == n->a && b.id == n->b) return d;
    return a.id && b.id ? vy_dim_binary(w->b, n->op, a, b) : (vy_dim){0};
}

bool lower_is_known(const lowering *w, const vy_tensor *shape)
{
    bool known = true;
    for (uint32_t k = 0; k < shape->rank; k++) known &= extent_of(w, shape->dims[k]).id != 0;
    return known;
}

vy_tensor lower_shape(lowering *w, const vy_tensor *shape)
{
    vy_dim *dims = NULL;
    for (uint32_t k = 0; k < shape->rank; k++)
        if (extent_of(w, shape->dims[k]).id != shape->dims[k].id && !dims)
            dims = vy_arena_alloc(&w->h->module->arena, shape->rank * sizeof *dims);
    if (!dims) return *shape;
    for (uint32_t k = 0; k < shape->rank; k++) dims[k] = extent_of(w, shape->dims[k]);
    return (vy_tensor){shape->type, shape->rank, dims};
}
