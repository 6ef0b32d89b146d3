// SPDX-License-Identifier: MIT
// numbers.c: functions that take numbers apart: signs, exponents, bits.
//
// All are exact.  Powers of two are made of the bits of an f32, for f64 as products of them: no
// 64-bit integer occurs, which a device may lack.  So the exponent of an f64 is found by
// comparisons, which bring it into the range of f32.
//
// Derivatives are those of the operations: x 2^n is linear in x, and an exponent is an integer.  It
// passes through a conversion from a float to an integer, which ends derivatives and which the path
// of a run notes (ir/eval/eval_path.c): frexp jumps at powers of two, where differences mean
// nothing.
#include "ir/build/edit.h"
#include "ir/build/library.h"

#include <math.h>

static vy_value integer(vy_builder *b, int64_t value) { return vy_int(b, VY_I32, value); }

// |x| or −|x|.  The sign is that of the bits: of −0 too.  At x = 0 the derivative is that of abs.
void vy_build_copysign(vy_builder *b, const vy_taken *x, vy_value *v)
{
    const vy_value sign = vy_bitcast(b, VY_I32, vy_cast(b, VY_F32, x[1].v[0]));
    const vy_value size = vy_call_of(b, "abs", x[0].v[0]);
    const vy_value minus = vy_neg(b, size);
    *v = vy_select(b, vy_lt(b, sign, integer(b, 0)), minus, size);
}

// ----------------------------------------------------------------------------------- powers of two
// 2^n as an f32, −126 ≤ n ≤ 127.
static vy_value power32(vy_builder *b, vy_value n)
{
    const vy_value biased = vy_add(b, n, integer(b, 127));
    return vy_bitcast(b, VY_F32, vy_shl(b, biased, integer(b, 23)));
}

// 2^n as an f64, −1022 ≤ n ≤ 1023: 2^(n mod 16) times the 16th power of 2^⌊n/16⌋, in an order in
// which nothing is subnormal.
static vy_value power64(vy_builder *b, vy_value n)
{
    vy_value p = vy_cast(b, VY_F64, power32(b, vy_shr(b, n, integer(b, 4))));
    for (int k = 0; k < 3; k++) p = vy_mul(b, p, p);
    const vy_value rest = power32(b, vy_and(b, n, integer(b, 15)));
    return vy_mul(b, vy_mul(b, vy_cast(b, VY_F64, rest), p), p);
}

static vy_value power(vy_builder *b, vy_type type, vy_value n)
{
    return type == VY_F64 ? power64(b, n) : power32(b, n);
}

// How much of 2^n one factor can be.  Where more follows, the first is no smaller than what keeps
// all digits of a product whose end would be rounded to zero or the least number: so only the last
// product rounds.
static vy_value factor(vy_builder *b, vy_type type, vy_value n)
{
    const int64_t most = type == VY_F64 ? 1023 : 127, least = type == VY_F64 ? -1022 : -126;
    const int64_t digits = type == VY_F64 ? 53 : 24;
    const vy_value down = vy_lt(b, n, integer(b, least));
    const vy_value limit = integer(b, most);
    return vy_min(b, vy_select(b, down, integer(b, least + digits), n), limit);
}

static vy_value clamp(vy_builder *b, vy_value n, int64_t low, int64_t high)
{
    return vy_call(b, "clamp", 3, (vy_value[]){n, integer(b, low), integer(b, high)});
}

// x 2^n: three factors reach from the least number to beyond the greatest, and back.
static vy_value scaled(vy_builder *b, vy_value x, vy_value n)
{
    const vy_type type = vy_value_type(b, x);
    const int64_t most = type == VY_F64 ? 1023 : 127, least = type == VY_F64 ? -1022 : -126;
    if (type == VY_F16) { // exactly in f32, and rounded once
        const vy_value p = power32(b, clamp(b, n, -60, 60));
        return vy_cast(b, VY_F16, vy_mul(b, vy_cast(b, VY_F32, x), p));
    }
    for (int k = 0; k < 2; k++) {
        const vy_value now = factor(b, type, n);
        x = vy_mul(b, x, power(b, type, now));
        n = vy_sub(b, n, now);
    }
    return vy_mul(b, x, power(b, type, clamp(b, n, least, most)));
}

void vy_build_ldexp(vy_builder *b, const vy_taken *x, vy_value *v)
{
    *v = scaled(b, x[0].v[0], x[1].v[0]);
}

// ------------------------------------------------------------------------------------------ frexp
static vy_value field(vy_builder *b, vy_value bits) // of the exponent, of a positive f32
{
    return vy_shr(b, bits, integer(b, 23));
}

// The e with 2^(e−1) ≤ x < 2^e, x > 0.  Of a subnormal one: of the integer that its bits are.
static vy_value exponent32(vy_builder *b, vy_value x)
{
    const vy_value bits = vy_bitcast(b, VY_I32, x);
    const vy_value tiny = vy_lt(b, bits, integer(b, 1 << 23));
    const vy_value other = vy_bitcast(b, VY_I32, vy_cast(b, VY_F32, bits));
    const vy_value bias = integer(b, 126);
    const vy_value e = vy_sub(b, field(b, vy_select(b, tiny, other, bits)), bias);
    return vy_select(b, tiny, vy_sub(b, e, integer(b, 149)), e);
}

static void divide_if(vy_builder *b, vy_value *x, vy_value *e, double least, double by, int64_t n)
{
    const vy_value large = vy_le(b, vy_float_like(b, *x, least), *x);
    *x = vy_select(b, large, vy_mul(b, *x, vy_float_like(b, *x, 1 / by)), *x);
    *e = vy_select(b, large, vy_add(b, *e, integer(b, n)), *e);
}

// The same of an f64: x becomes one of 2^−52 … 2^106, and an f32.  That may round up to a power of
// two, so e is one too large where x 2^−e is below a half.
static vy_value exponent64(vy_builder *b, vy_value x)
{
    const vy_value small = vy_lt(b, x, vy_float_like(b, x, 1));
    vy_value s = vy_select(b, small, vy_mul(b, x, vy_float_like(b, x, 0x1p1022)), x);
    const vy_value zero = integer(b, 0);
    vy_value e = vy_select(b, small, integer(b, -1022), zero);
    divide_if(b, &s, &e, 0x1p512, 0x1p512, 512);
    divide_if(b, &s, &e, 0x1p256, 0x1p256, 256);
    divide_if(b, &s, &e, 0x1p100, 0x1p150, 150);
    const vy_value k = exponent32(b, vy_cast(b, VY_F32, s));
    const vy_value back = vy_cast(b, VY_F64, power32(b, vy_neg(b, k)));
    const vy_value half = vy_float_like(b, s, 0.5);
    const vy_value over = vy_lt(b, vy_mul(b, s, back), half);
    return vy_add(b, e, vy_sub(b, k, vy_cast(b, VY_I32, over)));
}

// A mantissa of 0.5 … 1 and the exponent; 0, infinities and NaN are themselves with exponent 0.
void vy_build_frexp(vy_builder *b, const vy_taken *x, vy_value *v)
{
    const vy_value a = x[0].v[0], size = vy_call_of(b, "abs", a);
    const bool wide = vy_value_type(b, a) == VY_F64;
    const vy_value e = wide ? exponent64(b, size) : exponent32(b, vy_cast(b, VY_F32, size));
    const vy_value finite = vy_lt(b, size, vy_float_like(b, a, INFINITY));
    const vy_value usual = vy_and(b, finite, vy_lt(b, vy_float_like(b, a, 0), size));
    const vy_value is = vy_select(b, usual, e, integer(b, 0));
    v[1] = vy_cast(b, VY_I32, vy_cast(b, VY_F32, is));
    v[0] = scaled(b, a, vy_neg(b, v[1]));
}

// --------------------------------------------------------------------------------------- functions
void vy_build_sincos(vy_builder *b, const vy_taken *x, vy_value *v)
{
    v[0] = vy_call_of(b, "sin", x[0].v[0]);
    v[1] = vy_call_of(b, "cos", x[0].v[0]);
}

static vy_type unsigned_of(vy_type t) { return t == VY_I32 ? VY_U32 : t == VY_I64 ? VY_U64 : t; }

// The bits above the highest that is set: all below it are set first.
void vy_build_clz(vy_builder *b, const vy_taken *x, vy_value *v)
{
    const vy_type t = vy_value_type(b, x[0].v[0]), u = unsigned_of(t);
    const int64_t bits = vy_type_size(t) * 8;
    vy_value a = t == u ? x[0].v[0] : vy_bitcast(b, u, x[0].v[0]);
    for (int64_t by = 1; by < bits; by *= 2) a = vy_or(b, a, vy_shr(b, a, vy_int(b, u, by)));
    const vy_value used = vy_call_of(b, "popcount", a), n = vy_sub(b, vy_int(b, u, bits), used);
    *v = t == u ? n : vy_bitcast(b, t, n);
}

// The bits below the lowest that is set.
void vy_build_ctz(vy_builder *b, const vy_taken *x, vy_value *v)
{
    const vy_value a = x[0].v[0], unit = vy_int(b, vy_value_type(b, a), 1);
    const vy_value less = vy_sub(b, a, unit);
    *v = vy_call_of(b, "popcount", vy_and(b, vy_not(b, a), less));
}
