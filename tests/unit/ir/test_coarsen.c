// SPDX-License-Identifier: MIT
// test_coarsen.c: how many elements the pass `coarsen` (ir/pass/device/coarsen.c) lets one
// invocation compute, and that the bits stay the same.
#include "ir/core/ir.h"
#include "ir/pass/device/coarsen.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

// Six sums per element, of loads that all elements share; P, Q: of which.
#define MOMENTS(P, Q)                                                                              \
    "program f(x: in f32[K, 8], y: out f32[N, N, 6], K: u32, N: u32) over(i: N, j: N) {\n"         \
    "    var a = 0.0; var b = 0.0; var c = 0.0; var d = 0.0; var e = 0.0; var g = 0.0;\n"          \
    "    for k in 0..K {\n"                                                                        \
    "        let p = (" P ") * f32(i + 7 * j); let q = (" Q ") * f32(i + 7 * j);\n"                \
    "        a += p; b += q; c += p * p; d += p * q; e += q * q; g += p * p * q;\n"                \
    "    }\n"                                                                                      \
    "    y[i, j, 0] = a; y[i, j, 1] = b; y[i, j, 2] = c;\n"                                        \
    "    y[i, j, 3] = d; y[i, j, 4] = e; y[i, j, 5] = g;\n"                                        \
    "}\n"
static const char two[] = MOMENTS("x[k, 0]", "x[k, 1]");
static const char eight[] =
    MOMENTS("x[k, 0] + x[k, 2] + x[k, 4] + x[k, 6]", "x[k, 1] + x[k, 3] + x[k, 5] + x[k, 7]");

static vy_module *optimised(const char *text, vy_opt_options o)
{
    vy_module *m = vy_parse(text, strlen(text), "test");
    assert_non_null(m);
    if (!vy_module_ok(m) || !vy_optimize(m, &o)) fail_msg("%s", vy_module_diag(m)->text);
    return m;
}

static vy_module *coarsened(const char *text, uint32_t elements, uint32_t carried)
{
    return optimised(text, (vy_opt_options){.level = 2, .coarsen = elements, .carried = carried});
}

static uint32_t carries(const char *text, uint32_t elements, uint32_t carried)
{
    vy_module *m = coarsened(text, elements, carried);
    const vy_program *p = vy_module_find(m, "f");
    uint32_t n = 0;
    for (uint32_t id = 1; id < p->insts.count; id++) n += p->insts.data[id].op == VY_OP_CARRY;
    vy_module_free(m);
    return n;
}

static uint32_t loads(const char *text)
{
    vy_module *m =
        optimised(text,
                  (vy_opt_options){.level = 2, .coarsen = 40, .carried = 256, .unchecked = true});
    const vy_program *p = vy_module_find(m, "f");
    uint32_t n = 0;
    for (uint32_t id = 1; id < p->insts.count; id++) n += p->insts.data[id].op == VY_OP_LOAD;
    vy_module_free(m);
    return n;
}

// 40 values are the limit where a device states none.
static void carried_values_limit_elements(void **state)
{
    (void)state;
    assert_int_equal(carries(eight, 1, 256), 6);
    assert_int_equal(carries(eight, 40, 0), 6 * 4);
    assert_int_equal(carries(eight, 40, 47), 6 * 4);
    assert_int_equal(carries(eight, 40, 48), 6 * 8);
    assert_int_equal(carries(eight, 8, 256), 6 * 8);
    assert_int_equal(carries(eight, 40, 256), 6 * 32); // 32 copies of six stores are one `if` each
}

// On a GPU, blocks of 8 × 8 with an arm for those inside the domain and one for the others; code
// that gets long stays at fewer elements.
static uint32_t gpu_carries(const char *text, uint32_t elements, uint32_t carried)
{
    vy_module *m = vy_parse(text, strlen(text), "test");
    assert_non_null(m);
    const vy_opt_options o = {.level = 2,
                              .coarsen = elements,
                              .carried = carried,
                              .adjacent = true,
                              .skip = "strip_mine"}; // which has small loops twice
    if (!vy_module_ok(m) || !vy_optimize(m, &o)) fail_msg("%s", vy_module_diag(m)->text);
    const vy_program *p = vy_module_find(m, "f");
    uint32_t n = 0;
    for (uint32_t id = 1; id < p->insts.count; id++) n += p->insts.data[id].op == VY_OP_CARRY;
    vy_module_free(m);
    return n;
}

static void gpus_compute_blocks(void **state)
{
    (void)state;
    static const char product[] =
        "program f(a: in f32[K, M], b: in f32[K, N], c: out f32[M, N], K: u32, M: u32, N: u32)\n"
        "    over(i: M, j: N)\n{\n    c[i, j] = sum(k in 0..K: a[k, i] * b[k, j]);\n}\n";
    assert_int_equal(gpu_carries(product, 64, 72), 64 * 2);
    assert_int_equal(gpu_carries(product, 64, 40), 32 * 2);
    assert_int_equal(gpu_carries(product, 16, 72), 16 * 2);
    assert_int_equal(gpu_carries(eight, 64, 72), 6 * 8 * 2);
    assert_int_equal(gpu_carries(eight, 64, 256), 6 * 8 * 2); // more code would be too long
}

// What two loads cost is less than what more values beyond the registers do.
static void carried_values_cost(void **state)
{
    (void)state;
    assert_int_equal(carries(two, 40, 256), 6 * 8);
}

// One sum for each i, of products with weights that all of them load.
#define SUM(terms)                                                                                 \
    "program f(x: in f32[K, N], w: in f32[K, 20], y: out f32[N], K: u32, N: u32) over(i: N)\n"     \
    "{\n    y[i] = sum(k in 0..K: " terms ");\n}\n"
#define FIVE(a, b, c, d, e)                                                                        \
    "x[k, i] * w[k, " a "] + x[k, i] * w[k, " b "] + x[k, i] * w[k, " c "] + x[k, i] * w[k, " d    \
    "] + x[k, i] * w[k, " e "]"
static const char short_sum[] = SUM("x[k, i] * w[k, 0]");
static const char long_sum[] =
    SUM(FIVE("0", "1", "2", "3", "4") " + " FIVE("5", "6", "7", "8", "9") " + " FIVE(
        "10", "11", "12", "13", "14") " + " FIVE("15", "16", "17", "18", "19"));

// Sixteen along one variable are for devices that take many values, and for little code.
static void small_code_has_longer_rows(void **state)
{
    (void)state;
    assert_int_equal(carries(short_sum, 40, 256), 16);
    assert_int_equal(carries(short_sum, 40, 0), 8);
    assert_int_equal(carries(long_sum, 40, 256), 8);
}

// Six loads in each iteration, whose sum is added to g[`at`], of `size` elements.
#define ADDS(type, domain, size, at, row)                                                          \
    "program f(a: in " type "[N, C], b: in " type "[N, C], c: in " type "[N, C],\n"                \
    "          d: in " type "[N, C], e: in " type "[N, C], h: in " type "[N, C],\n"                \
    "          g: inout " type "[" size "], N: u32, C: u32, J: u32) over(" domain ")\n{\n"         \
    "    let r = " row ";\n    for t in 0..C {\n"                                                  \
    "        atomic_add(g[" at "], a[r, t] + b[r, t] + c[r, t] + d[r, t] + e[r, t] + h[r, t]);\n"  \
    "    }\n}\n"

// Additions of all copies to one element are one: where a row of lanes adds to it, that is worth
// more code than the same of loads.
static void additions_are_shared(void **state)
{
    (void)state;
    assert_true(loads(ADDS("f32", "i: N", "C", "t", "i")) > 6);
    assert_true(loads(ADDS("f64", "i: N", "C", "t", "i")) > 6);
    assert_int_equal(loads(ADDS("i32", "i: N", "C", "t", "i")), 6); // by one instruction
}

// The last variable is what lanes differ in: of two, bit 1.
static void lanes_follow_the_last_variable(void **state)
{
    (void)state;
    vy_module *m =
        optimised(ADDS("f32", "q: J, i: N", "N, C", "i, t", "i + q"), (vy_opt_options){.level = 1});
    const vy_program *p = vy_module_find(m, "f");
    uint32_t id = 1;
    while (p->insts.data[id].op != VY_OP_ATOMIC_ADD) id++;
    assert_true(vy_adds_for_all_lanes(p, id, 1, 2));
    assert_false(vy_adds_for_all_lanes(p, id, 2, 2));
    assert_false(vy_adds_for_all_lanes(p, id, 3, 2));
    assert_true(vy_adds_for_all_lanes(p, id, 0, 1));
    assert_false(vy_adds_for_all_lanes(p, id, 0, 0));
    vy_module_free(m);
}

// Gains of loads alone have to be larger: of four loads that differ, and one that all share.
static void loads_have_to_save_a_quarter(void **state)
{
    (void)state;
    assert_int_equal(loads("program f(x: in f32[K, N], u: in f32[K, N], v: in f32[K, N],\n"
                           "          z: in f32[K, N], w: in f32[K], y: out f32[N], K: u32, N: u32)"
                           " over(i: N) {\n    var s = 0.0;\n    for k in 0..K {\n"
                           "        s += x[k, i] * u[k, i] * v[k, i] * z[k, i] * w[k];\n    }\n"
                           "    y[i] = s;\n}\n"),
                     5);
}

enum { N = 11, K = 3 };

static void run(vy_module *m, float y[N * N * 6])
{
    float x[K * 8] = {0.5f, 1.25f, -3, 0.1f, 7, -0.7f, 1e-3f, 4, 100, -2, 0.3f, 5};
    uint64_t of_x[] = {K, 8}, of_y[] = {N, N, 6};
    vy_eval_buffer buffers[2] = {{"x", x, of_x, 2}, {"y", y, of_y, 3}};
    vy_eval_scalar scalars[2] = {{"K", {.i = K}}, {"N", {.i = N}}};
    vy_diag d = {0};
    if (!vy_eval(vy_module_find(m, "f"), buffers, 2, scalars, 2, NULL, NULL, &d))
        fail_msg("%s", d.text);
}

static void many_elements_keep_their_bits(void **state)
{
    (void)state;
    float one[N * N * 6], many[N * N * 6];
    vy_module *plain = coarsened(eight, 1, 0), *block = coarsened(eight, 40, 256);
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
        cmocka_unit_test(carried_values_cost),
        cmocka_unit_test(gpus_compute_blocks),
        cmocka_unit_test(small_code_has_longer_rows),
        cmocka_unit_test(additions_are_shared),
        cmocka_unit_test(lanes_follow_the_last_variable),
        cmocka_unit_test(loads_have_to_save_a_quarter),
        cmocka_unit_test(many_elements_keep_their_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
