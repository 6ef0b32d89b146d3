// SPDX-License-Identifier: MIT
// test_check_reference.c: vy_grad_check where finite differences alone see nothing or mislead:
// small gradients, frequencies of 2^k π, kinks, chaos, cancellation; through memory that
// invocations share; and on programs that are wrong themselves.
#include "autodiff/check.h"
#include "autodiff/grad.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))
enum { N = 70 }; // more than one workgroup

static vy_module *parse(const char *text)
{
    vy_module *m = vy_parse(text, strlen(text), "t.vyre");
    assert_non_null(m);
    if (!vy_module_ok(m)) fail_msg("%s", vy_module_diag(m)->text);
    return m;
}

static float x[N];
static const uint64_t shape[1] = {N};

static void fill(float from, float step)
{
    for (int i = 0; i < N; i++) x[i] = from + step * (float)((i * 37) % 101);
}

// `gradient` NULL: vy_grad's.
static vy_check_result *check(const char *primal, const char *gradient, uint64_t outputs)
{
    static uint64_t y_shape[1];
    vy_diag d;
    y_shape[0] = outputs;
    const vy_eval_buffer buffers[] = {{"x", x, shape, 1}, {"y", NULL, y_shape, 1}};
    vy_module *m = parse(primal);
    vy_module *g = gradient ? parse(gradient) : vy_grad(m, &(vy_grad_options){0}, &d);
    if (!g) fail_msg("%s: %s", primal, d.text);
    const vy_check_request q = {.primal = vy_check_result_of(m),
                                .gradient = vy_check_result_of(g),
                                .buffers = buffers,
                                .buffer_count = 2};
    vy_check_result *r = vy_grad_check(&q, &d);
    if (!r) fail_msg("%s: %s", primal, d.text);
    for (uint32_t i = 0; i < r->count; i++) r->rows[i].buffer = ""; // freed with the module
    vy_module_free(m);
    vy_module_free(g);
    return r;
}

static const vy_check_row *row(const vy_check_result *r, vy_check_test test)
{
    for (uint32_t i = 0; i < r->count; i++)
        if (r->rows[i].test == test) return &r->rows[i];
    fail_msg("there is no row %s", vy_check_test_name(test));
    return NULL;
}

static bool failed(const vy_check_result *r, vy_check_test test)
{
    return row(r, test)->verdict == VY_CHECK_FAILED;
}

static void expect_right(const vy_check_result *r, const char *what)
{
    for (uint32_t i = 0; i < r->count; i++)
        if (r->rows[i].verdict == VY_CHECK_FAILED)
            fail_msg("%s: %s [%d] %.17g, expected %.17g %s", what,
                     vy_check_test_name(r->rows[i].test), (int)r->rows[i].worst, r->rows[i].got,
                     r->rows[i].expected, r->rows[i].note);
    assert_true(r->passed && !r->unverified);
}

#define PRIMAL(body) "program f(x: in f32[N], y: out f32[N], N: u32) over(i: N) { " body " }"
#define GRAD(body) "program g(x: in f32[N], grad_x: out f32[N], N: u32) over(i: N) { " body " }"

// A factor of two in a gradient of 10^-8, and in one element of it.
static void small(void **state)
{
    (void)state;
    fill(0.25f, 1.0f / 64);
    const char *mean = PRIMAL("y[i] = x[i] * x[i] * 1e-8;");
    vy_check_result *r = check(mean, GRAD("grad_x[i] = x[i] * 2e-8;"), N);
    assert_true(r->passed);
    vy_check_free(r);
    r = check(mean, GRAD("grad_x[i] = x[i] * 1e-8;"), N);
    assert_true(failed(r, VY_CHECK_TANGENTS) && failed(r, VY_CHECK_DIRECTION));
    assert_int_equal(row(r, VY_CHECK_TANGENTS)->failed, N);
    vy_check_free(r);
    // … and of one element a million times smaller than the others
    r = check(PRIMAL("y[i] = x[i] * x[i] * (i == 7u ? 1e-6 : 1.0);"),
              GRAD("grad_x[i] = x[i] * (i == 7u ? 3e-6 : 2.0);"), N);
    assert_true(failed(r, VY_CHECK_TANGENTS) && failed(r, VY_CHECK_DIRECTION));
    assert_int_equal(row(r, VY_CHECK_TANGENTS)->worst, 7);
    vy_check_free(r);
}

// Steps that are powers of two see the same phase at x + h, x and x − h.
static void frequencies(void **state)
{
    (void)state;
    fill(0.25f, 1.0f / 64);
    const char *encoded = PRIMAL("y[i] = sin(x[i] * (1024.0 * pi));");
    vy_check_result *r = check(encoded, NULL, N);
    assert_true(r->passed);
    vy_check_free(r);
    r = check(encoded, GRAD("grad_x[i] = cos(x[i] * (1024.0 * pi));"), N);
    assert_true(failed(r, VY_CHECK_TANGENTS) && failed(r, VY_CHECK_DIRECTION));
    vy_check_free(r);
}

// Right gradients that differences would report as wrong.
static void rough(void **state)
{
    (void)state;
    static const char *const primals[] = {
        PRIMAL("var a = x[i] * 0.3; for k in 0..40 { a = 3.9 * a * (1.0 - a); } y[i] = a;"),
        PRIMAL("y[i] = (x[i] + 1e14) - 1e14;"),
        PRIMAL("y[i] = (x[i] * x[i] * 1e10 + 1e22) - 1e22;"),
        PRIMAL("y[i] = x[i] * 1e10 - x[i] * (1e10 - 1.0);"),
        PRIMAL("let e = exp(x[i]); y[i] = e / (e + 1.0) + 1.0 / (e + 1.0);"),
        PRIMAL("y[i] = sin(x[i] * 1e10);"),
    };
    fill(0.25f, 1.0f / 64);
    for (size_t k = 0; k < COUNT(primals); k++) {
        vy_check_result *r = check(primals[k], NULL, N);
        expect_right(r, primals[k]);
        assert_int_equal(row(r, VY_CHECK_TANGENTS)->compared, N);
        vy_check_free(r);
    }
    fill(1e10f, 1e8f);
    vy_check_result *r = check(PRIMAL("y[i] = sin(x[i]) * x[i];"), NULL, N);
    expect_right(r, "sin(x) x at 1e10");
    vy_check_free(r);
}

// At kinks differences say nothing; dual numbers follow the convention.
static void kinks(void **state)
{
    (void)state;
    fill(0, 0);
    const char *relu = PRIMAL("y[i] = max(x[i], 0.0) + sqrt(abs(x[i]));");
    vy_check_result *r = check(relu, NULL, N);
    assert_true(r->passed);
    assert_int_equal(row(r, VY_CHECK_DIFFERENCES)->kinks, N);
    assert_int_equal(row(r, VY_CHECK_TANGENTS)->compared, N);
    vy_check_free(r);
    r = check(relu, GRAD("grad_x[i] = x[i] >= 0.0 ? 1.0 : 0.0;"), N);
    assert_true(failed(r, VY_CHECK_TANGENTS) && failed(r, VY_CHECK_DIRECTION));
    assert_false(failed(r, VY_CHECK_DIFFERENCES));
    vy_check_free(r);
}

// Tangents take the same paths through memory as values.
static void meetings(void **state)
{
    (void)state;
    static const char *const primals[] = {
        PRIMAL("shared t: f32[64]; t[lindex] = x[i] * x[i]; barrier();"
               " y[i] = t[lindex ^ 1u] * sin(t[lindex]);"),
        PRIMAL("local v: f32[4]; for k in 0u..4u { v[k] = x[i] * f32(k); }"
               " v[i % 4u] = v[(i + 1) % 4u] * x[i]; y[i] = v[0] + v[1] * v[3];"),
        PRIMAL("y[i] = subgroup_add(x[i] * x[i]) * x[i] + subgroup_inclusive_add(sin(x[i]));"),
        PRIMAL(
            "y[i] = subgroup_max(x[i]) * subgroup_min(x[i] * x[i]) + subgroup_shuffle_xor(x[i], 1);"),
        PRIMAL("y[i] = subgroup_broadcast(x[i], 3) * x[i] + subgroup_exclusive_add(x[i] * x[i]);"),
        PRIMAL("atomic_add(y[i % 3u], x[i] * x[i]); atomic_add(y[7], x[i]);"),
        PRIMAL("atomic_max(y[i % 3u], sin(x[i])); "),
        PRIMAL("atomic_min(y[3], -x[i] * x[i]);"),
        PRIMAL("var a = x[i]; var b = 1.0; for k in 0..5 { let c = a * b; a = b + 0.5; b = c;"
               " if c > 3.0 { break; } } y[i] = a * b;"),
        PRIMAL("var a = x[i]; while a > 0.5 { a = a * 0.7; } checkpoint { a = a * a; } y[i] = a;"),
        "program tie(x: in f32[N], y: out f32[N], N: u32) over(i: N) { atomic_max(y[0], f32(i32(x[i])) + x[i] - x[i]); }",
    };
    fill(0.25f, 1.0f / 64);
    for (size_t k = 0; k < COUNT(primals); k++) {
        vy_check_result *r = check(primals[k], NULL, N);
        for (uint32_t i = 0; i < r->count; i++)
            if (r->rows[i].verdict == VY_CHECK_FAILED)
                fail_msg("%s: %s [%d] %g, expected %g %s", primals[k],
                         vy_check_test_name(r->rows[i].test), (int)r->rows[i].worst, r->rows[i].got,
                         r->rows[i].expected, r->rows[i].note);
        assert_int_equal(row(r, VY_CHECK_TANGENTS)->compared, N);
        vy_check_free(r);
    }
}

// The program itself is checked first, and nothing else if it is wrong.
static void wrong_programs(void **state)
{
    (void)state;
    static const struct {
        const char *text, *code, *says;
        uint32_t line;
    } cases[] = {
        {"program f(x: in f32[N], y: inout f32[N], N: u32) over(i: N) {\n y[i % 5u] = x[i];\n}",
         "E0709", "data race on y[0]: invocation (i=5) writes it, which invocation (i=0) writes",
         2},
        {"program f(x: in f32[N], y: inout f32[N], N: u32) over(i: N) {\n if x[i] > 0.0 { y[0] += x[i]; }\n}",
         "E0709", "data race on y[0]", 2},
        {PRIMAL("shared t: f32[64]; if x[i] > 1e9 { t[lindex] = x[i]; } barrier();\n"
                " y[i] = t[lindex];"),
         "E0711", "invocation (i=0) reads t[0], which was never written", 2},
        {PRIMAL("if x[i] > 1e9 { y[i] = 1.0; }\n y[i] = y[i] * x[i];"), "E0711",
         "invocation (i=0) reads y[0], which was never written", 2},
    };
    fill(0.25f, 1.0f / 64);
    for (size_t k = 0; k < COUNT(cases); k++) {
        float y[N] = {0};
        const vy_eval_buffer buffers[] = {{"x", x, shape, 1}, {"y", y, shape, 1}};
        vy_diag d;
        vy_module *m = parse(cases[k].text), *g = parse(GRAD("grad_x[i] = 1.0;"));
        const vy_check_request q = {.primal = vy_check_result_of(m),
                                    .gradient = vy_check_result_of(g),
                                    .buffers = buffers,
                                    .buffer_count = 2};
        vy_check_result *r = vy_grad_check(&q, &d);
        assert_non_null(r);
        assert_false(r->passed);
        assert_int_equal(r->count, 1);
        assert_true(failed(r, VY_CHECK_PROGRAM));
        assert_string_equal(r->program.code, cases[k].code);
        assert_int_equal(r->program.line, cases[k].line);
        if (!strstr(r->program.text, cases[k].says)) fail_msg("%s", r->program.text);
        vy_check_free(r);
        vy_module_free(m);
        vy_module_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small), cmocka_unit_test(frequencies), cmocka_unit_test(rough),
        cmocka_unit_test(kinks), cmocka_unit_test(meetings),    cmocka_unit_test(wrong_programs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
