// SPDX-License-Identifier: MIT
// adjoint_terms.c: terms of a gradient that are one another's negative, or the same product in
// another order, are computed once.
//
//   let x = a - b;   … k * x …                      let x = a - b;   … k * x …
//   let y = b - a;   … k * y …               →                       … -(k * x) …
//   let s = (m * h) * -0.5;                         let s = (m * -0.5) * h;
//
// The last where m * -0.5 is computed anyway.
//
// A point i of a sum over pairs contributes to its own gradient, and so does i as a neighbour of j:
// once these are gathered and fused, each iteration computes one pair from both ends.
//
// The builder does not do this, because it keeps the sign of zero, and of a product whose factor is
// subnormal the last bits.  A value that is used linearly and ends in gradients may differ in
// those (sum_order.h).  The scale moves only where it makes the factor smaller, so nothing
// overflows, and only a scale of a half.
//
// Runs only for programs that a device is to run (options->registers): text stays as it is.  Needs
// valid structure; keeps lines and names.
#include "ir/build/build.h"
#include "ir/pass/pass.h"
#include "ir/pass/scalar/sum_order.h"

#include <math.h>

typedef struct terms {
    vy_rewrite w;
    vy_sum_order order;
    uint32_t count;
} terms;

static bool may_differ(terms *x, uint32_t id)
{
    return vy_is_adjoint(&x->order, id, &x->w.arena, &x->w.oom);
}

// What is built already, in the new program; 0: nothing.
static uint32_t made(const terms *x, vy_op op, uint32_t type, uint32_t a, uint32_t b)
{
    const uint32_t straight[] = {a, b}, mirrored[] = {b, a};
    const uint32_t id = vy_made_before(x->w.b, op, (vy_type)type, 2, straight);
    return id || op != VY_OP_MUL ? id : vy_made_before(x->w.b, op, (vy_type)type, 2, mirrored);
}

static uint32_t take(terms *x, uint32_t id, vy_value v)
{
    x->count++;
    vy_rewrite_as(&x->w, id, v.id);
    return id;
}

// a − b where b − a is computed before.
static uint32_t difference(terms *x, uint32_t id)
{
    const uint32_t a = vy_new_arg(&x->w, id, 0), b = vy_new_arg(&x->w, id, 1);
    const uint32_t other = made(x, VY_OP_SUB, x->w.p->insts.data[id].type, b, a);
    if (!other || !may_differ(x, id)) return 0;
    vy_rewrite_at(&x->w, id);
    return take(x, id, vy_neg(x->w.b, (vy_value){other}));
}

// ±1/2.  A smaller scale would make factors subnormal, which many devices take as 0, that are not
// near the end of the range; here those of its last binade.
static bool is_scale(const vy_scalar *k) { return k && fabs(k->f) == 0.5; }

// (u · v) · scale where u · scale is computed before.
static uint32_t scaled_product(terms *x, uint32_t id)
{
    const vy_program *p = x->w.p;
    const vy_type type = (vy_type)p->insts.data[id].type;
    const uint32_t product = vy_arg(p, id, 0), scale = vy_arg(p, id, 1);
    if (VY_IS_LEAF(product) || p->insts.data[product].op != VY_OP_MUL) return 0;
    if (!is_scale(vy_id_const(p, scale))) return 0;
    for (uint32_t side = 0; side < 2; side++) {
        const uint32_t u = vy_new_arg(&x->w, product, side);
        const uint32_t v = vy_new_arg(&x->w, product, 1 - side);
        const uint32_t smaller = made(x, VY_OP_MUL, type, u, vy_new(&x->w, scale));
        if (!smaller || !may_differ(x, id)) continue;
        vy_rewrite_at(&x->w, id);
        return take(x, id, vy_mul(x->w.b, (vy_value){smaller}, (vy_value){v}));
    }
    return 0;
}

// What `a` of the new program is the negation of; 0: it is none.
static uint32_t negated(const terms *x, uint32_t a)
{
    const vy_program *fresh = vy_builder_program(x->w.b);
    return !VY_IS_LEAF(a) && fresh->insts.data[a].op == VY_OP_NEG ? vy_arg(fresh, a, 0) : 0;
}

// −a − b = −(a + b), which has another sign where it is zero, and a (−b) = −(a b): signs move to
// the end, where they cancel each other or become a subtraction.
static uint32_t sign_outwards(terms *x, uint32_t id, vy_op op)
{
    const uint32_t a = vy_new_arg(&x->w, id, 0), b = vy_new_arg(&x->w, id, 1);
    const uint32_t minus_a = negated(x, a), minus_b = negated(x, b);
    const bool both = minus_a && minus_b;
    if (op == VY_OP_ADD ? !both : both || !(minus_a || minus_b)) return 0;
    if (!may_differ(x, id)) return 0;
    const vy_value v = {minus_a ? minus_a : a}, w = {minus_b ? minus_b : b};
    vy_rewrite_at(&x->w, id);
    return take(x, id,
                vy_neg(x->w.b, op == VY_OP_ADD ? vy_add(x->w.b, v, w) : vy_mul(x->w.b, v, w)));
}

static uint32_t product(terms *x, uint32_t id)
{
    const uint32_t done = scaled_product(x, id);
    return done ? done : sign_outwards(x, id, VY_OP_MUL);
}

static uint32_t instead(void *pass, uint32_t id)
{
    terms *x = pass;
    const vy_inst *i = &x->w.p->insts.data[id];
    if (i->type != VY_F32 && i->type != VY_F64) return 0;
    switch ((vy_op)i->op) {
    case VY_OP_SUB: return difference(x, id);
    case VY_OP_MUL: return product(x, id);
    case VY_OP_ADD: return sign_outwards(x, id, VY_OP_ADD);
    default: return 0;
    }
}

bool vy_pass_adjoint_terms(vy_program *p, vy_pass_context *c)
{
    if (!c->options || !c->options->registers || c->options->precise || p->exact) return true;
    terms x = {0};
    bool ok = vy_rewrite_begin(&x.w, p), changed = false;
    x.order = (vy_sum_order){.p = p, .s = &x.w.s};
    if (ok) vy_rewrite_run(&x.w, instead, &x);
    if (!x.count) vy_rewrite_drop(&x.w);
    ok = vy_rewrite_end(&x.w, ok, &changed);
    c->changed |= x.count > 0;
    return ok;
}
