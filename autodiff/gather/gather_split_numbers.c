// SPDX-License-Identifier: MIT
// gather_split_numbers.c: domain variables that are divided by quotients of scalars.
//
//   let n = (channels + 3) / 4;   let z = i % n;   let y = i / n;
//
// n is a row's length like any other if it is what its dimension is: if nothing in it wraps around
// and what it divides is not negative (affine/launch_numbers.h).  Both are so if its scalars are
// calm and not negative, which are conditions of the launch.
#include "autodiff/gather/gather_split.h"

bool gather_number_strides(gather_splitting *s)
{
    gather *g = s->g;
    uint8_t *kind = vy_arena_alloc(&g->arena, g->r->scalars.count + 1);
    for (uint32_t k = 0; kind && k < g->r->scalars.count; k++) {
        const vy_type t = g->r->scalars.data[k].type;
        kind[k] = t == VY_I32 || t == VY_U32 ? VY_AFFINE_NATURAL : VY_AFFINE_ANY;
    }
    s->a.numbers = kind ? vy_launch_numbers_make(g->r, kind, false, &g->arena) : NULL;
    g->failed |= !s->a.numbers;
    return !g->failed;
}

// Marks the scalars that dimension d is made of.
static void see_scalars(const vy_program *p, uint32_t d, uint8_t *has)
{
    const vy_dim_node n = p->dims.data[d];
    if (n.op == VY_DIM_SCALAR) has[n.value] = VY_AFFINE_NATURAL;
    if (n.op < VY_DIM_ADD) return;
    see_scalars(p, n.a, has);
    see_scalars(p, n.b, has);
}

// The greatest or the least of the scalars that are marked.
static vy_dim extreme(gather *g, const uint8_t *has, bool greatest)
{
    vy_dim all = {0};
    for (uint32_t k = 0; k < g->r->scalars.count && !g->failed; k++) {
        const vy_dim_node n = {.op = VY_DIM_SCALAR, .value = k};
        if (!has[k]) continue;
        g->failed |= !vy_vec_push(&g->r->dims, n);
        const vy_dim d = {g->r->dims.count - 1};
        all = all.id ? gather_node(g, greatest ? VY_DIM_MAX : VY_DIM_MIN, all, d) : d;
    }
    return all;
}

void gather_require_numbers(gather_splitting *s)
{
    gather *g = s->g;
    const gather_stride *row = &s->stride[s->count - 1];
    uint8_t *has = vy_arena_alloc(&g->arena, g->r->scalars.count + 1);
    uint8_t *all = g->split.kind;
    if (!all) all = vy_arena_alloc(&g->arena, g->r->scalars.count + 1);
    g->failed |= !has || !all;
    for (uint32_t k = 0; k < row->count && !g->failed; k++) {
        const uint32_t base = row->factor[k].base;
        const vy_dim_op op = (vy_dim_op)g->r->dims.data[base].op;
        if (op == VY_DIM_DIV || op == VY_DIM_REM) see_scalars(g->r, base, has);
    }
    for (uint32_t k = 0; k < g->r->scalars.count && !g->failed; k++) all[k] |= has[k];
    g->split.kind = all;
    const vy_dim greatest = g->failed ? (vy_dim){0} : extreme(g, has, true);
    if (!greatest.id || g->failed) return;
    const vy_dim least = extreme(g, has, false);
    const vy_dim most = gather_number(g, VY_AFFINE_CALM), zero = gather_number(g, 0);
    const vy_dim above = gather_number(g, VY_AFFINE_CALM + 1), below = gather_number(g, -1);
    gather_require(g, greatest, most, gather_less(g, greatest, above));
    gather_require(g, zero, least, gather_less(g, below, least));
}
