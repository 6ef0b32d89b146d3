// SPDX-License-Identifier: MIT
// test_attempts.c: a gather asks isl nothing that it knows already (autodiff/gather/gather_cases.c,
// gather_apart.c).  What is asked twice has the same answer, so only the time of a compile shows
// it.  Counted are the rounds of questions (vy_affine_begin_round, which the linker wraps), which
// depend neither on the machine nor on how isl finds its answers.
#include "autodiff/affine/affine.h"
#include "autodiff/grad.h"
#include "ir/core/ir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

void __real_vy_affine_begin_round(vy_affine *a);
void __wrap_vy_affine_begin_round(vy_affine *a);

static uint32_t rounds;
void __wrap_vy_affine_begin_round(vy_affine *a)
{
    rounds++;
    __real_vy_affine_begin_round(a);
}

// Scalars choose between places that add, and a later store may overwrite what an earlier one
// stored: a gather looks at cases, and in each at cotangents that are read in place.
#define STORED_TWICE                                                                               \
    "    o[k + W * (h + q * H)] = s; if q + 1 < n { o[k + W * (h + (q + 1) * H)] = s * s; }\n}\n"
#define PLACES                                                                                     \
    " workgroup(8, 8)\n{ let k = i32(gid.x); let q = i32(gid.y) * 4; let h = i32(wid.z);\n"        \
    "    if q >= n || k >= W || h >= H { return; }\n"

static const struct {
    const char *name;
    uint32_t most; // rounds, with some to spare
    const char *text;
} programs[] = {
    // That one of the cases has conditions says that one program for all has some: no attempt at
    // the whole.  With one: 24.
    {"cases", 20,
     "@shader program others(x: in f32[?], y: out f32[?], a: i32, b: i32, w: i32, n: i32, h: i32)"
     " over(j: h, i: n)\n{ var v = 0.0;\n"
     "    if a != 2 {\n"
     "        if a <= b { v = x[i32(i) + i32(j) * w]; } else { v = x[i32(i) * h + i32(j)]; }\n"
     "    } else { v = x[j]; }\n"
     "    y[i32(i) + i32(j) * n] = v * v;\n}\n"},
    // The same where invocations are those of a launch.  With an attempt: 53.
    {"cases of groups", 46,
     "@shader program two(m: in f32[?], o: out f32[?], n: i32, W: i32, H: i32, mode: i32)" PLACES
     "    var s = 0.0;\n"
     "    if mode == 1 { s = sin(m[k + q * W]); } else { s = m[k] * m[k]; }\n"
     "    o[k + W * q] = s; if q + 1 < n { o[k + W * (q + 1)] = s * s; }\n}\n"},
    // A thrifty probe that has looked at the program as it is does not do so again.  Twice: 24.
    {"thrifty", 20,
     "@shader program three(b: in f32[?], m: in f32[?], o: out f32[?], n: i32, W: i32, H: i32,"
     " mode: i32)" PLACES "    var s = b[k + W * q];\n"
     "    if mode == 1 { s += sin(m[k + q * W]); } else if mode == 2 { s *= m[k]; }\n"
     "    else if mode == 3 { s *= m[q]; } else { s *= m[h]; }\n" STORED_TWICE},
};

static void nothing_is_asked_twice(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof programs / sizeof *programs; k++) {
        vy_module *m = vy_parse(programs[k].text, strlen(programs[k].text), "attempts");
        vy_diag d = {0};
        assert_non_null(m);
        if (!vy_module_ok(m)) fail_msg("%s", vy_module_diag(m)->text);
        rounds = 0;
        vy_module *g = vy_grad(m, NULL, &d);
        if (!g) fail_msg("%s", d.text);
        print_message("%s: %u rounds\n", programs[k].name, rounds);
        assert_true(rounds); // or the linker has wrapped nothing
        if (rounds > programs[k].most) fail_msg("%s: asked again", programs[k].name);
        vy_module_free(g);
        vy_module_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_is_asked_twice)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
