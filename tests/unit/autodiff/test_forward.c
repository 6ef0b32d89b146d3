// SPDX-License-Identifier: MIT
// test_forward.c: forward mode of programs.
//
// Against the dual numbers of the interpreter and against the gradient (gradcheck_tangents.h), one
// row per construct, in f64: to 1e-12.  test_grad.c asks the same of its programs.
#include "tests/unit/autodiff/gradcheck.h"
#include "autodiff/grad.h"
#include "autodiff/transform.h"
#include "ir/core/mem.h"
#include "ir/eval/dual.h"
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

#define COUNT(a) (sizeof(a) / sizeof *(a))
#define OVER "program f(x: in f64[N], y: out f64[N], N: u32) over(i: N) "
#define GROUPS "program f(x: in f64[N], y: out f64[N], N: u32) workgroup(8) "

// -------------------------------------------------------------------------------------- constructs
static const char *const programs[] = {
    // control flow
    OVER "{ var s = x[i]; if s > 0.9 { s = s * s; } else { s = sin(s); } y[i] = s * x[i]; }",
    OVER "{ var s: f64 = 1.0; if x[i] > 0.9 { s = x[i]; } y[i] = exp(s); }",
    OVER "{ var s: f64 = 0.0; for k in 0..5 { s = s * x[i] + sin(x[i] + f64(k)); } y[i] = s; }",
    OVER "{ var s: f64 = 1.0; for k in 0..5 { let t = s; s = x[i]; y[i] += t * s; } }",
    OVER "{ var s = x[i]; while s < 20.0 { s = s * (1.5 + x[i]); } y[i] = s; }",
    OVER "{ var s: f64 = 0.0; var n = 0; while n < 9 { s = s + x[i] * x[i]; n += 1; "
         "if s > 2.0 { break; } } y[i] = s; }",
    OVER
    "{ var s = x[i]; for k in rev(0..4) { if k == 2 { continue; } s = s * s * 0.7; } y[i] = s; }",
    OVER "{ y[i] = select(x[i] < 0.8, x[i] * x[i], exp(x[i])); }",
    OVER "{ var s = x[i]; for j in 0..3 { for k in 0..j { s += s * x[k]; } } y[i] = s; }",
    OVER "{ var s = x[i]; checkpoint { s = s * s; s = sin(s) * x[i]; } y[i] = s; }",
    // kinks; a zero by convention stays one
    OVER "{ y[i] = min(x[i], x[i]) + max(x[i], 0.8) + clamp(x[i], 0.5, 1.2) + abs(x[i] - x[i]); }",
    OVER "{ y[i] = sqrt(abs(x[i] - x[i])) + x[i]; }",
    OVER "{ y[i] = sqrt(max(x[i] - 3.0, 0.0)) + log(max(x[i] * 0.0, 0.0) + x[i]); }",
    OVER "{ var s: f64 = 0.0; if x[i] > 0.9 { s = x[i] - 0.9; } y[i] = sqrt(s) + x[i]; }",
    OVER
    "{ var s: f64 = 0.0; for k in 0..3 { if x[i] > 9.0 { s = x[i]; } } y[i] = sqrt(s) * 2.0 + x[i]; }",
    OVER "{ y[i] = select(x[i] > 9.0, sqrt(x[i] - 9.0), x[i]); }",
    OVER "{ y[i] = hypot(x[i] - x[i], 0.0) + pow(x[i], 2.0) + atan2(x[i], 2.0) + cbrt(x[i]); }",
    OVER "{ y[i] = stop_grad(x[i]) * x[i] + straight_through(floor(x[i]), x[i] * x[i]); }",
    // memory
    OVER "{ local t: f64[4]; for k in 0..4 { t[k] = x[i] * f64(k); } var s: f64 = 0.0; "
         "for k in 0..4 { s += t[k] * t[3 - k]; } y[i] = s; }",
    OVER "{ local t: f64[2]; if x[i] > 9.0 { t[0] = x[i]; } y[i] = sqrt(t[i % 2]) + x[i]; }",
    OVER "{ for k in 0..3 { local t: f64[3]; t[k] = x[i] * x[i]; y[i] += t[i % 3] * x[k]; } }",
    OVER "{ local t: f64[2]; t[0] = x[i]; t[1] = t[0] * t[0]; t[0] = 2.0; y[i] = t[0] * t[1]; }",
    OVER "{ y[i] = x[i]; y[i] = y[i] * y[i]; y[i] = y[i] * sin(y[i]); }",
    OVER "{ y[i] = x[i]; if i == 1 { y[i] = 3.0; } y[i] = y[i] * x[i]; }",
    OVER "{ atomic_add(y[i % 2], x[i] * x[i]); atomic_add(y[0], 1.0); }",
    OVER "{ for k in 0..3 { atomic_add(y[(i + k) % N], x[i] * x[k]); } }",
    "program f(x: inout f64[N], y: out f64[N], N: u32) over(i: N) "
    "{ x[i] = x[i] * x[i]; y[i] = x[i] * sin(x[i]); x[i] = x[i] * y[i]; }",
    "program f(x: in f64[N], u: inout f64[N], N: u32) over(i: N) "
    "{ if i % 2 == 0 { u[i] = u[i] * x[i]; } }",
    "program f(x: in f64[N], u: inout f64[N], y: out f64[N], N: u32) over(i: N) "
    "{ u[i] = u[i] * x[i]; y[i] = u[i] * u[i]; }",
    "program f(x: in f64[N], u: inout f64[N], y: out f64[N], N: u32) over(i: N) "
    "{ u[i] = 1.0; y[i] = x[i] * u[i]; }",
    "program f(x: in f64[N, M], at: in u32[N], y: out f64[M], N: u32, M: u32) over(i: N, j: M) "
    "{ atomic_add(y[at[i] % M], x[i, j] * x[i, at[i] % M]); }",
    "program f(x: in f64[N], y: out f64[N], z: out f64[1], N: u32) over(i: N) "
    "{ if i + 1 < N { y[i] = x[i] * x[i + 1]; } if i == 0 { z[0] = 3.0; } }",
    "program f(x: in f64[N], y: out f64[N], z: out f64[N], N: u32) workgroup(8) { let i = gid.x; "
    "if i < N { y[i] = x[i] * x[i]; } barrier(); if i < 7 & i + 1 < N { z[i] = y[i + 1] * x[i]; } }",
    // shared memory and subgroups
    GROUPS "{ shared t: f64[8]; let i = gid.x; let l = lid.x; if i < N { t[l] = x[i] * x[i]; } "
           "barrier(); if i < N { y[i] = t[7 - l] * x[i] + t[0]; } }",
    GROUPS
    "{ shared t: f64[8]; let i = gid.x; let l = lid.x; if i < N { t[l] = x[i]; } barrier(); "
    "for k in 0..3 { let d = 4 >> k; if l < d { t[l] = t[l] + t[l + d] * t[l]; } barrier(); } "
    "if l == 0 { y[0] = t[0]; } }",
    GROUPS "{ let i = gid.x; let s = subgroup_add(x[min(i, N - 1)] * x[0]); "
           "if i < N { y[i] = s * x[i]; } }",
    GROUPS "{ let i = gid.x; let v = x[min(i, N - 1)]; let s = subgroup_inclusive_add(v * v); "
           "let e = subgroup_exclusive_add(v); if i < N { y[i] = s * e + sqrt(e + v); } }",
    GROUPS "{ let i = gid.x; let v = x[min(i, N - 1)]; let s = subgroup_shuffle_xor(v, 1); "
           "let b = subgroup_broadcast(v * v, 0); if i < N { y[i] = s * b * v; } }",
    // the highest lane of equal ones; a product with factors 0; padding lanes in the last subgroup
    GROUPS "{ let i = gid.x; let v = x[min(i, N - 1)]; let m = subgroup_min(v * v); "
           "let t = subgroup_max(min(v, x[0] * 1.5)); if i < N { y[i] = m * t + sqrt(m) * v; } }",
    OVER "{ y[i] = subgroup_max(x[i / 2] * x[i / 2]) * subgroup_min(max(x[i], 0.8)) + x[i]; }",
    OVER "{ y[i] = subgroup_mul(x[i]) + subgroup_mul(x[i] - x[(i + 5) % N]); }",
    OVER "{ y[i] = subgroup_mul(select(i == 2, x[i] - x[2], x[i])) * x[i]; }",
    OVER "{ y[i] = subgroup_mul(select(i % 3 == 1, 0.0, x[i])) + x[i]; }",
    "program f(x: in f64[N, M], y: out f64[N, M], N: u32, M: u32) over(i: N, j: M) "
    "{ var s = x[i, j]; for k in 0..2 { s = subgroup_mul(s * 1.1) + subgroup_max(s * x[i, j]); } "
    "y[i, j] = s; }",
    GROUPS "{ let i = gid.x; let v = x[min(i, N - 1)]; let p = subgroup_mul(v); "
           "let s = subgroup_shuffle(p * v, (lane + 1) % 4); if i < N { y[i] = p * p + s; } }",
    // casts
    "program f(x: in f32[N], y: out f64[N], N: u32) over(i: N) "
    "{ y[i] = f64(f16(x[i])) * f64(x[i]) + f64(i32(x[i])); }",
    "program f(x: in f16[N], y: out f16[N], N: u32) over(i: N) "
    "{ var s = x[i]; for k in 0..3 { s = s * x[i] + x[(i + 1) % N]; } y[i] = s; }",
};

// Extrema by atomics: on buffers the forward derivative is a pipeline.
static const char *const extrema[] = {
    "program f(x: in f64[N], y: out f64[1], N: u32) over(i: N) { atomic_max(y[0], x[i] * x[i]); }",
    "program f(x: in f64[N], u: inout f64[2], N: u32) over(i: N) "
    "{ atomic_min(u[i % 2], x[i] * 0.7); }",
    "program f(x: in f64[N], u: inout f64[2], y: out f64[N], N: u32) over(i: N) "
    "{ for k in 0..3 { atomic_min(u[(i + k) % 2], x[i] * f64(k + 1) * 0.3); } "
    "atomic_min(u[1], 0.5 + 0.1 * x[0]); atomic_min(u[0], 0.4); y[i] = x[i] * x[i]; }",
    "program f(x: in f64[N], y: out f64[2], N: u32) over(i: N) "
    "{ atomic_max(y[0], floor(x[i] * 2.0) * x[0]); if sin(x[i]) > 0.5 { atomic_max(y[1], x[i]); } }",
    "program f(x: in f64[N, M], y: out f64[M], n: out u32[1], N: u32, M: u32) over(i: N, j: M) "
    "{ atomic_max(y[j], sqrt(x[i, j])); atomic_add(n[0], 1); }",
    "program f(x: in f64[N], s: f64, y: out f64[1], N: u32) workgroup(4) "
    "{ if gid.x < N { atomic_max(y[0], x[gid.x] * s); } }",
};
static const char *const shared_extrema[] = {
    "program f(x: in f64[N], y: out f64[N], N: u32) workgroup(8) { shared t: f64[2]; shared t; "
    "barrier(); let i = gid.x; if i < N { atomic_max(t[i % 2], x[i] * x[i]); } barrier(); "
    "if i < N { y[i] = t[0] * x[i] + t[1]; } }",
    "program f(x: in f64[N], y: out f64[N], N: u32) workgroup(8) { shared t: f64[1]; "
    "let i = gid.x; if lindex == 0 { t[0] = x[0] * 1.1; } barrier(); "
    "for k in 0..3 { if i < N { atomic_min(t[0], x[i] + sin(x[i] * f64(k))); } barrier(); } "
    "if i < N { y[i] = t[0] * t[0]; } }",
};

static const char *const scalars[] = {
    "program f(x: in f64[N], s: f64, y: out f64[N], N: u32) over(i: N) "
    "{ y[i] = x[i] * s + sin(s) * s; }",
    "program f(x: in f64[N], s: f64, y: out f64[1], N: u32) over(i: N) "
    "{ var t = s; for k in 0..3 { t = t * s + x[i]; } atomic_add(y[0], t); }",
};

static void check(const char *text, bool scalar)
{
    for (uint32_t variant = 0; variant < 4; variant++) {
        gradcheck c = {.text = text,
                       .scalars = {{"N", 6}, {"M", 3}, {"s", 0.7}},
                       .seed = variant + 1,
                       .subgroup = 4,
                       .tolerance = 1e-12,
                       .exact_only = true,
                       .seeded = variant % 2,
                       .optimised = variant > 1};
        if (scalar) c.wrt[0] = "x", c.wrt[1] = "s";
        if (!scalar && variant == 3) c.wrt[0] = "x";
        const char *wrong = gradcheck_run(&c);
        if (wrong) fail_msg("%s (variant %u)\n%s", wrong, variant, text);
    }
}

static void constructs(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT(programs); k++) check(programs[k], false);
    for (size_t k = 0; k < COUNT(scalars); k++) check(scalars[k], true);
    for (size_t k = 0; k < COUNT(shared_extrema); k++) check(shared_extrema[k], false);
    // All have a gradient of their own.
    assert_int_equal(gradcheck_transposed,
                     4 * (COUNT(programs) + COUNT(scalars) + COUNT(shared_extrema)));
    for (size_t k = 0; k < COUNT(extrema); k++) check(extrema[k], strstr(extrema[k], "s: f64"));
}

// ------------------------------------------------------------------------------- what is refused
typedef struct refusal {
    const char *body, *code, *text;
    uint32_t line;
} refusal;

static const refusal refusals[] = {
    {"atomic_max(y[0], x[i]); atomic_min(y[0], 2.0);", "E0502", "comes first", 2},
    {"atomic_max(y[0], x[i]); y[i] = 1.0;", "E0502", "comes first", 2},
    {"let old = atomic_exchange(y[0], x[i]);", "E0502", "atomic_exchange", 2},
    {"let old = atomic_cas(y[0], 0.0, x[i]);", "E0502", "atomic_cas", 2},
    {"let old = atomic_add(y[0], x[i]); y[i + 1] = old;", "E0502", "old value", 2},
    {"y[i] = bitcast_f32(bitcast_u32(x[i]) + 1);", "E0502", "bits", 2},
};

static vy_module *parse(const char *text)
{
    vy_module *m = vy_parse(text, strlen(text), "t.vyre");
    assert_non_null(m);
    if (!vy_module_ok(m)) fail_msg("%s\n%s", text, vy_module_diag(m)->text);
    return m;
}

static void refused(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT(refusals); k++) {
        char text[400];
        vy_diag d;
        snprintf(text, sizeof text,
                 "program f(x: in f32[N], y: out f32[N], N: u32) over(i: N) {\n%s\n}",
                 refusals[k].body);
        vy_module *m = parse(text);
        vy_module *jm = vy_jvp(m, NULL, &d);
        if (jm) fail_msg("not refused: %s", text);
        if (strcmp(d.code, refusals[k].code) != 0 || !strstr(d.text, refusals[k].text) ||
            d.line != refusals[k].line || !d.fix[0])
            fail_msg("%s: %u %s [%s], fix: %s", refusals[k].body, d.line, d.text, d.code, d.fix);
        vy_module_free(m);
    }
}

// What does not reach an output is not refused.
static void inactive(void **state)
{
    (void)state;
    static const char text[] =
        "program f(x: in f32[N], n: out f32[1], y: out f32[N], N: u32) over(i: N) "
        "{ atomic_max(n[0], x[i]); y[i] = x[i] * x[i]; }";
    const char *of[] = {"y"};
    vy_diag d;
    vy_module *m = parse(text);
    vy_module *jm = vy_jvp(m, &(vy_grad_options){.of = of, .of_count = 1}, &d);
    if (!jm) fail_msg("%s", d.text);
    vy_module_free(jm);
    vy_module_free(m);
}

static void pipelines(void **state)
{
    (void)state;
    vy_diag d;
    vy_module *m = parse("program g"
                         "(x: in f32[N], y: out f32[N], N: u32) over(i: N) "
                         "{ y[i] = x[i]; }\n"
                         "pipeline f(x: in f32[N], y: out f32[N], N: u32) { g(x, y); }");
    vy_module *jm = vy_jvp(m, &(vy_grad_options){.program = "f"}, &d);
    assert_non_null(jm);
    const vy_pipeline *l = vy_module_find_pipeline(jm, "f_jvp");
    assert_non_null(l);
    const vy_program *p = vy_pipeline_signature(l);
    const vy_buffer_info in = vy_program_buffer(p, vy_program_find_buffer(p, "dot_x")),
                         out = vy_program_buffer(p, vy_program_find_buffer(p, "dot_y"));
    assert_int_equal(in.role.kind, VY_IS_TANGENT);
    assert_int_equal(out.role.kind, VY_IS_TANGENT_OUT);
    assert_string_equal(out.role.of, "y");
    vy_module_free(jm);
    vy_module_free(m);
}

// ------------------------------------------------------------------------- parameters, and again
// Their order, names, classes and roles.
static void parameters(void **state)
{
    (void)state;
    static const struct {
        const char *name, *of;
        vy_buffer_class cls;
        vy_derivative_kind kind;
    } want[] = {
        {"x", "x", VY_IN, VY_IS_PRIMAL},
        {"u", "u", VY_INOUT, VY_IS_PRIMAL},
        {"y", "y", VY_OUT, VY_IS_VALUE},
        {"dot_x", "x", VY_IN, VY_IS_TANGENT},
        {"dot_u", "u", VY_INOUT, VY_IS_TANGENT},
        {"dot_y", "y", VY_OUT, VY_IS_TANGENT_OUT},
        {"dot_s", "s", VY_IN, VY_IS_SCALAR_TANGENT},
    };
    static const char text[] =
        "program f(x: in f32[N], u: inout f32[N], y: out f32[N], s: f32, N: u32) over(i: N) "
        "{ u[i] = u[i] * x[i]; y[i] = u[i] * s; }";
    const char *wrt[] = {"x", "u", "s"};
    vy_diag d;
    vy_module *m = parse(text);
    const vy_grad_options o = {.wrt = wrt, .wrt_count = 3, .with_value = true};
    vy_module *jm = vy_jvp(m, &o, &d);
    if (!jm) fail_msg("%s", d.text);
    const vy_program *p = vy_module_program(jm, 0);
    assert_string_equal(vy_program_name(p), "f_jvp");
    assert_int_equal(vy_program_buffer_count(p), COUNT(want));
    for (uint32_t k = 0; k < COUNT(want); k++) {
        const vy_buffer_info b = vy_program_buffer(p, (vy_buffer){k + 1});
        if (strcmp(b.name, want[k].name) != 0 || b.cls != want[k].cls ||
            b.role.kind != want[k].kind || strcmp(b.role.of, want[k].of) != 0)
            fail_msg("%u: %s is %d, role %d of %s", k, b.name, b.cls, b.role.kind, b.role.of);
    }
    vy_module_free(jm);
    vy_module_free(m);
}

// A text has no roles but by its names.
static void roles_of_texts(void **state)
{
    (void)state;
    static const char text[] =
        "program f(x: in f32[N], u: inout f32[N], y: out f32[N], s: f32, N: u32) over(i: N) "
        "{ u[i] = u[i] * x[i]; y[i] = u[i] * s; }";
    const char *wrt[] = {"x", "u", "s"};
    vy_diag d;
    vy_module *m = parse(text);
    vy_module *jm = vy_jvp(m, &(vy_grad_options){.wrt = wrt, .wrt_count = 3}, &d);
    if (!jm) fail_msg("%s", d.text);
    char *printed = vy_print(jm, NULL);
    vy_module *again = parse(printed);
    const vy_program *p = vy_module_program(jm, 0), *q = vy_module_program(again, 0);
    for (uint32_t k = 1; k <= vy_program_buffer_count(p); k++) {
        const vy_derivative_role a = vy_program_buffer(p, (vy_buffer){k}).role;
        const vy_derivative_role b = vy_role_of(q, (vy_buffer){k}, vy_module_program(m, 0));
        if (a.kind != b.kind || strcmp(a.of, b.of) != 0)
            fail_msg("%s: %d of %s, from its name %d of %s",
                     vy_program_buffer(p, (vy_buffer){k}).name, a.kind, a.of, b.kind,
                     b.of ? b.of : "nothing");
    }
    free(printed);
    vy_module_free(again);
    vy_module_free(jm);
    vy_module_free(m);
}

// A Hessian times v: forward mode of the gradient, also where it has workspaces and @init.  u·Hv is
// v·Hu.
static void of_gradients(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "program f(x: in f64[6], y: out f64[6]) over(i: 6) "
        "{ var s = x[i]; for k in 0..6 { s = s * x[k] + sin(s); } y[i] = s; }",
        "program f(x: in f64[6], y: out f64[1]) over(i: 6) "
        "{ atomic_add(y[0], x[i] * x[i] * x[(i + 1) % 6]); }",
        "program f(x: in f64[6], y: out f64[6]) over(i: 6) "
        "{ y[i] = x[i] * x[(i + 1) % 6]; y[i] = y[i] * y[i]; }",
    };
    for (size_t k = 0; k < COUNT(texts); k++) {
        enum { N = 6 };
        const uint64_t shape[1] = {N};
        double v[2][N], hv[2][N], x[N], product[2] = {0};
        vy_diag d;
        vy_module *m = parse(texts[k]);
        vy_module *gm =
            vy_grad(m, &(vy_grad_options){.accumulate = VY_ACCUMULATE_ATOMIC, .again = true}, &d);
        if (!gm) fail_msg("%s", d.text);
        assert_int_equal(vy_module_pipeline_count(gm), 0);
        const char *of[] = {"grad_x"}, *wrt[] = {"x"};
        const vy_grad_options o = {.of = of, .of_count = 1, .wrt = wrt, .wrt_count = 1};
        vy_module *hm = vy_jvp(gm, &o, &d);
        if (!hm) fail_msg("%s\n%s", d.text, texts[k]);
        for (int e = 0; e < N; e++) {
            x[e] = 0.4 + 0.15 * e;
            v[0][e] = cos(e + 1);
            v[1][e] = sin(3 * e + 1);
        }
        for (int side = 0; side < 2; side++) {
            const vy_eval_buffer b[] = {{"x", x, shape, 1},
                                        {"dot2_x", v[side], shape, 1},
                                        {"dot2_grad_x", hv[side], shape, 1}};
            if (!vy_eval(vy_module_program(hm, 0), b, 3, NULL, 0, &(vy_eval_options){.f64 = true},
                         NULL, &d))
                fail_msg("%s\n%s", d.text, texts[k]);
        }
        for (int e = 0; e < N; e++) {
            product[0] += v[1][e] * hv[0][e];
            product[1] += v[0][e] * hv[1][e];
        }
        if (fabs(product[0] - product[1]) > 1e-12 * fabs(product[0]) || product[0] == 0)
            fail_msg("%.17g and %.17g\n%s", product[0], product[1], texts[k]);
        vy_module_free(hm);
        vy_module_free(gm);
        vy_module_free(m);
    }
}

// Whichever allocation fails: an error, and nothing else happens to the module.
static void check_memory(const char *text)
{
    vy_module *m = parse(text);
    vy_diag d;
    long n = 0;
    for (;; n = next_failing(n)) {
        vy_test_fail_after(n);
        vy_module *jm = vy_jvp(m, NULL, &d);
        vy_test_fail_after(-1);
        vy_module_free(jm);
        if (jm) break;
        assert_string_equal(d.code, "E0001");
    }
    assert_true(n > 20 && vy_module_ok(m));
    vy_module_free(m);
}

static void out_of_memory(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT(programs); k += 5) check_memory(programs[k]);
    for (size_t k = 0; k < COUNT(extrema); k += 2) check_memory(extrema[k]);
    check_memory(shared_extrema[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constructs),   cmocka_unit_test(refused),
        cmocka_unit_test(inactive),     cmocka_unit_test(pipelines),
        cmocka_unit_test(parameters),   cmocka_unit_test(roles_of_texts),
        cmocka_unit_test(of_gradients), cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
