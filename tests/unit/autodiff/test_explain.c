// SPDX-License-Identifier: MIT
// test_explain.c: counts of operations against counting by hand, and vy_explain for a C caller.
// What the command prints: tests/text/explain; bytes against the manifest:
// tests/scripts/command/explain.py.
#include "autodiff/explain.h"
#include "ir/core/ir.h"
#include "tests/unit/failing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static vy_module *parse(const char *text)
{
    vy_module *m = vy_parse(text, strlen(text), "t.vyre");
    assert_non_null(m);
    assert_true(vy_module_ok(m));
    return m;
}

typedef uint64_t (*by_hand)(int64_t n, int64_t k);

// Multiplications of program `text`, with scalars n and k, are what `count` says, for many n and k;
// the formula is `formula`, unless NULL.
static void same(const char *text, const char *formula, by_hand count)
{
    vy_module *m = parse(text);
    const vy_program *p = vy_module_program(m, 0);
    for (int64_t n = 3; n < 12; n++)
        for (int64_t k = 0; k < 8; k++) {
            int64_t scalars[] = {n, k};
            bool known[] = {true, true};
            vy_cost *c = vy_program_cost(p, &(vy_sizes){.scalars = scalars, .known = known});
            assert_non_null(c);
            if (formula) assert_string_equal(c->all[VY_COST_MUL].text, formula);
            assert_true(c->all[VY_COST_MUL].known);
            assert_false(c->all[VY_COST_MUL].atmost);
            assert_int_equal(c->all[VY_COST_MUL].value, count(n, k));
            vy_cost_free(c);
        }
    vy_module_free(m);
}

#define PROGRAM(body)                                                                              \
    "program p(x: in f32[n], y: out f32[n], n: u32, k: u32) over(i: n) { var s = x[i]; " body      \
    " y[i] = s; }"
#define BODY "{ s = s * s; }"

static uint64_t plain(int64_t n, int64_t k) { return (uint64_t)(n * k); }

static uint64_t triangle(int64_t n, int64_t k)
{
    uint64_t c = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t a = 0; a < i; a++)
            for (int64_t b = a; b <= i; b++) c += 1 + (uint64_t)k;
    return c;
}

static uint64_t deep(int64_t n, int64_t k)
{
    uint64_t c = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t a = 0; a < k; a++)
            for (int64_t b = 0; b < a; b++)
                for (int64_t d = 0; d < a + b; d++)
                    for (int64_t e = 0; e < d; e++) c++;
    return c;
}

static uint64_t stepped(int64_t n, int64_t k)
{
    uint64_t c = 0;
    for (int64_t a = 1; a < 2 * k + 2; a += 3) c++;
    for (int64_t a = 0; a < 8; a += 3) c++;
    for (int64_t a = 5; a < 2; a++) c++;
    return c * (uint64_t)n;
}

static uint64_t pairs(int64_t n, int64_t k)
{
    (void)k;
    return (uint64_t)(n * (n * (n - 1) / 2));
}

static uint64_t eighths(int64_t n, int64_t k) { return (uint64_t)(n * (n / 8 + k % 3)); }

static void counts(void **state)
{
    (void)state;
    same(PROGRAM("for a in 0..k " BODY), "n*k", plain);
    same(PROGRAM("for a in 0..i { for b in a..i + 1 { s = s * s; for c in 0..k " BODY " } }"), NULL,
         triangle);
    same(PROGRAM("for a in 0..k { for b in 0..a { for d in 0..a + b { for e in rev(0..d) " BODY
                 " } } }"),
         NULL, deep);
    same(PROGRAM("for a in 1..2 * k + 2 step 3 " BODY " for a in 0u..8u step 3 " BODY
                 " for a in 5u..2u " BODY),
         NULL, stepped);
    same(PROGRAM("for a in 0..(n - 1) * n / 2 " BODY), "n^3/2 - n^2/2", pairs);
    same("program p(x: in f32[n / 8 + k % 3], y: out f32[n], n: u32, k: u32) over(i: n)"
         "{ var s = 1.0; for a in 0..len(x) " BODY " y[i] = s; }",
         "n*floor(n / 8) + n*(k % 3)", eighths);
}

static void classes(void **state)
{
    (void)state;
    vy_module *m =
        parse("program p(x: in f32[n], y: inout f32[n], z: inout u32[1], n: u32) over(i: n)"
              "{ local v: f32[2]; v[i] = fma(x[i], 2.0, 1.0); let a = exp(x[i]) / v[0];"
              "  atomic_add(y[i], floor(a) - 1.0); atomic_add(z[0], i + i);"
              "  if a > 1 { y[0] = abs(min(a, -x[0])); } }");
    vy_cost *c = vy_program_cost(vy_module_program(m, 0), NULL);
    // loads: x[i] once, x[0]; stores: y[0]; the two atomics, and the addition to y[i]
    static const char *const want[] = {"3", "1", "1", "1", "2", "1", "2"};
    for (int k = 0; k < VY_COST_COUNT; k++) assert_string_equal(c->each[k].text, want[k]);
    assert_string_equal(c->all_flops.text, "6*n");
    assert_true(c->conditional);
    assert_false(c->all_flops.known);
    vy_cost_free(c);
    assert_true(vy_optimize(m, NULL));
    vy_module_free(m);
}

// Counts that are not polynomials, and polynomials with too many factors or terms.
static void limits(void **state)
{
    (void)state;
    char text[4000] = "program p(y: inout f32[1]", loops[2000] = "", end[200] = "";
    for (int k = 0; k < 12; k++) {
        char one[60];
        snprintf(one, sizeof one, ", n%d: u32", k);
        strcat(text, one);
        snprintf(one, sizeof one, "for k%d in 0..n%d + n%d { ", k, k, (k + 1) % 12);
        strcat(loops, one);
        strcat(end, "}");
    }
    strcat(text, ") { ");
    strcat(text, loops);
    strcat(text, "y[0] = y[0] * y[0]; ");
    strcat(text, end);
    strcat(text, "}");
    vy_module *m = parse(text);
    vy_cost *c = vy_program_cost(vy_module_program(m, 0), NULL);
    assert_non_null(c);
    assert_string_equal(c->each[VY_COST_MUL].text, "?");
    assert_false(c->each[VY_COST_MUL].known);
    vy_cost_free(c);
    vy_module_free(m);
}

static const char recurrence[] =
    "program f(x: in f32[N], y: out f32[N], N: u32, T: u32) over(i: N) { var s = x[i];\n"
    "  for t in 0..T { s = sin(s) * x[i]; }\n"
    "  y[i] = s; }";

static void explanation(void **state)
{
    (void)state;
    vy_module *m = parse(recurrence);
    vy_diag d;
    int64_t scalars[] = {5, 3};
    bool known[] = {true, true};
    vy_sizes sizes = {.scalars = scalars, .known = known};
    vy_explanation *e = vy_explain(m, NULL, NULL, &sizes, &d);
    assert_non_null(e);
    assert_string_equal(e->program, "f");
    assert_int_equal(e->step_count, 1);
    assert_string_equal(e->steps[0], "f_grad");
    assert_int_equal(e->gradient_count, 1);
    assert_int_equal(e->gradients[0].sum, VY_SUM_STORE);
    assert_int_equal(e->value_count, 1);
    assert_string_equal(e->values[0].name, "s");
    assert_int_equal(e->values[0].why, VY_KEPT_CARRIED);
    assert_int_equal(e->values[0].line, 2);
    assert_int_equal(e->values[0].each.value, 3 * 4);
    assert_int_equal(e->tape_all.value, 5 * 3 * 4);
    assert_int_equal(e->loop_count, 1);
    assert_int_equal(e->loops[0].carried[0].how, VY_HAD_TAPE);
    assert_int_equal(e->loops[0].reversed_all.value, 15);
    vy_explanation_free(e);
    vy_explanation_free(NULL);
    assert_int_equal(vy_module_program_count(m), 1); // the module is as it was
    const char *const nope[] = {"nope"};
    assert_null(vy_explain(m, &(vy_grad_options){.of = nope, .of_count = 1}, NULL, NULL, &d));
    assert_string_equal(d.code, "E0501");
    assert_null(vy_explain(m, &(vy_grad_options){.program = "g"}, NULL, NULL, &d));
    assert_string_equal(d.code, "E0505");
    vy_module_free(m);
}

static void no_memory(void **state)
{
    (void)state;
    vy_module *m = parse(recurrence);
    vy_explanation *e = NULL;
    long n = 0;
    for (; !e && n < 5000; n = next_failing(n)) {
        vy_diag d;
        vy_test_fail_after(n);
        e = vy_explain(m, NULL, NULL, NULL, &d);
        vy_test_fail_after(-1);
        if (!e) assert_string_equal(d.code, "E0001");
    }
    assert_non_null(e);
    assert_true(n > 50);
    vy_explanation_free(e);
    vy_cost *c = NULL;
    for (n = 0; !c && n < 5000; n = next_failing(n)) {
        vy_test_fail_after(n);
        c = vy_program_cost(vy_module_program(m, 0), NULL);
        vy_test_fail_after(-1);
    }
    assert_true(n > 5);
    vy_cost_free(c);
    vy_module_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts),      cmocka_unit_test(classes),   cmocka_unit_test(limits),
        cmocka_unit_test(explanation), cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
