// SPDX-License-Identifier: MIT
// scalar.c: the value of one operation on scalars.  Constant folding and the interpreter share it,
// so a program computes the same, folded or not.
//
// Floats are computed in double and rounded to their type once.  For + - * / and sqrt the
// intermediate rounding to 53 bits is harmless: 53 >= 2p + 2 for p = 24 and 11 (S. A. Figueroa,
// "When is double rounding innocuous?", 1995).  fma is not in that list and has code of its own.
// Integers are computed in 64 bits and wrapped.
#include "ir/core/ir.h"
#include "ir/core/special.h"

#include <math.h>
#include <string.h>

// --------------------------------------------------------------------------------------- rounding
uint16_t vy_f16_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint32_t sign = (uint32_t)(bits >> 63) << 15;
    const int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
    uint64_t mantissa = bits & 0xfffffffffffffull;
    if (exponent == 1024 && mantissa) return 0x7e00;
    if (exponent > 15) return (uint16_t)(sign | 0x7c00);
    if (exponent < -25) return (uint16_t)sign; // below half the least subnormal
    // Keep 10 bits below the leading one, fewer for subnormals, and round to nearest even.  A carry
    // out of the mantissa goes into the exponent field, which is the right result.
    mantissa |= 1ull << 52;
    const int drop = exponent < -14 ? 42 + (-14 - exponent) : 42;
    uint64_t kept = mantissa >> drop;
    const uint64_t rest = mantissa & ((1ull << drop) - 1), half = 1ull << (drop - 1);
    if (rest > half || (rest == half && (kept & 1))) kept++;
    const uint32_t field = exponent < -14 ? 0 : (uint32_t)(exponent + 14) << 10;
    return (uint16_t)(sign | (field + (uint32_t)kept));
}

double vy_f16_value(uint16_t bits)
{
    const uint64_t sign = (uint64_t)(bits >> 15) << 63, exponent = bits >> 10 & 31;
    const uint64_t mantissa = bits & 1023;
    uint64_t wide;
    double v;
    if (exponent == 0) { // zero and subnormals
        v = (double)mantissa * 0x1p-24;
        return sign ? -v : v;
    }
    wide = sign | (exponent == 31 ? 2047 : exponent + 1023 - 15) << 52 | mantissa << 42;
    memcpy(&v, &wide, sizeof v);
    return v;
}

double vy_round_to(vy_type type, double value)
{
    if (type == VY_F32) return (double)(float)value;
    if (type == VY_F16) return vy_f16_value(vy_f16_bits(value));
    return value;
}

vy_scalar vy_wrap(vy_type type, vy_scalar v)
{
    switch (type) {
    case VY_BOOL: v.u = v.u != 0; break;
    case VY_I8: v.i = (int8_t)v.u; break;
    case VY_U8: v.u = (uint8_t)v.u; break;
    case VY_I16: v.i = (int16_t)v.u; break;
    case VY_U16: v.u = (uint16_t)v.u; break;
    case VY_I32: v.i = (int32_t)v.u; break;
    case VY_U32: v.u = (uint32_t)v.u; break;
    default: break;
    }
    return v;
}

bool vy_scalar_same(vy_type type, vy_scalar a, vy_scalar b)
{
    if (vy_type_is_float(type)) return (isnan(a.f) && isnan(b.f)) || a.u == b.u;
    return a.u == b.u;
}

// ------------------------------------------------------------------------------------------ memory
vy_scalar vy_scalar_read(vy_type type, const void *memory)
{
    vy_scalar v = {.u = 0};
    float f32;
    if (type == VY_F32) {
        memcpy(&f32, memory, sizeof f32);
        v.f = (double)f32;
        return v;
    }
    memcpy(&v, memory, vy_type_size(type));
    if (type == VY_F16) v.f = vy_f16_value((uint16_t)v.u);
    return vy_wrap(type, v);
}

void vy_scalar_write(vy_type type, vy_scalar value, void *memory)
{
    float f32;
    switch (type) {
    case VY_F32:
        f32 = (float)value.f;
        memcpy(memory, &f32, sizeof f32);
        return;
    case VY_F16: value.u = vy_f16_bits(value.f); break;
    case VY_BOOL: value.u = value.u != 0; break;
    default: break;
    }
    memcpy(memory, &value, vy_type_size(type));
}

// ------------------------------------------------------------------------- rows with a fold column
// Rows whose class is not allowed (NA) or that are BYHAND leave `ok` false.
#define VY_RESULT_F 0
#define VY_RESULT_N 0
#define VY_RESULT_I 0
#define VY_RESULT_IB 0
#define VY_RESULT_S 0
#define VY_RESULT_C 1
#define VY_RESULT_CB 1
#define VY_RESULT_FB 1
#define NA (ok = false, 0)
#define BYHAND (ok = false, 0)

static bool fold_float(vy_op op, double a, double b, vy_scalar *out)
{
    bool ok = true;
    switch (op) {
#define FOLD(f, s, u) f
#define X(id, text, form, rule, effect, fold, deriv, spirv, cost)                                  \
    case VY_OP_##id:                                                                               \
        if (VY_RESULT_##rule)                                                                      \
            out->u = (fold) != 0;                                                                  \
        else                                                                                       \
            out->f = (double)(fold);                                                               \
        break;
        VY_OPS(X)
#undef X
#undef FOLD
    default: ok = false; break;
    }
    return ok;
}

static bool fold_signed(vy_op op, int64_t a, int64_t b, vy_scalar *out)
{
    bool ok = true;
    switch (op) {
#define FOLD(f, s, u) s
#define X(id, text, form, rule, effect, fold, deriv, spirv, cost)                                  \
    case VY_OP_##id: out->i = (int64_t)(fold); break;
        VY_OPS(X)
#undef X
#undef FOLD
    default: ok = false; break;
    }
    return ok;
}

static bool fold_unsigned(vy_op op, uint64_t a, uint64_t b, vy_scalar *out)
{
    bool ok = true;
    switch (op) {
#define FOLD(f, s, u) u
#define X(id, text, form, rule, effect, fold, deriv, spirv, cost)                                  \
    case VY_OP_##id: out->u = (uint64_t)(fold); break;
        VY_OPS(X)
#undef X
#undef FOLD
    default: ok = false; break;
    }
    return ok;
}
#undef NA
#undef BYHAND

// ------------------------------------------------------------------------------------ rows by hand
static int64_t divide_signed(int64_t a, int64_t b, int64_t *rem)
{
    *rem = 0;
    if (b == 0) return 0;
    if (b == -1) return (int64_t)(0 - (uint64_t)a); // least / −1 wraps to least
    *rem = a % b;
    return a / b;
}

static uint32_t bits_of(vy_type type) { return vy_type_size(type) == 8 ? 64 : 32; }

static uint64_t popcount(uint64_t v)
{
    uint64_t n = 0;
    for (; v; v &= v - 1) n++;
    return n;
}

static bool hand_integer(vy_op op, vy_type type, const vy_scalar *x, vy_scalar *out)
{
    const bool is_signed = vy_type_is_signed(type);
    const uint32_t bits = bits_of(type), count = (uint32_t)(x[1].u & (bits - 1));
    int64_t rem;
    switch (op) {
    case VY_OP_DIV:
        if (is_signed)
            out->i = divide_signed(x[0].i, x[1].i, &rem);
        else
            out->u = x[1].u ? x[0].u / x[1].u : 0;
        return true;
    case VY_OP_REM:
        if (is_signed)
            divide_signed(x[0].i, x[1].i, &rem);
        else
            rem = x[1].u ? (int64_t)(x[0].u % x[1].u) : 0;
        out->i = rem;
        return true;
    case VY_OP_SHL: out->u = x[0].u << count; return true;
    case VY_OP_SHR: // values are sign- or zero-extended, so the shift of 64 bits is every type's
        if (is_signed && x[0].i < 0)
            out->u = ~(~x[0].u >> count);
        else
            out->u = x[0].u >> count;
        return true;
    case VY_OP_POPCOUNT: out->u = popcount(bits == 32 ? (uint32_t)x[0].u : x[0].u); return true;
    default: return false;
    }
}

// For f16, fma in double and then rounding gives the correctly rounded result: a·b has 22 bits, and
// a sum that does not fit 53 bits is further from every f16 midpoint than the bits it lost.
static double fma_in(vy_type type, double a, double b, double c)
{
    return type == VY_F32 ? (double)fmaf((float)a, (float)b, (float)c) : fma(a, b, c);
}

static double clamp(double x, double low, double high)
{
    const double raised = x > low ? x : low;
    return raised < high ? raised : high;
}

static bool hand_float(vy_op op, vy_type type, const vy_scalar *x, uint32_t aux, vy_scalar *out)
{
    switch (op) {
    case VY_OP_DIV: out->f = x[0].f / x[1].f; return true;
    case VY_OP_FMA: out->f = fma_in(type, x[0].f, x[1].f, x[2].f); return true;
    case VY_OP_CLAMP: out->f = clamp(x[0].f, x[1].f, x[2].f); return true;
    case VY_OP_POLYGAMMA: out->f = vy_ref_polygamma(aux, x[0].f); return true;
    default: return false;
    }
}

static vy_scalar float_to_int(vy_type to, double v)
{
    const bool is_signed = vy_type_is_signed(to);
    const uint32_t bits = bits_of(to);
    // 2^bits or 2^(bits-1): the first value above the type's range, exact in double.
    const double above = ldexp(1, (int)(is_signed ? bits - 1 : bits));
    vy_scalar r = {.u = 0};
    if (isnan(v)) return r;
    if (v >= above) {
        r.u = UINT64_MAX >> (64 - bits + is_signed);
    } else if (is_signed) {
        r.i = v <= -above ? (int64_t)(~0ull << (bits - 1)) : (int64_t)v;
    } else {
        r.u = v <= 0 ? 0 : (uint64_t)v;
    }
    return r;
}

// Integers are converted to f32 directly, since by way of double they would be rounded twice.  For
// f16 double is safe: what it cannot represent is far beyond 65504.
static double int_to_float(vy_type from, vy_type to, vy_scalar v)
{
    const bool is_signed = vy_type_is_signed(from);
    if (to == VY_F32) return (double)(is_signed ? (float)v.i : (float)v.u);
    return is_signed ? (double)v.i : (double)v.u;
}

static vy_scalar cast(vy_type from, vy_type to, vy_scalar v, bool f64)
{
    vy_scalar r = v;
    if (vy_type_is_float(from)) {
        if (to == VY_BOOL)
            r.u = v.f != 0;
        else if (!vy_type_is_float(to))
            r = float_to_int(to, v.f);
    } else if (vy_type_is_float(to)) {
        r.f = int_to_float(from, f64 ? VY_F64 : to, v);
    } else if (to == VY_BOOL) {
        r.u = v.u != 0;
    }
    return vy_type_is_float(to) ? r : vy_wrap(to, r);
}

// Between types of the same size.  In f64 mode too, a float has the bits of its own type.
static bool bitcast(vy_type from, vy_type to, vy_scalar v, vy_scalar *out)
{
    unsigned char memory[8] = {0};
    if (vy_type_size(from) != vy_type_size(to)) return false;
    vy_scalar_write(from, v, memory);
    *out = vy_scalar_read(to, memory);
    return true;
}

bool vy_scalar_eval(vy_op op, vy_type type, vy_type result, const vy_scalar *x, uint32_t aux,
                    bool f64, vy_scalar *out)
{
    if (op == VY_OP_SELECT) {
        *out = x[0].u ? x[1] : x[2];
        return true;
    }
    if (op == VY_OP_CANDIDATE) {
        *out = x[0];
        return true;
    }
    if (op == VY_OP_CAST) {
        *out = cast(type, result, x[0], f64);
        if (vy_type_is_float(result) && !f64) out->f = vy_round_to(result, out->f);
        return true;
    }
    if (op == VY_OP_BITCAST) return bitcast(type, result, x[0], out);
    const uint32_t arity = vy_op_infos[op].arity;
    const vy_scalar b = x[arity > 1];
    if (vy_type_is_float(type)) {
        const vy_type in = f64 ? VY_F64 : type;
        if (!hand_float(op, in, x, aux, out) && !fold_float(op, x[0].f, b.f, out)) return false;
        if (vy_type_is_float(result)) out->f = vy_round_to(f64 ? VY_F64 : result, out->f);
        return true;
    }
    // Two's complement: + - * and negation are computed unsigned, which cannot overflow.
    const bool modular = op == VY_OP_ADD || op == VY_OP_SUB || op == VY_OP_MUL || op == VY_OP_NEG ||
                         (op == VY_OP_ABS && x[0].i == INT64_MIN);
    bool ok;
    if (type != VY_BOOL && hand_integer(op, type, x, out))
        ok = true;
    else if (vy_type_is_signed(type) && !modular)
        ok = fold_signed(op, x[0].i, b.i, out);
    else
        ok = fold_unsigned(op, x[0].u, b.u, out);
    if (ok && op == VY_OP_NOT && type == VY_BOOL) out->u = !x[0].u; // ~1 is not false
    if (ok) *out = vy_wrap(result, *out);
    return ok;
}
