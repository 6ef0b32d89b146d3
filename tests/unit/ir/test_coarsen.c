// SPDX-License-Identifier: MIT
// test_coarsen.c: how many elements the pass `coarsen` (ir/pass/device/coarsen.c) lets one
// invocation compute, and that the bits stay the same.
#include "ir/core/ir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

// Six sums per element, of loads that all elements share.
static const char moments[] =
    "program f(x: in f32[K, 2], y: out f32[N, 6], K: u32, N: u32) over(i: N) {\n"
    "    var a = 0.0; var b = 0.0; var c = 0.0; var d = 0.0; var e = 0.0; var g = 0.0;\n"
    "    for k in 0..K {\n"
    "        let p = x[k, 0] * f32(i); let q = x[k, 1] * f32(i);\n"
    "        a += p; b += q; c += p * p; d += p * q; e += q * q; g += p * p * q;\n"
    "    }\n"
    "    y[i, 0] = a; y[i, 1] = b; y[i, 2] = c; y[i, 3] = d; y[i, 4] = e; y[i, 5] = g;\n"
    "}\n";

static vy_module *coarsened(uint32_t elements, uint32_t carried)
{
    vy_module *m = vy_parse(moments, sizeof moments - 1, "test");
    assert_non_null(m);
    const vy_opt_options o = {.level = 2, .coarsen = elements, .carried = carried};
    if (!vy_module_ok(m) || !vy_optimize(m, &o)) fail_msg("%s", vy_module_diag(m)->text);
    return m;
}

static uint32_t carries(uint32_t elements, uint32_t carried)
{
    vy_module *m = coarsened(elements, carried);
    const vy_program *p = vy_module_find(m, "f");
    uint32_t n = 0;
    for (uint32_t id = 1; id < p->insts.count; id++) n += p->insts.data[id].op == VY_OP_CARRY;
    vy_module_free(m);
    return n;
}

// Registers are a limit where a device says nothing; else it states one, and values beyond the
// registers only cost.
static void carried_values_limit_elements(void **state)
{
    (void)state;
    assert_int_equal(carries(1, 256), 6);
    assert_int_equal(carries(40, 0), 6 * 4); // at most 40 in registers
    assert_int_equal(carries(40, 47), 6 * 4);
    assert_int_equal(carries(40, 48), 6 * 8);
    assert_int_equal(carries(8, 256), 6 * 8);
    assert_int_equal(carries(40, 256), 6 * 32); // 32 copies of six stores are one `if` each
}

enum { N = 35, K = 3 };

static void run(vy_module *m, float y[N * 6])
{
    float x[K * 2] = {0.5f, 1.25f, -3, 0.1f, 7, -0.7f};
    uint64_t sizes[2][2] = {{K, 2}, {N, 6}};
    vy_eval_buffer buffers[2] = {{"x", x, sizes[0], 2}, {"y", y, sizes[1], 2}};
    vy_eval_scalar scalars[2] = {{"K", {.i = K}}, {"N", {.i = N}}};
    vy_diag d = {0};
    if (!vy_eval(vy_module_find(m, "f"), buffers, 2, scalars, 2, NULL, NULL, &d))
        fail_msg("%s", d.text);
}

static void many_elements_keep_their_bits(void **state)
{
    (void)state;
    float one[N * 6], many[N * 6];
    vy_module *plain = coarsened(1, 0), *block = coarsened(40, 256);
    run(plain, one);
    run(block, many);
    assert_memory_equal(one, many, sizeof one);
    vy_module_free(plain);
    vy_module_free(block);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(carried_values_limit_elements),
        cmocka_unit_test(many_elements_keep_their_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
