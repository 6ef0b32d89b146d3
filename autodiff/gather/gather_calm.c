// SPDX-License-Identifier: MIT
// gather_calm.c: scalars that the launch shows to be far from where arithmetic wraps around.
//
//   let sx = i32(i) * 4;
//   if sx == w - 1 { … a[z * cstep + sx] … }        over(z: c, i: outw)
//
// An i32 that a shader is given may be anything, and so w - 1 = 2³¹ - 1 for w = -2³¹: what is
// affine here has a case for each way to wrap around, and many of them are too many.  No size of a
// picture comes near that.  So where additions stay atomic that numbers which wrap may be the
// reason of, the analysis is repeated with the scalars that it met calm, between ±2²⁶.  If fewer
// buffers are added to atomically then, that is a condition of the launch, as are those of
// gather_assume.c.
#include "autodiff/gather/gather_build.h"

#include "ir/core/flow.h"

static uint32_t left_atomic(const gather *g)
{
    uint32_t n = 0;
    for (uint32_t b = 1; b < g->r->buffers.count; b++) {
        bool left = false;
        for (uint32_t k = 0; k < g->site_count; k++)
            left |= g->sites[k].access.buffer == b && !g->sites[k].gathered;
        n += left;
    }
    return n;
}

// May numbers that wrap around be all that leaves buffer b to atomic additions?
static bool is_left_for_wrapping(const gather *g, uint32_t b)
{
    bool any = false;
    for (uint32_t k = 0; k < g->site_count; k++) {
        const gather_site *site = &g->sites[k];
        if (site->access.buffer != b || site->gathered || site->joins) continue;
        if (!site->wraps) return false;
        any = true;
    }
    return any;
}

static bool some_wrap(const gather *g)
{
    for (uint32_t b = 1; b < g->r->buffers.count; b++)
        if (is_left_for_wrapping(g, b)) return true;
    return false;
}

static bool is_integer_of_32_bits(vy_type t)
{
    return vy_type_is_integer(t) && vy_type_size(t) == 4;
}

gather_calm gather_calmer(gather *g)
{
    const gather_calm none = {0};
    bool any = false;
    if (g->calm.scalar || !some_wrap(g)) return none;
    uint8_t *calm = vy_arena_alloc(&g->arena, g->r->scalars.count + 1);
    g->failed |= !calm;
    for (uint32_t k = 0; calm && k < g->a.params.count; k++) {
        const vy_affine_param *q = &g->a.params.data[k];
        if (q->is_dim || !is_integer_of_32_bits((vy_type)g->r->scalars.data[q->index].type))
            continue;
        calm[q->index] = 1;
        any = true;
    }
    return any ? (gather_calm){calm, left_atomic(g)} : none;
}

bool gather_is_calm_in_vain(const gather *g)
{
    return g->calm.scalar && left_atomic(g) >= g->calm.left;
}

bool gather_begin_affine(gather *g)
{
    return vy_affine_begin_calm(&g->a, g->r, &g->s, g->calm.scalar);
}

// The greatest (least) of the calm scalars.
static vy_dim extreme(gather *g, bool greatest)
{
    vy_dim all = {0};
    for (uint32_t k = 0; k < g->r->scalars.count && !g->failed; k++) {
        const vy_dim_node n = {.op = VY_DIM_SCALAR, .value = k};
        if (!g->calm.scalar[k]) continue;
        if (!greatest && !vy_type_is_signed(g->r->scalars.data[k].type)) continue;
        g->failed |= !vy_vec_push(&g->r->dims, n);
        const vy_dim d = {g->r->dims.count - 1};
        all = all.id ? gather_node(g, greatest ? VY_DIM_MAX : VY_DIM_MIN, all, d) : d;
    }
    return all;
}

void gather_assume_calm(gather *g)
{
    if (!g->calm.scalar) return;
    const vy_dim greatest = extreme(g, true), least = extreme(g, false);
    const vy_dim most = gather_number(g, VY_AFFINE_CALM),
                 above = gather_number(g, VY_AFFINE_CALM + 1);
    gather_require(g, greatest, most, gather_less(g, greatest, above));
    if (!least.id || g->failed) return;
    const vy_dim below = gather_number(g, -VY_AFFINE_CALM - 1);
    const vy_dim holds = gather_less(g, below, least);
    gather_require(g, gather_number(g, -VY_AFFINE_CALM), least, holds);
}
