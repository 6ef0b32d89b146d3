// SPDX-License-Identifier: MIT
// test_ways.c: spirv/target/lavapipe_ways.c finds exactly the values whose expressions a driver
// would traverse in exponential time.
#include "ir/core/ir.h"
#include "spirv/target/target.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

// Whether any value of the program has too many paths to it.
static bool any_endless(const char *text)
{
    vy_module *m = vy_parse(text, strlen(text), "ways");
    if (!vy_module_ok(m)) fail_msg("%s", vy_module_diag(m)->text);
    const vy_program *p = vy_module_program(m, 0);
    bool *many = vy_lavapipe_ways(p), any = false;
    assert_non_null(many);
    for (uint32_t id = 1; id < p->insts.count; id++) any |= many[id];
    vy_free(many);
    vy_module_free(m);
    return any;
}

// Whether `h` does after that many rounds, starting from `start`.
static bool endless(const char *start, int rounds)
{
    char text[2000];
    size_t n = (size_t)snprintf(text, sizeof text,
                                "program f(x: in f32[N], y: out f32[N], m: u32, N: u32) "
                                "over(i: N) { var h = %s;",
                                start);
    for (int k = 0; k < rounds; k++)
        n += (size_t)snprintf(text + n, sizeof text - n, " h = (h ^ (h >> 15)) * %uu;", k + 3);
    snprintf(text + n, sizeof text - n, " y[i] = x[h %% N]; }");
    return any_endless(text);
}

static void ways(void **state)
{
    (void)state;
    assert_false(endless("m", 2));
    assert_true(endless("m", 24));
    assert_false(endless("i", 24)); // differs between lanes: the first operand ends it
    assert_false(endless("u32(x[i])", 24));
}

// Each iteration of a loop multiplies the paths, if the loop is one that is fully unrolled.
static void ways_of_loops(void **state)
{
    static const char body[] = "program f(x: in f32[N], y: out f32[N], m: u32, N: u32) over(i: N) "
                               "{ var h = m; for k in 0..%s { h = (h ^ (h >> 15)) * 3u; } "
                               "y[i] = x[h %% N]; }";
    static const char *const iterations[] = {"2", "24", "m"};
    (void)state;
    for (int k = 0; k < 3; k++) {
        char text[500];
        snprintf(text, sizeof text, body, iterations[k]);
        assert_int_equal(any_endless(text), k == 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ways), cmocka_unit_test(ways_of_loops)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
