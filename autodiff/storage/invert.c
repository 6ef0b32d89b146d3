// SPDX-License-Identifier: MIT
// invert.c: carried integers with an invertible step need no tape.
//
//   state = state * 1664525u + 1013904223u;      state ^= state << 13;  state ^= state >> 17;
//
// The reverse loop starts from the last state and applies the inverse: subtraction for addition,
// the inverse modulo 2ⁿ for an odd factor.  x ^ (x << k) is (1 + S)x over the field of two
// elements, with S nilpotent: its inverse is (1 + S)(1 + S²)(1 + S⁴)…
#include "autodiff/facts/induction.h"
#include "autodiff/storage/storage.h"

// Modulo 2⁶⁴, and so modulo 2³²: x itself is correct in three bits, and each step doubles their
// number.
static uint64_t inverse_of(uint64_t odd)
{
    uint64_t x = odd;
    for (int i = 0; i < 5; i++) x *= 2 - odd * x;
    return x;
}

static vy_value undo_shift(reverse *r, uint32_t id, uint32_t x, vy_value v)
{
    const vy_program *p = r->p;
    uint32_t y = vy_arg(p, id, 0) == x ? vy_arg(p, id, 1) : vy_arg(p, id, 0);
    vy_type type = vy_id_type(p, x);
    vy_type count = vy_id_type(p, vy_arg(p, y, 1));
    for (uint64_t k = vy_id_const(p, vy_arg(p, y, 1))->u; k < 8 * vy_type_size(type); k *= 2) {
        vy_value by = vy_int(r->b, count, (int64_t)k);
        vy_value s = p->insts.data[y].op == VY_OP_SHL ? vy_shl(r->b, v, by) : vy_shr(r->b, v, by);
        v = vy_xor(r->b, v, s);
    }
    return v;
}

// The value before step `id`, of which `v` is the result.
static vy_value undo(reverse *r, uint32_t id, uint32_t opener, vy_value v)
{
    const vy_program *p = r->p;
    const vy_inst *i = &p->insts.data[id];
    vy_type type = (vy_type)i->type;
    if (i->op == VY_OP_NEG) return vy_neg(r->b, v);
    if (i->op == VY_OP_NOT) return vy_not(r->b, v);
    uint32_t x = vy_arg(p, id, 0);
    if (i->op == VY_OP_CAST) return vy_cast(r->b, vy_id_type(p, x), v);
    uint32_t inner = vy_undone_operand(&r->facts, id, opener), y = vy_arg(p, id, 1);
    uint32_t other = inner == x ? y : x;
    if (!VY_IS_LEAF(other) && other >= opener) return undo_shift(r, id, inner, v);
    vy_value c = {vy_primal(r, other)};
    if (i->op == VY_OP_ADD) return vy_sub(r->b, v, c);
    if (i->op == VY_OP_XOR) return vy_xor(r->b, v, c);
    if (i->op == VY_OP_SUB) return inner == x ? vy_add(r->b, v, c) : vy_sub(r->b, c, v);
    uint64_t factor = inverse_of(vy_id_const(p, other)->u);
    return vy_mul(r->b, v, vy_int(r->b, type, (int64_t)factor));
}

uint32_t vy_invert(reverse *r, uint32_t opener, uint32_t k, uint32_t next)
{
    uint32_t steps[VY_UNDO_STEPS], n = vy_undo_chain(&r->facts, opener, k, steps);
    vy_value v = {next};
    for (uint32_t i = 0; i < n && !vy_builder_failed(r->b); i++) v = undo(r, steps[i], opener, v);
    return v.id;
}
