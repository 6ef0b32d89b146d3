// SPDX-License-Identifier: MIT
// emit_math.c: elementary functions: the device's (GLSL.std.450) or our own (library.c).
//
//             default            --precise, @exact
//   f32       MATH native,       ours
//             LIB ours
//   f64       ours: GLSL.std.450 has none of them for f64
//   f16       by way of f32
//
// Native functions are mended where GLSL leaves them undefined but the language does not, or where
// the formula that Vulkan's bound allows breaks down (tanh of large x, asinh of negative x).  pow
// with a small constant exponent is multiplied out, which is at least as accurate.
#include "spirv/emit.h"

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

// x to a constant power by multiplication, or 0 where that would be less accurate.
static uint32_t pow_constant(vy_fn *f, vy_type t, uint32_t x, double y, bool native)
{
    double most = native ? 16 : 4; // ours is good to 4 ULP; each product costs half of one
    uint32_t type = vy_spv_type(f->m, t);
    if (y == 0) return vy_spv_float(f->m, t, 1);
    if (y != floor(y) || fabs(y) > (y < 0 ? most / 2 : most)) return 0;
    uint32_t r = pow_int(f, type, x, (uint32_t)fabs(y));
    return y < 0 ? VY_DO(f, SpvOpFDiv, type, vy_spv_float(f->m, t, 1), r) : r;
}

// |x|^y by the device, then sign and special cases; `known` is y if it is constant.
static uint32_t pow_native(vy_fn *f, uint32_t x, uint32_t y, const vy_scalar *known)
{
    vy_spv *m = f->m;
    uint32_t type = vy_spv_type(m, VY_F32), bools = vy_bool_type(f), zero = vy_spv_zero(m, VY_F32);
    uint32_t p = VY_EXT(f, GLSLstd450Pow, type, VY_EXT(f, GLSLstd450FAbs, type, x), y);
    // Negative base: C's for integral exponents, else NaN.
    uint32_t whole = VY_DO(f, SpvOpFOrdEqual, bools, VY_EXT(f, GLSLstd450Floor, type, y), y);
    uint32_t half = VY_DO(f, SpvOpFMul, type, y, vy_spv_float(m, VY_F32, 0.5));
    uint32_t odd = VY_DO(f, SpvOpFOrdNotEqual, bools, VY_EXT(f, GLSLstd450Floor, type, half), half);
    uint32_t minus = VY_DO(f, SpvOpFNegate, type, p);
    uint32_t n = VY_DO(f, SpvOpSelect, type, odd, minus, p);
    n = VY_DO(f, SpvOpSelect, type, whole, n, vy_spv_float(m, VY_F32, NAN));
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

// Beyond ±20 tanh is ±1; (eˣ − e⁻ˣ)/(eˣ + e⁻ˣ) would be ∞/∞ beyond 88.
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

uint32_t vy_emit_function(vy_fn *f, uint32_t i, uint32_t code)
{
    const vy_inst *in = &f->p->insts.data[i];
    vy_op op = (vy_op)in->op;
    vy_type t = (vy_type)in->type, work = t == VY_F16 ? VY_F32 : t;
    uint32_t x[2] = {0, 0}, r = 0;
    for (uint32_t k = 0; k < in->nargs && k < 2; k++)
        x[k] = vy_cast_id(f, work, t, vy_val(f, vy_arg(f->p, i, k)));
    bool has_native = code || op == VY_OP_POW || op == VY_OP_ATAN2;
    bool use_native = work == VY_F32 && has_native && !f->exact;
    const vy_scalar *y = op == VY_OP_POW ? vy_id_const(f->p, vy_arg(f->p, i, 1)) : NULL;
    if (y) r = pow_constant(f, work, x[0], y->f, use_native);
    if (r) return vy_cast_id(f, t, work, r);
    if (use_native)
        r = native(f, op, code, x, y);
    else
        r = vy_library_call(f, op, work, in->aux, in->nargs, x);
    return vy_cast_id(f, t, work, r);
}
