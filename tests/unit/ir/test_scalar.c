// SPDX-License-Identifier: MIT
// test_scalar.c: every PURE row of ir/core/ops.h on constants, against values worked out by hand or
// with libm, and the conversions of f16.
#include "ir/core/ir.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#define NAN_ ((double)NAN)
#define INF ((double)INFINITY)

static bool seen[VY_OP_COUNT];

static vy_scalar F(double v) { return (vy_scalar){.f = v}; }
static vy_scalar I(int64_t v) { return (vy_scalar){.i = v}; }
static vy_scalar U(uint64_t v) { return (vy_scalar){.u = v}; }

static vy_scalar run(vy_op op, vy_type type, vy_type result, vy_scalar a, vy_scalar b, vy_scalar c,
                     bool f64)
{
    const vy_scalar args[3] = {a, b, c};
    vy_scalar out = {.u = 0xdeadbeef};
    seen[op] = true;
    if (!vy_scalar_eval(op, type, result, args, 0, f64, &out))
        fail_msg("%s on %s has no value", vy_op_infos[op].id, vy_type_name(type));
    return out;
}

static vy_scalar run2(vy_op op, vy_type type, vy_scalar a, vy_scalar b)
{
    const vy_type result = vy_rule_type(vy_op_infos[op].rule, type);
    return run(op, type, result, a, b, a, false);
}

static void same(vy_type type, vy_scalar got, vy_scalar want)
{
    if (vy_scalar_same(type, got, want)) return;
    if (vy_type_is_float(type))
        fail_msg("got %a, expected %a", got.f, want.f);
    else
        fail_msg("got %lld, expected %lld", (long long)got.i, (long long)want.i);
}

#define CHECK_F(op, type, a, b, want) same(type, run2(VY_OP_##op, type, F(a), F(b)), F(want))
#define CHECK_I(op, type, a, b, want) same(type, run2(VY_OP_##op, type, I(a), I(b)), I(want))
#define CHECK_U(op, type, a, b, want) same(type, run2(VY_OP_##op, type, U(a), U(b)), U(want))
#define CHECK_FB(op, type, a, b, want) same(VY_BOOL, run2(VY_OP_##op, type, F(a), F(b)), U(want))
#define CHECK_IB(op, type, a, b, want) same(VY_BOOL, run2(VY_OP_##op, type, I(a), I(b)), U(want))

// ------------------------------------------------------------------------------------------ floats
static void test_float_arithmetic(void **state)
{
    (void)state;
    CHECK_F(ADD, VY_F32, 16777216, 1, 16777216); // tie to even
    CHECK_F(ADD, VY_F32, 16777216, 3, 16777220);
    CHECK_F(ADD, VY_F64, 16777216, 1, 16777217);
    CHECK_F(ADD, VY_F16, 2048, 1, 2048);
    CHECK_F(ADD, VY_F16, 2048, 3, 2052);
    CHECK_F(ADD, VY_F32, INF, -INF, NAN_);
    CHECK_F(ADD, VY_F32, -0.0, -0.0, -0.0);
    CHECK_F(SUB, VY_F32, 1, 1, 0.0);
    CHECK_F(SUB, VY_F32, 3.4028234663852886e38, -3.4028234663852886e38, INF);
    CHECK_F(MUL, VY_F32, 1e-30f, 1e-30f, 0.0);
    CHECK_F(MUL, VY_F32, 0x1p-126, 0x1p-10, 0x1p-136); // subnormal, kept
    CHECK_F(MUL, VY_F16, 256, 256, INF);
    CHECK_F(MUL, VY_F32, 0, INF, NAN_);
    CHECK_F(DIV, VY_F32, 1, 3, (double)(1.0f / 3.0f));
    CHECK_F(DIV, VY_F64, 1, 3, 1.0 / 3.0);
    CHECK_F(DIV, VY_F32, 1, -0.0, -INF);
    CHECK_F(DIV, VY_F32, 0, 0, NAN_);
    CHECK_F(NEG, VY_F32, 0.0, 0, -0.0);
    CHECK_F(ABS, VY_F32, -0.0, 0, 0.0);
    CHECK_F(ABS, VY_F64, -2.5, 0, 2.5);
    CHECK_F(SIGN, VY_F32, -3, 0, -1);
    CHECK_F(SIGN, VY_F32, -0.0, 0, 0.0);
    CHECK_F(SIGN, VY_F32, NAN_, 0, 0.0);
    CHECK_F(SQRT, VY_F32, 2, 0, (double)sqrtf(2.0f));
    CHECK_F(SQRT, VY_F32, -1, 0, NAN_);
    CHECK_F(SQRT, VY_F32, -0.0, 0, -0.0);
    CHECK_F(STOP_GRAD, VY_F32, 1.5, 0, 1.5);
    CHECK_F(STRAIGHT_THROUGH, VY_F32, 1.5, 2.5, 1.5);
    CHECK_F(DERIVE_AS, VY_F32, 1.5, 2.5, 1.5);
    same(VY_I32, run(VY_OP_AT_LEAST, VY_I32, VY_I32, I(-7), I(9), I(0), false), I(-7));
    same(VY_U32, run(VY_OP_AT_LEAST, VY_U32, VY_U32, U(7), U(9), U(0), false), U(7));
}

// min is a<b ? a : b and max a>b ? a : b, bit for bit: a tie and a NaN give the second operand.
static void test_min_max(void **state)
{
    (void)state;
    CHECK_F(MIN, VY_F32, 1, 2, 1);
    CHECK_F(MIN, VY_F32, 0.0, -0.0, -0.0);
    CHECK_F(MIN, VY_F32, -0.0, 0.0, 0.0);
    CHECK_F(MIN, VY_F32, NAN_, 1, 1);
    CHECK_F(MIN, VY_F32, 1, NAN_, NAN_);
    CHECK_F(MAX, VY_F32, 1, 2, 2);
    CHECK_F(MAX, VY_F32, 0.0, -0.0, -0.0);
    CHECK_F(MAX, VY_F64, -0.0, 0.0, 0.0);
    CHECK_F(MAX, VY_F16, NAN_, 1, 1);
    CHECK_F(MAX, VY_F32, 1, NAN_, NAN_);
    CHECK_I(MIN, VY_I32, -1, 1, -1);
    CHECK_I(MAX, VY_I64, INT64_MIN, INT64_MAX, INT64_MAX);
    CHECK_U(MIN, VY_U32, 0xffffffff, 1, 1);
    CHECK_U(MAX, VY_U64, UINT64_MAX, 1, UINT64_MAX);
}

static void test_fma(void **state)
{
    (void)state;
    const double e = 0x1p-12, a = 1 + e; // a² = 1 + 2^-11 + 2^-24, the last bit is a f32 tie
    same(VY_F32, run(VY_OP_FMA, VY_F32, VY_F32, F(a), F(a), F(0x1p-60), false),
         F(1 + 0x1p-11 + 0x1p-23)); // twice rounded it would be the even neighbour below
    same(VY_F32, run(VY_OP_FMA, VY_F32, VY_F32, F(a), F(a), F(-0x1p-60), false), F(1 + 0x1p-11));
    same(VY_F32, run(VY_OP_FMA, VY_F32, VY_F32, F(a), F(a), F(0), false), F(1 + 0x1p-11));
    same(VY_F64, run(VY_OP_FMA, VY_F64, VY_F64, F(1 + 0x1p-27), F(1 - 0x1p-27), F(-1), false),
         F(-0x1p-54));
    same(VY_F64, run(VY_OP_FMA, VY_F32, VY_F32, F(a), F(a), F(0), true), F(a * a));
    // f16: (1 + 2^-10)² = 1 + 2^-9 + 2^-20; adding 2^11 makes a tie broken by the small part.
    same(VY_F16, run(VY_OP_FMA, VY_F16, VY_F16, F(1 + 0x1p-10), F(1 + 0x1p-10), F(2048), false),
         F(2050));
    same(VY_F16, run(VY_OP_FMA, VY_F16, VY_F16, F(1), F(1), F(2048), false), F(2048));
    same(VY_F16, run(VY_OP_FMA, VY_F16, VY_F16, F(256), F(256), F(-16), false), F(INF));
    same(VY_F16, run(VY_OP_FMA, VY_F16, VY_F16, F(256), F(256), F(-32), false), F(65504));
}

static void test_comparisons(void **state)
{
    (void)state;
    CHECK_FB(EQ, VY_F32, 0.0, -0.0, 1);
    CHECK_FB(EQ, VY_F32, NAN_, NAN_, 0);
    CHECK_FB(NE, VY_F32, NAN_, NAN_, 1);
    CHECK_FB(NE, VY_F32, 1, 1, 0);
    CHECK_FB(LT, VY_F32, 1, 2, 1);
    CHECK_FB(LT, VY_F32, 1, NAN_, 0);
    CHECK_FB(LE, VY_F32, 2, 2, 1);
    CHECK_FB(LE, VY_F32, NAN_, 2, 0);
    CHECK_IB(LT, VY_I32, -1, 1, 1);
    CHECK_IB(LT, VY_U32, 0xffffffff, 1, 0);
    CHECK_IB(LE, VY_I64, INT64_MIN, INT64_MIN, 1);
    CHECK_IB(EQ, VY_U64, 5, 5, 1);
    CHECK_IB(NE, VY_BOOL, 1, 0, 1);
    CHECK_IB(EQ, VY_BOOL, 0, 0, 1);
    CHECK_FB(ISNAN, VY_F32, NAN_, 0, 1);
    CHECK_FB(ISNAN, VY_F32, INF, 0, 0);
    CHECK_FB(ISINF, VY_F64, -INF, 0, 1);
    CHECK_FB(ISINF, VY_F64, NAN_, 0, 0);
    same(VY_I32, run(VY_OP_SELECT, VY_I32, VY_I32, U(1), I(-7), I(9), false), I(-7));
    same(VY_F32, run(VY_OP_SELECT, VY_F32, VY_F32, U(0), F(-7), F(9), false), F(9));
    same(VY_F32, run(VY_OP_CANDIDATE, VY_U32, VY_F32, F(-7), U(9), U(0), false), F(-7));
    same(VY_F32, run(VY_OP_CLAMP, VY_F32, VY_F32, F(-7), F(0), F(9), false), F(0));
    same(VY_F32, run(VY_OP_CLAMP, VY_F32, VY_F32, F(-0.0), F(0), F(9), false), F(0));
    same(VY_F64, run(VY_OP_CLAMP, VY_F64, VY_F64, F(7), F(8), F(4), false), F(4));
    same(VY_F16, run(VY_OP_CLAMP, VY_F16, VY_F16, F(NAN), F(2), F(4), false), F(2));
}

static const struct row {
    vy_op op;
    double a, b, want;
} functions[] = {
    {VY_OP_FLOOR, -1.5, 0, -2},
    {VY_OP_CEIL, -1.5, 0, -1},
    {VY_OP_TRUNC, -1.5, 0, -1},
    {VY_OP_ROUND, 2.5, 0, 2},
    {VY_OP_ROUND, -3.5, 0, -4},
    {VY_OP_ROUND, -0.25, 0, -0.0},
    {VY_OP_RSQRT, 4, 0, 0.5},
    {VY_OP_RSQRT, 0, 0, INFINITY},
    {VY_OP_CBRT, -27, 0, -3},
    {VY_OP_EXP, 1, 0, 2.718281828459045},
    {VY_OP_EXP2, -3, 0, 0.125},
    {VY_OP_EXPM1, 0.125, 0, 0.13314845306682632},
    {VY_OP_LOG, 3, 0, 1.0986122886681098},
    {VY_OP_LOG, 0, 0, -INFINITY},
    {VY_OP_LOG2, 8, 0, 3},
    {VY_OP_LOG10, 1000, 0, 3},
    {VY_OP_LOG1P, 0.125, 0, 0.11778303565638346},
    {VY_OP_SIN, 1, 0, 0.8414709848078965},
    {VY_OP_COS, 1, 0, 0.5403023058681398},
    {VY_OP_TAN, 1, 0, 1.5574077246549023},
    {VY_OP_ASIN, 0.5, 0, 0.5235987755982989},
    {VY_OP_ACOS, 0.5, 0, 1.0471975511965979},
    {VY_OP_ATAN, 2, 0, 1.1071487177940904},
    {VY_OP_SINH, 1, 0, 1.1752011936438014},
    {VY_OP_COSH, 1, 0, 1.5430806348152437},
    {VY_OP_TANH, 0.5, 0, 0.46211715726000979},
    {VY_OP_ASINH, 1, 0, 0.88137358701954305},
    {VY_OP_ACOSH, 2, 0, 1.3169578969248168},
    {VY_OP_ATANH, 0.5, 0, 0.54930614433405485},
    {VY_OP_ERF, 0.5, 0, 0.52049987781304652},
    {VY_OP_ERFC, 2, 0, 0.0046777349810472658},
    {VY_OP_LGAMMA, 4.5, 0, 2.453736570842442},
    {VY_OP_SIGMOID, 0.5, 0, 0.62245933120185459},
    {VY_OP_SIGMOID, -800, 0, 0},
    {VY_OP_SOFTPLUS, 0.5, 0, 0.97407698418010671},
    {VY_OP_SOFTPLUS, 900, 0, 900},
    {VY_OP_POW, 2, 10, 1024},
    {VY_OP_POW, -2, 3, -8},
    {VY_OP_POW, -2, 0.5, NAN},
    {VY_OP_POW, 0, 0, 1},
    {VY_OP_ATAN2, 1, -1, 2.3561944901923448},
    {VY_OP_HYPOT, 3, 4, 5},
    {VY_OP_FMOD, 7.5, 2, 1.5},
    {VY_OP_FMOD, -7.5, -2, -1.5},
    {VY_OP_FMOD, 1, 0, NAN},
    {VY_OP_FMOD, 5, INFINITY, 5},
    {VY_OP_POLYGAMMA, 1, 0, -0.57721566490153287},
};

// Value at a point of every function, in f32, f64 and f16, and in f64 mode.
static void test_functions(void **state)
{
    (void)state;
    static const vy_type types[] = {VY_F64, VY_F32, VY_F16};
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++) {
        const struct row *r = &functions[k];
        for (int t = 0; t < 4; t++) {
            const bool f64 = t == 3;
            const vy_type type = f64 ? VY_F32 : types[t], in = f64 ? VY_F64 : type;
            const double got = run(r->op, type, type, F(r->a), F(r->b), F(0), f64).f;
            // One unit in the last place of the type at most.
            const double ulp = in == VY_F64 ? 0x1p-51 : in == VY_F32 ? 0x1p-23 : 0x1p-10;
            const double want = vy_round_to(in, r->want);
            if (isnan(want) ? !isnan(got) : !(got == want || fabs(got - want) <= fabs(want) * ulp))
                fail_msg("%s(%g, %g): got %.17g, expected %.17g", vy_op_infos[r->op].id, r->a, r->b,
                         got, want);
            assert_true(vy_round_to(in, got) == got || isnan(got));
        }
    }
}

// ---------------------------------------------------------------------------------------- integers
static void test_integer_arithmetic(void **state)
{
    (void)state;
    CHECK_I(ADD, VY_I32, INT32_MAX, 1, INT32_MIN);
    CHECK_U(ADD, VY_U32, UINT32_MAX, 2, 1);
    CHECK_I(ADD, VY_I64, INT64_MAX, 1, INT64_MIN);
    CHECK_U(SUB, VY_U64, 0, 1, UINT64_MAX);
    CHECK_I(SUB, VY_I32, INT32_MIN, 1, INT32_MAX);
    CHECK_I(MUL, VY_I32, 65536, 65536, 0);
    CHECK_I(MUL, VY_I64, INT64_MIN, -1, INT64_MIN);
    CHECK_U(MUL, VY_U32, 0xffffffff, 0xffffffff, 1);
    CHECK_U(MUL, VY_U64, UINT64_MAX, UINT64_MAX, 1);
    CHECK_I(NEG, VY_I32, INT32_MIN, 0, INT32_MIN);
    CHECK_I(NEG, VY_I64, INT64_MIN, 0, INT64_MIN);
    CHECK_U(NEG, VY_U32, 1, 0, UINT32_MAX);
    CHECK_I(ABS, VY_I32, INT32_MIN, 0, INT32_MIN);
    CHECK_I(ABS, VY_I64, INT64_MIN, 0, INT64_MIN);
    CHECK_I(ABS, VY_I64, -5, 0, 5);
    CHECK_U(ABS, VY_U32, 0x80000000, 0, 0x80000000);
    CHECK_I(SIGN, VY_I32, -9, 0, -1);
    CHECK_U(SIGN, VY_U64, UINT64_MAX, 0, 1);
    CHECK_U(SIGN, VY_U32, 0, 0, 0);
}

static void test_integer_division(void **state)
{
    (void)state;
    CHECK_I(DIV, VY_I32, -7, 2, -3);
    CHECK_I(REM, VY_I32, -7, 2, -1);
    CHECK_I(REM, VY_I32, 7, -2, 1);
    CHECK_I(DIV, VY_I32, 5, 0, 0);
    CHECK_I(REM, VY_I32, 5, 0, 0); // a − (a/0)·0 would be a; the contract says 0
    CHECK_I(DIV, VY_I32, INT32_MIN, -1, INT32_MIN);
    CHECK_I(REM, VY_I32, INT32_MIN, -1, 0);
    CHECK_I(DIV, VY_I64, INT64_MIN, -1, INT64_MIN);
    CHECK_I(REM, VY_I64, INT64_MIN, -1, 0);
    CHECK_U(DIV, VY_U32, 0xfffffff9, 2, 0x7ffffffc);
    CHECK_U(REM, VY_U64, UINT64_MAX, 10, 5);
    CHECK_U(DIV, VY_U64, 1, 0, 0);
    CHECK_U(REM, VY_U32, 1, 0, 0);
}

static void test_bits(void **state)
{
    (void)state;
    CHECK_U(AND, VY_U32, 12, 10, 8);
    CHECK_I(OR, VY_I32, -8, 3, -5);
    CHECK_U(XOR, VY_U64, UINT64_MAX, 1, UINT64_MAX - 1);
    CHECK_U(AND, VY_BOOL, 1, 0, 0);
    CHECK_U(OR, VY_BOOL, 1, 0, 1);
    CHECK_U(XOR, VY_BOOL, 1, 1, 0);
    CHECK_U(NOT, VY_BOOL, 1, 0, 0);
    CHECK_U(NOT, VY_BOOL, 0, 0, 1);
    CHECK_I(NOT, VY_I32, 0, 0, -1);
    CHECK_U(NOT, VY_U32, 0, 0, 0xffffffff);
    CHECK_U(SHL, VY_U32, 1, 31, 0x80000000);
    CHECK_U(SHL, VY_U32, 1, 33, 2); // low bits of the count
    CHECK_I(SHL, VY_I32, 1, 31, INT32_MIN);
    CHECK_I(SHL, VY_I32, 3, -1, INT32_MIN);
    CHECK_U(SHL, VY_U64, 1, 65, 2);
    CHECK_I(SHR, VY_I32, -8, 1, -4);
    CHECK_I(SHR, VY_I32, -1, 32, -1);
    CHECK_U(SHR, VY_U32, 0x80000000, 31, 1);
    CHECK_I(SHR, VY_I64, INT64_MIN, 63, -1);
    CHECK_U(SHR, VY_U64, UINT64_MAX, 127, 1);
    CHECK_U(POPCOUNT, VY_U32, 0xf0f0, 0, 8);
    CHECK_I(POPCOUNT, VY_I32, -1, 0, 32);
    CHECK_I(POPCOUNT, VY_I64, -1, 0, 64);
}

// ------------------------------------------------------------------------------------- conversions
static void cast_to(vy_type from, vy_scalar v, vy_type to, vy_scalar want)
{
    same(to, run(VY_OP_CAST, from, to, v, v, v, false), want);
}

static void test_float_to_integer(void **state)
{
    (void)state;
    cast_to(VY_F32, F(-1.9), VY_I32, I(-1));
    cast_to(VY_F32, F(3e9f), VY_I32, I(INT32_MAX));
    cast_to(VY_F32, F(-3e9f), VY_I32, I(INT32_MIN));
    cast_to(VY_F32, F(2147483648.0), VY_I32, I(INT32_MAX));
    cast_to(VY_F32, F(-2147483648.0), VY_I32, I(INT32_MIN));
    cast_to(VY_F64, F(-2147483648.9), VY_I32, I(INT32_MIN));
    cast_to(VY_F64, F(2147483647.9), VY_I32, I(INT32_MAX));
    cast_to(VY_F32, F(3e9f), VY_U32, U(3000000000u));
    cast_to(VY_F32, F(-0.5), VY_U32, U(0));
    cast_to(VY_F32, F(-5), VY_U32, U(0));
    cast_to(VY_F32, F(INF), VY_U32, U(UINT32_MAX));
    cast_to(VY_F32, F(NAN_), VY_U32, U(0));
    cast_to(VY_F32, F(NAN_), VY_I64, I(0));
    cast_to(VY_F64, F(0x1p63), VY_I64, I(INT64_MAX));
    cast_to(VY_F64, F(-0x1p63), VY_I64, I(INT64_MIN));
    cast_to(VY_F64, F(-INF), VY_I64, I(INT64_MIN));
    cast_to(VY_F64, F(0x1p64), VY_U64, U(UINT64_MAX));
    cast_to(VY_F64, F(0x1p63), VY_U64, U(1ull << 63));
    cast_to(VY_F16, F(65504), VY_I32, I(65504));
    cast_to(VY_F32, F(0.25), VY_BOOL, U(1));
    cast_to(VY_F32, F(-0.0), VY_BOOL, U(0));
    cast_to(VY_F32, F(NAN_), VY_BOOL, U(1));
}

static void test_integer_to_float(void **state)
{
    (void)state;
    cast_to(VY_I32, I(16777217), VY_F32, F(16777216));
    cast_to(VY_I32, I(16777219), VY_F32, F(16777220));
    cast_to(VY_U32, U(UINT32_MAX), VY_F32, F(4294967296.0));
    cast_to(VY_U32, U(UINT32_MAX), VY_F64, F(4294967295.0));
    // 2^24·2^32 + 2^31·… : by way of double this would land on a f32 tie and go to even.
    const int64_t twice = (int64_t)0x4000004000000001; // 2^62 + 2^38 + 1
    cast_to(VY_I64, I(twice), VY_F32, F(0x1p62 + 0x1p39));
    cast_to(VY_I64, I(-twice), VY_F32, F(-0x1p62 - 0x1p39));
    cast_to(VY_U64, U(0x8000008000000001), VY_F32, F(0x1p63 + 0x1p40));
    cast_to(VY_U64, U(UINT64_MAX), VY_F32, F(0x1p64));
    cast_to(VY_I64, I(INT64_MAX), VY_F64, F(0x1p63));
    cast_to(VY_I64, I(2049), VY_F16, F(2048));
    cast_to(VY_I64, I(2051), VY_F16, F(2052));
    cast_to(VY_I32, I(65519), VY_F16, F(65504));
    cast_to(VY_I32, I(65520), VY_F16, F(INF));
    cast_to(VY_I64, I(INT64_MIN), VY_F16, F(-INF));
    cast_to(VY_BOOL, U(1), VY_F32, F(1));
    cast_to(VY_BOOL, U(1), VY_I64, I(1));
    same(VY_F64, run(VY_OP_CAST, VY_I32, VY_F32, I(16777217), I(0), I(0), true), F(16777217));
}

static void test_other_conversions(void **state)
{
    (void)state;
    cast_to(VY_I32, I(-1), VY_U32, U(UINT32_MAX));
    cast_to(VY_I32, I(-1), VY_U64, U(UINT64_MAX));
    cast_to(VY_U32, U(UINT32_MAX), VY_I32, I(-1));
    cast_to(VY_U32, U(UINT32_MAX), VY_I64, I(UINT32_MAX));
    cast_to(VY_I64, I(0x180000000), VY_I32, I(INT32_MIN));
    cast_to(VY_U64, U(0x100000000), VY_BOOL, U(1));
    cast_to(VY_F64, F(1 + 0x1p-30), VY_F32, F(1));
    cast_to(VY_F64, F(1e300), VY_F32, F(INF));
    // Directly to f16: by way of f32 this would be rounded to a tie first.
    cast_to(VY_F64, F(1 + 0x1p-11 + 0x1p-40), VY_F16, F(1 + 0x1p-10));
    same(VY_F64, run(VY_OP_CAST, VY_F64, VY_F16, F(0.1), F(0), F(0), true), F(0.1));
    same(VY_U32, run(VY_OP_BITCAST, VY_F32, VY_U32, F(1), F(0), F(0), false), U(0x3f800000));
    same(VY_I32, run(VY_OP_BITCAST, VY_F32, VY_I32, F(-0.0), F(0), F(0), false), I(INT32_MIN));
    same(VY_F32, run(VY_OP_BITCAST, VY_U32, VY_F32, U(0x40490fdb), U(0), U(0), false),
         F((double)3.14159274f));
    same(VY_U32, run(VY_OP_BITCAST, VY_I32, VY_U32, I(-1), I(0), I(0), false), U(UINT32_MAX));
    same(VY_U32, run(VY_OP_BITCAST, VY_F32, VY_U32, F(0.1), F(0), F(0), true), U(0x3dcccccd));
}

static void test_wrap_and_memory(void **state)
{
    (void)state;
    same(VY_I32, vy_wrap(VY_I8, U(0x1ff)), I(-1));
    same(VY_U32, vy_wrap(VY_U8, U(0x1ff)), U(255));
    same(VY_I32, vy_wrap(VY_I16, U(0x8000)), I(-32768));
    same(VY_U32, vy_wrap(VY_U16, I(-1)), U(65535));
    same(VY_BOOL, vy_wrap(VY_BOOL, U(4)), U(1));
    assert_true(vy_scalar_same(VY_F32, F(NAN_), F(-NAN_)));
    assert_false(vy_scalar_same(VY_F32, F(0.0), F(-0.0)));
    for (int t = VY_BOOL; t < VY_TYPE_COUNT; t++) {
        unsigned char memory[10];
        const vy_type type = (vy_type)t;
        const vy_scalar v = vy_type_is_float(type) ? F(-1.5) : vy_wrap(type, I(-3));
        memset(memory, 0xaa, sizeof memory);
        vy_scalar_write(type, v, memory + 1);
        assert_int_equal(memory[0], 0xaa);
        assert_int_equal(memory[1 + vy_type_size(type)], 0xaa);
        same(type, vy_scalar_read(type, memory + 1), v);
    }
}

// --------------------------------------------------------------------------------------------- f16
// All finite neighbours: their midpoint goes to the even one, anything beside it to the nearer one.
static void test_f16_rounding(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < 0x7c00; h++) {
        const uint16_t here = (uint16_t)h, next = (uint16_t)(h + 1);
        const double a = vy_f16_value(here);
        const double b = next == 0x7c00 ? 65536 : vy_f16_value(next);
        const double middle = (a + b) / 2;
        assert_true(b > a);
        assert_int_equal(vy_f16_bits(a), here);
        assert_int_equal(vy_f16_bits(-a), here | 0x8000);
        assert_int_equal(vy_f16_bits(middle), h & 1 ? next : here);
        assert_int_equal(vy_f16_bits(nextafter(middle, 0)), here);
        assert_int_equal(vy_f16_bits(nextafter(middle, INF)), next);
        assert_int_equal(vy_f16_bits(-nextafter(middle, INF)), next | 0x8000);
    }
    assert_true(vy_f16_value(1) == 0x1p-24);
    assert_true(vy_f16_value(0x400) == 0x1p-14);
    assert_true(vy_f16_value(0x7bff) == 65504);
    assert_true(vy_f16_value(0xfc00) == -INF);
    assert_true(isnan(vy_f16_value(0x7e01)));
    assert_int_equal(vy_f16_bits(NAN_) & 0x7e00, 0x7e00);
    assert_int_equal(vy_f16_bits(1e300), 0x7c00);
    assert_int_equal(vy_f16_bits(-1e-300), 0x8000);
    assert_int_equal(vy_f16_bits(0x1p-25), 0);
    assert_int_equal(vy_f16_bits(nextafter(0x1p-25, 1)), 1);
}

static void test_types(void **state)
{
    (void)state;
    for (int t = 0; t < VY_TYPE_COUNT; t++) {
        vy_type back = VY_VOID;
        const char *name = vy_type_name((vy_type)t);
        assert_true(vy_type_from_name(name, strlen(name), &back) == (t != VY_VOID));
        assert_int_equal(back, t);
    }
    vy_type out;
    assert_false(vy_type_from_name("f3", 2, &out));
    assert_false(vy_type_from_name("f32x", 4, &out));
    assert_int_equal(vy_type_size(VY_BOOL), 4);
    assert_int_equal(vy_type_size(VY_I16), 2);
    assert_int_equal(vy_type_loaded(VY_U8), VY_U32);
    assert_int_equal(vy_type_loaded(VY_I16), VY_I32);
    assert_int_equal(vy_type_loaded(VY_F16), VY_F16);
    assert_string_equal(vy_type_name((vy_type)99), "void");
}

// Runs last: every PURE row was tried, and no other has a value.
static void test_every_row(void **state)
{
    (void)state;
    for (int op = 1; op < VY_OP_COUNT; op++) {
        const vy_scalar args[3] = {{.u = 0}};
        vy_scalar out;
        const bool host = op == VY_OP_DISPATCH || op == VY_OP_PICK;            // of tensors
        if (vy_op_infos[op].effect == VY_PURE && !host && op != VY_OP_APPLY) { // a function's
            if (!seen[op]) fail_msg("%s was not tried", vy_op_infos[op].id);
        } else {
            assert_false(vy_scalar_eval((vy_op)op, VY_F32, VY_F32, args, 0, false, &out));
            assert_false(vy_scalar_eval((vy_op)op, VY_I32, VY_I32, args, 0, false, &out));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_float_arithmetic),
        cmocka_unit_test(test_min_max),
        cmocka_unit_test(test_fma),
        cmocka_unit_test(test_comparisons),
        cmocka_unit_test(test_functions),
        cmocka_unit_test(test_integer_arithmetic),
        cmocka_unit_test(test_integer_division),
        cmocka_unit_test(test_bits),
        cmocka_unit_test(test_float_to_integer),
        cmocka_unit_test(test_integer_to_float),
        cmocka_unit_test(test_other_conversions),
        cmocka_unit_test(test_wrap_and_memory),
        cmocka_unit_test(test_f16_rounding),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_every_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
