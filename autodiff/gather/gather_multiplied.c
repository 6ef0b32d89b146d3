// SPDX-License-Identifier: MIT
// gather_multiplied.c: products of scalars that the program takes as numbers.
//
//   let last = w * h - 1;  for k in 0..8 { … a[z * cstep + min(i + k * outw, last)] … }
//
// A product of two numbers that only the launch knows is not affine, but it is a number like any
// other scalar if it is computed exactly.  So where products are what leaves additions to
// atomics, it is assumed that the scalars in them are at least 1, so that w * h - 1 is not
// negative, and that no product is more than 2²⁶ (launch_numbers.c).  Products that are strides
// need none of that (affine/flat.c).
#include "autodiff/gather/gather_build.h"

#include "ir/core/flow.h"

enum { MOST_PRODUCTS = GATHER_PRODUCTS };

static bool is_constant(const vy_program *p, uint32_t id)
{
    int64_t c;
    return vy_id_int(p, id, &c);
}

// Does the launch alone decide the operand?  is: of which instructions it does.
static bool is_launched(const vy_program *p, const uint8_t *is, uint32_t id)
{
    if (!VY_IS_LEAF(id)) return is[id];
    const vy_leaf *l = &p->leaves.data[VY_LEAF_INDEX(id)];
    return is_constant(p, id) || (l->kind == VY_LEAF_SCALAR && vy_is_narrow((vy_type)l->type));
}

static bool is_number(const vy_program *p, const uint8_t *is, uint32_t id)
{
    const vy_inst *i = &p->insts.data[id];
    bool all = vy_is_narrow((vy_type)i->type) && vy_makes_number((vy_op)i->op);
    for (uint32_t k = 0; k < i->nargs && all; k++) all = is_launched(p, is, vy_arg(p, id, k));
    return all;
}

static bool is_product(const vy_program *p, uint32_t id)
{
    return p->insts.data[id].op == VY_OP_MUL && !is_constant(p, vy_arg(p, id, 0)) &&
           !is_constant(p, vy_arg(p, id, 1));
}

// What instruction `id` is made of is part of a product, too.
static void see(const vy_program *p, uint32_t id, uint8_t *in, uint8_t *kind)
{
    for (uint32_t k = 0; k < p->insts.data[id].nargs; k++) {
        const uint32_t x = vy_arg(p, id, k);
        const vy_leaf *l = VY_IS_LEAF(x) ? &p->leaves.data[VY_LEAF_INDEX(x)] : NULL;
        if (!l)
            in[x] = 1;
        else if (l->kind == VY_LEAF_SCALAR)
            kind[l->index] = l->type == VY_I32 ? VY_AFFINE_POSITIVE : VY_AFFINE_IS_CALM;
    }
}

const uint8_t *gather_multiplied(gather *g)
{
    const vy_program *p = g->r;
    uint8_t *is = vy_arena_alloc(&g->arena, p->insts.count);
    uint8_t *in = vy_arena_alloc(&g->arena, p->insts.count);
    uint8_t *kind = vy_arena_alloc(&g->arena, p->scalars.count + 1);
    uint32_t products = 0;
    g->failed |= !is || !in || !kind;
    for (uint32_t id = 1; id < p->insts.count && !g->failed; id++) is[id] = is_number(p, is, id);
    for (uint32_t id = p->insts.count; id-- > 1 && !g->failed;) {
        if (!is[id]) continue;
        products += is_product(p, id);
        if (in[id] || is_product(p, id)) see(p, id, in, kind);
    }
    return products && products <= MOST_PRODUCTS && !g->failed ? kind : NULL;
}
