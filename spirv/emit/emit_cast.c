// SPDX-License-Identifier: MIT
// emit_cast.c: conversions, defined for every operand.
//
//   float → integer   truncates and saturates, NaN gives 0.  SPIR-V is undefined outside the range,
//                     so only values inside it are converted: in = lo ≤ x < hi;
//                     (int)(in ? x : 0); then x ≥ hi gives the greatest, x < lo the least.
//                     hi is a power of two, exact in every float type; f16 is converted via f32,
//                     which holds all limits.
//   integer → f16     via f32: integers that f32 rounds are beyond the range of f16 anyway
//   f64 → f16         via f32 rounded to odd, which avoids double rounding
#include "spirv/emit/emit.h"

static uint32_t from_bool(vy_fn *f, vy_type to, uint32_t v)
{
    uint32_t one = vy_type_is_float(to) ? vy_spv_float(f->m, to, 1) : vy_spv_int(f->m, to, 1);
    return VY_DO(f, SpvOpSelect, vy_spv_type(f->m, to), v, one, vy_spv_zero(f->m, to));
}

static uint32_t to_bool(vy_fn *f, vy_type from, uint32_t v)
{
    SpvOp op = vy_type_is_float(from) ? SpvOpFUnordNotEqual : SpvOpINotEqual;
    return VY_DO(f, op, vy_bool_type(f), v, vy_spv_zero(f->m, from));
}

static uint32_t between_integers(vy_fn *f, vy_type to, vy_type from, uint32_t v)
{
    vy_spv *m = f->m;
    if (vy_type_size(to) == vy_type_size(from))
        return VY_DO(f, SpvOpBitcast, vy_spv_type(m, to), v);
    const bool widens = from == VY_I32 && vy_type_size(to) == 8;
    if (widens && m->hooks->widen) return m->hooks->widen(f, to, v);
    // OpSConvert gives any integer type and extends the sign; OpUConvert gives unsigned ones only.
    if (vy_type_is_signed(from)) return VY_DO(f, SpvOpSConvert, vy_spv_type(m, to), v);
    vy_type u = vy_unsigned_of(to);
    v = VY_DO(f, SpvOpUConvert, vy_spv_type(m, u), v);
    return u == to ? v : VY_DO(f, SpvOpBitcast, vy_spv_type(m, to), v);
}

static uint32_t to_integer(vy_fn *f, vy_type to, vy_type from, uint32_t v)
{
    vy_spv *m = f->m;
    bool is_signed = vy_type_is_signed(to);
    uint32_t bits = vy_type_bits(to), type = vy_spv_type(m, to), bools = vy_bool_type(f);
    double hi = bits == 64 ? (is_signed ? 0x1p63 : 0x1p64) : (is_signed ? 0x1p31 : 0x1p32);
    double lo = is_signed ? -hi : 0;
    uint32_t above = VY_DO(f, SpvOpFOrdGreaterThanEqual, bools, v, vy_spv_float(m, from, hi));
    uint32_t from_lo = VY_DO(f, SpvOpFOrdGreaterThanEqual, bools, v, vy_spv_float(m, from, lo));
    uint32_t below_hi = VY_DO(f, SpvOpFOrdLessThan, bools, v, vy_spv_float(m, from, hi));
    uint32_t inside = VY_DO(f, SpvOpLogicalAnd, bools, from_lo, below_hi);
    v = VY_DO(f, SpvOpSelect, vy_spv_type(m, from), inside, v, vy_spv_zero(m, from));
    uint32_t r = VY_DO(f, is_signed ? SpvOpConvertFToS : SpvOpConvertFToU, type, v);
    uint64_t greatest = UINT64_MAX >> (is_signed ? 65 - bits : 64 - bits);
    r = VY_DO(f, SpvOpSelect, type, above, vy_spv_const(m, to, (vy_scalar){.u = greatest}), r);
    return r;
}

// The least value, where a signed result was below the range; NaN is not below it.
static uint32_t saturate_below(vy_fn *f, vy_type to, vy_type from, uint32_t v, uint32_t r)
{
    vy_spv *m = f->m;
    double lo = vy_type_bits(to) == 64 ? -0x1p63 : -0x1p31;
    uint32_t below = VY_DO(f, SpvOpFOrdLessThan, vy_bool_type(f), v, vy_spv_float(m, from, lo));
    int64_t least = vy_type_bits(to) == 64 ? INT64_MIN : INT32_MIN;
    return VY_DO(f, SpvOpSelect, vy_spv_type(m, to), below, vy_spv_int(m, to, least), r);
}

// y = f32(x), moved towards zero if it is beyond x, its last bit set if it is inexact.
static uint32_t narrow_to_odd(vy_fn *f, uint32_t x)
{
    vy_spv *m = f->m;
    uint32_t f32 = vy_spv_type(m, VY_F32), f64 = vy_spv_type(m, VY_F64),
             u32 = vy_spv_type(m, VY_U32);
    uint32_t bools = vy_bool_type(f), one = vy_spv_u32(m, 1), zero = vy_spv_u32(m, 0);
    uint32_t y = VY_DO(f, SpvOpFConvert, f32, x), back = VY_DO(f, SpvOpFConvert, f64, y);
    uint32_t bits = VY_DO(f, SpvOpBitcast, u32, y);
    uint32_t beyond = VY_DO(f, SpvOpFOrdGreaterThan, bools, VY_EXT(f, GLSLstd450FAbs, f64, back),
                            VY_EXT(f, GLSLstd450FAbs, f64, x));
    uint32_t inexact = VY_DO(f, SpvOpFOrdNotEqual, bools, back, x);
    bits = VY_DO(f, SpvOpISub, u32, bits, VY_DO(f, SpvOpSelect, u32, beyond, one, zero));
    bits = VY_DO(f, SpvOpBitwiseOr, u32, bits, VY_DO(f, SpvOpSelect, u32, inexact, one, zero));
    return VY_DO(f, SpvOpBitcast, f32, bits);
}

uint32_t vy_cast_id(vy_fn *f, vy_type to, vy_type from, uint32_t v)
{
    bool to_float = vy_type_is_float(to), from_float = vy_type_is_float(from);
    if (to == from) return v;
    if (from == VY_BOOL) return from_bool(f, to, v);
    if (to == VY_BOOL) return to_bool(f, from, v);
    if (!to_float && !from_float) return between_integers(f, to, from, v);
    if (from_float && !to_float) {
        if (from == VY_F16) v = VY_DO(f, SpvOpFConvert, vy_spv_type(f->m, from = VY_F32), v);
        uint32_t r = to_integer(f, to, from, v);
        return vy_type_is_signed(to) ? saturate_below(f, to, from, v, r) : r;
    }
    if (!from_float) {
        SpvOp op = vy_type_is_signed(from) ? SpvOpConvertSToF : SpvOpConvertUToF;
        v = VY_DO(f, op, vy_spv_type(f->m, to == VY_F16 ? VY_F32 : to), v);
        return to == VY_F16 ? VY_DO(f, SpvOpFConvert, vy_spv_type(f->m, to), v) : v;
    }
    if (from == VY_F64 && to == VY_F16) v = narrow_to_odd(f, v);
    return VY_DO(f, SpvOpFConvert, vy_spv_type(f->m, to), v);
}
