// SPDX-License-Identifier: MIT
// test_mark_owned.c: the pass `mark_owned` (ir/pass/sums/mark_owned.c): which elements of atomics
// belong to one invocation each.
#include "ir/core/ir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static vy_module *parse(const char *text)
{
    vy_module *m = vy_parse(text, strlen(text), "test");
    assert_non_null(m);
    if (!vy_module_ok(m)) fail_msg("%s\n%s", vy_module_diag(m)->text, text);
    return m;
}

// How many atomics of the optimised program are marked owned; none if the pass is skipped.
static uint32_t owned(const char *text, const char *skip)
{
    vy_module *m = parse(text);
    vy_opt_options o = {.level = 2, .skip = skip};
    assert_true(vy_optimize(m, &o));
    const vy_program *p = vy_module_program(m, 0);
    uint32_t n = 0;
    for (uint32_t id = 1; id < p->insts.count; id++)
        n += vy_op_is_atomic((vy_op)p->insts.data[id].op) &&
             (p->insts.data[id].flags & VY_FLAG_OWNED) != 0;
    vy_module_free(m);
    return n;
}

static void owner_proves(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t count;
    } rows[] = {
        {"program f(x: in f32[n], y: out f32[n], n: u32) over(i: n) { atomic_add(y[i], x[i]); }",
         1},
        {"program f(x: in f32[n], y: out f32[n, 4], n: u32) over(i: n) { for k in 0..4 "
         "{ atomic_add(y[i, k % 2], x[i]); } atomic_add(y[i, 3], 1.0); }",
         3}, // additions to the same element are merged
        {"program f(y: out f32[n, m], n: u32, m: u32) over(i: n, j: m) { atomic_add(y[i, j], 1.0); }",
         1},
        // one index misses a domain variable
        {"program f(y: out f32[n, m], n: u32, m: u32) over(i: n, j: m) { atomic_add(y[i, 0], 1.0); }",
         0},
        // one access has a different index: none is owned
        {"program f(x: in f32[n], y: out f32[n], n: u32) over(i: n) { atomic_add(y[i], x[i]); "
         "atomic_add(y[u32(x[i])], 1.0); }",
         0},
        // the variable is on another axis
        {"program f(y: out f32[n, n], n: u32) over(i: n) { atomic_add(y[i, 0], 1.0); "
         "atomic_add(y[0, i], 1.0); }",
         0},
        {"program f(y: out f32[n], n: u32) over(i: n) { atomic_add(y[i + 1], 1.0); }", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(owned(rows[i].text, NULL), rows[i].count);
        assert_int_equal(owned(rows[i].text, "mark_owned"), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(owner_proves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
