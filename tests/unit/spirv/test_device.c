// SPDX-License-Identifier: MIT
// test_device.c: every operation on every type, the device against the interpreter, on edge-case
// data.
//
// Precise mode: bit for bit where the language promises it, else its bound in ULP.  Default mode:
// the bounds of the Vulkan specification, "Precision and Operation of SPIR-V Instructions".
#include "tests/unit/device_util.h"
#include "ir/core/ir.h"

static const double float_edges[] = {0.0,
                                     -0.0,
                                     1,
                                     -1,
                                     0.5,
                                     -0.5,
                                     1.5,
                                     -1.5,
                                     2.5,
                                     -2.5,
                                     3.7,
                                     -3.7,
                                     0.1,
                                     7,
                                     -7,
                                     100.25,
                                     -1e4,
                                     65504,
                                     1e-3,
                                     1e-30,
                                     -1e-30,
                                     1e30,
                                     -1e30,
                                     2147483520.0,
                                     2147483648.0,
                                     -2147483648.0,
                                     -2147484160.0,
                                     4294967040.0,
                                     4294967296.0,
                                     9.2e18,
                                     9223372036854775808.0,
                                     -9223372036854775808.0,
                                     1.9e19,
                                     3e38,
                                     -3e38,
                                     INFINITY,
                                     -INFINITY,
                                     NAN};
static const int64_t int_edges[] = {0,
                                    1,
                                    -1,
                                    2,
                                    3,
                                    -3,
                                    7,
                                    31,
                                    32,
                                    33,
                                    63,
                                    64,
                                    100,
                                    -100,
                                    255,
                                    256,
                                    65535,
                                    INT32_MAX,
                                    INT32_MIN,
                                    INT32_MIN + 1,
                                    UINT32_MAX,
                                    INT64_MAX,
                                    INT64_MIN,
                                    INT64_MIN + 1,
                                    0x123456789ABCDEF0};

typedef struct pairs { // every edge case with every other, as memory of one type
    unsigned char *x, *y;
    uint64_t count;
} pairs;

static pairs all_pairs(vy_type t)
{
    bool is_float = vy_type_is_float(t);
    uint64_t n = is_float ? COUNT(float_edges) : COUNT(int_edges);
    pairs p = {malloc(n * n * 8), malloc(n * n * 8), n * n};
    for (uint64_t i = 0; i < n * n; i++) {
        vy_scalar a = {.i = int_edges[is_float ? 0 : i / n]},
                  b = {.i = int_edges[is_float ? 0 : i % n]};
        if (is_float) {
            a.f = vy_round_to(t, float_edges[i / n]);
            b.f = vy_round_to(t, float_edges[i % n]);
        }
        vy_scalar_write(t, is_float ? a : vy_wrap(t, a), p.x + i * vy_type_size(t));
        vy_scalar_write(t, is_float ? b : vy_wrap(t, b), p.y + i * vy_type_size(t));
    }
    return p;
}

static void check_expression(gpu *g, vy_type in, vy_type out, const char *expr, bool precise,
                             double ulp)
{
    char text[600];
    pairs p = all_pairs(in);
    snprintf(text, sizeof text,
             "program t(a: in %s[N], b: in %s[N], o: out %s[N], N: u32) over(i: N) {\n"
             "    let x = a[i]; let y = b[i];\n    o[i] = %s;\n}\n",
             vy_type_name(in), vy_type_name(in), vy_type_name(out), expr);
    device_case c = {.text = text, .buffer_count = 3, .ulp = ulp, .options.precise = precise};
    c.buffers[0] = (case_buffer){"a", p.count, p.x, 0, {0}};
    c.buffers[1] = (case_buffer){"b", p.count, p.y, 0, {0}};
    c.buffers[2] = (case_buffer){"o", p.count, NULL, 0, {0}};
    check_case(g, &c);
    free(p.x);
    free(p.y);
}

// ------------------------------------------------------------------------------ arithmetic, casts
static void integer_operations_are_exact(void **state)
{
    NEED_DEVICE(state);
    static const char *const exprs[] = {"x + y",
                                        "x - y",
                                        "x * y",
                                        "x / y",
                                        "x % y",
                                        "-x",
                                        "~x",
                                        "x & y",
                                        "x | y",
                                        "x ^ y",
                                        "x << y",
                                        "x >> y",
                                        "min(x, y)",
                                        "max(x, y)",
                                        "abs(x)",
                                        "sign(x)",
                                        "popcount(x)",
                                        "select(x < y, x, y)",
                                        "x <= y ? x : y",
                                        "x == y ? x : x - y",
                                        "x / 7",
                                        "x % 5",
                                        "x << 3",
                                        "x >> 3",
                                        "clamp(x, y, 100)"};
    static const vy_type types[] = {VY_I32, VY_U32, VY_I64, VY_U64};
    for (size_t t = 0; t < COUNT(types); t++)
        for (size_t i = 0; i < COUNT(exprs); i++)
            check_expression(g, types[t], types[t], exprs[i], false, 0);
}

static void conversions_are_exact(void **state)
{
    NEED_DEVICE(state);
    static const vy_type types[] = {VY_BOOL, VY_I32, VY_U32, VY_I64,
                                    VY_U64,  VY_F16, VY_F32, VY_F64};
    char expr[40];
    for (size_t i = 0; i < COUNT(types); i++)
        for (size_t k = 0; k < COUNT(types); k++) {
            if (types[i] == VY_BOOL) continue;
            snprintf(expr, sizeof expr, "%s(x)", vy_type_name(types[k]));
            check_expression(g, types[i], types[k], expr, true, 0);
        }
    check_expression(g, VY_I32, VY_F64, "f64(x < y)", true, 0);
    check_expression(g, VY_F32, VY_U32, "bitcast_u32(x)", true, 0);
    check_expression(g, VY_U32, VY_I32, "bitcast_i32(x)", true, 0);
}

// Mesa 22.3 gets comparisons of a sign-extended value with a constant wrong
// (spirv/target/mesa_signs.c).
static void widened_comparisons(void **state)
{
    NEED_DEVICE(state);
    static const char *const exprs[] = {"i64(x) > 0i64",       "i64(x) > 1i64",
                                        "i64(x) < -7i64",      "i64(x) <= 0i64",
                                        "i64(x) == -1i64",     "u64(x) > 5u64",
                                        "i64(x) < i64(y)",     "i64(u32(x)) > 1i64",
                                        "i64(x) * 3i64 < 1i64"};
    for (size_t i = 0; i < COUNT(exprs); i++)
        check_expression(g, VY_I32, VY_BOOL, exprs[i], false, 0);
    static const vy_type small[] = {VY_I8, VY_U8, VY_I16, VY_U16};
    for (size_t i = 0; i < COUNT(small); i++) {
        bool is_signed = vy_type_is_signed(small[i]);
        check_expression(g, small[i], VY_BOOL, is_signed ? "x > 0" : "x > 0u", false, 0);
        check_expression(g, small[i], VY_BOOL, is_signed ? "x > -3" : "x > 3u", false, 0);
        check_expression(g, small[i], VY_BOOL, is_signed ? "i64(x) < 2i64" : "u64(x) < 2u64", false,
                         0);
        check_expression(g, small[i], VY_BOOL, "x < y", false, 0);
    }
    check_expression(g, VY_F16, VY_BOOL, "f32(x) > 0.0", true, 0);
    check_expression(g, VY_F16, VY_BOOL, "f32(x) < 0.1", true, 0);
    check_expression(g, VY_F32, VY_BOOL, "f64(x) > 0.1", true, 0);
}

static void float_operations_are_exact(void **state)
{
    NEED_DEVICE(state);
    static const char *const exprs[] = {"x + y",
                                        "x - y",
                                        "x * y",
                                        "-x",
                                        "min(x, y)",
                                        "max(x, y)",
                                        "abs(x)",
                                        "sign(x)",
                                        "floor(x)",
                                        "ceil(x)",
                                        "trunc(x)",
                                        "round(x)",
                                        "select(x < y, x, y)",
                                        "x <= y ? x : y",
                                        "x == y ? x : y + 1.0",
                                        "x != y ? x : y + 1.0",
                                        "relu(x)",
                                        "step(x, y)"};
    static const char *const tests[] = {"isnan(x)", "isinf(x)", "x < y",
                                        "x >= y",   "x == y",   "x != y"};
    static const vy_type types[] = {VY_F16, VY_F32, VY_F64};
    for (size_t t = 0; t < COUNT(types); t++) {
        // An infinitesimal: results below the normal range may flush, so 1 ULP compares those.
        for (size_t i = 0; i < COUNT(exprs); i++)
            check_expression(g, types[t], types[t], exprs[i], true, i < 3 ? 1e-9 : 0);
        for (size_t i = 0; i < COUNT(tests); i++)
            check_expression(g, types[t], VY_BOOL, tests[i], true, 0);
        check_expression(g, types[t], types[t], "x / y", true, 3);
        check_expression(g, types[t], types[t], "sqrt(x)", true, 3);
    }
}

static void precise_functions_keep_their_bound(void **state)
{
    NEED_DEVICE(state);
    static const char *const exprs[] = {"rsqrt(x)",    "cbrt(x)",     "exp(x)",       "exp2(x)",
                                        "expm1(x)",    "log(x)",      "log2(x)",      "log10(x)",
                                        "log1p(x)",    "sin(x)",      "cos(x)",       "tan(x)",
                                        "asin(x)",     "acos(x)",     "atan(x)",      "sinh(x)",
                                        "cosh(x)",     "tanh(x)",     "asinh(x)",     "acosh(x)",
                                        "atanh(x)",    "erf(x)",      "erfc(x)",      "lgamma(x)",
                                        "sigmoid(x)",  "softplus(x)", "pow(x, y)",    "atan2(x, y)",
                                        "hypot(x, y)", "pow(x, 3.0)", "pow(x, -2.0)", "digamma(x)"};
    for (size_t i = 0; i < COUNT(exprs); i++) {
        check_expression(g, VY_F32, VY_F32, exprs[i], true, 4);
        check_expression(g, VY_F64, VY_F64, exprs[i], false, 4);
        check_expression(g, VY_F16, VY_F16, exprs[i], true, 1);
    }
}

// Vulkan's bounds, on the domains for which Vulkan gives them.
static void default_functions_keep_vulkans_bounds(void **state)
{
    NEED_DEVICE(state);
    static const struct {
        const char *expr;
        double lo, hi, ulp, absolute;
    } rows[] = {{"exp(x)", -20, 20, 43, 0},
                {"exp2(x)", -20, 20, 43, 0},
                {"log(x)", 2.01, 1e6, 3, 0},
                {"log(x)", 0.5, 2, 0, 0x1p-21},
                {"log2(x)", 2.01, 1e6, 3, 0},
                {"sin(x)", -3.14, 3.14, 0, 0x1p-11},
                {"cos(x)", -3.14, 3.14, 0, 0x1p-11},
                {"atan(x)", -50, 50, 4096, 0},
                {"rsqrt(x)", 1e-3, 1e3, 2, 0},
                {"sqrt(x)", 1e-3, 1e3, 3, 0},
                {"asin(x)", -1, 1, 0, 1e-3},
                {"acos(x)", -1, 1, 0, 1e-3},
                {"sinh(x)", 1, 10, 64, 0},
                {"cosh(x)", -10, 10, 64, 0},
                {"tanh(x)", -40, 40, 0, 1e-5},
                {"asinh(x)", -1e4, 1e4, 0, 1e-3},
                {"pow(abs(x), 2.5)", 0.1, 10, 300, 0},
                {"pow(x, 3.0)", -5, 5, 4, 0},
                {"pow(x, f32(i32(x)))", -5, 5, 300, 0},
                {"pow(x, 0.0)", -5, 5, 0, 0},
                {"atan2(x, 2.0)", -5, 5, 4096, 0},
                {"atan2(x - x, x - x)", 1, 2, 0, 0},
                {"erf(x)", -4, 4, 4, 0},
                {"sigmoid(x)", -30, 30, 4, 0},
                {"fma(x, x, x)", -3, 3, 0, 1e-5}};
    float x[400], zero[400] = {0};
    char text[400];
    for (size_t r = 0; r < COUNT(rows); r++) {
        for (int i = 0; i < 400; i++)
            x[i] = (float)(rows[r].lo + (rows[r].hi - rows[r].lo) * i / 399);
        snprintf(
            text, sizeof text,
            "program t(a: in f32[N], o: out f32[N], N: u32) over(i: N) { let x = a[i]; o[i] = %s; }",
            rows[r].expr);
        device_case c = {.text = text,
                         .buffer_count = 2,
                         .ulp = rows[r].ulp,
                         .absolute = rows[r].absolute};
        c.buffers[0] = (case_buffer){"a", 400, x, 0, {0}};
        c.buffers[1] = (case_buffer){"o", 400, zero, 0, {0}};
        check_case(g, &c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integer_operations_are_exact),
        cmocka_unit_test(conversions_are_exact),
        cmocka_unit_test(widened_comparisons),
        cmocka_unit_test(float_operations_are_exact),
        cmocka_unit_test(precise_functions_keep_their_bound),
        cmocka_unit_test(default_functions_keep_vulkans_bounds),
    };
    return cmocka_run_group_tests(tests, gpu_open, gpu_close);
}
