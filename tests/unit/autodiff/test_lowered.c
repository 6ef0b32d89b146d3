// SPDX-License-Identifier: MIT
// test_lowered.c: what passes note for later passes is part of the program: it survives text and
// binary form.
#include "autodiff/grad.h"
#include "autodiff/rewrite/extremum.h"
#include "autodiff/rewrite/online_softmax.h"
#include "ir/core/ir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

// Sums that are rescaled when the maximum m grows, a local array among them.
static const char softmax[] =
    "program p(s: in f32[N, T], v: in f32[N, T], y: out f32[N, 2], N: u32, T: u32) over(i: N) {\n"
    "    var m = -inf; var l = 0.0; local a: f32[40];\n"
    "    for j in 0..T {\n"
    "        let t = max(m, s[i, j]); let r = exp(m - t); let e = exp(s[i, j] - t);\n"
    "        l = l * r + e;\n"
    "        for c in 0..40 { a[c] = a[c] * r + e * v[i, (j + c) % T]; }\n"
    "        m = t;\n"
    "    }\n"
    "    var sum = 0.0; for c in 0..40 { sum += a[c] * f32(c); }\n"
    "    y[i, 0] = sum / l; y[i, 1] = m + log(l);\n"
    "}\n";
static const char maxima[] =
    "program p(x: in f32[N], at: in u32[N], y: out f32[4], N: u32) over(i: N) {\n"
    "    for k in 0..3u { atomic_max(y[at[i] % 4], x[i] * f32(k)); }\n"
    "    atomic_max(y[0], 1.5);\n"
    "}\n";

static vy_module *parse(const char *text)
{
    vy_module *m = vy_parse(text, strlen(text), "t.vyre");
    assert_non_null(m);
    if (!vy_module_ok(m)) fail_msg("%s\n%s", text, vy_module_diag(m)->text);
    return m;
}

static uint32_t count(const vy_program *p, vy_op op)
{
    uint32_t n = 0;
    for (uint32_t id = 1; id < p->insts.count; id++) n += p->insts.data[id].op == op;
    return n;
}

// Text and binary form give the same program, marks included.
static void round_trips(const vy_module *m)
{
    size_t size, bytes;
    char *text = vy_print(m, &size);
    assert_non_null(text);
    vy_module *back = parse(text);
    if (!vy_module_equal(m, back)) fail_msg("another program:\n%s", text);
    char *again = vy_print(back, NULL);
    assert_string_equal(text, again);
    void *block = vy_binary_write(m, &bytes);
    vy_module *read = vy_binary_read(block, bytes);
    assert_true(vy_module_ok(read) && vy_module_equal(m, read));
    vy_module_free(read);
    vy_module_free(back);
    vy_free(block);
    vy_free(again);
    vy_free(text);
}

// The program after a rewrite for reverse mode.
static void check_rewritten(const char *source, bool (*pass)(vy_program *p, const uint8_t *active),
                            vy_op op)
{
    vy_module *m = parse(source);
    vy_program *p = vy_module_program(m, 0);
    uint8_t active[256];
    vy_diag d;
    assert_true(p->insts.count < sizeof active);
    memset(active, 1, sizeof active);
    assert_false(vy_program_lowered(p));
    assert_true(pass(p, active));
    assert_true(count(p, op) > 1);
    assert_true(vy_program_lowered(p) && vy_module_check(m));
    round_trips(m);
    vy_drop_marks(m); // what remains is not a mark
    assert_true(vy_program_lowered(p));
    vy_module *of_lowered = vy_grad(m, NULL, &d); // as what it means: text/grad/rewrite/lowered
    if (!of_lowered) fail_msg("%s", d.text);
    vy_module_free(of_lowered);
    vy_module_free(m);
    // No result has any of them.
    m = parse(source);
    vy_module *g = vy_grad(m, NULL, &d);
    if (!g) fail_msg("%s", d.text);
    for (uint32_t k = 0; k < vy_module_program_count(g); k++)
        assert_false(vy_program_lowered(vy_module_program(g, k)));
    vy_module_free(g);
    vy_module_free(m);
}

static void test_rewritten(void **state)
{
    (void)state;
    check_rewritten(softmax, vy_rescale, VY_OP_DERIVE_AS);
    check_rewritten(maxima, vy_extremum_prepare, VY_OP_CANDIDATE);
}

// Skipping one pass after the other; the result survives the round trip with equal marks.  (Except
// without `cleanup`: parsing the text simplifies.)
static void test_optimised(void **state)
{
    (void)state;
    for (uint32_t k = 0; k == 0 || vy_opt_pass_name(k - 1); k++) {
        const char *skip = k ? vy_opt_pass_name(k - 1) : NULL;
        if (skip && strcmp(skip, "cleanup") == 0) continue;
        vy_module *m = parse(softmax);
        const vy_opt_options o = {.level = 2, .skip = skip};
        assert_true(vy_optimize(m, &o));
        bool unmarked = skip && strcmp(skip, "mark_in_range") == 0;
        assert_true(vy_program_lowered(vy_module_program(m, 0)) != unmarked);
        round_trips(m);
        vy_drop_marks(m);
        assert_false(vy_program_lowered(vy_module_program(m, 0)));
        round_trips(m);
        vy_module_free(m);
    }
}

// Marks of the program change nothing in its derivative.
static void test_gradient(void **state)
{
    (void)state;
    vy_diag d;
    vy_module *m = parse(maxima);
    assert_true(vy_optimize(m, NULL));
    vy_module *with = vy_grad(m, NULL, &d);
    vy_drop_marks(m);
    vy_module *without = vy_grad(m, NULL, &d);
    assert_non_null(with);
    assert_true(vy_module_equal(with, without));
    vy_module_free(with);
    vy_module_free(without);
    vy_module_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rewritten),
        cmocka_unit_test(test_optimised),
        cmocka_unit_test(test_gradient),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
