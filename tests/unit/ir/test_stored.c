// SPDX-License-Identifier: MIT
// test_stored.c: workspaces of which nothing is loaded that was not stored before, outputs all of
// which are stored (ir/pass/scalar/mark_stored.c).
//
// The interpreter fills what is marked with nan, and reports what it reads of that, so that every
// test of a gradient looks for what is marked wrongly.
#include "autodiff/grad.h"
#include "ir/pass/pass.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define ROW "for k in 0..n { t[k, i] = x[i]; }"
#define COUNTED(FROM, C, COUNT)                                                                    \
    "var c = " C "u; for k in " FROM "..n { t[k, i] = x[i]; " COUNT " if x[k] > 0.0 { break; } }"
#define BACK "for k in rev(0..n) { y[i] += t[k, i]; }"

static const struct {
    const char *code;
    bool marked; // is t?
} rows[] = {
    {"t[0, i] = x[i]; y[i] = t[0, i];", true},
    {"t[0, i] = x[i]; y[i] = t[1, i];", false},
    {"y[i] = t[0, i]; t[0, i] = x[i];", false},
    {"y[i] = t[0, i];", false},
    {"t[0, i] = x[i];", true}, // nothing is loaded
    {"t[0, i] = x[i]; y[i] = t[0, i] + t[1, i];", false},
    {"t[0, i] = x[i]; y[i] = t[0, N - 1 - i];", false},
    // loops
    {ROW BACK, true},
    {ROW "for k in 0..n { y[i] += t[k, i]; }", true},
    {BACK ROW, false},
    {ROW "for k in 0..n + 1 { y[i] += t[k, i]; }", false},
    {ROW "for k in 0..n { y[i] += t[k + 1, i]; }", false},
    {"for k in 1..n { t[k, i] = x[i]; }" BACK, false},
    {"for k in 0..n step 2 { t[k, i] = x[i]; }" BACK, false},
    {"for k in 0..n step 2 { t[k / 2, i] = x[i]; }"
     "for k in rev(0..n) step 2 { y[i] += t[k / 2, i]; }",
     true},
    {"for k in 0..n { t[k, i] = x[i]; } y[i] = t[0, i];", false},
    {"for k in 0..n { t[0, i] = x[i]; } y[i] = t[0, i];", false}, // n may be 0
    {"for k in 0..n { t[k, i] = x[i]; if x[k] > 0.0 { break; } }" BACK, false},
    {"for k in 0..n { if x[k] > 0.0 { break; } t[k, i] = x[i]; }" BACK, false},
    {"var c = 0u; while c < n { t[c, i] = x[i]; c += 1; }" BACK, false},
    {ROW "var c = 0u; while c < n { y[i] += t[c, i]; c += 1; }", false},
    // as far as the loop has counted
    {COUNTED("0", "0", "c += 1;") "for k in rev(0..c) { y[i] += t[k, i]; }", true},
    {COUNTED("2", "2", "c += 1;") "for k in rev(2..c) { y[i] += t[k, i]; }", true},
    {COUNTED("0", "1", "c += 1;") "for k in rev(0..c) { y[i] += t[k, i]; }", false},
    {COUNTED("1", "0", "c += 1;") "for k in rev(0..c) { y[i] += t[k, i]; }", false},
    {COUNTED("0", "0", "c += 2;") "for k in rev(0..c) { y[i] += t[k, i]; }", false},
    {COUNTED("0", "0", "c = k + 1;") "for k in rev(0..c) { y[i] += t[k, i]; }", false},
    {COUNTED("0", "0", "if x[k] > 1.0 { c += 1; }") "for k in rev(0..c) { y[i] += t[k, i]; }",
     false},
    {COUNTED("0", "0", "c += 1;") "for k in rev(0..c + 1) { y[i] += t[k, i]; }", false},
    {COUNTED("0", "0", "c += 1;") BACK, false},
    {"var c = 0u; for k in rev(0..n) { t[k, i] = x[i]; c += 1; if x[k] > 0.0 { break; } }"
     "for k in rev(0..c) { y[i] += t[k, i]; }",
     false},
    {"var c = 0u; for k in 0..n step 2 { t[k, i] = x[i]; c += 1; if x[k] > 0.0 { break; } }"
     "for k in rev(0..c) step 2 { y[i] += t[k, i]; }",
     false},
    // within one iteration of the loop around both
    {"for k in 0..n { t[k, i] = x[i]; y[i] += t[k, i]; }", true},
    {"for k in 0..n { y[i] += t[k, i]; t[k, i] = x[i]; }", false},
    {"for k in 0..n { t[k, i] = x[i]; for j in 0..n { y[i] += t[j, i]; } }", false},
    {"for k in 0..n { for j in 0..n { t[j, i] = x[i]; } y[i] += t[k, i]; }", true},
    {"for j in 0..n { " ROW BACK " }", true},
    {"for j in 0..n { " BACK ROW " }", false},
    // nested
    {"for k in 0..n { for j in 0..k { t[k * n + j, i] = x[i]; } }"
     "for k in rev(0..n) { for j in rev(0..k) { y[i] += t[k * n + j, i]; } }",
     true},
    {"for k in 0..n { for j in 0..k { t[k * n + j, i] = x[i]; } }"
     "for k in rev(0..n) { for j in rev(0..n) { y[i] += t[k * n + j, i]; } }",
     false},
    {"for k in 0..n { for j in 0..n { t[k * n + j, i] = x[i]; } }"
     "for j in 0..n { for k in 0..n { y[i] += t[k * n + j, i]; } }",
     true},
    {"for k in 0..n { for j in 0..n { t[k * n + j, i] = x[i]; } }"
     "for k in 0..n { y[i] += t[k * n + k, i]; }",
     true},
    {"for k in 0..n { t[k * n + k, i] = x[i]; }"
     "for k in 0..n { for j in 0..n { y[i] += t[k * n + j, i]; } }",
     false},
    {"for k in 0..n { for j in 0..n { t[k, i] = x[i]; } }" BACK, false},
    // conditions
    {"if n > 2 { t[0, i] = x[i]; } y[i] = t[0, i];", false},
    {"if n > 2 { t[0, i] = x[i]; } if n > 2 { y[i] = t[0, i]; }", true},
    {"if n > 2 { t[0, i] = x[i]; } if n > 1 { y[i] = t[0, i]; }", false},
    {"if n > 2 { t[0, i] = x[i]; } if n > 2 { } else { y[i] = t[0, i]; }", false},
    {"if n > 2 { t[0, i] = x[i]; } else { y[i] = t[0, i]; }", false},
    {"t[0, i] = x[i]; if n > 2 { y[i] = t[0, i]; }", true},
    {"if n > 2 { " ROW BACK " }", true},
    {"for k in 0..n { if p[k] != 0 { t[k, i] = x[i]; } }"
     "for k in rev(0..n) { if p[k] != 0 { y[i] += t[k, i]; } }",
     true},
    {"for k in 0..n { if p[k] != 0 { t[k, i] = x[i]; } }"
     "for k in rev(0..n) { if p[k] != 1 { y[i] += t[k, i]; } }",
     false},
    {"for k in 0..n { if p[k] != 0 { t[k, i] = x[i]; } }"
     "for k in rev(0..n) { if p[k + 1] != 0 { y[i] += t[k, i]; } }",
     false},
    {"if p[i] != 0 { t[0, i] = x[i]; } if q[i] != 0 { y[i] = t[0, i]; }", false},
    {"for k in 0..p[i] { t[k, i] = x[i]; } for k in rev(0..p[i]) { y[i] += t[k, i]; }", true},
    // what memory says may have changed, and floats may be rounded differently
    {"if w[i] > 0.0 { t[0, i] = x[i]; } w[i] = x[i]; if w[i] > 0.0 { y[i] = t[0, i]; }", false},
    {"for k in 0..n { if x[k] * x[i] > 1.0 { t[k, i] = x[i]; } }"
     "for k in rev(0..n) { if x[k] * x[i] > 1.0 { y[i] += t[k, i]; } }",
     false},
    // other accesses
    {"atomic_add(t[0, i], x[i]); y[i] = t[0, i];", false},
    {"t[0, i] = x[i]; atomic_add(t[0, i], x[i]); y[i] = t[0, i];", false},
    {"t[0, i] += x[i];", false},
};

static const struct {
    const char *shape, *code;
    bool marked; // is z?
} outputs[] = {
    {"N", "z[i] = x[i];", true},
    {"N", "z[i] = x[i]; z[i] += 1.0;", true},
    {"N", "z[i] += x[i];", false},
    {"N", "z[N - 1 - i] = x[i];", false},
    {"N", "if n > 1 { z[i] = x[i]; }", false},
    {"N", "while n > 1 { z[i] = x[i]; }", false},
    {"N", "atomic_add(z[0], x[i]);", false},
    {"N", "for k in 0..n { z[i] = x[i]; }", false},
    {"N + 1", "z[i] = x[i];", false},
    {"N, M", "for k in 0..M { z[i, k] = x[i]; }", true},
    {"M, N", "for k in 0..M { z[k, i] = x[i]; }", true},
    {"N, M", "for k in rev(0..M) { z[i, k] = x[i]; }", true},
    {"N, M", "for k in 0..n { z[i, k] = x[i]; }", false},
    {"N, M", "for k in 1..M { z[i, k] = x[i]; }", false},
    {"N, M", "for k in 0..M step 2 { z[i, k] = x[i]; }", false},
    {"N, M", "for k in 0..M { z[i, M - 1 - k] = x[i]; }", false},
    {"N, M", "for k in 0..M { z[i, k] = x[i]; if x[k] > 1.0 { break; } }", false},
    {"N, M", "for k in 0..M { if n > 1 { z[i, k] = x[i]; } }", false},
    {"N, M", "for k in 0..M { z[i, k] = x[i]; } y[i] = z[i, 1];", true},
    {"N, M", "for k in 0..M { z[i, k] = x[i]; y[i] += z[i, M - 1 - k]; }", false},
    {"N, M", "y[i] = z[i, 1]; for k in 0..M { z[i, k] = x[i]; }", false},
    {"N, M", "z[i, 0] = x[i]; for k in 0..M { z[i, k] = x[i]; }", false},
    {"N, 4", "for k in 0..4 { z[i, k] = x[i]; }", true},
    {"N, 4", "for k in 0..3 { z[i, k] = x[i]; }", false},
    {"N, M", "for k in 0..len(z, 1) { z[i, k] = x[i]; }", true},
    {"N, M", "for k in 0..len(z, 0) { z[i, k] = x[i]; }", false},
    {"M, N, n", "for k in 0..n { for j in 0..M { z[j, i, k] = x[i]; } }", true},
    {"M, N, M", "for k in 0..M { z[k, i, k] = x[i]; }", false},
    {"N, N", "for k in 0..N { z[i, i] = x[k]; }", false},
    {"N, M", "for j in 0..n { for k in 0..M { z[i, k] = x[i]; } }", false},
};

static bool is_filled(const char *shape, const char *code)
{
    char text[2000];
    vy_pass_context c = {0};
    const int n =
        snprintf(text, sizeof text,
                 "@order(1) program f(x: in f32[N], z: out f32[%s], y: out f32[N], N: u32, M: u32,"
                 " n: u32) over(i: N) { y[i] = 0.0; %s }",
                 shape, code);
    vy_module *m = vy_parse(text, (size_t)n, "stored");
    assert_non_null(m);
    if (!vy_module_ok(m)) fail_msg("%s: %s", code, vy_module_diag(m)->text);
    vy_program *p = m->programs.data[0];
    assert_true(vy_pass_mark_stored(p, &c));
    assert_true(c.changed); // y is marked in any case
    const bool result = p->buffers.data[vy_program_find_buffer(p, "z").id].stored_first;
    vy_module_free(m);
    return result;
}

static void outputs_that_are_stored_are_marked(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++)
        if (is_filled(outputs[i].shape, outputs[i].code) != outputs[i].marked)
            fail_msg("[%s] %s: %smarked", outputs[i].shape, outputs[i].code,
                     outputs[i].marked ? "not " : "");
}

static bool is_marked(const char *code)
{
    char text[2000];
    vy_pass_context c = {0};
    const int n = snprintf(
        text, sizeof text,
        "program f(x: in f32[N], p: in u32[N], q: in u32[N], w: inout f32[N], y: out f32[N],"
        " @workspace t: inout f32[M, N], N: u32, M: u32, n: u32) over(i: N)"
        " { %s }",
        code);
    vy_module *m = vy_parse(text, (size_t)n, "stored");
    assert_non_null(m);
    if (!vy_module_ok(m)) fail_msg("%s: %s", code, vy_module_diag(m)->text);
    vy_program *p = m->programs.data[0];
    assert_true(vy_pass_mark_stored(p, &c));
    const vy_buf *t = &p->buffers.data[vy_program_find_buffer(p, "t").id];
    const bool result = t->stored_first;
    vy_module_free(m);
    return result;
}

static void what_is_stored_before_it_is_loaded_is_marked(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (is_marked(rows[i].code) != rows[i].marked)
            fail_msg("%s: %smarked", rows[i].code, rows[i].marked ? "not " : "");
}

// A mark is of the code that it was proved of.
static void optimising_anew_forgets_marks(void **state)
{
    (void)state;
    static const char text[] =
        "program f(x: in f32[N], y: out f32[N], @workspace t: inout f32[N], N: u32) over(i: N)"
        " { y[i] = t[i]; t[i] = x[i]; }";
    for (int level = 0; level < 3; level++) {
        vy_module *m = vy_parse(text, sizeof text - 1, "stored");
        assert_non_null(m);
        vy_program *p = m->programs.data[0];
        const uint32_t t = vy_program_find_buffer(p, "t").id;
        p->buffers.data[t].stored_first = true;
        assert_true(vy_optimize(m, &(vy_opt_options){.level = level}));
        assert_false(p->buffers.data[t].stored_first);
        vy_module_free(m);
    }
}

static uint32_t marked(const vy_module *m)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < m->programs.count; k++)
        for (uint32_t i = 1; i < m->programs.data[k]->buffers.count; i++)
            n += m->programs.data[k]->buffers.data[i].stored_first;
    return n;
}

// … and so does differentiating what was optimised.
static void derivatives_forget_marks(void **state)
{
    (void)state;
    static const char text[] =
        "program f(x: in f32[N], y: out f32[N], @workspace t: inout f32[N], N: u32) over(i: N)"
        " { t[i] = sin(x[i]); y[i] = t[i] * t[i]; }";
    for (int forward = 0; forward < 2; forward++) {
        vy_module *m = vy_parse(text, sizeof text - 1, "stored");
        vy_diag d = {0};
        assert_true(vy_optimize(m, NULL));
        assert_int_equal(marked(m), 2); // t, and y, all of which is stored
        vy_module *g = forward ? vy_jvp(m, NULL, &d) : vy_grad(m, NULL, &d);
        if (!g) fail_msg("%s", d.text);
        assert_int_equal(marked(g), 0);
        vy_module_free(g);
        vy_module_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_stored_before_it_is_loaded_is_marked),
        cmocka_unit_test(outputs_that_are_stored_are_marked),
        cmocka_unit_test(optimising_anew_forgets_marks),
        cmocka_unit_test(derivatives_forget_marks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
