// SPDX-License-Identifier: MIT
// gather_sizes.c: what is known of sizes beyond the reverse program's own parameters.
//
//   program f(x: in f32[n], y: out f32[B, T], …) over(b: B, i: T) { y[b, i] = sin(x[b * T + i]); }
//
// The gradient of f for cotangents of 1 does not have y.  But f has been run with these sizes, so
// that B · T is the number of elements of a buffer, and b * T + i does not wrap (affine/flat.c).
#include "autodiff/gather/gather_build.h"

#include <string.h>

// Adds the factors of dimension d of the source to q; false: it is no product of scalars and
// constants, or too long.
static bool add_factors(const gather *g, const vy_program *source, uint32_t d, vy_affine_product *q)
{
    const vy_dim_node *n = &source->dims.data[d];
    if (n->op == VY_DIM_MUL)
        return add_factors(g, source, n->a, q) && add_factors(g, source, n->b, q);
    if (n->op == VY_DIM_CONST) return n->value > 0;
    if (n->op != VY_DIM_SCALAR || q->count == sizeof q->factor / sizeof *q->factor) return false;
    const uint32_t k = vy_program_find_scalar(g->r, source->scalars.data[n->value].name);
    if (k == UINT32_MAX || g->a.facts.scalar[k] == VY_NO_BASE) return false;
    q->factor[q->count++] = (vy_extent){g->a.facts.scalar[k], 0};
    return true;
}

bool gather_know_sizes(gather *g, const vy_program *source)
{
    if (!source) return true;
    vy_affine_product *all = vy_arena_alloc(&g->arena, source->buffers.count * sizeof *all);
    if (!all) return false;
    uint32_t count = 0;
    for (uint32_t i = 1; i < source->buffers.count; i++) {
        const vy_buf *b = &source->buffers.data[i];
        vy_affine_product q = {.count = 0};
        bool known = vy_is_global(b->cls) && !b->view_of && vy_type_size(b->type) >= 4;
        for (uint32_t k = 0; k < b->rank && known; k++)
            known = add_factors(g, source, b->dims[k].id, &q);
        if (known && q.count > 1) all[count++] = q;
    }
    g->a.products = all;
    g->a.product_count = count;
    return true;
}

// ---------------------------------------------------------------------------------------- products
static bool is_same_dim(const vy_program *p, uint32_t x, uint32_t y)
{
    const vy_dim_node *a = &p->dims.data[x], *b = &p->dims.data[y];
    if (x == y) return true;
    if (a->op != b->op || a->value != b->value) return false;
    return a->op < VY_DIM_ADD || (is_same_dim(p, a->a, b->a) && is_same_dim(p, a->b, b->b));
}

enum { MOST_FACTORS = 12 };

static bool split_product(const vy_program *p, uint32_t d, uint32_t *factor, uint32_t *count)
{
    const vy_dim_node *n = &p->dims.data[d];
    if (n->op == VY_DIM_MUL)
        return split_product(p, n->a, factor, count) && split_product(p, n->b, factor, count);
    if (*count == MOST_FACTORS) return false;
    factor[(*count)++] = d;
    return true;
}

bool gather_same_product(const vy_program *p, vy_dim x, vy_dim y)
{
    uint32_t a[MOST_FACTORS], b[MOST_FACTORS], count = 0, left = 0;
    if (!split_product(p, x.id, a, &count) || !split_product(p, y.id, b, &left)) return false;
    if (count != left) return false;
    for (uint32_t k = 0; k < count; k++) {
        uint32_t j = 0;
        while (j < left && !is_same_dim(p, a[k], b[j])) j++;
        if (j == left) return false;
        b[j] = b[--left];
    }
    return true;
}
