// SPDX-License-Identifier: MIT
// test_grad_memory.c: vy_grad when memory runs out, at every allocation that it makes.
#include "autodiff/grad.h"
#include "ir/core/ir.h"
#include "tests/unit/failing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define P "program f(x: in f32[N], y: out f32[N], N: u32) over(i: N) "

static const struct {
    const char *text;
    uint32_t most; // checkpoint levels to try
    bool pipeline; // the result is several programs, without checkpoints
} programs[] = {
    // a tape whose length the parameters determine, cut into segments
    {P "{ var v = x[i]; for k in 0..N { v = sin(v) * x[k]; } y[i] = v; }", 3, true},
    // one whose length the data determine: three programs and a pipeline; a condition that writes
    {"fn next(m: inout f32[2], x: f32) -> f32 { m[0] = m[0] * x + x; return m[0]; } " P
     "{ local m: f32[2]; var v = x[i]; while next(m, v) < 9 { v = v * v + 1; if v > 50 { break; } } "
     "y[i] = v * m[0]; }",
     1, true},
    {P
     "{ var v = x[i]; for j in 0..N { while v > 1 { v = v / (1 + x[j]); } v = v * v + 2; } y[i] = v; }",
     2, true},
    // checkpoints
    {P
     "{ var v = x[i]; for j in 0..N { checkpoint { var w = v; for k in 0..4 { w = sin(w) * x[k]; } "
     "v = w * v; } } y[i] = v; }",
     1, false},
    // a maximum over iterations
    {P "{ var v = x[i]; for k in 0..N { v = max(v, x[k] * x[k]); } y[i] = v; }", 0, false},
    // shadows: a root that is overwritten
    {P "{ y[i] = sqrt(x[i]); if x[i] <= 0 { y[i] = 0; } }", 0, false},
    // gathers: two programs, one that replaces the entire reverse, one beside atomics
    {"program f(a: in f32[M, K], b: in f32[K * N], c: out f32[M, N], M: u32, N: u32, K: u32) "
     "over(i: M, j: N) { c[i, j] = tanh(sum(k in 0..K: a[i, k] * b[k * N + j])); }",
     0, true},
    {P "{ if i > 0 { y[i] = x[i] * x[i - 1]; } }", 0, true}, // (and what writes y)
    {P "{ y[i] = sum(k in 0..N: x[k] * x[(i + 1) % N]) * x[u32(x[i])]; }", 0, true},
    // rows under a condition: a gather, and atomics instead of it
    {"program f(x: in f32[?], y: out f32[H, W], H: u32, W: u32, S: u32) over(i: H, j: W) "
     "{ y[i, j] = sin(x[i * S + j]); }",
     0, true},
    // rows that are packed by four, as many as a quotient of what may be negative
    {"@shader program f(x: in f32[?], y: out f32[?], n: i32, w: i32) over(i: (n + 3) / 4) { "
     "var s = 0.0; for k in 0..w { let c = i32(i) * w + k; s += sin(x[c / 4]) * f32(c % 4); } "
     "y[i] = s; }",
     0, true},
    // two layouts, of which a launch has one: versions, and how their buffers begin
    {"@shader program f(x: in f32[?], g: in f32[?], y: out f32[?], w: i32, n: i32, l: i32) "
     "workgroup(4) over(i: n * 4) { let q = w >> 1; let r = i32(wid.x); shared s: f32[4]; "
     "var t = 0.0; for j in i32(lid.x)..q step 4 { var at = r * q + j; "
     "if l != 0 { at = j * n + r; } t += x[at]; } s[lid.x] = t; barrier(); "
     "let m = s[0] + s[3]; for j in i32(lid.x)..q step 4 { var at = r * q + j; "
     "if l != 0 { at = j * n + r; } y[at] = x[at] * m * g[j]; } }",
     0, true},
    // lengths left open; no domain; an array in a loop
    {"program f(x: in f32[?], y: out f32[1]) over(i: 1) { var v = 1.0; "
     "for k in 0..len(x) { v = v * x[k] + x[k]; } y[0] = v; }",
     1, false},
    {"program f(x: in f32[N], y: out f32[N], N: u32, T: u32) workgroup(4) { let i = gid.x; "
     "if i < N { local t: f32[3]; t[1] = x[i]; for k in 0..T { t[k % 3] = t[1] * t[2] + sin(t[0]); } "
     "y[i] = t[0]; } }",
     1, false},
    // shared memory: a tile staged again, an adjoint in a workspace
    {"program f(x: in f32[N], y: out f32[N], N: u32, T: u32) workgroup(4) over(i: N) { "
     "shared t: f32[4]; shared big: f32[4096]; var s = x[i]; "
     "for k in 0..T { t[lid.x] = x[k] * s; barrier(); s *= t[0]; barrier(); } "
     "big[lindex * 9] = s; barrier(); y[i] = big[0] * s; }",
     0, false},
};

// Returns how many allocations there are.
static long check(const char *text, const vy_grad_options *o, bool pipeline)
{
    vy_module *m = vy_parse(text, strlen(text), "memory"), *g = NULL;
    assert_non_null(m);
    if (!vy_module_ok(m)) fail_msg("%s\n%s", vy_module_diag(m)->text, text);
    vy_diag d = {0};
    g = vy_grad(m, o, &d);
    if (!g) fail_msg("%s\n%s", d.text, text);
    if (!o->checkpoint && (vy_module_pipeline_count(g) == 1) != pipeline)
        fail_msg("several programs, or not: %s", text);
    char *want = vy_print(g, NULL);
    assert_non_null(want);
    vy_module_free(g);
    g = NULL;
    long n = 0;
    for (; !g && n < 100000; n = next_failing(n)) {
        vy_test_fail_after(n);
        g = vy_grad(m, o, &d);
        vy_test_fail_after(-1);
        if (!g && strcmp(d.code, "E0001") != 0) fail_msg("%ld: %s %s\n%s", n, d.code, d.text, text);
        assert_true(vy_module_ok(m));
    }
    assert_non_null(g);
    char *got = vy_print(g, NULL); // failures left nothing behind
    assert_non_null(got);
    assert_string_equal(got, want);
    vy_free(got);
    vy_free(want);
    vy_module_free(g);
    vy_module_free(m);
    return n;
}

static void every_allocation(void **unused)
{
    (void)unused;
    for (size_t k = 0; k < sizeof programs / sizeof *programs; k++)
        for (uint32_t level = 0; level <= programs[k].most; level++) {
            const vy_grad_options o = {.checkpoint = level,
                                       .revolve = level > 1 ? 3 : 0,
                                       .accumulate = VY_ACCUMULATE_GATHER,
                                       .frugal = level || k % 2,
                                       .seed_buffer = k % 3 == 0,
                                       .with_value = k % 3 == 1};
            long n = check(programs[k].text, &o, programs[k].pipeline);
            assert_true(n > 50);
        }
}

// Exact sums beside terms, of each type of float; a buffer that is loaded and stored too.
static const char *const sums[] = {
    P "{ y[i] = x[u32(x[i])] * x[0]; }",
    "program f(b: in f32[1], w: in f32[4], x: in f32[N, N], y: out f32[N, N], N: u32) over(i: N, j: N) "
    "{ y[i, j] = sin(b[0] * x[i, j]) * w[u32(x[i, j])]; }",
    "program f(w: in f64[4], x: in f64[N], y: out f64[N], N: u32) over(i: N) "
    "{ y[i] = w[u32(x[i])] * x[i]; }",
    "program f(w: in f16[4], x: in f16[N], y: out f16[N], N: u32) over(i: N) "
    "{ y[i] = w[u32(x[i])] * x[i]; }",
    "program f(p: in u32[N], x: inout f32[N], N: u32) over(i: N) { x[p[i]] = sin(x[p[i]]); }",
};

static void ordered_sums(void **unused)
{
    (void)unused;
    for (size_t k = 0; k < sizeof sums / sizeof *sums; k++) {
        const vy_grad_options o = {.deterministic = true,
                                   .accumulate = VY_ACCUMULATE_ATOMIC,
                                   .lean_sums = k % 2,
                                   .with_value = k % 3 == 1};
        assert_true(check(sums[k], &o, k < 4) > 50);
    }
}

#define PARTS                                                                                      \
    "program s(x: in f32[N], y: out f32[N], N: u32) over(i: N) { y[i] = sin(x[i]) * x[i]; } "      \
    "program g(x: inout f32[N], k: in f32[N], N: u32) over(i: N) { x[i] = x[i] * x[i] + k[i]; } "

// Pipelines: tapes, copies, slices, temporaries, a checkpoint, sizes that the run decides; a gradient
// that is a pipeline itself, and inlined.
static const char *const pipelines[] = {
    PARTS "pipeline p(x: inout f32[N], k: in f32[N], y: out f32[T, N], T: u32, N: u32) { "
          "buffer h: f32[2, N]; s(x, h[0]); repeat t in 0..T { checkpoint { s(h[t % 2], y[t]); "
          "g(y[t], k); } g(x, y[t]); s(x, h[(t + 1) % 2]); } g(x, h[0]); }",
    PARTS "program w(x: in f32[N], y: out f32[N], N: u32) over(i: N) { var v = x[i]; "
          "while v < 9 { v = v * v + 1; } y[i] = v; } "
          "pipeline p(x: in f32[N], k: in f32[N], n: in u32[1], y: out f32[N], N: u32) { "
          "buffer h: f32[N + value(n[0])]; s(x, y); w(y, h, N=N); g(y, k); }",
};

static vy_module *derive(const vy_module *m, bool forward, vy_diag *d)
{
    const vy_grad_options o = {.program = "p", .seed_buffer = true};
    return forward ? vy_jvp(m, &o, d) : vy_grad(m, &o, d);
}

static void check_pipeline(const char *text, bool forward)
{
    vy_diag d = {0};
    vy_module *m = vy_parse(text, strlen(text), "memory"), *g = NULL;
    assert_non_null(m);
    if (!vy_module_ok(m)) fail_msg("%s\n%s", vy_module_diag(m)->text, text);
    vy_module *want = derive(m, forward, &d);
    if (!want) fail_msg("%s\n%s", d.text, text);
    long n = 0;
    for (; !g && n < 100000; n = next_failing(n)) {
        vy_test_fail_after(n);
        g = derive(m, forward, &d);
        vy_test_fail_after(-1);
        if (!g && strcmp(d.code, "E0001") != 0) fail_msg("%ld: %s %s\n%s", n, d.code, d.text, text);
        assert_true(vy_module_ok(m));
    }
    assert_non_null(g);
    assert_true(n > 300);
    char *x = vy_print(want, NULL), *y = vy_print(g, NULL);
    assert_true(x && y);
    assert_string_equal(x, y);
    vy_free(x);
    vy_free(y);
    vy_module_free(want);
    vy_module_free(g);
    vy_module_free(m);
}

static void of_pipelines(void **unused)
{
    (void)unused;
    for (size_t k = 0; k < sizeof pipelines / sizeof *pipelines; k++)
        for (int forward = 0; forward < 2; forward++) check_pipeline(pipelines[k], forward);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ordered_sums),
        cmocka_unit_test(every_allocation),
        cmocka_unit_test(of_pipelines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
