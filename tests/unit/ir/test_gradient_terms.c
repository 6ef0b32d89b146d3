// SPDX-License-Identifier: MIT
// test_gradient_terms.c: sums of a gradient that meet (ir/pass/sums/meeting_sums.c) and its terms
// that are equal but for rounding (ir/pass/scalar/adjoint_terms.c, equal_products.c): which
// programs the passes change, that the numbers stay, and that what is no gradient keeps its order.
#include "ir/pass/pass.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef bool pass(vy_program *p, vy_pass_context *c);

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

static bool changes(vy_module *m, pass *run, bool device)
{
    const vy_opt_options o = {.registers = device};
    vy_pass_context c = {.options = &o};
    assert_true(run(m->programs.data[0], &c));
    if (!vy_module_check(m)) fail_msg("%s", vy_module_diag(m)->text);
    return c.changed;
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
    for (uint64_t n = 0; n < 16; n += 1 + n) {
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

static void check(pass *run, const char *text, bool expected)
{
    vy_module *m = parsed(text);
    if (changes(m, run, true) != expected) {
        char *now = vy_print(m, NULL);
        fail_msg("%s:\n%s", expected ? "not changed" : "changed", now);
    }
    compare(m, text);
    vy_module_free(m);
    m = parsed(text);
    assert_false(changes(m, run, false)); // no device
    vy_module_free(m);
}

#define HEAD                                                                                       \
    "program f(x: in f32[N], y: in f32[N], g: out f32[4], h: out f32[4], N: u32) over(i: 4) {\n"
#define SUMS HEAD "var a = 1.0; var b = f32(i); var c = 3.0;\n"

static const char *const met[] = {
    SUMS "for j in 0..N { a += x[j]; b += y[j] * 2.0; } g[i] = a + b; }",
    SUMS "for j in 0..N { a -= x[j]; b += y[j]; } g[i] = a - b; }",
    SUMS "for j in rev(0..N) step 2 { a -= x[j]; b -= y[j]; } g[i] = (a - b) * 3.0 + c; }",
    // Several terms, on both sides, and one that is carried but no sum, before, between and after.
    SUMS "for j in 0..N { a = x[j] + (a - y[j]) + 2.0; b = (y[j] + b) - x[j]; } g[i] = b - a; }",
    SUMS "for j in 0..N { c = x[j] - c; a += c; b += c * x[j]; } h[i] = c; g[i] = a + b; }",
    HEAD "var c = 1.0; var a = 2.0; var d = 3.0; var b = 4.0; var e = 5.0;\n"
         "for j in 0..N { c = x[j] - c; a += y[j]; d = y[j] - d; b -= x[j]; e = 1.0 - e; }\n"
         "h[i] = c + 2.0 * d + 4.0 * e; g[i] = a - b; }",
    SUMS
    "for j in rev(0..N) { c = x[j] - c * 2.0; a += x[j]; b += y[j]; } h[i] = c; g[i] = a + b; }",
    SUMS
    "for j in 0..N { a = (x[j] * 2.0 + y[j]) + (a + x[j]); b = b - (x[j] - y[j]); } g[i] = a + b; }",
    // Chosen by a condition.
    SUMS
    "for j in 0..N { let q = x[j] > 0.0; a = select(q, a + x[j], a); b = select(q, b - y[j], b); }\n"
    "g[i] = a + b; }",
    // Two pairs; an outer loop; additions in place of a store.
    HEAD "var a = 1.0; var b = 2.0; var c = 3.0; var d = 4.0;\n"
         "for j in 0..N { a += x[j]; b += y[j]; c -= x[j] * 2.0; d += y[j] * 3.0; }\n"
         "g[i] = (a + c) * 2.0 - (b - d); }",
    SUMS "for k in 0..3 { a = f32(k); b = 1.0; for j in 0..N { a += x[j]; b -= y[j]; }\n"
         "    atomic_add(g[i], a + b); } }",
};

static const char *const apart[] = {
    // The sum's sign alternates; it is a product; what is added depends on the other.
    SUMS "for j in 0..N { a += x[j]; b = y[j] - b; } g[i] = a + b; }",
    SUMS "for j in 0..N { a += x[j]; b = b * 0.5; } g[i] = a + b; }",
    SUMS "for j in 0..N { a += x[j]; b += a; } g[i] = a + b; }",
    SUMS "for j in 0..N { a = (a + x[j]) + a; b += y[j]; } g[i] = a + b; }",
    SUMS "for j in 0..N { b += y[j]; let t = a + x[j]; c += t; a = t; } g[i] = a + b; h[i] = c; }",
    // One of them has another use, as the result or on the way.
    SUMS "for j in 0..N { a += x[j]; b += y[j]; } g[i] = a + b; h[i] = a; }",
    SUMS "for j in 0..N { a += x[j]; b += y[j]; } g[i] = a + b; h[i] = b; }",
    // The same one twice; another loop; a value that is no sum.
    SUMS "for j in 0..N { a += x[j]; } g[i] = a + a; }",
    SUMS "for j in 0..N { a += x[j]; } for j in 0..N { b += y[j]; } g[i] = a + b; }",
    SUMS "for j in 0..N { a += x[j]; } g[i] = a + b; }",
    // Conditions that differ; one of two; another value in place of the old one.
    SUMS
    "for j in 0..N { a = select(x[j] > 0.0, a + x[j], a); b = select(y[j] > 1.0, b + y[j], b); }\n"
    "g[i] = a + b; }",
    SUMS "for j in 0..N { a = select(x[j] > 0.0, a + x[j], a); b += y[j]; } g[i] = a + b; }",
    SUMS
    "for j in 0..N { let q = x[j] > 0.0; a = select(q, a + x[j], 1.0); b = select(q, b + y[j], 2.0); }\n"
    "g[i] = a + b; }",
    SUMS "for j in 0..N { let q = x[j] > 0.0; a = select(q, a + (a + x[j]), 1.0);\n"
         "    b = select(q, b + (b + y[j]), 1.0); } g[i] = a + b; }",
    SUMS
    "for j in 0..N { let q = x[j] > 0.0; a = select(q, a + x[j], a); c += a; b = select(q, b + y[j], b); }\n"
    "g[i] = a + b; h[i] = c; }",
    // In an arm; a loop that may end early.
    SUMS "for j in 0..N { if x[j] > 0.0 { a += x[j]; b += y[j]; } } g[i] = a + b; }",
    SUMS "for j in 0..N { a += x[j]; b += y[j]; if x[j] > 2.0 { break; } } g[i] = a + b; }",
    // What a program computes itself, alone or beside the gradient; what is not linear.
    SUMS "for j in 0..N { a += x[j]; b += y[j]; } h[i] = a + b; }",
    SUMS "for j in 0..N { a += x[j]; b += y[j]; } g[i] = a + b; h[i] = (a + b) * 2.0; }",
    SUMS "for j in 0..N { a += x[j]; b += y[j]; } g[i] = abs(a + b); }",
    SUMS "for j in 0..N { a += x[j]; b += y[j]; } g[i] = 1.0 / (a + b + 1000.0); }",
    SUMS "for j in 0..N { a += x[j]; b += y[j]; } if a + b > 0.0 { g[i] = 1.0; } }",
    "@exact " SUMS "for j in 0..N { a += x[j]; b += y[j]; } g[i] = a + b; }",
};

static void sums(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof met / sizeof *met; k++) check(vy_pass_meeting_sums, met[k], true);
    for (size_t k = 0; k < sizeof apart / sizeof *apart; k++)
        check(vy_pass_meeting_sums, apart[k], false);
}

#define TERMS HEAD "let a = f32(i) * 3.0 - 4.0; let b = f32(i % 3) + 0.5; let s = f32(i + 2);\n"

static const char *const equal[] = {
    TERMS "g[i] = (a - b) * s; h[i] = 0.0; atomic_add(g[i], b - a); }",
    TERMS "let p = a * -0.5; h[i] = p; g[i] = (a * b) * -0.5; }",
    TERMS "let p = b * 0.5; h[i] = p; g[i] = (a * b) * 0.5; }",
    TERMS "let p = -0.5 * b; h[i] = p; g[i] = (b * a) * -0.5; }",
    TERMS "g[i] = -a * s - b; }",
    TERMS "g[i] = s * -b + 1.0; }",
    TERMS "let p = a - b; let q = s - b; h[i] = p * 2.0 + q; g[i] = ((b - a) + (b - s)) * 3.0; }",
    TERMS "let p = a - b; let q = s - b; h[i] = p * 2.0 + q; g[i] = ((b - a) * (b - s)) * 3.0; }",
};

static const char *const different[] = {
    TERMS "h[i] = (a - b) * s; h[i] += (b - a) * b; g[i] = 0.0; }",
    TERMS "g[i] = a - b; let d = b - a; h[i] = d; }",
    TERMS "g[i] = a - b; if b - a > 0.0 { g[i] = 1.0; } }",
    TERMS "let d = a - b; h[i] = d; g[i] = 1.0 / (b - a); }",
    TERMS "g[i] = (a - b) * (s - b); }",
    TERMS "let p = a * -0.5; h[i] = p + (a * b) * -0.5; g[i] = 0.0; }",
    // A scale that makes a factor much smaller, larger, or is no power of two; none that is made.
    TERMS "let p = a * 0.25; h[i] = p; g[i] = (a * b) * 0.25; }",
    TERMS "let p = a * 2.0; h[i] = p; g[i] = (a * b) * 2.0; }",
    TERMS "let p = a * 0.75; h[i] = p; g[i] = (a * b) * 0.75; }",
    TERMS "g[i] = (a * b) * 0.5; }",
    TERMS "let p = a * 0.5; h[i] = p; g[i] = (a + b) * 0.5; }",
    TERMS "let p = a * 0.5; h[i] = p; g[i] = (s * b) * 0.5; }",
    TERMS "g[i] = (-a + b) * 3.0; }",
    TERMS "h[i] = -a * s - b; g[i] = 0.0; }",
    TERMS "let p = a - b; h[i] = p; h[i] += (b - a) * (b - s); g[i] = 0.0; }",
    "@exact " TERMS "g[i] = -a * s - b; }",
};

static void terms(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof equal / sizeof *equal; k++)
        check(vy_pass_adjoint_terms, equal[k], true);
    for (size_t k = 0; k < sizeof different / sizeof *different; k++)
        check(vy_pass_adjoint_terms, different[k], false);
}

static const char *const one_product[] = {
    TERMS "g[i] = (a * b) * s + a * (b * s); }",
    TERMS "g[i] = (((a * b) * s + (s * a) * b) + b * (s * a)) * -0.5; }",
    TERMS "g[i] = 2.0 * (b * (a * s) + ((a * b) * s + (s * b) * a)); }",
    TERMS "let t = (a * b) * s; g[i] = (t + t) + a * (b * s); }",
    TERMS "let t = (a * b) * s; let u = t + a * (b * s); g[i] = u * 3.0 + u; }",
    TERMS "g[i] = (a * b) * (a * s) + (a * a) * (b * s); }",
    // Twice one term beside another: a product, by its later factor, and what is none.
    TERMS "let t = a * s; g[i] = t + (t + b); }",
    TERMS "let t = a * s; g[i] = (b + t) + t; }",
    TERMS "let t = (a + b) * s; g[i] = t + (b + t); }",
    TERMS "let t = s * (a + b); g[i] = (t + b) + t; }",
    TERMS "let t = a + s; g[i] = (t + b) + t; }",
};

static const char *const several_products[] = {
    // Other factors, one more often than the other, more than eight.
    TERMS "g[i] = (a * b) * s + a * (b * b); }",
    TERMS "g[i] = (a * b) * b + (a * a) * b; }",
    TERMS "g[i] = (a * b) * s + (a * b) * (s * s); }",
    TERMS "let p = (a * b) * (a * s) * (a * b); let q = (a * a) * (a * b) * (b * s);\n"
          "g[i] = p * (b * s * s) + q * (b * s * s); }",
    // Twice the same value; a sum that has another use; other terms.
    TERMS "let t = a * s; g[i] = t + t; }",
    TERMS "let t = a * s; let u = t + b; g[i] = t + u; h[i] = u; }",
    TERMS "let t = a * s; g[i] = t + (b + a); }",
    TERMS "let t = a * s; g[i] = t - (t + b); }",
    // What a program computes itself, and what is not linear.
    TERMS "h[i] = (a * b) * s + a * (b * s); g[i] = 0.0; }",
    TERMS "let t = (a * b) * s + a * (b * s); g[i] = t; h[i] = t; }",
    TERMS "let t = (a * b) * s + a * (b * s); g[i] = 1.0 / (t + 1000.0); }",
    TERMS "let t = a * s; let u = t + (t + b); g[i] = u; if u > 0.0 { h[i] = 1.0; } }",
    "@exact " TERMS "g[i] = (a * b) * s + a * (b * s); }",
};

static void equal_products(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof one_product / sizeof *one_product; k++)
        check(vy_pass_equal_products, one_product[k], true);
    for (size_t k = 0; k < sizeof several_products / sizeof *several_products; k++)
        check(vy_pass_equal_products, several_products[k], false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums),
        cmocka_unit_test(terms),
        cmocka_unit_test(equal_products),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
