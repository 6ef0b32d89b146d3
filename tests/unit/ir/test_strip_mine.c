// SPDX-License-Identifier: MIT
// test_strip_mine.c: the pass `strip_mine` (ir/pass/target/strip_mine.c) preserves what loops
// compute.
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

// ------------------------------------------------------------------------------------------- chunk
enum { N = 3 };

static void run(vy_program *p, uint32_t a, uint32_t b, float out[N])
{
    uint64_t shape = N;
    vy_eval_buffer buffer = {"y", out, &shape, 1};
    vy_eval_scalar scalars[2] = {{"a", {.i = (int32_t)a}}, {"b", {.i = (int32_t)b}}};
    vy_diag d = {0};
    if (!vy_eval(p, &buffer, 1, scalars, 2, NULL, NULL, &d)) fail_msg("%s", d.text);
}

// Loops over a..b of every kind: chunked and as written give the same bits.
static void chunk_keeps_values(void **state)
{
    (void)state;
    static const char *const headers[] = {"a..b", "rev(a..b)", "a..b step 3", "rev(a..b) step 2"};
    static const int32_t bounds[][2] = {{0, 0},
                                        {0, 1},
                                        {0, 7},
                                        {0, 8},
                                        {0, 9},
                                        {3, 70},
                                        {5, 2},
                                        {-9, 31},
                                        {-2147483647, -2147483600},
                                        {2147483600, 2147483647}};
    for (size_t h = 0; h < 4; h++) {
        for (int is_signed = 0; is_signed < 2; is_signed++) {
            const char *type = is_signed ? "i32" : "u32";
            char text[400];
            snprintf(text, sizeof text,
                     "program f(y: out f32[3], a: %s, b: %s) over(i: 3) { var s = 1.0; var n = 0; "
                     "for k in %s { s = s * 0.75 + f32(k %% 7); n += 1; } y[i] = s + f32(n); }",
                     type, type, headers[h]);
            vy_module *plain = parse(text), *chunked = parse(text);
            vy_opt_options o = {.level = 2, .chunk = 4};
            assert_true(vy_optimize(chunked, &o));
            assert_true(vy_program_instruction_count(vy_module_program(chunked, 0)) >
                        2 * vy_program_instruction_count(vy_module_program(plain, 0)));
            for (size_t k = 0; k < sizeof bounds / sizeof *bounds; k++) {
                if (!is_signed && bounds[k][0] < 0) continue;
                float x[N], z[N];
                run(vy_module_program(plain, 0), (uint32_t)bounds[k][0], (uint32_t)bounds[k][1], x);
                run(vy_module_program(chunked, 0), (uint32_t)bounds[k][0], (uint32_t)bounds[k][1],
                    z);
                assert_memory_equal(x, z, sizeof x);
            }
            vy_module_free(plain);
            vy_module_free(chunked);
        }
    }
}

// Without the option nothing happens; loops that exit early, nest, or contain barriers are left
// alone.
static void chunk_leaves_alone(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "program f(y: out f32[n], n: u32) over(i: n) { var s = 0.0; for k in 0..n { s += f32(k); if s > "
        "9 { break; } } y[i] = s; }",
        "program f(y: out f32[n], n: u32) over(i: n) { var s = 0.0; var k = 0u; while k < n { k += k % 3 + "
        "1; s = s * 0.5 + 1; } y[i] = s; }",
        "program f(y: out f32[n], n: u32) over(i: n) { shared t: f32[64]; for k in 0..n { barrier(); "
        "t[lindex] = f32(k); } y[i] = t[lindex]; }",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        vy_module *m = parse(texts[i]), *chunked = parse(texts[i]);
        vy_opt_options plain = {.level = 2}, with = {.level = 2, .chunk = 8};
        assert_true(vy_optimize(m, &plain) && vy_optimize(chunked, &with));
        assert_true(vy_module_equal(m, chunked));
        vy_module_free(m);
        vy_module_free(chunked);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunk_keeps_values),
        cmocka_unit_test(chunk_leaves_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
