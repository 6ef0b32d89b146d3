// SPDX-License-Identifier: MIT
// test_check.c: vy_grad_check.  Right derivatives pass; every row of the result fails for a
// derivative that is wrong in just the way that this row tests.
#include "autodiff/check.h"
#include "autodiff/grad.h"
#include "ir/core/mem.h"
#include "tests/unit/failing.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = 6, LARGE = 5000 };

static vy_module *parse(const char *text)
{
    vy_module *m = vy_parse(text, strlen(text), "t.vyre");
    assert_non_null(m);
    if (!vy_module_ok(m)) fail_msg("%s", vy_module_diag(m)->text);
    return m;
}

static vy_check_subject only(vy_module *m) { return vy_check_result_of(m); }

// A primal `f(x, y)` with its data.
typedef struct setting {
    vy_module *primal;
    float *x;
    uint64_t shape[1];
    vy_eval_buffer buffers[2];
    vy_check_request q;
} setting;

static void set_up(setting *s, const char *primal, uint64_t n, uint64_t outputs)
{
    static uint64_t y_shape[1];
    *s = (setting){.primal = parse(primal), .shape = {n}};
    y_shape[0] = outputs;
    s->x = calloc(n, sizeof *s->x);
    assert_non_null(s->x);
    for (uint64_t i = 0; i < n; i++) s->x[i] = 0.25f + (float)((i * 37) % 101) / 64;
    s->buffers[0] = (vy_eval_buffer){"x", s->x, s->shape, 1};
    s->buffers[1] = (vy_eval_buffer){"y", NULL, y_shape, 1};
    s->q = (vy_check_request){.primal = only(s->primal), .buffers = s->buffers, .buffer_count = 2};
}

static void tear_down(setting *s)
{
    vy_module_free(s->primal);
    free(s->x);
}

static const vy_check_row *row(const vy_check_result *r, vy_check_test test)
{
    for (uint32_t i = 0; i < r->count; i++)
        if (r->rows[i].test == test) return &r->rows[i];
    fail_msg("there is no row %s", vy_check_test_name(test));
    return NULL;
}

static vy_check_result *checked(const vy_check_request *q)
{
    vy_diag d;
    vy_check_result *r = vy_grad_check(q, &d);
    if (!r) fail_msg("%s", d.text);
    return r;
}

// Exactly these rows fail (a set of 1 << test).
static void expect_failures(const vy_check_result *r, uint32_t tests)
{
    uint32_t failed = 0;
    for (uint32_t i = 0; i < r->count; i++)
        if (r->rows[i].verdict == VY_CHECK_FAILED) failed |= 1u << r->rows[i].test;
    assert_int_equal(failed, tests);
    assert_int_equal(r->passed, tests == 0);
}

#define SIN "program f(x: in f32[N], y: out f32[N], N: u32) over(i: N) { y[i] = sin(x[i]) * x[i]; }"
#define DSIN "sin(x[i]) + x[i] * cos(x[i])"
#define GRAD(body)                                                                                 \
    "program f_grad(x: in f32[N], grad_x: out f32[N], N: u32) over(i: N) { " body " }"
#define DIFFERENT (1u << VY_CHECK_DIFFERENCES | 1u << VY_CHECK_DIRECTION | 1u << VY_CHECK_TANGENTS)

static void check_text(const char *gradient, uint32_t failures, vy_check_row *differences)
{
    setting s;
    set_up(&s, SIN, N, N);
    vy_module *g = parse(gradient);
    s.q.gradient = only(g);
    vy_check_result *r = checked(&s.q);
    expect_failures(r, failures);
    if (differences) *differences = *row(r, VY_CHECK_DIFFERENCES);
    vy_check_free(r);
    vy_module_free(g);
    tear_down(&s);
}

// ----------------------------------------------------------------------------------------- passing
static void right_derivative(void **state)
{
    (void)state;
    vy_check_row d;
    check_text(GRAD("grad_x[i] = " DSIN ";"), 0, &d);
    assert_int_equal(d.elements, N);
    assert_int_equal(d.compared, N);
    assert_int_equal(d.failed + d.kinks + d.unsure, 0);
    assert_true(d.has_worst && d.error < 1e-9);
}

// Every form of gradient that vy_grad can make.
static void derived(void **state)
{
    (void)state;
    setting s;
    set_up(&s, SIN, N, N);
    vy_diag d;
    vy_module *g = vy_grad(s.primal, &(vy_grad_options){0}, &d);
    vy_module *v = vy_grad(s.primal, &(vy_grad_options){.with_value = true}, &d);
    vy_module *c = vy_grad(s.primal, &(vy_grad_options){.seed_buffer = true}, &d);
    assert_true(g && v && c);
    s.q.gradient = only(g);
    s.q.valued = only(v);
    s.q.seeded = only(c);
    float before[N];
    memcpy(before, s.x, sizeof before);
    vy_check_result *r = checked(&s.q);
    expect_failures(r, 0);
    assert_int_equal(row(r, VY_CHECK_PRIMAL)->compared, N);
    assert_string_equal(row(r, VY_CHECK_PRIMAL)->buffer, "y");
    assert_string_equal(row(r, VY_CHECK_INPUTS)->buffer, "x");
    assert_memory_equal(before, s.x, sizeof before);
    vy_check_free(r);
    vy_module_free(g);
    vy_module_free(v);
    vy_module_free(c);
    tear_down(&s);
}

// ----------------------------------------------------------------------------------------- failing
static void wrong_values(void **state)
{
    (void)state;
    vy_check_row d;
    // one element, by a little
    check_text(GRAD("grad_x[i] = (" DSIN ") * (i == 3u ? 1.0001 : 1.0);"), DIFFERENT, &d);
    assert_int_equal(d.failed, 1);
    assert_int_equal(d.worst, 3);
    assert_true(d.error > 5e-5 && d.error < 2e-4);
    check_text(GRAD("grad_x[i] = -(" DSIN ");"), DIFFERENT, &d);
    assert_int_equal(d.failed, N);
    check_text(GRAD("if i > 0 { grad_x[i] = " DSIN "; }"), DIFFERENT, &d);
    assert_int_equal(d.worst, 0);
    // directions skip elements that are NaN
    check_text(GRAD("grad_x[i] = i == 2u ? nan : " DSIN ";"),
               DIFFERENT & ~(1u << VY_CHECK_DIRECTION), &d);
    assert_int_equal(d.worst, 2);
    assert_true(isnan(d.got) && isinf(d.error));
}

// Right when all cotangents are one: it drops them.
static void wrong_cotangents(void **state)
{
    (void)state;
    setting s;
    set_up(&s, SIN, N, N);
    vy_module *g = parse("program g(x: in f32[N], grad_y: in f32[N], grad_x: out f32[N], N: u32)"
                         " over(i: N) { grad_x[i] = " DSIN " + 0.0 * grad_y[i]; }");
    s.q.gradient = only(g);
    vy_check_result *r = checked(&s.q);
    expect_failures(r, 1u << VY_CHECK_DIRECTION);
    vy_check_free(r);
    // the caller's cotangents are used for single elements
    float ct[N] = {1, 2, 3, 4, 5, 6};
    const vy_eval_buffer given = {"grad_y", ct, s.shape, 1};
    s.q.cotangents = &given;
    s.q.cotangent_count = 1;
    r = checked(&s.q);
    expect_failures(r, DIFFERENT);
    assert_int_equal(row(r, VY_CHECK_DIFFERENCES)->failed, N - 1);
    vy_check_free(r);
    vy_module_free(g);
    tear_down(&s);
}

static void wrong_value(void **state)
{
    (void)state;
    setting s;
    set_up(&s, SIN, N, N);
    vy_module *g = parse(GRAD("grad_x[i] = " DSIN ";"));
    vy_module *v = parse("program v(x: in f32[N], y: out f32[N], grad_x: out f32[N], N: u32)"
                         " over(i: N) { y[i] = x[i] * sin(x[i]) + (i == 4u ? 1e-7 : 0.0);"
                         " grad_x[i] = " DSIN "; }");
    s.q.gradient = only(g);
    s.q.valued = only(v);
    vy_check_result *r = checked(&s.q);
    expect_failures(r, 1u << VY_CHECK_PRIMAL);
    assert_int_equal(row(r, VY_CHECK_PRIMAL)->worst, 4);
    vy_check_free(r);
    vy_module_free(g);
    vy_module_free(v);
    tear_down(&s);
}

#define JVP(body)                                                                                  \
    "program f_jvp(x: in f32[N], dot_x: in f32[N], dot_y: out f32[N], N: u32) over(i: N) { " body  \
    " }"

static void check_forward(const char *forward, const char *why, uint32_t failures,
                          vy_check_row *out)
{
    setting s;
    vy_diag d;
    set_up(&s, SIN, N, N);
    vy_module *g = vy_grad(s.primal, &(vy_grad_options){.seed_buffer = true}, &d);
    vy_module *f = forward ? parse(forward) : vy_jvp(s.primal, NULL, &d);
    assert_true(g && f);
    s.q.gradient = only(g);
    if (!why) s.q.forward = only(f);
    s.q.no_forward = why;
    vy_check_result *r = checked(&s.q);
    expect_failures(r, failures);
    *out = *row(r, VY_CHECK_FORWARD);
    vy_check_free(r);
    vy_module_free(g);
    vy_module_free(f);
    tear_down(&s);
}

static void forward_mode(void **state)
{
    (void)state;
    const uint32_t wrong = 1u << VY_CHECK_FORWARD;
    vy_check_row r;
    check_forward(NULL, NULL, 0, &r);
    assert_int_equal(r.compared, 1);
    assert_true(r.error < 1e-12);
    check_forward(JVP("dot_y[i] = (" DSIN ") * dot_x[i];"), NULL, 0, &r);
    check_forward(JVP("dot_y[i] = (" DSIN ") * dot_x[i] * (i == 3u ? 1.001 : 1.0);"), NULL, wrong,
                  &r);
    assert_true(r.error > 1e-5);
    check_forward(JVP("if i > 0 { dot_y[i] = (" DSIN ") * dot_x[i]; }"), NULL, wrong, &r);
    check_forward(JVP("dot_y[i] = (" DSIN ") * dot_x[i] + 1e-3;"), NULL, wrong, &r);
    check_forward(JVP("dot_y[i] = i == 2u ? nan : dot_x[i];"), NULL, wrong, &r);
    check_forward(NULL, "for a reason", 0, &r);
    assert_int_equal(r.verdict, VY_CHECK_SKIPPED);
    assert_string_equal(r.note, "for a reason");
}

static void broken_promises(void **state)
{
    (void)state;
    // adds to what is there
    check_text("program f_grad(x: in f32[N], grad_x: inout f32[N], N: u32) over(i: N)"
               " { grad_x[i] = grad_x[i] > 1e3 ? grad_x[i] : " DSIN "; }",
               1u << VY_CHECK_POISON | 1u << VY_CHECK_TWICE, NULL);
    check_text("program f_grad(x: inout f32[N], grad_x: out f32[N], N: u32) over(i: N)"
               " { grad_x[i] = " DSIN "; x[i] += 1e-6; }",
               1u << VY_CHECK_INPUTS | 1u << VY_CHECK_TWICE, NULL);
    check_text(GRAD("grad_x[i] = " DSIN "; grad_x[(i + 1) % N] *= 1.0;"), 1u << VY_CHECK_RACES,
               NULL);
}

// The last workgroup to store wins.
static void order_of_workgroups(void **state)
{
    (void)state;
    setting s;
    set_up(&s,
           "program f(x: in f32[N], y: out f32[1], N: u32) over(i: N)"
           " { if i < 4 { atomic_add(y[0], 0.0 * x[i]); } }",
           64, 1);
    vy_module *g =
        parse("program g(x: in f32[N], grad_x: out f32[N], N: u32) workgroup(1) over(i: N)"
              " { atomic_exchange(grad_x[0], f32(i) * 1e-8); }");
    s.q.gradient = only(g);
    vy_check_result *r = checked(&s.q);
    expect_failures(r, DIFFERENT | 1u << VY_CHECK_TWICE); // small, but the derivative is 0
    vy_check_free(r);
    vy_module_free(g);
    tear_down(&s);
}

// -------------------------------------------------------------------------------- kinks, NaN, size
static void kinks(void **state)
{
    (void)state;
    setting s;
    set_up(&s,
           "program f(x: in f32[N], y: out f32[N], N: u32) over(i: N)"
           " { y[i] = abs(x[i] - 1.0) + max(x[i], 2.0) + sqrt(x[i]); }",
           N, N);
    const float x[N] = {0.5f, 1, 2, 3, 0, 1.5f};
    memcpy(s.x, x, sizeof x);
    vy_diag d;
    vy_module *g = vy_grad(s.primal, &(vy_grad_options){0}, &d);
    assert_non_null(g);
    s.q.gradient = only(g);
    vy_check_result *r = checked(&s.q);
    expect_failures(r, 0);
    const vy_check_row *k = row(r, VY_CHECK_DIFFERENCES);
    assert_int_equal(k->kinks, 3); // abs, max, the end of sqrt's domain
    assert_int_equal(k->kink_at[0], 1);
    assert_int_equal(k->kink_at[1], 2);
    assert_int_equal(k->kink_at[2], 4);
    assert_int_equal(k->compared, 3);
    assert_string_equal(r->gradient.buffer, "grad_x"); // sqrt'(0) = inf
    assert_int_equal(r->gradient.index, 4);
    vy_check_free(r);
    vy_module_free(g);
    tear_down(&s);
}

// The NaN reported is the one that reaches a result, not an earlier one made in an untaken arm.
static void origin_of_nan(void **state)
{
    (void)state;
    setting s;
    set_up(&s,
           "program f(x: in f32[N], y: out f32[N], N: u32) over(i: N) {\n"
           "  let a = select(x[i] > 0.0, 1.0, sqrt(-1.0 - x[i] * x[i]));\n"
           "  let b = log(x[i] - 10.0);\n"
           "  y[i] = a + (i == 2u ? b : 0.0);\n"
           "}",
           N, N);
    vy_module *g = parse(GRAD("grad_x[i] = 0.0;"));
    s.q.gradient = only(g);
    vy_check_result *r = checked(&s.q);
    assert_string_equal(r->forward.buffer, "y");
    assert_int_equal(r->forward.index, 2);
    assert_string_equal(r->forward.operation, "log");
    assert_int_equal(r->forward.line, 3);
    assert_null(r->gradient.buffer);
    vy_check_free(r);
    vy_module_free(g);
    tear_down(&s);
}

static void nothing_to_compare(void **state)
{
    (void)state;
    setting s;
    set_up(&s,
           "program f(x: in f32[N], y: out f32[N], N: u32) over(i: N) { y[i] = log(x[i] - 10.0); }",
           N, N);
    vy_module *g = parse(GRAD("grad_x[i] = 1.0 / (x[i] - 10.0);"));
    s.q.gradient = only(g);
    vy_check_result *r = checked(&s.q);
    // 1/(x − 10) is finite where log(x − 10) is NaN: dual numbers compare it, differences cannot
    expect_failures(r, 0);
    assert_int_equal(row(r, VY_CHECK_DIFFERENCES)->unsure, N);
    assert_int_equal(row(r, VY_CHECK_DIFFERENCES)->verdict, VY_CHECK_SKIPPED);
    assert_int_equal(row(r, VY_CHECK_TANGENTS)->compared, N);
    vy_check_free(r);
    vy_module_free(g);
    tear_down(&s);
}

// Only some elements are tried one by one; the direction finds a fault in any other.
static void large(void **state)
{
    (void)state;
    setting s;
    set_up(&s, SIN, LARGE, LARGE);
    vy_module *right = parse(GRAD("grad_x[i] = " DSIN ";"));
    vy_module *wrong = parse(GRAD("grad_x[i] = (" DSIN ") * (i == 1234u ? 1.2 : 1.0);"));
    s.q.samples = 10;
    s.q.gradient = only(right);
    vy_check_result *r = checked(&s.q);
    expect_failures(r, 0);
    assert_int_equal(row(r, VY_CHECK_DIFFERENCES)->elements, LARGE);
    assert_int_equal(row(r, VY_CHECK_DIFFERENCES)->compared, 10);
    assert_int_equal(row(r, VY_CHECK_DIRECTION)->compared, LARGE);
    assert_true(r->runs < 200);
    vy_check_free(r);
    s.q.gradient = only(wrong);
    r = checked(&s.q);
    expect_failures(r, 1u << VY_CHECK_DIRECTION);
    vy_check_free(r);
    vy_module_free(right);
    vy_module_free(wrong);
    tear_down(&s);
}

// A right derivative is not reported wrong where functions are steep, oscillate or sum up large
// numbers.
static void hard_functions(void **state)
{
    (void)state;
    static const char *const primal[] = {
        "program f(x: in f32[N], y: out f32[N], N: u32) over(i: N)"
        " { y[i] = 1.0 / (x[i] * 1e-6) + log(x[i] * 1e-9); }",
        "program f(x: in f32[N], y: out f32[N], N: u32) over(i: N) { y[i] = sin(x[i] * 1e5); }",
        "program f(x: in f32[N], y: out f32[N], N: u32) over(i: N) { y[i] = exp(20.0 * x[i]); }",
        "program f(x: in f32[N], y: out f32[1], N: u32) over(i: N)"
        " { atomic_add(y[0], 1e4 + tanh(x[i])); }",
        "program f(x: in f32[N], y: out f32[N], N: u32) over(i: N)"
        " { let d = x[i] * x[i] - x[i]; y[i] = pow(abs(d) + 1e-3, 0.3); }",
    };
    for (size_t k = 0; k < sizeof primal / sizeof *primal; k++) {
        setting s;
        set_up(&s, primal[k], 200, k == 3 ? 1 : 200);
        vy_diag d;
        vy_module *g = vy_grad(s.primal, &(vy_grad_options){0}, &d);
        assert_non_null(g);
        s.q.gradient = only(g);
        vy_check_result *r = checked(&s.q);
        for (uint32_t i = 0; i < r->count; i++)
            if (r->rows[i].verdict == VY_CHECK_FAILED)
                fail_msg("%s %s[%d]: %.17g, expected %.17g", primal[k], r->rows[i].buffer,
                         (int)r->rows[i].worst, r->rows[i].got, r->rows[i].expected);
        vy_check_free(r);
        vy_module_free(g);
        tear_down(&s);
    }
}

// --------------------------------------------------------------------------------------- the C API
static void compare(void **state)
{
    (void)state;
    vy_check_result r = {.passed = true};
    const float a[] = {1, 0, NAN, 4}, same[] = {1, 0, NAN, 4}, zero[] = {1, -0.0f, NAN, 4},
                near[] = {1, 0, NAN, 4.001f};
    const int32_t i[] = {1, 2}, j[] = {1, 3};
    assert_int_equal(vy_check_compare(&r, VY_CHECK_DEVICE, "a", VY_F32, 4, a, same, 0)->verdict,
                     VY_CHECK_PASSED);
    assert_true(r.passed);
    assert_int_equal(vy_check_compare(&r, VY_CHECK_DEVICE, "a", VY_F32, 4, a, zero, 0)->failed, 1);
    assert_false(r.passed);
    const vy_check_row *c = vy_check_compare(&r, VY_CHECK_DEVICE, "a", VY_F32, 4, a, near, 1e-4);
    assert_int_equal(c->failed, 1);
    assert_int_equal(c->worst, 3);
    c = vy_check_compare(&r, VY_CHECK_DEVICE, "a", VY_F32, 4, a, near, 1e-3);
    assert_int_equal(c->failed, 0);
    assert_int_equal(c->compared, 3); // not the NaN
    assert_int_equal(vy_check_compare(&r, VY_CHECK_DEVICE, "i", VY_I32, 2, i, j, 0)->failed, 1);
    c = vy_check_skip(&r, VY_CHECK_DEVICE, "", "no device");
    assert_int_equal(c->verdict, VY_CHECK_SKIPPED);
    assert_string_equal(c->note, "no device");
    free(r.rows);
}

static void bad_requests(void **state)
{
    (void)state;
    setting s;
    set_up(&s, SIN, N, N);
    vy_module *g = parse(GRAD("grad_x[i] = x[i];"));
    vy_module *other = parse("program o(z: in f32[N], grad_x: out f32[N], N: u32) over(i: N)"
                             " { grad_x[i] = z[i]; }");
    vy_diag d;
    assert_null(vy_grad_check(&s.q, &d)); // no gradient
    assert_string_equal(d.code, "E0003");
    s.q.gradient = only(g);
    s.q.buffer_count = 1;
    assert_null(vy_grad_check(&s.q, &d));
    assert_non_null(strstr(d.text, "buffer y is not given"));
    s.q.buffer_count = 2;
    s.q.gradient = only(other);
    assert_null(vy_grad_check(&s.q, &d));
    assert_non_null(strstr(d.text, "z of o is neither a gradient nor a cotangent"));
    s.q.gradient = only(g);
    const uint64_t wrong[] = {N + 1};
    s.buffers[1].shape = wrong;
    assert_null(vy_grad_check(&s.q, &d));
    assert_string_equal(d.code, "E0704");
    vy_module_free(g);
    vy_module_free(other);
    tear_down(&s);
}

static void out_of_memory(void **state)
{
    (void)state;
    setting s;
    set_up(&s, "program f(x: in f32[N], y: out f32[N], N: u32) over(i: N) { y[i] = abs(x[i]); }", 2,
           2);
    s.x[0] = 0; // a kink, for its list
    vy_module *g = parse(GRAD("grad_x[i] = sign(x[i]);"));
    vy_module *f = parse(JVP("dot_y[i] = sign(x[i]) * dot_x[i];"));
    s.q.gradient = only(g);
    s.q.forward = only(f);
    for (long n = 0;; n = next_failing(n)) {
        vy_diag d;
        vy_test_fail_after(n);
        vy_check_result *r = vy_grad_check(&s.q, &d);
        vy_test_fail_after(-1);
        if (r) {
            assert_true(n > 50 && r->passed);
            vy_check_free(r);
            break;
        }
        assert_string_equal(d.code, "E0001");
    }
    vy_module_free(g);
    vy_module_free(f);
    tear_down(&s);
}

// ---------------------------------------------------------------------------------- many gradients
enum { MANY = 40, WRONG = 18, SHARE = 16 };

// y = Σ factor_k · sin(x_k); `odd` is the factor of x18.
static vy_module *sum_of_many(double odd)
{
    char text[8192];
    size_t n = (size_t)snprintf(text, sizeof text, "program f(");
    for (int k = 0; k < MANY; k++)
        n += (size_t)snprintf(text + n, sizeof text - n, "x%d: in f32[N], ", k);
    n += (size_t)snprintf(text + n, sizeof text - n,
                          "y: out f32[N], N: u32) over(i: N) { var s = 0.0;");
    for (int k = 0; k < MANY; k++)
        n += (size_t)snprintf(text + n, sizeof text - n, " s += sin(x%d[i]) * %.4f;", k,
                              k == WRONG ? odd : k + 1.0);
    snprintf(text + n, sizeof text - n, " y[i] = s; }");
    return parse(text);
}

// Checks the gradient of one against the other; rows of each test that were compared and failed.
static void check_many(double odd, uint32_t compared[VY_CHECK_TESTS],
                       uint32_t failed[VY_CHECK_TESTS])
{
    const uint64_t shape[1] = {N};
    float data[N] = {0.5f, 1, 1.25f, 2, 2.5f, 3};
    char names[MANY][8];
    vy_eval_buffer buffers[MANY + 1] = {{"y", NULL, shape, 1}};
    vy_module *primal = sum_of_many(3), *other = sum_of_many(odd);
    vy_diag d;
    vy_module *g = vy_grad(other, &(vy_grad_options){0}, &d);
    assert_non_null(g);
    for (int k = 0; k < MANY; k++) {
        snprintf(names[k], sizeof names[k], "x%d", k);
        buffers[k + 1] = (vy_eval_buffer){names[k], data, shape, 1};
    }
    const vy_check_request q = {.primal = only(primal),
                                .gradient = only(g),
                                .buffers = buffers,
                                .buffer_count = MANY + 1,
                                .budget = 1};
    vy_check_result *r = checked(&q);
    for (uint32_t i = 0; i < r->count; i++) {
        const vy_check_row *row = &r->rows[i];
        compared[row->test] += row->compared != 0;
        if (row->verdict != VY_CHECK_FAILED) continue;
        failed[row->test]++;
        assert_string_equal(row->buffer, "grad_x18");
    }
    assert_null(r->unverified);
    vy_check_free(r);
    vy_module_free(primal);
    vy_module_free(other);
    vy_module_free(g);
}

// Beyond the budget only some gradients are checked element by element.  All are checked along
// directions: together, and where that disagrees, by bisection.
static void many_gradients_share_runs(void **state)
{
    (void)state;
    uint32_t compared[VY_CHECK_TESTS] = {0}, failed[VY_CHECK_TESTS] = {0};
    check_many(3, compared, failed);
    assert_int_equal(compared[VY_CHECK_DIFFERENCES], SHARE);
    assert_int_equal(compared[VY_CHECK_TANGENTS], SHARE);
    assert_int_equal(compared[VY_CHECK_DIRECTION], MANY);
    assert_int_equal(failed[VY_CHECK_DIRECTION], 0);
    check_many(3.001, compared, failed);
    assert_int_equal(failed[VY_CHECK_DIRECTION], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_gradients_share_runs),
        cmocka_unit_test(right_derivative),
        cmocka_unit_test(derived),
        cmocka_unit_test(wrong_values),
        cmocka_unit_test(wrong_cotangents),
        cmocka_unit_test(wrong_value),
        cmocka_unit_test(forward_mode),
        cmocka_unit_test(broken_promises),
        cmocka_unit_test(order_of_workgroups),
        cmocka_unit_test(kinks),
        cmocka_unit_test(origin_of_nan),
        cmocka_unit_test(nothing_to_compare),
        cmocka_unit_test(large),
        cmocka_unit_test(hard_functions),
        cmocka_unit_test(compare),
        cmocka_unit_test(bad_requests),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
