// SPDX-License-Identifier: MIT
// test_early_sums.c: sums of a gradient that an earlier loop can make (ir/pass/sums/early_sums.c):
// which programs the pass changes, that the numbers stay, and which sums there are afterwards.
#include "ir/pass/pass.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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

// Multiples of a quarter, so that no order rounds.
static void evaluate(const vy_module *m, uint64_t n, float *g, float *h)
{
    float x[16], y[16];
    for (uint32_t i = 0; i < 16; i++)
        x[i] = (float)(i * 7 % 11) - 5, y[i] = (float)(i * 5 % 13) / 4;
    for (uint32_t i = 0; i < 16; i++) g[i] = h[i] = 0;
    const uint64_t four = 4;
    const vy_eval_buffer all[] = {{"x", x, &n, 1},
                                  {"y", y, &n, 1},
                                  {"g", g, &four, 1},
                                  {"h", h, &four, 1}};
    const vy_eval_scalar scalars[] = {{"N", {.u = n}}};
    vy_diag d = {0};
    if (!vy_eval(m->programs.data[0], all, 4, scalars, 1, NULL, NULL, &d)) fail_msg("%s", d.text);
}

static void compare(const vy_module *m, const char *text)
{
    vy_module *own = parsed(text);
    for (uint64_t n = 0; n < 16; n++) {
        float g[16], h[16], own_g[16], own_h[16];
        evaluate(m, n, g, h);
        evaluate(own, n, own_g, own_h);
        for (uint32_t i = 0; i < 4; i++)
            if (g[i] != own_g[i] || h[i] != own_h[i])
                fail_msg("N = %d, %u: %g and %g, %g and %g\n%s", (int)n, i, g[i], own_g[i], h[i],
                         own_h[i], text);
    }
    vy_module_free(own);
}

static uint32_t slots(const vy_program *p)
{
    uint32_t n = 0;
    for (uint32_t id = 1; id < p->insts.count; id++) n += p->insts.data[id].op == VY_OP_CARRY;
    return n;
}

// `carried`: what the program's loops carry afterwards; 0: as much as before.
static void check(const char *text, bool expected, uint32_t carried)
{
    vy_module *m = parsed(text);
    vy_program *p = m->programs.data[0];
    const vy_opt_options o = {.level = 2};
    vy_pass_context c = {.options = &o};
    assert_true(vy_pass_early_sums(p, &c));
    if (!vy_module_check(m)) fail_msg("%s", vy_module_diag(m)->text);
    if (c.changed && !vy_pass_tidy(p, &c)) fail_msg("%s", vy_module_diag(m)->text);
    char *now = vy_print(m, NULL);
    if (c.changed != expected) fail_msg("%s:\n%s", expected ? "not changed" : "changed", now);
    if (carried && slots(p) != carried) fail_msg("%u sums, not %u:\n%s", slots(p), carried, now);
    vy_free(now);
    compare(m, text);
    vy_module_free(m);
}

#define HEAD                                                                                       \
    "program f(x: in f32[N], y: in f32[N], g: out f32[4], h: out f32[4], N: u32) over(i: 4) {\n"
#define VARS HEAD "var a = 0.0; var b = 0.0; var c = 3.0;\n"
// The earlier loop, which decides the factors k and l, and the end.
#define EARLY                                                                                      \
    VARS "for j in 0..N { a += x[j] * x[j]; }\n"                                                   \
         "let q = a > 99.0; let k = select(q, 2.0, -0.5); let l = k * 4.0 + f32(i);\n"
#define END " g[i] = b + c * 2.0; h[i] = a; }"
// … and carries d, too.
#define LATE(begin, step)                                                                          \
    VARS begin " for j in 0..N { a += x[j] * x[j]; " step " }\n"                                   \
               "let k = select(a > 99.0, 2.0, -0.5); for j in rev(0..N) { b += k * x[j]; }\n"      \
               "g[i] = b; h[i] = a + 2.0 * d; }"
#define SUM(term) EARLY "for j in rev(0..N) { b += " term "; }" END
#define KEPT(term) EARLY "for j in rev(0..N) { c -= " term "; }" END

static const struct {
    const char *text;
    uint32_t carried;
} moved[] = {
    // Factors on both sides, and several; other signs; selects; a term without.
    {SUM("k * x[j]"), 2},
    {SUM("x[j] * k"), 2},
    {SUM("l * (k * (x[j] * y[j]))"), 2},
    {SUM("-(k * x[j])"), 2},
    {SUM("x[j] / (k * 4.0)"), 2},
    {SUM("select(q, x[j], 0.0)"), 2},
    {SUM("select(q, -(k * x[j]), 0.0)"), 2},
    {SUM("select(q, 0.0, k * x[j])"), 2},
    {KEPT("k * x[j]"), 2},
    {KEPT("k * (x[j] - 2.0)"), 2},
    {EARLY "for j in rev(0..N) { let t = k * x[j]; c += t + t; }" END, 2},
    {EARLY "for j in rev(0..N) { b = k * x[j] + b; }" END, 2},
    {SUM("x[j] + y[j]"), 2},
    {SUM("k * (x[j] + f32(j))"), 2},
    // Of a loop that does not run, factors may be infinite or none.
    {EARLY "let w = l / f32(N * 0 + select(N > 0, 1, 0));\n"
           "for j in rev(0..N) { c += w * x[j]; }" END,
     2},
    {EARLY "let w = l / f32(N * 0 + select(N > 0, 1, 0));\n"
           "let z = 0.5 / w; for j in rev(0..N) { b -= x[j] / z; }" END,
     2},
    // Both directions, and a step.
    {EARLY "for j in 0..N { c -= k * x[j]; }" END, 2},
    {VARS "for j in rev(1..N) step 2 { a += x[j]; } let k = select(a > 0.0, 2.0, 4.0);\n"
          "for j in 1..N step 2 { b += k * x[j]; }" END,
     1},
    // Several sums; what the earlier loop adds up anyway; the same twice.
    {EARLY "for j in rev(0..N) { b += k * x[j]; c -= l * y[j]; }" END, 3},
    {EARLY "for j in rev(0..N) { b += k * (x[j] * x[j]); }" END, 1},
    {EARLY "for j in rev(0..N) { b += k * x[j]; c += l * x[j]; }" END, 2},
    {LATE("var d = 1.0;", "d += x[j];"), 3},
    {LATE("var d = 0.0;", "d += x[j];"), 2},
    {LATE("var d = 0.0;", "d -= x[j];"), 3},
    {LATE("var d = 0.0;", "d = x[j] + y[j];"), 3},
    {LATE("var d = 0.0;", "d = d * 0.5 + x[j];"), 3},
    // In the first of two loops, and what one that gave its sums away does not get.
    {VARS "for j in 0..N { a += x[j]; } for j in 0..N { c = x[j] - c; }\n"
          "let k = select(a > 2.0, 2.0, 4.0); h[i] = c;\n"
          "for j in rev(0..N) { b += k * x[j]; } g[i] = b; }",
     2},
    {EARLY "for j in rev(0..N) { b += k * x[j]; }\n"
           "let w = b + k; for j in rev(0..N) { c += w * x[j]; }" END,
     2},
    // In an outer loop, and in an arm.
    {EARLY
     "for m in 0..3 { a = f32(m); for j in 0..N { a += x[j]; } let w = select(a > 4.0, 2.0, 1.0);\n"
     "for j in rev(0..N) { b += w * (y[j] * x[j]); } }" END,
     0},
    {VARS "if i > 1 { for j in 0..N { a += x[j]; } let k = select(a > 2.0, 2.0, 4.0);\n"
          "for j in rev(0..N) { b += k * x[j]; } }" END,
     1},
    // A loop that adds to a gradient, too, and is followed by one that needed the sum.
    {EARLY "for j in rev(0..N) { b += k * x[j]; atomic_add(g[j % 4], k * y[j]); }\n"
           "for j in rev(0..N) { atomic_add(g[j % 4], b * y[j]); }\n"
           "h[i] = a; }",
     2},
    // Functions, of a loop that is gone.
    {SUM("k * floor(abs(x[j]) / 2.0)"), 2},
};

static const char *const apart[] = {
    // Another range; a loop that may end early, be it the earlier or the later one.
    EARLY "for j in rev(1..N) { b += k * x[j]; }" END,
    EARLY "for j in rev(0..N) step 2 { b += k * x[j]; }" END,
    EARLY "for j in 0..N { b += k * x[j]; if x[j] > 4.0 { break; } }" END,
    VARS
    "for j in 0..N { a += x[j]; if x[j] > 4.0 { break; } } let k = select(a > 2.0, 2.0, 4.0);\n"
    "for j in rev(0..N) { b += k * x[j]; }" END,
    // What the earlier loop finds, other than as a factor.
    SUM("(k + x[j])"),
    SUM("k / (x[j] + 8.0)"),
    EARLY "for j in rev(0..N) { b += 4.0 / (x[j] + k + 9.0); c += x[j]; }" END,
    EARLY "let z = f32(i) * 3.0; for j in rev(0..N) { b += z + x[j]; }" END,
    SUM("k * x[j] + y[j]"),
    SUM("x[j] * l - k * y[j]"),
    SUM("k * x[j] * y[j]"),
    SUM("select(x[j] > k, x[j], 0.0)"),
    SUM("select(q, x[j], 1.0)"),
    SUM("x[u32(abs(k))]"),
    // No sums, one of several; terms that depend on it; two terms; the sum on the way.
    EARLY "for j in rev(0..N) { b = k * x[j] - b; }" END,
    EARLY "for j in rev(0..N) { b = k * x[j]; }" END,
    EARLY "for j in rev(0..N) { b += k * x[j]; c = x[j] - c; }" END,
    EARLY "for j in rev(0..N) { b += k * x[j] * b; }" END,
    EARLY "for j in rev(0..N) { b = b + k * x[j] - l * y[j]; }" END,
    EARLY "for j in rev(0..N) { b += k * x[j]; c += b; }" END,
    EARLY "for j in rev(0..N) { c += k * x[j]; if x[j] > 1.0 { b += k * x[j]; } }" END,
    EARLY
    "var d = a; var e = a; var p = a; var s = a; var u = a;\n"
    "for j in rev(0..N) { b += x[j]; c += x[j]; d += x[j]; e += x[j]; p += x[j]; s += x[j]; u += x[j]; }\n"
    "g[i] = b + c + d + e + p + s + u; h[i] = a; }",
    // Nothing in common; another arm; memory that is written, and a loop that writes it.
    EARLY "for j in rev(0..N) { b += k * y[j]; }" END,
    VARS "if i > 1 { for j in 0..N { a += x[j]; } } else { for j in rev(0..N) { b += x[j]; } }" END,
    EARLY "local t: f32[4]; t[i] = a; for j in rev(0..N) { b += x[j] * t[j % 4]; }" END,
    EARLY "for j in rev(0..N) { b += k * x[j]; h[i] = y[j]; } g[i] = b; }",
    EARLY "for j in rev(0..N) { b += k * x[j]; atomic_add(h[j % 4], k * y[j]); }\n"
          "for j in rev(0..N) { atomic_add(g[j % 4], b * y[j]); } }",
    EARLY "for j in rev(0..N) { b += k * x[j]; g[i] = k * y[j]; }\n"
          "for j in rev(0..N) { atomic_add(g[i], b * y[j]); } h[i] = a; }",
    // … or adds what it has summed so far.
    EARLY "for j in rev(0..N) { atomic_add(g[j % 4], b * x[j]); b += k * x[j]; }\n"
          "for j in rev(0..N) { atomic_add(g[j % 4], b * x[j]); } h[i] = a; }",
    EARLY "for j in rev(0..N) { b += k * x[j]; atomic_add(g[j % 4], b * x[j]); }\n"
          "for j in rev(0..N) { atomic_add(g[j % 4], b * x[j]); } h[i] = a; }",
    // Before the condition that it runs under.
    EARLY "if i > 1 { h[i] = a; } else { for j in rev(0..N) { b += k * x[j]; } } g[i] = b; }",
    // A loop that adds to a gradient and has none behind it, or computes functions.
    EARLY "for j in rev(0..N) { b += k * x[j]; atomic_add(g[j % 4], k * y[j]); }\n"
          "atomic_add(g[i], b); h[i] = a; }",
    EARLY "for j in rev(0..N) { b += k * x[j]; atomic_add(g[j % 4], k * y[j]); }\n"
          "for j in 1..N { atomic_add(g[j % 4], b * y[j]); } h[i] = a; }",
    EARLY "for j in rev(0..N) { b += k * x[j]; atomic_add(g[j % 4], k); }\n"
          "for j in rev(0..N) { atomic_add(g[j % 4], b * y[j]); } h[i] = a; }",
    EARLY "for j in rev(0..N) { b += k * floor(exp(x[j])); atomic_add(g[j % 4], k * y[j]); }\n"
          "for j in rev(0..N) { atomic_add(g[j % 4], b * y[j]); } h[i] = a; }",
    // What a program computes itself, alone or beside the gradient; what is not linear.
    EARLY "for j in rev(0..N) { b += k * x[j]; } h[i] = b; }",
    EARLY "for j in rev(0..N) { b += k * x[j]; } g[i] = b; h[i] = b; }",
    EARLY "for j in rev(0..N) { b += k * x[j]; } g[i] = abs(b); }",
    EARLY "for j in rev(0..N) { b += k * x[j]; } if b > 0.0 { g[i] = 1.0; } }",
    "@exact " SUM("k * x[j]"),
    // Halves, whose sums overflow soon.
    EARLY "var d = f16(0.0); let w = f16(k);\n"
          "for j in rev(0..N) { d += w * f16(x[j]); } g[i] = f32(d); h[i] = a; }",
};

static void sums(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof moved / sizeof *moved; k++)
        check(moved[k].text, true, moved[k].carried);
    for (size_t k = 0; k < sizeof apart / sizeof *apart; k++) check(apart[k], false, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sums)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
