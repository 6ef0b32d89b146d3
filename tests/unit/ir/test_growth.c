// SPDX-License-Identifier: MIT
// test_growth.c: how much passes add to a program by copying its loops (ir/pass/scalar/growth.c).
#include "ir/pass/pass.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SMALL = 16384 }; // what any program may grow by

// ------------------------------------------------------------------------------------- the account
static vy_module *parse(const char *text, size_t size)
{
    vy_module *m = vy_parse(text, size, "loops");
    assert_non_null(m);
    if (!vy_module_ok(m)) fail_msg("%s", vy_module_diag(m)->text);
    return m;
}

static void copies_are_counted(void **state)
{
    static const char text[] = "program f(y: out f32[N], N: u32) over(i: N) { y[i] = 1.0; }";
    vy_module *m = parse(text, sizeof text - 1);
    vy_program *p = m->programs.data[0];
    vy_growth g = {0};
    const vy_pass_context limited = {.growth = &g}, free_of_it = {0};
    (void)state;
    assert_true(vy_may_copy(&limited, p, SMALL - 10));
    assert_false(vy_may_copy(&limited, p, 11)); // which is not counted
    assert_true(vy_may_copy(&limited, p, 9));
    assert_true(vy_may_copy(&limited, p, 1));
    assert_false(vy_may_copy(&limited, p, 1));
    assert_true(vy_may_copy(&free_of_it, p, 1000 * SMALL));
    const uint32_t count = p->insts.count;
    p->insts.count = 2 * SMALL; // a large program doubles
    g = (vy_growth){0};
    assert_true(vy_may_copy(&limited, p, SMALL));
    p->insts.count = 3 * SMALL; // what it was at first
    assert_true(vy_may_copy(&limited, p, SMALL));
    assert_false(vy_may_copy(&limited, p, 1));
    p->insts.count = count;
    vy_module_free(m);
}

// -------------------------------------------------------------------------------- of many loops
typedef struct shape {
    const char *pass; // that copies them
    const char *head, *tail;
    const char *loop; // %u: its number
    vy_opt_options o;
    double grows; // a short program, at least by this factor
} shape;

#define T4(a)                                                                                      \
    "q[i, " #a "] * a + q[i, " #a " + 1] * a + q[i, " #a " + 2] * a + q[i, " #a " + 3] * a"
static const char sums[] =
    "var b%1$u = 0.0; var c%1$u = 0.0; for i in 0..T { let s = sin(" T4(0) " + " T4(4) " + " T4(
        8) " + " T4(12) " + " T4(16) " + " T4(20) "); b%1$u += s * q[i, 0]; c%1$u += s * q[i, 1]; }"
                                                  " a = b%1$u * c%1$u;\n";
static const shape shapes[] = {
    {"jam_iterations",
     "program m(q: in f32[T, 24], x: in f32[J], y: out f32[J], T: u32, J: u32) over(j: J) {"
     "var a = x[j];",
     "y[j] = a; }",
     sums,
     {.level = 2, .uniform_starts = true},
     4},
    {"uniform_starts", // and those that all run, which jam_iterations copies
     "program m(q: in f32[T, 24], x: in f32[T], y: out f32[T], T: u32) workgroup(64) over(j: T) {"
     "var a = x[j];",
     "y[j] = a; }",
     "var b%1$u = 0.0; var c%1$u = 0.0; for i in j..T { let s = sin(" T4(0) " + " T4(4) " + " T4(
         8) " + " T4(12) " + " T4(16) " + " T4(20) "); b%1$u += s * q[i, 0];"
                                                   " c%1$u += s * q[i, 1]; } a = b%1$u * c%1$u;\n",
     {.level = 2, .uniform_starts = true},
     5},
    {"strip_mine",
     "program m(x: in f32[C, W], g: in f32[N], y: out f32[C], C: u32, W: u32, N: u32, P: u32)"
     "over(c: C) { var a = 1.0;",
     "y[c] = a; }",
     "var b%1$u = 0.0; for j in 0..N { b%1$u += g[j] * a * x[0, j - P]; } a = b%1$u * 0.5;\n",
     {.level = 2, .adjacent = true},
     3},
};

static uint32_t instructions(const shape *s, unsigned n, bool copied)
{
    const size_t room = strlen(s->head) + strlen(s->tail) + n * (strlen(s->loop) + 100) + 1;
    char *text = malloc(room);
    assert_non_null(text);
    size_t size = (size_t)snprintf(text, room, "%s", s->head);
    for (unsigned k = 0; k < n; k++) size += (size_t)snprintf(text + size, room - size, s->loop, k);
    size += (size_t)snprintf(text + size, room - size, "%s", s->tail);
    vy_module *m = parse(text, size);
    vy_opt_options o = s->o;
    if (!copied) o.uniform_starts = o.adjacent = false;
    assert_true(vy_optimize(m, &o));
    const uint32_t count = m->programs.data[0]->insts.count;
    vy_module_free(m);
    free(text);
    return count;
}

static void programs_double_at_most(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const shape *s = &shapes[i];
        for (unsigned n = 5; n <= 2000; n *= 20) {
            const double plain = instructions(s, n, false), have = instructions(s, n, true);
            print_message("%s, %u loops: %.0f instructions, %.0f\n", s->pass, n, plain, have);
            if (n == 5) assert_true(have >= s->grows * plain);
            // Numbers of iterations, and conditions, are no copies.
            assert_true(have <= (n < 2000 ? plain + SMALL + 25 * n : 2.2 * plain));
            assert_true(have >= plain + 0.8 * SMALL || n < 2000);
        }
    }
}

// What a driver needs to compute it at all.
static void chunks_are_not_limited(void **state)
{
    shape s = shapes[2];
    (void)state;
    s.o = (vy_opt_options){.level = 2, .chunk = 8};
    const double few = instructions(&s, 10, true), many = instructions(&s, 2000, true);
    assert_true(many > 195 * few);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(copies_are_counted),
                                       cmocka_unit_test(programs_double_at_most),
                                       cmocka_unit_test(chunks_are_not_limited)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
