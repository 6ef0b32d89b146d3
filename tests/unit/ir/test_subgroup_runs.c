// SPDX-License-Identifier: MIT
// test_subgroup_runs.c: sums over runs of lanes (ir/pass/sums/subgroup_runs.c) for subgroups of a
// known size, where subgroups have it and where they do not.  text/opt/subgroup_runs has the code
// for those of any size.
#include "ir/core/ir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { N = 200, M = 64 };
#define HEAD "program f(k: in u32[N], x: in f32[N], y: out f32[M], N: u32, M: u32) over(i: N) {\n"
static const char every_lane[] = HEAD "atomic_add(y[k[i]], x[i]); }\n";
// Half of the lanes of a subgroup: as many as one of half its size has.
static const char odd_lanes[] = HEAD "if i % 2 > 0 { atomic_add(y[k[i]], x[i]); } }\n";

static vy_module *combined(const char *text, uint32_t subgroup_size)
{
    vy_module *m = vy_parse(text, strlen(text), "test");
    assert_non_null(m);
    const vy_opt_options o = {.level = 2,
                              .subgroup_add = true,
                              .subgroup_shuffle = true,
                              .subgroup_size = subgroup_size};
    if (!vy_module_ok(m) || !vy_optimize(m, &o)) fail_msg("%s", vy_module_diag(m)->text);
    return m;
}

static uint32_t count(uint32_t subgroup_size, vy_op op)
{
    vy_module *m = combined(every_lane, subgroup_size);
    const vy_program *p = vy_module_find(m, "f");
    uint32_t n = 0;
    for (uint32_t id = 1; id < p->insts.count; id++) n += p->insts.data[id].op == op;
    vy_module_free(m);
    return n;
}

// Indices of neighbours: a step takes two shuffles, but the last; two more find where runs end.
static void steps_are_straight_code(void **state)
{
    (void)state;
    assert_int_equal(count(0, VY_OP_LOOP), 1);
    for (uint32_t size = 2, steps = 1; size <= 128; size *= 2, steps++) {
        assert_int_equal(count(size, VY_OP_LOOP), 0);
        assert_int_equal(count(size, VY_OP_SG_SHUFFLE), 2 * steps - 1 + 2);
    }
    assert_int_equal(count(129, VY_OP_LOOP), 1); // no subgroup is so large
    assert_int_equal(count(UINT32_MAX, VY_OP_LOOP), 1);
}

// Of integers, so that sums are exact.  Which: all equal, sorted, none equal, pairs, any mixture,
// some out of range.
static void make_data(uint32_t which, uint32_t *k, float *x)
{
    uint32_t word = 12345;
    for (uint32_t i = 0; i < N; i++) {
        word = word * 1664525u + 1013904223u;
        const uint32_t random = word >> 24,
                       of[] = {7, i / 9, i % M, i / 2 % 5, random < 128, random % 3, random};
        k[i] = of[which];
        x[i] = (float)(i + 1);
    }
}

static void run(const vy_module *m, uint32_t *k, float *x, float *y, uint32_t lanes)
{
    const uint64_t many[] = {N}, few[] = {M};
    vy_eval_buffer buffers[3] = {{"k", k, many, 1}, {"x", x, many, 1}, {"y", y, few, 1}};
    vy_diag d = {0};
    const vy_eval_options o = {.subgroup_size = lanes, .report_races = true};
    vy_eval_report report = {0};
    if (!vy_eval(vy_module_find(m, "f"), buffers, 3, NULL, 0, &o, &report, &d))
        fail_msg("%s", d.text);
    assert_int_equal(report.races, 0);
}

static void check_sums(const vy_module *m, uint32_t lanes, bool odd)
{
    static uint32_t k[N];
    static float x[N], y[M], expected[M];
    for (uint32_t which = 0; which < 7; which++) {
        make_data(which, k, x);
        memset(expected, 0, sizeof expected);
        for (uint32_t i = odd; i < N; i += 1 + odd)
            if (k[i] < M) expected[k[i]] += x[i];
        run(m, k, x, y, lanes);
        assert_memory_equal(y, expected, sizeof y);
    }
}

static void sums_hold_whatever_the_subgroups(void **state)
{
    (void)state;
    for (uint32_t size = 0; size <= 128; size = size ? size * 2 : 1) {
        vy_module *every = combined(every_lane, size), *odd = combined(odd_lanes, size);
        for (uint32_t lanes = 1; lanes <= 128; lanes *= 2) {
            check_sums(every, lanes, false);
            check_sums(odd, lanes, true);
        }
        vy_module_free(every);
        vy_module_free(odd);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_straight_code),
        cmocka_unit_test(sums_hold_whatever_the_subgroups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
