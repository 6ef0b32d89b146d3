// SPDX-License-Identifier: MIT
// test_online_sums.c: a maximum and sums of exponentials in one walk (ir/pass/sums/online_sums.c):
// which programs the pass changes, and that the numbers stay, of infinite elements and nan, too.
#include "ir/pass/pass.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { WIDTH = 12, ROWS = 4 };

// `g` is a gradient.
static vy_module *parsed(const char *text)
{
    vy_module *m = vy_parse(text, strlen(text), "test");
    assert_non_null(m);
    if (!vy_module_ok(m)) fail_msg("%s\n%s", vy_module_diag(m)->text, text);
    vy_program *p = m->programs.data[0];
    p->buffers.data[vy_program_find_buffer(p, "g").id].role.kind = VY_IS_GRADIENT;
    return m;
}

// Rows whose elements rise, fall, rise in steps of which some are greater than 1, and special ones.
static float element(uint32_t kind, uint32_t row, uint32_t k)
{
    static const float special[ROWS][WIDTH] = {
        {-INFINITY, -INFINITY, 1, 2, -INFINITY, 0.5f, 3.5f, 3, 3.75f, 3, -INFINITY, 3},
        {-INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY,
         -INFINITY, -INFINITY, -INFINITY, -INFINITY},
        {-3.4028235e38f, -3.4028235e38f, -1e30f, -1e30f, 1e30f, 0, 0, 0, 0, 0, 0, 0},
        {1, 2, INFINITY, 3, 4, 5, 1, NAN, 1, 1, 1, 1},
    };
    const float f = (float)(row + 1);
    switch (kind) {
    case 0: return (float)(k * 7 % 11) * f / 4 - 3;
    case 1: return (float)k * f * 0.25f;
    case 2: return -(float)k * f * 0.5f + 80;
    default: return special[row][k];
    }
}

static void evaluate(const vy_module *m, uint32_t kind, uint64_t n, float *g, float *h)
{
    float x[ROWS * WIDTH], y[WIDTH];
    for (uint32_t i = 0; i < ROWS; i++)
        for (uint32_t k = 0; k < n; k++) x[i * n + k] = element(kind, i, k);
    for (uint32_t k = 0; k < WIDTH; k++) y[k] = (float)(k * 5 % 13) / 4 - 1;
    for (uint32_t i = 0; i < ROWS * WIDTH; i++) g[i] = 0;
    for (uint32_t i = 0; i < ROWS; i++) h[i] = 0;
    const uint64_t four = ROWS, table[2] = {ROWS, n};
    const vy_eval_buffer all[] = {{"x", x, table, 2},
                                  {"y", y, &n, 1},
                                  {"g", g, table, 2},
                                  {"h", h, &four, 1}};
    const vy_eval_scalar scalars[] = {{"N", {.u = n}}};
    vy_diag d = {0};
    if (!vy_eval(m->programs.data[0], all, 4, scalars, 1, NULL, NULL, &d)) fail_msg("%s", d.text);
}

static bool close_to(float a, float b)
{
    return a == b || (a != a && b != b) || fabsf(a - b) <= 4e-6f * (1 + fabsf(a));
}

static void compare(const vy_module *m, const vy_module *own, const char *now)
{
    for (uint32_t kind = 0; kind < 4; kind++) {
        for (uint64_t n = 0; n <= WIDTH; n++) {
            float g[ROWS * WIDTH], h[ROWS], own_g[ROWS * WIDTH], own_h[ROWS];
            evaluate(m, kind, n, g, h);
            evaluate(own, kind, n, own_g, own_h);
            for (uint32_t i = 0; i < ROWS * n; i++)
                if (!close_to(g[i], own_g[i]))
                    fail_msg("rows %u, N = %d, g[%u]: %.9g, not %.9g\n%s", kind, (int)n, i, g[i],
                             own_g[i], now);
            for (uint32_t i = 0; i < ROWS; i++) // the maximum is the same
                if (h[i] != own_h[i] && (h[i] == h[i] || own_h[i] == own_h[i]))
                    fail_msg("rows %u, N = %d, h[%u]: %.9g, not %.9g\n%s", kind, (int)n, i, h[i],
                             own_h[i], now);
        }
    }
}

static uint32_t loops(const vy_program *p)
{
    uint32_t n = 0;
    for (uint32_t id = 1; id < p->insts.count; id++) n += p->insts.data[id].op == VY_OP_LOOP;
    return n;
}

static void check_with(const char *text, bool expected, vy_opt_options o)
{
    vy_module *m = parsed(text), *own = parsed(text);
    vy_program *p = m->programs.data[0];
    vy_pass_context marks = {.options = &o}, c = {.options = &o};
    assert_true(vy_pass_mark_in_range(p, &marks) && vy_pass_mark_stored(p, &marks));
    const uint32_t before = loops(p);
    assert_true(vy_pass_online_sums(p, &c));
    if (!vy_module_check(m)) fail_msg("%s", vy_module_diag(m)->text);
    if (c.changed && !vy_pass_tidy(p, &c)) fail_msg("%s", vy_module_diag(m)->text);
    char *now = vy_print(m, NULL);
    if (c.changed != expected) fail_msg("%s:\n%s", expected ? "not changed" : "changed", now);
    if (expected && loops(p) >= before) fail_msg("as many loops:\n%s", now);
    compare(m, own, now);
    vy_free(now);
    vy_module_free(m);
    vy_module_free(own);
}

static const vy_opt_options cpu = {.level = 2, .final = true, .by_invocation = true};
static void check(const char *text, bool expected) { check_with(text, expected, cpu); }

#define HEAD                                                                                       \
    "program f(x: in f32[R, N], y: in f32[N], g: inout f32[R, N], h: out f32[R],\n"                \
    "          @workspace @owned t: inout f32[R, N], @workspace @owned u: inout f32[R, N],\n"      \
    "          @workspace w: inout f32[R, N], R: u32, N: u32)\n"                                   \
    "over(i: R) {\n"                                                                               \
    "var s = 0.0; var a = 0.0; var b = 2.0; var d = 0.0; var top = -inf;\n"
#define FIRST(value) HEAD "for k in 0..N { top = max(top, " value "); }\n"
// What becomes of s, the sum of the exponentials e, and of a.
#define COMPUTED FIRST("(x[i, k] - y[k])") "for k in 0..N { let e = exp(x[i, k] - y[k] - top); "
#define LAST "h[i] = top; for k in rev(0..N) { g[i, k] = exp(x[i, k] - top) / s + a * y[k]; } }"
#define SUMS(body) FIRST("x[i, k]") "for k in 0..N { let e = exp(x[i, k] - top); " body " }\n" LAST
#define BOTH "s += e; a += e * y[k];"
#define SAME(value)                                                                                \
    FIRST(value) "for k in 0..N { let e = exp(" value " - top); s += e; a += e * y[k]; }\n" LAST

static const char *const joined[] = {
    SUMS("s += e;"),
    SUMS(BOTH),
    SUMS("a -= e * y[k]; s = e + s;"),
    SUMS("s += e; a += y[k] * (-(e / (2.0 + y[k])));"),
    SUMS("s += e; a += 3.0 * (y[k] * e);"),
    // Something else beside; another sum.
    SUMS(BOTH " d += y[k]; b = max(b, y[k]); u[i, k] = y[k] + f32(k) * b;"),
    // The maximum's operands the other way; an element that is computed; loops and ifs in it.
    HEAD "for k in 0..N { top = max(x[i, k], top); }\n"
         "for k in 0..N { let e = exp(x[i, k] - top); " BOTH " }\n" LAST,
    SAME("(x[i, k] * 0.5 - y[k])"),
    HEAD
    "for k in 0..N { var q = 1.0; for j in 0..k { q += y[j] * x[i, k]; } top = max(top, q); }\n"
    "for k in 0..N { var q = 1.0; for j in 0..k { q += y[j] * x[i, k]; u[i, j] = q; }\n"
    "let e = exp(q - top); " BOTH " }\n" LAST,
    HEAD
    "for k in 0..N { var q = x[i, k]; if y[k] > 0.0 { q = y[k] * x[i, k]; } top = max(top, q); }\n"
    "for k in 0..N { var q = x[i, k]; if y[k] > 0.0 { q = y[k] * x[i, k]; }\n"
    "let e = exp(q - top); " BOTH " }\n" LAST,
    // Backwards; with a step; in an outer loop, in an arm.
    HEAD "for k in rev(1..N) step 2 { top = max(top, x[i, k]); }\n"
         "for k in rev(1..N) step 2 { let e = exp(x[i, k] - top); " BOTH " }\n" LAST,
    HEAD
    "for o in 0..2 { var m = -inf; var n = 0.0; for k in 0..N { m = max(m, x[i, k] + f32(o)); }\n"
    "for k in 0..N { n += exp(x[i, k] + f32(o) - m); } s += 1.0 / n; } h[i] = top;\n"
    "for k in 0..N { g[i, k] = s * y[k]; } }",
    HEAD "if i > 1 { for k in 0..N { top = max(top, x[i, k]); }\n"
         "for k in 0..N { let e = exp(x[i, k] - top); a += e * y[k]; } }\n"
         "h[i] = top; for k in 0..N { g[i, k] = a * y[k]; } }",
    // A tape of the exponential, from which nothing is loaded, and from which something is.
    SUMS("s += e; t[i, k] = e;"),
    COMPUTED "s += e; t[i, k] = e; }\n"
             "h[i] = top; for k in rev(0..N) { g[i, k] = t[i, k] / s; } }",
    COMPUTED "s += e; t[i, k] = e; a += e * y[k]; }\n"
             "h[i] = top; for k in rev(0..N) { g[i, k] = t[i, k] / s + a; }\n"
             "if i > 1 { for k in 0..N { g[i, k] += a * t[i, k]; } } }",
    // A sum beside one that carries an element of another's tape, which is no sum.
    COMPUTED "s += e; t[i, k] = e; }\n"
             "var p = 0.0; var n = 0.0; var m = -inf; for k in 0..N { m = max(m, x[i, k]); }\n"
             "for k in 0..N { n += exp(x[i, k] - m); p = t[i, k]; }\n"
             "h[i] = top; for k in rev(0..N) { g[i, k] = t[i, k] / s + p / n; } }",
    // What lies between.
    FIRST("x[i, k]") "for k in 0..N { d += y[k]; }\n"
                     "for k in 0..N { let e = exp(x[i, k] - top); " BOTH " }\n" LAST,
};

static const char *const apart[] = {
    // Another range, direction, value; a loop that may end early.
    HEAD "for k in 1..N { top = max(top, x[i, k]); }\n"
         "for k in 0..N { let e = exp(x[i, k] - top); " BOTH " }\n" LAST,
    HEAD "for k in 0..N { top = max(top, x[i, k]); }\n"
         "for k in 0..N step 2 { let e = exp(x[i, k] - top); " BOTH " }\n" LAST,
    HEAD "for k in 0..N { top = max(top, x[i, k]); }\n"
         "for k in rev(0..N) { let e = exp(x[i, k] - top); " BOTH " }\n" LAST,
    FIRST("x[i, k]") "for k in 0..N { let e = exp(x[i, N - 1 - k] - top); " BOTH " }\n" LAST,
    FIRST("x[i, k]") "for k in 0..N { let e = exp(y[k] - top); " BOTH " }\n" LAST,
    FIRST("(x[i, k] - y[k])") "for k in 0..N { let e = exp(x[i, k] + y[k] - top); " BOTH
                              " }\n" LAST,
    FIRST("x[i, k]") "for k in 0..N { let e = exp(x[i, k] - top); " BOTH
                     " if y[k] > 1.5 { break; } }\n" LAST,
    // Loops in a value that differ in their range, direction, beginning, steps.
    HEAD
    "for k in 0..N { var q = 1.0; for j in 0..k { q += y[j] * x[i, k]; } top = max(top, q); }\n"
    "for k in 0..N { var q = 1.0; for j in 0..k + 1 { q += y[j] * x[i, k]; u[i, j] = q; }\n"
    "let e = exp(q - top); " BOTH " }\n" LAST,
    HEAD
    "for k in 0..N { var q = 1.0; for j in 0..k { q += y[j] * x[i, k]; } top = max(top, q); }\n"
    "for k in 0..N { var q = 1.0; for j in rev(0..k) { q += y[j] * x[i, k]; u[i, j] = q; }\n"
    "let e = exp(q - top); " BOTH " }\n" LAST,
    HEAD
    "for k in 0..N { var q = 1.0; for j in 0..k { q += y[j] * x[i, k]; } top = max(top, q); }\n"
    "for k in 0..N { var q = 2.0; for j in 0..k { q += y[j] * x[i, k]; u[i, j] = q; }\n"
    "let e = exp(q - top); " BOTH " }\n" LAST,
    HEAD
    "for k in 0..N { var q = 1.0; for j in 0..k { q += y[j] * x[i, k]; } top = max(top, q); }\n"
    "for k in 0..N { var q = 1.0; for j in 0..k { q -= y[j] * x[i, k]; u[i, j] = q; }\n"
    "let e = exp(q - top); " BOTH " }\n" LAST,
    HEAD
    "for k in 0..N { var q = 1.0; for j in 0..k { q += y[j] * x[i, k]; } top = max(top, q); }\n"
    "for k in 0..N { var q = 1.0; for j in 0..k { q += y[k] * x[i, j]; u[i, j] = q; }\n"
    "let e = exp(q - top); " BOTH " }\n" LAST,
    // An if that chooses otherwise.
    HEAD
    "for k in 0..N { var q = x[i, k]; if y[k] > 0.0 { q = y[k] * x[i, k]; } top = max(top, q); }\n"
    "for k in 0..N { var q = x[i, k]; if y[k] > 1.0 { q = y[k] * x[i, k]; }\n"
    "let e = exp(q - top); " BOTH " }\n" LAST,
    HEAD
    "for k in 0..N { var q = x[i, k]; if y[k] > 0.0 { q = y[k] * x[i, k]; } top = max(top, q); }\n"
    "for k in 0..N { var q = x[i, k]; if y[k] > 0.0 { q = y[k] - x[i, k]; }\n"
    "let e = exp(q - top); " BOTH " }\n" LAST,
    HEAD
    "for k in 0..N { var q = x[i, k]; if y[k] > 0.0 { q = y[k] - x[i, k]; } top = max(top, q); }\n"
    "for k in 0..N { var q = y[k]; if y[k] > 0.0 { q = y[k] - x[i, k]; }\n"
    "let e = exp(q - top); " BOTH " }\n" LAST,
    // Memory that is written between them, or in the second.
    HEAD "for k in 0..N { top = max(top, g[i, k] + x[i, k]); } g[i, 1] = 2.0;\n"
         "for k in 0..N { let e = exp(g[i, k] + x[i, k] - top); " BOTH " }\n" LAST,
    HEAD "for k in 0..N { top = max(top, g[i, k] + x[i, k]); }\n"
         "for k in 0..N { let e = exp(g[i, k] + x[i, k] - top); " BOTH
         " g[i, N - 1 - k] = e; }\n" LAST,
    // No maximum alone: from elsewhere, another one beside it, what it has found so far, a minimum.
    HEAD "var m = y[0]; for k in 0..N { m = max(m, x[i, k]); }\n"
         "for k in 0..N { let e = exp(x[i, k] - m); " BOTH " }\n" LAST,
    HEAD "top = 0.0; for k in 0..N { top = max(top, x[i, k]); }\n"
         "for k in 0..N { let e = exp(x[i, k] - top); " BOTH " }\n" LAST,
    HEAD "var z = 0.0; for k in 0..N { top = max(top, x[i, k]); z += x[i, k]; } u[i, 0] = z;\n"
         "for k in 0..N { let e = exp(x[i, k] - top); " BOTH " }\n" LAST,
    HEAD "for k in 0..N { top = max(top, x[i, k]); u[i, k] = top; }\n"
         "for k in 0..N { let e = exp(x[i, k] - top); " BOTH " }\n" LAST,
    HEAD "for k in 0..N { top = max(top, x[i, k] + 0.5 * max(top, -9.0)); }\n"
         "for k in 0..N { let e = exp(x[i, k] - top); " BOTH " }\n" LAST,
    HEAD "for k in 0..N { top = min(top, x[i, k]); }\n"
         "for k in 0..N { let e = exp(x[i, k] - top); " BOTH " }\n" LAST,
    // The maximum, the difference, the exponential serve for something else, too.
    SUMS(BOTH " d += top * y[k]; u[i, k] = d;"),
    FIRST("x[i, k]") "g[i, 0] = top;\n"
                     "for k in 0..N { let e = exp(x[i, k] - top); " BOTH " }\n" LAST,
    SUMS(BOTH " u[i, k] = x[i, k] - top;"),
    SUMS("s += e; a += e * e;"),
    SUMS("s += e; a += y[k] / (e + 1.0);"),
    SUMS("s += e; a += y[k] / e;"),
    SUMS("s += e; a = max(a, e);"),
    SUMS("s += e; a += e + y[k];"),
    SUMS("s += e; if y[k] > 0.0 { a += e; }"),
    SUMS("s += e; a = e - a;"),
    SUMS("s += e; a += sin(e);"),
    // Sums that begin with something, that each iteration reads, that are no adjoints.
    SUMS("s += e; b += e;"),
    SUMS("s += e; u[i, k] = a; a += e * y[k];"),
    SUMS("s += e; a += e * y[k]; u[i, k] = a;"),
    FIRST("x[i, k]") "for k in 0..N { let e = exp(x[i, k] - top); s += e; }\n"
                     "h[i] = log(s); for k in 0..N { g[i, k] = exp(x[i, k] - top) / s; } }",
    FIRST("x[i, k]") "for k in 0..N { let e = exp(x[i, k] - top); a += e * y[k]; }\n"
                     "h[i] = top; for k in 0..N { g[i, k] = exp(x[i, k] - top) / a; } }",
    FIRST("x[i, k]") "for k in 0..N { let e = exp(x[i, k] - top); s -= e; }\n"
                     "h[i] = top; for k in 0..N { g[i, k] = exp(x[i, k] - top) / s; } }",
    FIRST("x[i, k]") "for k in 0..N { let e = exp(x[i, k] - top); s += e; }\n"
                     "h[i] = top; for k in 0..N { g[i, k] = exp(x[i, k] - top) / (s * s); } }",
    FIRST("x[i, k]") "for k in 0..N { let e = exp(x[i, k] - top); s += e; }\n"
                     "h[i] = top; for k in 0..N { if s > 2.0 { g[i, k] = s; } } }",
    "@exact " SUMS(BOTH),
    // Tapes: of what is no exponential alone, with another store, loaded in the loop, out of range,
    // in an outer loop; of elements that others may store, too; no workspace.
    COMPUTED "s += e; t[i, k] = e * 2.0; }\n"
             "h[i] = top; for k in rev(0..N) { g[i, k] = t[i, k] / s; } }",
    COMPUTED "s += e; t[i, k] = e; }\n if s > 2.0 && N > 0 { t[i, 0] = 3.0; }\n"
             "h[i] = top; for k in rev(0..N) { g[i, k] = t[i, k]; } }",
    COMPUTED "s += e; t[i, k] = e; }\n for k in 0..N { t[i, k] = y[k]; }\n"
             "h[i] = top; for k in rev(0..N) { g[i, k] = t[i, k] / s; } }",
    COMPUTED "s += e; t[i, k + 5] = e; }\n"
             "h[i] = top; for k in rev(0..N) { g[i, k] = t[i, k + 5] / s; } }",
    COMPUTED "s += e; t[i, k] = e; d += t[i, k]; }\n"
             "h[i] = top; for k in rev(0..N) { g[i, k] = t[i, k] / s + d; } }",
    COMPUTED "s += e; w[i, k] = e; }\n"
             "h[i] = top; for k in rev(0..N) { g[i, k] = w[i, k] / s; } }",
    HEAD "for o in 0..2 { var m = -inf; var n = 0.0;\n"
         "for k in 0..N { m = max(m, x[i, k] - y[k] + f32(o)); }\n"
         "for k in 0..N { let e = exp(x[i, k] - y[k] + f32(o) - m); n += e; t[i, k] = e; }\n"
         "for k in 0..N { s += t[i, k] / n; } } h[i] = top; for k in 0..N { g[i, k] = s; } }",
    COMPUTED "s += e; g[i, k] = e; }\n"
             "h[i] = top; for k in rev(0..N) { g[i, k] = g[i, k] / s; } }",
    // Too cheap, of which an exponential more for each load takes as much as the walk.
    FIRST("x[i, k]") "for k in 0..N { let e = exp(x[i, k] - top); s += e; t[i, k] = e; }\n"
                     "h[i] = top; for k in rev(0..N) { g[i, k] = t[i, k] / s; } }",
    SAME("f32(k)"),
};

static void sums(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof joined / sizeof *joined; k++) check(joined[k], true);
    for (size_t k = 0; k < sizeof apart / sizeof *apart; k++) check(apart[k], false);
}

// Only where loads are expensive, of programs that are not differentiated again, and not exactly.
static void options(void **state)
{
    (void)state;
    vy_opt_options o = cpu;
    check_with(SUMS(BOTH), true, o);
    o.precise = true;
    check_with(SUMS(BOTH), false, o);
    o = cpu, o.final = false;
    check_with(SUMS(BOTH), false, o);
    o = cpu, o.by_invocation = false;
    check_with(SUMS(BOTH), false, o);
}

// Of rows that rise by little, each step of which a factor near 1 would round in the same way.
static void accuracy(void **state)
{
    (void)state;
    enum { LONG = 20000 };
    const char *text = "program f(x: in f32[N], g: out f32[1], N: u32) over(i: 1) {\n"
                       "var s = 0.0; var top = -inf; for k in 0..N { top = max(top, x[k]); }\n"
                       "for k in 0..N { s += exp(x[k] - top); } g[0] = 1.0 / s; }";
    vy_module *m = parsed(text);
    vy_pass_context c = {.options = &cpu};
    assert_true(vy_pass_online_sums(m->programs.data[0], &c) && c.changed);
    float *x = malloc(LONG * sizeof *x), g = 0;
    assert_non_null(x);
    double sum = 0;
    for (uint32_t k = 0; k < LONG; k++) x[k] = (float)k * 1.1e-4f;
    for (uint32_t k = 0; k < LONG; k++) sum += exp((double)x[k] - (double)x[LONG - 1]);
    const uint64_t n = LONG, one = 1;
    const vy_eval_buffer all[] = {{"x", x, &n, 1}, {"g", &g, &one, 1}};
    const vy_eval_scalar scalars[] = {{"N", {.u = n}}};
    vy_diag d = {0};
    if (!vy_eval(m->programs.data[0], all, 2, scalars, 1, NULL, NULL, &d)) fail_msg("%s", d.text);
    if (fabs((double)g * sum - 1) > 5e-6) fail_msg("1 / %.9g, not %.9g", 1 / (double)g, sum);
    free(x);
    vy_module_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sums), cmocka_unit_test(options),
                                       cmocka_unit_test(accuracy)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
