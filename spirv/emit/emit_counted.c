// SPDX-License-Identifier: MIT
// emit_counted.c: the counter of a LOOP: the values of its header's phi, the test that ends it, and
// the loop variable computed from them.
//
//   step 1                   i = phi(from, i+1) … i < to ?      never wraps: i+1 ≤ to
//     reversed               j = phi(to, i) … j > from ?        i = j − 1
//   other constant step      as step 1, where `to` is a constant so small that i + step cannot wrap
//   other steps              counts t = 0 … n with n = ⌈(to − from)/step⌉ computed before the loop:
//                            i + step may wrap past the end, t does not
//
// Blocks and phis are those of emit_control.c.
#include "spirv/emit/emit.h"

#include "ir/core/flow.h"

// i + step cannot wrap, so the variable itself can be compared with `to`.
bool vy_counted_simple(vy_fn *f, uint32_t i)
{
    const vy_scalar *step = vy_id_const(f->p, vy_arg(f->p, i, 2));
    const vy_scalar *to = vy_id_const(f->p, vy_arg(f->p, i, 1));
    if (step && step->i == 1) return true;
    return step && to && !(f->p->insts.data[i].flags & VY_FLAG_REVERSE) && step->i > 0 &&
           step->i < 1 << 30 && to->i >= 0 && to->i < 1 << 30;
}

static SpvOp less_op(vy_type t) { return vy_type_is_signed(t) ? SpvOpSLessThan : SpvOpULessThan; }

// n = from < to and step > 0 ? (to − from − 1)/step + 1 : 0, unsigned, which cannot wrap.
static uint32_t trip_count(vy_fn *f, const vy_counted *c)
{
    vy_spv *m = f->m;
    uint32_t bools = vy_bool_type(f), one = vy_spv_int(m, c->unsigned_type, 1);
    uint32_t zero = vy_spv_zero(m, c->unsigned_type);
    uint32_t some = VY_DO(f, less_op(c->type), bools, c->from, c->to);
    uint32_t good = VY_DO(f, less_op(c->type), bools, vy_spv_zero(m, c->type), c->step);
    some = vy_and_bool(f, some, good);
    uint32_t step = vy_cast_id(f, c->unsigned_type, c->type, c->step);
    step = VY_DO(f, SpvOpSelect, c->ut, good, step, one);
    uint32_t span = VY_DO(f, SpvOpISub, c->t, c->to, c->from);
    span = VY_DO(f, SpvOpISub, c->ut, vy_cast_id(f, c->unsigned_type, c->type, span), one);
    uint32_t n = VY_DO(f, SpvOpUDiv, c->ut, span, step);
    n = VY_DO(f, SpvOpIAdd, c->ut, n, one);
    return VY_DO(f, SpvOpSelect, c->ut, some, n, zero);
}

vy_counted vy_counted_loop(vy_fn *f, uint32_t i)
{
    vy_counted c = {.type = (vy_type)f->p->insts.data[i].type};
    c.unsigned_type = vy_unsigned_of(c.type);
    c.t = vy_spv_type(f->m, c.type);
    c.ut = vy_spv_type(f->m, c.unsigned_type);
    c.reverse = f->p->insts.data[i].flags & VY_FLAG_REVERSE;
    c.from = vy_val(f, vy_arg(f->p, i, 0));
    c.to = vy_val(f, vy_arg(f->p, i, 1));
    c.step = vy_val(f, vy_arg(f->p, i, 2));
    return c;
}

// Initial value of the counting phi.
uint32_t vy_counted_first(vy_fn *f, vy_counted *c, bool simple)
{
    if (!simple) {
        c->count = trip_count(f, c);
        return c->reverse ? c->count : vy_spv_zero(f->m, c->unsigned_type);
    }
    if (!c->reverse) return c->from;
    uint32_t some = VY_DO(f, less_op(c->type), vy_bool_type(f), c->from, c->to);
    return VY_DO(f, SpvOpSelect, c->t, some, c->to, c->from);
}

uint32_t vy_counted_limit(vy_fn *f, uint32_t i, const vy_counted *c)
{
    if (c->count && c->reverse) return vy_spv_zero(f->m, c->unsigned_type);
    const uint32_t bound = c->count ? c->count : c->reverse ? c->from : c->to;
    const bool computed = c->count || !VY_IS_LEAF(vy_arg(f->p, i, !c->reverse));
    if (!computed || !f->m->hooks->bound) return bound;
    return f->m->hooks->bound(f, c->count ? c->unsigned_type : c->type, bound);
}

// Condition to run the body, from the phi.
uint32_t vy_counted_test(vy_fn *f, const vy_counted *c, uint32_t phi)
{
    uint32_t bools = vy_bool_type(f);
    if (!c->count && !c->reverse) return VY_DO(f, less_op(c->type), bools, phi, c->limit);
    if (!c->count) return VY_DO(f, less_op(c->type), bools, c->limit, phi);
    return VY_DO(f, c->reverse ? SpvOpINotEqual : SpvOpULessThan, bools, phi, c->limit);
}

// The loop variable, at the top of the body; *next is the phi's next value if it is known there.
uint32_t vy_counted_variable(vy_fn *f, const vy_counted *c, uint32_t phi, uint32_t *next)
{
    uint32_t one = vy_spv_int(f->m, c->count ? c->unsigned_type : c->type, 1), steps = phi;
    if (!c->count && !c->reverse) return phi;
    if (!c->count) return *next = VY_DO(f, SpvOpISub, c->t, phi, one);
    if (c->reverse) steps = *next = VY_DO(f, SpvOpISub, c->ut, phi, one);
    steps = vy_cast_id(f, c->type, c->unsigned_type, steps);
    return VY_DO(f, SpvOpIAdd, c->t, c->from, VY_DO(f, SpvOpIMul, c->t, steps, c->step));
}
