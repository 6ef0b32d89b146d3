// SPDX-License-Identifier: MIT
// test_dual.c: dual numbers in the interpreter.
//
// Their rules are written twice on purpose: here every differentiable operation is compared with
// the gradient that reverse mode makes, on a grid that holds kinks, poles and ends of domains.  A
// wrong row of ir/core/ops.h, or a wrong case of ir/eval/dual_rules.c, makes one differ.
#include "autodiff/grad.h"
#include "ir/eval/dual.h"
#include "ir/core/ir.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const double grid[] = {-INFINITY, -30, -2, -1.5, -1, -0.5, -1e-3, -0.0, 0.0,   1e-200,
                              1e-3,      0.5, 1,  1.25, 2,  2.5,  3,     30,   1e200, INFINITY};
enum { POINTS = COUNT(grid), PAIRS = POINTS * POINTS };

static vy_module *parse(const char *text)
{
    vy_module *m = vy_parse(text, strlen(text), "t.vyre");
    assert_non_null(m);
    if (!vy_module_ok(m)) fail_msg("%s\n%s", text, vy_module_diag(m)->text);
    return m;
}

typedef struct data { // for programs p(x, z, y), on all pairs of points of the grid
    double x[PAIRS], z[PAIRS], y[PAIRS], grad[2][PAIRS], dot[2][PAIRS];
} data;

static void run_gradient(vy_module *m, data *d, const char *op)
{
    static const uint64_t shape[1] = {PAIRS};
    vy_diag diag;
    vy_module *g = vy_grad(m, &(vy_grad_options){0}, &diag);
    if (!g) fail_msg("%s: %s", op, diag.text);
    const vy_program *p = vy_module_program(g, 0);
    vy_eval_buffer b[4];
    uint32_t n = 0;
    if (vy_program_find_buffer(p, "x").id) b[n++] = (vy_eval_buffer){"x", d->x, shape, 1};
    if (vy_program_find_buffer(p, "z").id) b[n++] = (vy_eval_buffer){"z", d->z, shape, 1};
    b[n++] = (vy_eval_buffer){"grad_x", d->grad[0], shape, 1};
    b[n++] = (vy_eval_buffer){"grad_z", d->grad[1], shape, 1};
    if (!vy_eval(p, b, n, NULL, 0, &(vy_eval_options){.f64 = true}, NULL, &diag))
        fail_msg("%s: %s", op, diag.text);
    vy_module_free(g);
}

static void run_duals(vy_module *m, data *d, const char *op)
{
    static const uint64_t shape[1] = {PAIRS};
    static double ones[PAIRS];
    vy_diag diag;
    const vy_eval_buffer b[] = {{"x", d->x, shape, 1},
                                {"z", d->z, shape, 1},
                                {"y", d->y, shape, 1}};
    for (int i = 0; i < PAIRS; i++) ones[i] = 1;
    for (int k = 0; k < 2; k++) {
        const vy_dual_buffer tangents[] = {{k ? "z" : "x", ones}, {"y", d->dot[k]}};
        const vy_dual dual = {.buffers = tangents, .buffer_count = 2};
        if (!vy_eval_dual(vy_module_program(m, 0), NULL, b, 3, NULL, 0,
                          &(vy_eval_options){.f64 = true}, &dual, &diag))
            fail_msg("%s: %s", op, diag.text);
    }
}

static bool alike(double a, double b)
{
    if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
    return a == b || fabs(a - b) <= 1e-12 * fmax(fabs(a), fabs(b));
}

// Equivalent products, as 1/a·g and g/a, may overflow or vanish at different points far out.
static bool far(double v) { return fabs(v) > 1e100 || (v != 0 && fabs(v) < 1e-100); }

static void compare(const data *d, const char *op)
{
    for (int i = 0; i < PAIRS; i++)
        for (int k = 0; k < 2; k++) {
            if (far(d->x[i]) || far(d->z[i])) continue;
            if (!alike(d->grad[k][i], d->dot[k][i]))
                fail_msg("%s at x = %g, z = %g, by %c: gradient %.17g, dual %.17g", op, d->x[i],
                         d->z[i], "xz"[k], d -> grad[k][i], d -> dot[k][i]);
        }
}

static void check_operation(const char *expression)
{
    static data d;
    char text[400];
    snprintf(text, sizeof text,
             "program p(x: in f64[N], z: in f64[N], y: out f64[N], N: u32) over(i: N) "
             "{ y[i] = %s; }",
             expression);
    for (int i = 0; i < PAIRS; i++) {
        d.x[i] = grid[i % POINTS];
        d.z[i] = grid[i / POINTS];
    }
    vy_module *m = parse(text);
    run_gradient(m, &d, expression);
    run_duals(m, &d, expression);
    compare(&d, expression);
    vy_module_free(m);
}

// Every row with a derivative, in its own textual form: none can be forgotten.
static void rows(void **state)
{
    (void)state;
    uint32_t seen = 0;
    for (int op = 1; op < VY_OP_COUNT; op++) {
        const vy_op_info *i = &vy_op_infos[op];
        const bool floats = i->rule == VY_RULE_F || i->rule == VY_RULE_N;
        char text[100];
        if (!floats || i->effect != VY_PURE || i->form == VY_FORM_SPECIAL) continue;
        if (i->form == VY_FORM_LOWERED) continue; // has no derivative
        if (op == VY_OP_FMA)
            snprintf(text, sizeof text, "fma(x[i], z[i], x[i])");
        else if (op == VY_OP_CLAMP)
            snprintf(text, sizeof text, "clamp(x[i], z[i], 2.0)");
        else if (i->form == VY_FORM_INFIX)
            snprintf(text, sizeof text, "x[i] %s z[i]", i->text);
        else if (i->form == VY_FORM_PREFIX)
            snprintf(text, sizeof text, "%s x[i]", i->text);
        else
            snprintf(text, sizeof text, i->arity == 2 ? "%s(x[i], z[i])" : "%s(x[i])", i->text);
        check_operation(text);
        seen++;
    }
    assert_true(seen > 40);
}

static void composed(void **state)
{
    (void)state;
    static const char *const expressions[] = {
        "polygamma(0, x[i])",
        "polygamma(2, x[i])",
        "digamma(x[i])",
        "clamp(x[i], -1.0, z[i])",
        "clamp(1.25, x[i], z[i])",
        "select(x[i] < z[i], sqrt(x[i]), z[i] * z[i])",
        "relu(x[i])",
        "mod(x[i], z[i])",
        "fmod(x[i], z[i])",
        "mix(x[i], z[i], 0.25)",
        "smoothstep(-1.0, 2.0, x[i])",
        "step(x[i], z[i])",
        "fract(x[i])",
        "recip(x[i])",
        // convention: a derivative that is zero by rule is dropped, not multiplied
        "sqrt(abs(x[i]))",
        "sqrt(hypot(x[i], z[i]))",
        "sqrt(stop_grad(x[i])) * z[i]",
        "log(max(x[i], 0.0))",
        "sqrt(x[i] - x[i])",
        "sqrt(x[i] * 0.0)",
        "abs(max(x[i], z[i]))",
        "f64(f32(x[i]))",
        "f64(i32(z[i])) * x[i]",
    };
    for (size_t k = 0; k < COUNT(expressions); k++) check_operation(expressions[k]);
}

// Intermediates, slices, repeats, scalars and clears of a pipeline carry tangents as they carry
// values: compared with a two-sided difference over a small step.
static void pipelines(void **state)
{
    (void)state;
    enum { N = 5 };
    static const char text[] =
        "program square(a: in f64[N], s: f64, b: out f64[N], N: u32) over(i: N) "
        "{ if i != 2 { b[i] = a[i] * a[i] * s; } }\n"
        "program add(a: in f64[N], b: inout f64[N], N: u32) over(i: N) { b[i] += sin(a[i]) * b[i]; }\n"
        "pipeline all(x: in f64[N], u: inout f64[4, N], y: out f64[N], s: f64, N: u32) {\n"
        "  buffer h: f64[N];\n  square(x, h, s=s);\n"
        "  repeat t in 0..3 { add(h, u[t]); add(u[t], u[t + 1]); }\n  square(u[3], y, s=s);\n}";
    const uint64_t shape[2] = {4, N};
    double x[N] = {0.3, -1.2, 0.7, 2, 0.5}, u[4 * N], y[N], start[4 * N];
    double tx[N] = {1, -0.5, 0.25, 2, 0}, tu[4 * N], ty[N], left[N], right[N];
    vy_module *m = parse(text);
    const vy_pipeline *p = vy_module_pipeline(m, 0);
    const vy_eval_buffer b[] = {{"x", x, shape + 1, 1}, {"u", u, shape, 2}, {"y", y, shape + 1, 1}};
    const vy_dual_buffer t[] = {{"x", tx}, {"u", tu}, {"y", ty}};
    const vy_dual_scalar ts = {"s", 0.125};
    const vy_dual dual = {.buffers = t, .buffer_count = 3, .scalars = &ts, .scalar_count = 1};
    const vy_eval_options o = {.f64 = true};
    vy_diag d;
    for (int k = 0; k < 4 * N; k++) start[k] = 0.1 * k - 0.7;
    for (int k = 0; k < 4 * N; k++) tu[k] = k % 3 ? 0.2 * k : 0;
    for (int side = -1; side <= 1; side += 2) {
        const double h = side * 1e-6;
        const vy_eval_scalar s = {"s", {.f = 0.75 + h * 0.125}};
        for (int k = 0; k < N; k++) x[k] += h * tx[k];
        for (int k = 0; k < 4 * N; k++) u[k] = start[k] + h * tu[k];
        if (!vy_eval_pipeline(p, b, 3, &s, 1, &o, NULL, &d)) fail_msg("%s", d.text);
        memcpy(side < 0 ? left : right, y, sizeof y);
        for (int k = 0; k < N; k++) x[k] -= h * tx[k];
    }
    memcpy(u, start, sizeof u);
    const vy_eval_scalar s = {"s", {.f = 0.75}};
    if (!vy_eval_dual(NULL, p, b, 3, &s, 1, &o, &dual, &d)) fail_msg("%s", d.text);
    for (int k = 0; k < N; k++) {
        const double difference = (right[k] - left[k]) / 2e-6;
        if (fabs(difference - ty[k]) > 1e-7 * fmax(1, fabs(difference)))
            fail_msg("y[%d]: difference %.12g, dual %.12g", k, difference, ty[k]);
    }
    assert_true(ty[2] == 0 && fabs(ty[0]) > 1e-3);
    vy_module_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows), cmocka_unit_test(composed),
                                       cmocka_unit_test(pipelines)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
