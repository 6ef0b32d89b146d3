// SPDX-License-Identifier: MIT
// low_bits.c: see low_bits.h.  x = a + 2^n ·(something), in the wrapping arithmetic of its type.
#include "ir/facts/low_bits.h"

enum { DEEP = 12 }; // operations that are followed, on each path

static vy_low_bits of(const vy_program *p, const vy_structure *s, uint32_t id, uint32_t depth);

static uint32_t least(uint32_t x, uint32_t y) { return x < y ? x : y; }

static vy_low_bits keep(uint32_t count, uint64_t bits)
{
    return (vy_low_bits){count, count < 64 ? bits & ((UINT64_C(1) << count) - 1) : bits};
}

// The known zeros at the end of x.
static uint32_t zeros(vy_low_bits x)
{
    return x.bits ? least(x.count, (uint32_t)__builtin_ctzll(x.bits)) : x.count;
}

// The remainder of a division by y: x minus a multiple of y, but 0 where y is 0.
static vy_low_bits remainder_of(vy_low_bits x, vy_low_bits y)
{
    if (!y.bits) return keep(0, 0);
    return keep(least(x.count, zeros(y)), x.bits);
}

// (a + 2^m …) (b + 2^n …)
static vy_low_bits product(vy_low_bits x, vy_low_bits y)
{
    return keep(least(64, least(x.count + zeros(y), y.count + zeros(x))), x.bits * y.bits);
}

// The lowest bits of x & y, or of x | y: where one operand decides, the other need not be known.
static vy_low_bits logical(vy_low_bits x, vy_low_bits y, bool either)
{
    uint64_t bits = either ? x.bits | y.bits : x.bits & y.bits;
    uint32_t n = least(x.count, y.count);
    const vy_low_bits longer = x.count > y.count ? x : y;
    while (n < longer.count && (longer.bits >> n & 1) == either) n++;
    if (either) bits |= longer.bits;
    return keep(n, bits);
}

static vy_low_bits join(vy_low_bits x, vy_low_bits y)
{
    const uint64_t other = x.bits ^ y.bits;
    uint32_t n = least(x.count, y.count);
    if (other) n = least(n, (uint32_t)__builtin_ctzll(other));
    return keep(n, x.bits);
}

static uint32_t width_of(vy_type t) { return 8 * (uint32_t)vy_type_size(t); }

// Of the count of a shift only the lowest bits apply, as many as the width has positions.
static vy_low_bits shift(vy_type t, vy_low_bits x, vy_low_bits y)
{
    const uint32_t most = width_of(t) - 1, n = (uint32_t)y.bits & most;
    if ((UINT64_C(1) << least(y.count, 63)) <= most) return keep(0, 0);
    return keep(least(64, x.count + n), x.bits << n);
}

vy_low_bits vy_low_bits_binary(vy_op op, vy_type t, vy_low_bits x, vy_low_bits y)
{
    switch (op) {
    case VY_OP_ADD: return keep(least(x.count, y.count), x.bits + y.bits);
    case VY_OP_SUB: return keep(least(x.count, y.count), x.bits - y.bits);
    case VY_OP_XOR: return keep(least(x.count, y.count), x.bits ^ y.bits);
    case VY_OP_MUL: return product(x, y);
    case VY_OP_REM: return remainder_of(x, y);
    case VY_OP_AND: return logical(x, y, false);
    case VY_OP_OR: return logical(x, y, true);
    case VY_OP_SHL: return shift(t, x, y);
    case VY_OP_MIN:
    case VY_OP_MAX: return join(x, y);
    default: return keep(0, 0);
    }
}

// The counter of a loop: where it begins, and multiples of its step.
static vy_low_bits counter(const vy_program *p, const vy_structure *s, uint32_t id, uint32_t depth)
{
    const vy_low_bits from = of(p, s, vy_arg(p, id, 0), depth),
                      step = of(p, s, vy_arg(p, id, 2), depth);
    return keep(least(from.count, zeros(step)), from.bits);
}

static vy_low_bits of_inst(const vy_program *p, const vy_structure *s, uint32_t id, uint32_t depth)
{
    const vy_inst *i = &p->insts.data[id];
    const vy_op op = (vy_op)i->op;
    if (op == VY_OP_LOOP) return counter(p, s, id, depth);
    if (op == VY_OP_CAST && vy_type_is_integer(vy_id_type(p, vy_arg(p, id, 0))))
        return of(p, s, vy_arg(p, id, 0), depth);
    if (op == VY_OP_SELECT)
        return join(of(p, s, vy_arg(p, id, 1), depth), of(p, s, vy_arg(p, id, 2), depth));
    if (vy_op_infos[op].effect != VY_PURE || i->nargs != 2) return keep(0, 0);
    return vy_low_bits_binary(op, (vy_type)i->type, of(p, s, vy_arg(p, id, 0), depth),
                              of(p, s, vy_arg(p, id, 1), depth));
}

static vy_low_bits of(const vy_program *p, const vy_structure *s, uint32_t id, uint32_t depth)
{
    const vy_scalar *k = vy_id_const(p, id);
    const vy_type t = vy_id_type(p, id);
    if (!vy_type_is_integer(t)) return keep(0, 0);
    if (k) return keep(width_of(t), k->u);
    if (VY_IS_LEAF(id) || depth == DEEP) return keep(0, 0);
    const vy_low_bits x = of_inst(p, s, id, depth + 1);
    return keep(least(x.count, width_of(t)), x.bits);
}

vy_low_bits vy_low_bits_of(const vy_program *p, const vy_structure *s, uint32_t id)
{
    return of(p, s, id, 0);
}

bool vy_low_bits_differ(vy_low_bits x, vy_low_bits y)
{
    const uint32_t n = least(x.count, y.count);
    return keep(n, x.bits).bits != keep(n, y.bits).bits;
}
