// SPDX-License-Identifier: MIT
// emit_int.c: integer operations whose SPIR-V form is undefined for some operands.
//
//   x / 0 and x % 0 are 0; least / −1 is least, least % −1 is 0: where the operation would be
//   undefined, the divisor is replaced by 1 and the result by the language's.
//   %   of signed operands is a − (a/b) b: Vulkan leaves OpSRem undefined for negative operands.
//   Shift counts are taken modulo the width.
#include "spirv/emit/emit.h"

static uint32_t arg(vy_fn *f, uint32_t i, uint32_t k) { return vy_val(f, vy_arg(f->p, i, k)); }

typedef struct divisor {
    uint32_t safe;      // id of a divisor that is always defined
    uint32_t zero;      // bool: the divisor is 0; 0: never
    uint32_t minus_one; // bool: it is −1 (signed); 0: never
} divisor;

static divisor safe_divisor(vy_fn *f, uint32_t i, vy_type t)
{
    vy_spv *m = f->m;
    uint32_t type = vy_spv_type(m, t), bools = vy_bool_type(f), b = arg(f, i, 1);
    const vy_scalar *c = vy_id_const(f->p, vy_arg(f->p, i, 1));
    divisor d = {.safe = b};
    bool is_signed = vy_type_is_signed(t);
    if (c && c->i != 0 && !(is_signed && c->i == -1)) return d;
    uint32_t bad = d.zero = VY_DO(f, SpvOpIEqual, bools, b, vy_spv_zero(m, t));
    if (is_signed) {
        d.minus_one = VY_DO(f, SpvOpIEqual, bools, b, vy_spv_int(m, t, -1));
        bad = VY_DO(f, SpvOpLogicalOr, bools, d.zero, d.minus_one);
    }
    d.safe = VY_DO(f, SpvOpSelect, type, bad, vy_spv_int(m, t, 1), b);
    return d;
}

uint32_t vy_emit_div(vy_fn *f, uint32_t i)
{
    vy_type t = (vy_type)f->p->insts.data[i].type;
    uint32_t type = vy_spv_type(f->m, t), a = vy_factor(f, i, 0);
    if (vy_type_is_float(t)) return VY_DO(f, SpvOpFDiv, type, a, vy_factor(f, i, 1));
    divisor d = safe_divisor(f, i, t);
    uint32_t q = VY_DO(f, vy_type_is_signed(t) ? SpvOpSDiv : SpvOpUDiv, type, a, d.safe);
    if (d.minus_one)
        q = VY_DO(f, SpvOpSelect, type, d.minus_one, VY_DO(f, SpvOpSNegate, type, a), q);
    if (d.zero) q = VY_DO(f, SpvOpSelect, type, d.zero, vy_spv_zero(f->m, t), q);
    return q;
}

uint32_t vy_emit_rem(vy_fn *f, uint32_t i)
{
    vy_type t = (vy_type)f->p->insts.data[i].type;
    uint32_t type = vy_spv_type(f->m, t), a = arg(f, i, 0);
    divisor d = safe_divisor(f, i, t); // where it is replaced by 1 the remainder is 0, as required
    if (!vy_type_is_signed(t)) return VY_DO(f, SpvOpUMod, type, a, d.safe);
    uint32_t q = VY_DO(f, SpvOpSDiv, type, a, d.safe);
    return VY_DO(f, SpvOpISub, type, a, VY_DO(f, SpvOpIMul, type, q, d.safe));
}

uint32_t vy_emit_shift(vy_fn *f, uint32_t i)
{
    const vy_inst *in = &f->p->insts.data[i];
    vy_type t = (vy_type)in->type, ct = vy_id_type(f->p, vy_arg(f->p, i, 1));
    uint32_t type = vy_spv_type(f->m, t), mask = vy_type_bits(t) - 1, count;
    const vy_scalar *c = vy_id_const(f->p, vy_arg(f->p, i, 1));
    if (c)
        count = vy_spv_int(f->m, ct, (int64_t)(c->u & mask));
    else
        count = VY_DO(f, SpvOpBitwiseAnd, vy_spv_type(f->m, ct), arg(f, i, 1),
                      vy_spv_int(f->m, ct, mask));
    SpvOp right = vy_type_is_signed(t) ? SpvOpShiftRightArithmetic : SpvOpShiftRightLogical;
    return VY_DO(f, in->op == VY_OP_SHL ? SpvOpShiftLeftLogical : right, type, arg(f, i, 0), count);
}

// Vulkan has OpBitCount for 32 bits only.
uint32_t vy_emit_popcount(vy_fn *f, uint32_t i)
{
    vy_spv *m = f->m;
    vy_type t = (vy_type)f->p->insts.data[i].type;
    uint32_t type = vy_spv_type(m, t), u32 = vy_spv_type(m, VY_U32), x = arg(f, i, 0);
    if (vy_type_size(t) == 4) return VY_DO(f, SpvOpBitCount, type, x);
    uint32_t shift = vy_spv_u32(m, 32);
    uint32_t low = VY_DO(f, SpvOpUConvert, u32, x);
    uint32_t high = VY_DO(f, SpvOpUConvert, u32, VY_DO(f, SpvOpShiftRightLogical, type, x, shift));
    uint32_t n = VY_DO(f, SpvOpIAdd, u32, VY_DO(f, SpvOpBitCount, u32, low),
                       VY_DO(f, SpvOpBitCount, u32, high));
    return vy_cast_id(f, t, VY_U32, n);
}
