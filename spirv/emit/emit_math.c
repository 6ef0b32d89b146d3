// SPDX-License-Identifier: MIT
// emit_math.c: elementary functions: our own (library.c) or the device's (GLSL.std.450).
//
//             default                  --fast-math            --precise, @exact
//   f32       by the row in ir/core/ops.h   native, where it is    ours, bounded
//   f64       ours, bounded: GLSL.std.450 has none of them for f64
//   f16       via f32
//
// By the row: GLSL.std.450 leaves its functions undefined at nan, infinities and outside their
// domains, and Vulkan bounds the error of most of them only absolutely or not at all.  So the
// default mode calls a device's function only where Vulkan's guarantee is good enough, and adds
// selects for the cases that it excludes (MENDED).  Native functions are mended, too, where the
// formula that Vulkan's bound allows breaks down for finite arguments (tanh of large x, asinh of
// negative x).  pow with a small constant exponent becomes multiplications, which is at least as
// accurate.
#include "spirv/emit/emit.h"

#include <math.h>

static uint32_t pow_int(vy_fn *f, uint32_t type, uint32_t x, uint32_t n)
{
    uint32_t result = 0;
    for (;; n >>= 1) {
        if (n & 1) result = result ? VY_DO(f, SpvOpFMul, type, result, x) : x;
        if (n <= 1) return result;
        x = VY_DO(f, SpvOpFMul, type, x, x);
    }
}

// x to a constant power by multiplication, or 0 where that would be less accurate.  Negative powers
// are (1/x)ⁿ and not 1/xⁿ: xⁿ may be subnormal, which a device may flush, although x⁻ⁿ is normal.
static uint32_t pow_constant(vy_fn *f, vy_type t, uint32_t x, double y, bool bounded)
{
    // The bounded function is within 1 ULP.  Each product adds half an ULP, the division up to 2.5,
    // which the power multiplies.
    double most = bounded ? 4 : 16, least = bounded ? -1 : -8;
    uint32_t type = vy_spv_type(f->m, t);
    if (y == 0) return vy_spv_float(f->m, t, 1);
    if (y != floor(y) || y > most || y < least) return 0;
    if (y < 0) x = VY_DO(f, SpvOpFDiv, type, vy_spv_float(f->m, t, 1), x);
    return pow_int(f, type, x, (uint32_t)fabs(y));
}

// The device's |x|^y, then sign and special cases; `known` is y if it is constant.
static uint32_t pow_native(vy_fn *f, uint32_t x, uint32_t y, const vy_scalar *known)
{
    vy_spv *m = f->m;
    uint32_t type = vy_spv_type(m, VY_F32), bools = vy_bool_type(f), zero = vy_spv_zero(m, VY_F32);
    uint32_t p = VY_EXT(f, GLSLstd450Pow, type, VY_EXT(f, GLSLstd450FAbs, type, x), y);
    // Negative base: C's for integral exponents, else NaN.
    uint32_t integral = VY_DO(f, SpvOpFOrdEqual, bools, VY_EXT(f, GLSLstd450Floor, type, y), y);
    uint32_t half = VY_DO(f, SpvOpFMul, type, y, vy_spv_float(m, VY_F32, 0.5));
    uint32_t odd = VY_DO(f, SpvOpFOrdNotEqual, bools, VY_EXT(f, GLSLstd450Floor, type, half), half);
    uint32_t minus = VY_DO(f, SpvOpFNegate, type, p);
    uint32_t n = VY_DO(f, SpvOpSelect, type, odd, minus, p);
    n = VY_DO(f, SpvOpSelect, type, integral, n, vy_spv_float(m, VY_F32, NAN));
    uint32_t r = VY_DO(f, SpvOpSelect, type, VY_DO(f, SpvOpFOrdLessThan, bools, x, zero), n, p);
    uint32_t at_zero = zero;
    if (known) {
        if (known->f < 0) at_zero = vy_spv_float(m, VY_F32, INFINITY);
    } else {
        at_zero = VY_DO(f, SpvOpSelect, type, VY_DO(f, SpvOpFOrdLessThan, bools, y, zero),
                        vy_spv_float(m, VY_F32, INFINITY), zero);
    }
    r = VY_DO(f, SpvOpSelect, type, VY_DO(f, SpvOpFOrdEqual, bools, x, zero), at_zero, r);
    if (known) return r;
    return VY_DO(f, SpvOpSelect, type, VY_DO(f, SpvOpFOrdEqual, bools, y, zero),
                 vy_spv_float(m, VY_F32, 1), r);
}

static uint32_t atan2_native(vy_fn *f, uint32_t y, uint32_t x)
{
    uint32_t type = vy_spv_type(f->m, VY_F32), bools = vy_bool_type(f),
             zero = vy_spv_zero(f->m, VY_F32);
    uint32_t origin = VY_DO(f, SpvOpLogicalAnd, bools, VY_DO(f, SpvOpFOrdEqual, bools, x, zero),
                            VY_DO(f, SpvOpFOrdEqual, bools, y, zero));
    return VY_DO(f, SpvOpSelect, type, origin, zero, VY_EXT(f, GLSLstd450Atan2, type, y, x));
}

// tanh is ±1 beyond ±20; (eˣ − e⁻ˣ)/(eˣ + e⁻ˣ) would be ∞/∞ beyond 88.
static uint32_t tanh_native(vy_fn *f, uint32_t x)
{
    vy_spv *m = f->m;
    uint32_t type = vy_spv_type(m, VY_F32), bools = vy_bool_type(f);
    uint32_t hi = vy_spv_float(m, VY_F32, 20), lo = vy_spv_float(m, VY_F32, -20);
    x = VY_DO(f, SpvOpSelect, type, VY_DO(f, SpvOpFOrdLessThan, bools, hi, x), hi, x);
    x = VY_DO(f, SpvOpSelect, type, VY_DO(f, SpvOpFOrdLessThan, bools, x, lo), lo, x);
    return VY_EXT(f, GLSLstd450Tanh, type, x);
}

// log(x + √(x²+1)) cancels for negative x: the function is odd.
static uint32_t asinh_native(vy_fn *f, uint32_t x)
{
    uint32_t type = vy_spv_type(f->m, VY_F32), zero = vy_spv_zero(f->m, VY_F32);
    uint32_t r = VY_EXT(f, GLSLstd450Asinh, type, VY_EXT(f, GLSLstd450FAbs, type, x));
    uint32_t negative = VY_DO(f, SpvOpFOrdLessThan, vy_bool_type(f), x, zero);
    return VY_DO(f, SpvOpSelect, type, negative, VY_DO(f, SpvOpFNegate, type, r), r);
}

// The device's 1/√x is undefined for x ≤ 0; ours is ±inf at ±0, 0 at inf, else nan.  Tested on the
// bits, as compilers may assume that there are no nans.
static uint32_t rsqrt_mended(vy_fn *f, uint32_t i, uint32_t x)
{
    vy_spv *m = f->m;
    if (m->hooks->root) return m->hooks->root(f, i, GLSLstd450InverseSqrt, x);
    uint32_t type = vy_spv_type(m, VY_F32), u32 = vy_spv_type(m, VY_U32), bools = vy_bool_type(f);
    uint32_t inf = vy_spv_u32(m, 0x7F800000u), zero = vy_spv_u32(m, 0), one = vy_spv_u32(m, 1);
    uint32_t y = VY_DO(f, SpvOpBitcast, u32, VY_EXT(f, GLSLstd450InverseSqrt, type, x));
    uint32_t bits = VY_DO(f, SpvOpBitcast, u32, x);
    uint32_t inside = VY_DO(f, SpvOpULessThan, bools, VY_DO(f, SpvOpISub, u32, bits, one),
                            vy_spv_u32(m, 0x7F7FFFFFu));
    uint32_t is_zero =
        VY_DO(f, SpvOpIEqual, bools, VY_DO(f, SpvOpShiftLeftLogical, u32, bits, one), zero);
    uint32_t is_inf = VY_DO(f, SpvOpIEqual, bools, bits, inf);
    uint32_t end = VY_DO(f, SpvOpSelect, u32, is_inf, zero, vy_spv_u32(m, 0x7FC00000u));
    end = VY_DO(f, SpvOpSelect, u32, is_zero, VY_DO(f, SpvOpBitwiseOr, u32, bits, inf), end);
    return VY_DO(f, SpvOpBitcast, type, VY_DO(f, SpvOpSelect, u32, inside, y, end));
}

static uint32_t native(vy_fn *f, vy_op op, uint32_t code, const uint32_t *x, const vy_scalar *y)
{
    switch (op) {
    case VY_OP_POW: return pow_native(f, x[0], x[1], y);
    case VY_OP_ATAN2: return atan2_native(f, x[0], x[1]);
    case VY_OP_TANH: return tanh_native(f, x[0]);
    case VY_OP_ASINH: return asinh_native(f, x[0]);
    default: return VY_EXT(f, code, vy_spv_type(f->m, VY_F32), x[0]);
    }
}

// 1 to any power, of NaN too.  A driver that would make a constant of the function, and then fold
// what is zero in its derivative, gets one that it does not recognise (lavapipe_zeros.c).
static uint32_t pow_of_one(vy_fn *f, vy_type t)
{
    const uint32_t one = vy_spv_float(f->m, t, 1), zero = vy_spv_zero(f->m, t);
    if (!f->m->hooks->factor) return one;
    return VY_DO(f, SpvOpFAdd, vy_spv_type(f->m, t), one, f->m->hooks->factor(f, t, zero));
}

static bool is_one(const vy_scalar *x) { return x && x->f == 1; }

uint32_t vy_emit_function(vy_fn *f, uint32_t i, uint32_t code, vy_math own)
{
    const vy_inst *in = &f->p->insts.data[i];
    vy_op op = (vy_op)in->op;
    vy_type t = (vy_type)in->type, work = t == VY_F16 ? VY_F32 : t;
    uint32_t x[2] = {0, 0}, r = 0;
    for (uint32_t k = 0; k < in->nargs && k < 2; k++)
        x[k] = vy_cast_id(f, work, t, vy_val(f, vy_arg(f->p, i, k)));
    bool bounded = work != VY_F32 || f->exact;
    const vy_scalar *y = op == VY_OP_POW ? vy_id_const(f->p, vy_arg(f->p, i, 1)) : NULL;
    if (y) r = pow_constant(f, work, x[0], y->f, bounded);
    if (op == VY_OP_POW && is_one(vy_id_const(f->p, vy_arg(f->p, i, 0)))) r = pow_of_one(f, work);
    if (r) return vy_cast_id(f, t, work, r);
    if (!bounded && code && f->m->options->fast_math)
        r = native(f, op, code, x, y);
    else if (!bounded && own == VY_MATH_MENDED)
        r = rsqrt_mended(f, i, x[0]);
    else
        r = vy_library_call(f, op, work, !bounded && own == VY_MATH_PLAIN, in->aux, in->nargs, x);
    return vy_cast_id(f, t, work, r);
}

// Sqrt is undefined for x < 0, where the language requires nan.
uint32_t vy_emit_sqrt(vy_fn *f, uint32_t i)
{
    vy_spv *m = f->m;
    vy_type t = (vy_type)f->p->insts.data[i].type;
    uint32_t type = vy_spv_type(m, t), x = vy_val(f, vy_arg(f->p, i, 0));
    if (m->hooks->root && t == VY_F32) return m->hooks->root(f, i, GLSLstd450Sqrt, x);
    uint32_t y = VY_EXT(f, GLSLstd450Sqrt, type, x);
    if (f->library || (m->options->fast_math && !f->exact))
        return y; // the library calls it with x ≥ 0
    uint32_t negative = VY_DO(f, SpvOpFOrdLessThan, vy_bool_type(f), x, vy_spv_zero(m, t));
    return VY_DO(f, SpvOpSelect, type, negative, vy_spv_float(m, t, NAN), y);
}
