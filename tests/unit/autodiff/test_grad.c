// SPDX-License-Identifier: MIT
// test_grad.c: gradients against finite differences in double, one row per behaviour.
// Each program runs with all-ones and with random cotangents, and once more optimised.
#include "tests/unit/autodiff/gradcheck.h"
#include "autodiff/grad.h"
#include "ir/core/mem.h"
#include "tests/unit/failing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define SIZES                                                                                      \
    {                                                                                              \
        {"N", 6}, {"K", 4}, {"D", 3}, {"M", 5}, { "T", 7 }                                         \
    }
#define OVER_N "(x: in f32[N], y: out f32[N], N: u32) over(i: N) "

typedef struct row {
    const char *name, *text;
} row;

// ------------------------------------------------------------------------------------- operations
// Every float operation of the table, at a point inside its domain; x in (0.3, 1.6).
static const char *const unary[] = {
    "-X",
    "abs(X - 1)",
    "sqrt(X)",
    "rsqrt(X)",
    "cbrt(X)",
    "exp(X)",
    "exp2(X)",
    "expm1(X)",
    "log(X)",
    "log2(X)",
    "log10(X)",
    "log1p(X)",
    "sin(X)",
    "cos(X)",
    "tan(X * 0.7)",
    "asin(X * 0.5)",
    "acos(X * 0.5)",
    "atan(X)",
    "sinh(X)",
    "cosh(X)",
    "tanh(X)",
    "asinh(X)",
    "acosh(X + 1)",
    "atanh(X * 0.5)",
    "erf(X)",
    "erfc(X)",
    "lgamma(X)",
    "digamma(X)",
    "polygamma(1, X)",
    "polygamma(2, X)",
    "sigmoid(X)",
    "softplus(X)",
    "relu(X - 1)",
    "recip(X)",
    "fract(X + 0.05)",
    "floor(X + 0.07) * X",
    "ceil(X + 0.07) * X",
    "trunc(X + 0.07) * X",
    "round(X) * X",
    "sign(X - 1) * X",
    "X * stop_grad(X) - 0.5 * stop_grad(X * X)",
    "straight_through(sin(X), (exp(X) - exp(X)) + sin(X)) * X",
};
static const char *const binary[] = {
    "X + Y",
    "X - Y",
    "X * Y",
    "X / Y",
    "min(X, Y)",
    "max(X, Y)",
    "pow(X, Y)",
    "atan2(X, Y)",
    "mod(X * 0.5 + 2.5, Y * 0.1 + 2)",
    "hypot(X, Y)",
    "fmod(X * 0.2 + 2.5, Y * 0.02 + 1)",
    "step(X, Y) * X",
    "fma(X, Y, X)",
    "clamp(X, 0.5, Y)",
    "mix(X, Y, 0.3)",
    "mix(0.3, X, Y)",
    "smoothstep(0.1, 2.0, X * Y)",
    "select(X < Y, X * X, Y)",
    "X < Y ? X * X : Y * X",
    "f32(f64(X) * f64(Y))",
    "f32(i32(X * 10)) * Y",
};

static void substitute(char *out, size_t size, const char *expression)
{
    size_t n = 0;
    for (const char *c = expression; *c && n + 8 < size; c++) {
        const char *name = *c == 'X' ? "x[i]" : *c == 'Y' ? "z[i]" : NULL;
        if (name)
            n += (size_t)snprintf(out + n, size - n, "%s", name);
        else
            out[n++] = *c;
    }
    out[n] = 0;
}

static void check_text(const char *text, const char *name)
{
    for (int variant = 0; variant < 3; variant++) {
        gradcheck c = {.text = text,
                       .scalars = SIZES,
                       .seed = (uint32_t)variant + 1,
                       .seeded = variant > 0,
                       .optimised = variant == 2};
        const char *e = gradcheck_run(&c);
        if (e) fail_msg("%s (variant %d): %s\n%s", name, variant, e, text);
    }
}

static void operations(void **state)
{
    (void)state;
    char expression[200], text[500];
    for (size_t i = 0; i < sizeof unary / sizeof *unary; i++) {
        substitute(expression, sizeof expression, unary[i]);
        snprintf(text, sizeof text, "program f" OVER_N "{ y[i] = %s; }", expression);
        check_text(text, unary[i]);
    }
    for (size_t i = 0; i < sizeof binary / sizeof *binary; i++) {
        substitute(expression, sizeof expression, binary[i]);
        snprintf(text, sizeof text,
                 "program f(x: in f32[N], z: in f32[N], y: out f32[N], N: u32) over(i: N) "
                 "{ y[i] = %s; }",
                 expression);
        check_text(text, binary[i]);
    }
}

// -------------------------------------------------------------------------------------- behaviours
static const row variables[] = {
    {"reassigned", "program f" OVER_N "{ var v = x[i]; v = 2 * v; y[i] = v; }"},
    {"replaced", "program f(x: in f32[N], w: in f32[N], y: out f32[N], N: u32) over(i: N) "
                 "{ var v = x[i]; v = w[i]; y[i] = v; }"},
    {"three uses", "program f" OVER_N "{ let v = x[i] * x[i]; y[i] = v * v + v; }"},
    {"sibling scopes", "program f" OVER_N
                       "{ var s = 0.0; { let t = x[i]; s += t * t; } { let t = 3 * x[i]; s += t; } "
                       "y[i] = s; }"},
    {"function", "fn g(a: f32, b: f32) -> f32 { if a > b { return a * b; } return a + sin(b); } "
                 "program f" OVER_N "{ y[i] = g(x[i], 0.9) * g(0.5, x[i]); }"},
    {"tuple", "fn g(a: f32) -> (f32, f32) { return (a * a, exp(a)); } "
              "program f" OVER_N "{ let (p, q) = g(x[i]); y[i] = p * q; }"},
};

static const row control[] = {
    {"if",
     "program f" OVER_N "{ if x[i] > 0.9 { y[i] = x[i] * x[i]; } else { y[i] = 3 * x[i]; } }"},
    {"if without else",
     "program f" OVER_N "{ var v = x[i]; if v < 0.9 { v = v * v * v; } y[i] = v; }"},
    {"nested if", "program f" OVER_N
                  "{ var v = x[i]; if v < 1.2 { let t = v * v; if v < 0.7 { v = t * t; } else "
                  "{ v = t + v; } } y[i] = v * x[i]; }"},
    {"condition overwritten",
     "program f" OVER_N "{ var s = x[i] - 0.9; if s > 0 { s = -1; y[i] = 2 * x[i] * x[i]; } "
     "else { y[i] = 5 * x[i]; } }"},
    {"masked arm", "program f" OVER_N "{ let d = x[i] - 0.9; let r = sqrt(d); "
                   "y[i] = select(d > 0, r * r * r, x[i]); }"},
    {"masked by if",
     "program f" OVER_N
     "{ let r = log(x[i] - 0.9); var v = x[i]; if x[i] > 0.95 { v = r; } y[i] = v; }"},
    {"sum", "program f(x: in f32[N, K], y: out f32[N], N: u32, K: u32) over(i: N) "
            "{ y[i] = sum(k in 0..K: x[i, k] * x[i, k]); }"},
    {"prod", "program f(x: in f32[N, K], y: out f32[N], N: u32, K: u32) over(i: N) "
             "{ y[i] = prod(k in 0..K: x[i, k]); }"},
    {"max", "program f(x: in f32[N, K], y: out f32[N], N: u32, K: u32) over(i: N) "
            "{ y[i] = max(k in 0..K: x[i, k]); }"},
    {"nested sum", "program f(x: in f32[N, K], y: out f32[N], N: u32, K: u32) over(i: N) "
                   "{ y[i] = sum(k in 0..K, l in 0..K: x[i, k] * exp(x[i, l])); }"},
    {"triangular",
     "program f(x: in f32[N, K], y: out f32[N], N: u32, K: u32) over(i: N) "
     "{ var s = 1.0; for a in 0..K { for b in a..K { s = s * 0.9 + x[i, a] * x[i, b]; } "
     "s = sin(s); } y[i] = s; }"},
    {"recurrence", "program f(x: in f32[N, K], y: out f32[N], N: u32, K: u32) over(i: N) "
                   "{ var s = 0.5; for k in 0..K { s = tanh(s * x[i, k]) + s; } y[i] = s; }"},
    {"two carried",
     "program f(x: in f32[N, K], y: out f32[N], N: u32, K: u32) over(i: N) "
     "{ var a = 1.0; var b = 0.5; for k in 0..K { let t = a * b + x[i, k]; a = b; b = t; "
     "} y[i] = a * b; }"},
    {"nested recurrence", "program f(x: in f32[N, K], y: out f32[N], N: u32, K: u32) over(i: N) "
                          "{ var s = 0.5; for a in 0..K { var t = x[i, a]; for b in 0..K "
                          "{ t = sin(t * s + x[i, b]); } s = s * t; } y[i] = s; }"},
    {"reverse loop",
     "program f(x: in f32[N, K], y: out f32[N], N: u32, K: u32) over(i: N) "
     "{ var s = 0.5; for k in rev(0..K) { s = s * x[i, k] + 0.1; } y[i] = s * s; }"},
    {"step", "program f(x: in f32[N, K], y: out f32[N], N: u32, K: u32) over(i: N) "
             "{ var s = 0.5; for k in 1..K step 2 { s = s * x[i, k] + 0.1; } y[i] = s * s; }"},
    {"signed loop",
     "program f(x: in f32[N, K], y: out f32[N], N: u32, K: u32) over(i: N) "
     "{ var s = 0.5; for k in -2i32..2 { s = s * x[i, k + 2] + 0.1; } y[i] = s * s; }"},
    {"branch in loop", "program f(x: in f32[N, K], y: out f32[N], N: u32, K: u32) over(i: N) "
                       "{ var s = 1.0; for k in 0..K { if x[i, k] > 0.8 { s = s * x[i, k]; } else "
                       "{ s += x[i, k] * x[i, k]; } } y[i] = s; }"},
    {"zero trips", "program f" OVER_N "{ let r = sqrt(x[i] - 5.0); var s = x[i]; "
                   "for k in 0..u32(x[i] * 0.1) { s += r; } y[i] = s; }"},
    {"break", "program f(x: in f32[N, K], y: out f32[N], N: u32, K: u32) over(i: N) "
              "{ var s = 1.0; for k in 0..K { s = s * x[i, k]; if s > 1.1 { break; } s += 0.1; } "
              "y[i] = s; }"},
    {"continue", "program f(x: in f32[N, K], y: out f32[N], N: u32, K: u32) over(i: N) "
                 "{ var s = 1.0; for k in 0..K { if x[i, k] < 0.7 { continue; } s = s * x[i, k]; } "
                 "y[i] = s; }"},
    {"early return",
     "program f" OVER_N "{ if x[i] < 0.6 { y[i] = x[i]; return; } let v = x[i] * x[i]; if v > 1.3 "
     "{ y[i] = v * v; return; } y[i] = sin(v); }"},
    {"return in loop", "fn g(x: f32) -> f32 { var s = x; for k in 0..6 { s = s * 1.3; if s > 2.0 "
                       "{ return s * s; } } return s; } program f" OVER_N "{ y[i] = g(x[i]); }"},
    {"reversed with break",
     "program f(x: in f32[N, K], y: out f32[N], N: u32, K: u32) over(i: N) "
     "{ var s = 1.0; for k in rev(0..K) { s = s * x[i, k] + 0.05; if s > 1.2 "
     "{ break; } } y[i] = s; }"},
    {"while, linear",
     "program f" OVER_N "{ var s = 0.0; var k = 0; while k < i32(x[i] * 4) { s += x[i] * f32(k); "
     "k += 1; } y[i] = s; }"},
    {"data-dependent count, linear", "program f(x: in f32[N], n: in u32[N], y: out f32[N], N: u32) "
                                     "over(i: N) { var s = 0.0; for k in 0..n[i] "
                                     "{ s += sin(x[i] * f32(k)); } y[i] = s; }"},
    {"checkpoint", "program f" OVER_N "{ var s = x[i]; checkpoint { s = s * s; s = sin(s); } "
                   "y[i] = s * x[i]; }"},
    {"induction",
     "program f(x: in f32[N, K], y: out f32[N], N: u32, K: u32) over(i: N) "
     "{ var p = 1; var s = 0.0; for k in 0..K { s += x[i, k] * x[i, k] * f32(p); p += 3; "
     "} y[i] = s; }"},
};

static const row memory[] = {
    {"overwritten", "program f" OVER_N "{ y[i] = x[i] * x[i]; y[i] = 2 * y[i]; }"},
    {"kill", "program f(x: in f32[N], w: in f32[N], y: out f32[N], N: u32) over(i: N) "
             "{ y[i] = x[i]; y[i] = w[i]; }"},
    {"through a buffer", "program f(x: in f32[N], t: out f32[N], y: out f32[N], N: u32) over(i: N) "
                         "{ t[i] = x[i] * x[i]; y[i] = 3 * t[i]; t[i] = 100; }"},
    {"in place", "program f(x: inout f32[N], N: u32) over(i: N) { x[i] = x[i] * x[i]; }"},
    {"in place twice", "program f(x: inout f32[N], N: u32) over(i: N) "
                       "{ x[i] = x[i] * x[i]; x[i] = sin(x[i]); }"},
    {"inout accumulates", "program f(x: in f32[N], s: inout f32[1], N: u32) over(i: N) "
                          "{ atomic_add(s[0], x[i] * x[i]); }"},
    {"inout only read", "program f(x: inout f32[N], y: out f32[N], N: u32) over(i: N) "
                        "{ y[i] = x[i] * x[N - 1 - i]; }"},
    {"accumulator in memory", "program f(x: in f32[N], y: out f32[1], N: u32) over(j: 1) "
                              "{ y[0] = 0; for i in 0..N { y[0] += x[i] * x[i]; } }"},
    {"recurrence in memory", "program f(x: in f32[N], h: out f32[N], N: u32) over(j: 1) "
                             "{ h[0] = 1; for i in 1..N { h[i] = h[i - 1] * x[i - 1]; } }"},
    {"store in loop", "program f(x: in f32[N], y: out f32[N, K], N: u32, K: u32) over(i: N) "
                      "{ for k in 0..K { y[i, k] = x[i] * f32(k); } }"},
    {"last store wins", "program f(x: in f32[N, K], y: out f32[N], N: u32, K: u32) over(i: N) "
                        "{ for k in 0..K { y[i] = x[i, k] * x[i, k]; } }"},
    {"exclusive stores",
     "program f" OVER_N "{ if x[i] > 0.8 { y[i] = x[i] * x[i]; } else { y[i] = exp(x[i]); } }"},
    {"other element", "program f" OVER_N "{ y[N - 1 - i] = x[i] * x[i]; }"},
    {"out of range", "program f" OVER_N "{ y[i + 2] = x[i] * x[i] + x[i + 1]; }"},
    {"negative index", "program f" OVER_N "{ y[i] = x[i32(i) - 2] * x[i]; }"},
    {"local array", "program f(x: in f32[N, K], y: out f32[N], N: u32, K: u32) over(i: N) "
                    "{ local v: f32[8]; for k in 0..K { v[k] = x[i, k] * x[i, k]; } var s = 1.0; "
                    "for k in 0..K { s = s * v[K - 1 - k]; } y[i] = s; }"},
    {"local in loop",
     "program f(x: in f32[N, K], y: out f32[N], N: u32, K: u32) over(i: N) "
     "{ var s = 0.0; for k in 0..K { local v: f32[3]; v[0] = x[i, k]; "
     "v[1] = v[0] * v[0]; for j in 0..2 { v[2] += v[j] * s; } s = s + sin(v[2] + v[1]); "
     "} y[i] = s; }"},
    {"local rewritten", "program f(x: in f32[N, K], y: out f32[N], N: u32, K: u32) over(i: N) "
                        "{ local v: f32[4]; for k in 0..K { v[k % 2] = v[(k + 1) % 2] * x[i, k] + "
                        "x[i, k]; } y[i] = v[0] * v[1]; }"},
    {"scalar captured", "program f(x: in f32[N], w: in f32[1], y: out f32[N], N: u32) over(i: N) "
                        "{ let a = w[0] * w[0]; var s = 0.0; for k in 0..3 { s += a * x[i]; } "
                        "y[i] = s * a; }"},
    {"unknown length", "program f(x: in f32[?], y: out f32[1]) over(i: 1) "
                       "{ y[0] = sum(k in 0..len(x): x[k] * x[k]); }"},
};

static const row launch[] = {
    {"stencil", "program f(x: in f32[N + 2], y: out f32[N], N: u32) over(g: N) "
                "{ y[g] = x[g] + x[g + 1] * x[g + 2]; }"},
    {"shared parameter", "program f(x: in f32[1], w: in f32[N], y: out f32[N], N: u32) over(g: N) "
                         "{ y[g] = x[0] * w[g]; }"},
    {"matmul",
     "program f(a: in f32[N, K], b: in f32[K, M], c: out f32[N, M], N: u32, K: u32, M: u32) "
     "over(i: N, j: M) { c[i, j] = sum(k in 0..K: a[i, k] * b[k, j]); }"},
    {"three dimensions",
     "program f(x: in f32[N, K, M], y: out f32[N, K, M], N: u32, K: u32, M: u32) "
     "over(i: N, j: K, k: M) { y[i, j, k] = x[i, j, k] * x[i, 0, k]; }"},
    {"four dimensions", "program f(x: in f32[N, K, M, D], y: out f32[N, K, M, D], N: u32, K: u32, "
                        "M: u32, D: u32) over(i: N, j: K, k: M, l: D) "
                        "{ y[i, j, k, l] = exp(x[i, j, k, l]) * x[0, 0, k, l]; }"},
    {"gather", "program f(x: in f32[N], at: in u32[N], y: out f32[N], N: u32) over(i: N) "
               "{ y[i] = x[at[i]] * x[i]; }"},
    {"scatter", "program f(x: in f32[N], at: in u32[N], y: out f32[K], N: u32, K: u32) over(i: N) "
                "{ atomic_add(y[at[i]], x[i] * x[i]); }"},
    {"several outputs", "program f(x: in f32[N], y: out f32[N], z: out f32[1], N: u32) over(i: N) "
                        "{ y[i] = x[i] * x[i]; atomic_add(z[0], sin(x[i])); }"},
    {"f64",
     "program f(x: in f64[N], y: out f64[N], N: u32) over(i: N) { y[i] = x[i] * exp(x[i]); }"},
    {"mixed floats", "program f(x: in f16[N], w: in f64[N], y: out f32[N], N: u32) over(i: N) "
                     "{ y[i] = f32(x[i]) * f32(w[i]) + f32(x[i] * x[i]); }"},
    {"integers untouched",
     "program f(x: in f32[N], y: out f32[N], c: out u32[N], N: u32) over(i: N) "
     "{ let k = u32(x[i] * 10); c[i] = k; y[i] = x[i] * f32(k) + f32(i); }"},
    {"one of the domain", "program f(x: in f32[N], y: out f32[N], N: u32) over(i: N) "
                          "{ if i == 2 { y[i] = x[i] * x[0]; } }"},
};

// Loops whose carried value is overwritten in each iteration; a loop with a `break` and nothing
// active inside; a write that simplification removes: found by random programs.
static const row found[] = {
    {"set anew", "program f(x: in f32[N, K], y: out f32[N], N: u32, K: u32) over(i: N) "
                 "{ var v = x[i, 3]; for k in 0..K { v = sin(x[i, k]); } y[i] = v * v; }"},
    {"idle loop with break", "program f" OVER_N "{ let a = x[i] * 0.5; var v = a; for k in 1..3 "
                             "{ v = tanh(a); if k < 1u { break; } } y[i] = v; }"},
    {"removed write", "program f(x: in f32[N], z: inout f32[N], N: u32) over(i: N) "
                      "{ if min(q in 0..3: 0.64) > 0.69 { z[i] = sin(x[i]); } }"},
    {"arms in arms", "program f(x: in f32[N], w: in f32[N], y: out f32[N], N: u32) over(i: N) "
                     "{ var v = x[i]; var u = w[i]; if v < 1.2 { if u < 0.9 { v = v * u; } else "
                     "{ u = u * v * u; } u = u + v * v; } else { if u > 0.7 { u = sin(u * v); } "
                     "v = v * u; } y[i] = u * v; }"},
};

static void check_rows(const row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) check_text(rows[i].text, rows[i].name);
}

static void check_variables(void **state)
{
    (void)state;
    check_rows(variables, sizeof variables / sizeof *variables);
}
static void check_control(void **state)
{
    (void)state;
    check_rows(control, sizeof control / sizeof *control);
}
static void check_memory(void **state)
{
    (void)state;
    check_rows(memory, sizeof memory / sizeof *memory);
}
static void check_launch(void **state)
{
    (void)state;
    check_rows(launch, sizeof launch / sizeof *launch);
}

static void check_found(void **state)
{
    (void)state;
    check_rows(found, sizeof found / sizeof *found);
}

// ------------------------------------------------------------------------------------------ limits
// Any allocation may fail: a diagnostic then, no leak (the sanitizer build looks), no crash.
static void out_of_memory(void **state)
{
    (void)state;
    const row *programs[] = {&control[9], &control[13], &control[19], &memory[13], &memory[4]};
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        const char *text = programs[i]->text;
        vy_module *m = vy_parse(text, strlen(text), "test");
        assert_true(m && vy_module_ok(m));
        vy_diag d;
        long n = 0;
        for (;; n = next_failing(n)) {
            vy_test_fail_after(n);
            vy_module *g = vy_grad(m, NULL, &d);
            vy_test_fail_after(-1);
            vy_module_free(g);
            if (g) break;
            assert_string_equal(d.code, "E0001");
            assert_int_equal(d.blame, VY_BLAME_SYSTEM);
        }
        assert_true(n > 20);
        assert_true(vy_module_ok(m));
        vy_module_free(m);
    }
}

// The reverse of n operations has O(n) instructions (docs/features.md, B13).
static void chain_is_linear(void **state)
{
    (void)state;
    uint32_t before = 0;
    for (uint32_t n = 64; n <= 4096; n *= 8) {
        vy_module *m = vy_module_new();
        vy_builder *b = vy_program_begin(m, "chain");
        vy_dim d = vy_dim_value(b, vy_param_scalar(b, "N", VY_U32));
        vy_buffer x = vy_param_buffer(b, "x", VY_IN, VY_F32, 1, &d);
        vy_buffer y = vy_param_buffer(b, "y", VY_OUT, VY_F32, 1, &d);
        vy_value i = vy_over(b, "i", d), v = vy_load(b, x, &i);
        for (uint32_t k = 0; k < n; k++) v = vy_call(b, "tanh", 1, &v);
        vy_store(b, y, &i, v);
        assert_non_null(vy_program_end(b));
        vy_diag diag;
        vy_module *g = vy_grad(m, NULL, &diag);
        assert_non_null(g);
        uint32_t count = vy_program_instruction_count(vy_module_program(g, 0));
        assert_true(count >= 2 * n && count <= 5 * n + 16);
        if (before) assert_true(count < before * 9);
        before = count;
        vy_module_free(g);
        vy_module_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations),    cmocka_unit_test(check_variables),
        cmocka_unit_test(check_control), cmocka_unit_test(check_memory),
        cmocka_unit_test(check_launch),  cmocka_unit_test(check_found),
        cmocka_unit_test(out_of_memory), cmocka_unit_test(chain_is_linear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
