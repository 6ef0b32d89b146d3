// SPDX-License-Identifier: MIT
// test_validation.c: how long validation would take, and that it is not done beyond a limit.
#include "spirv/words/module.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define OP(op, n) (((n) << SpvWordCountShift) | SpvOp##op)

// ------------------------------------------------------------------------------------- the measure
// A loop (header 11, continue 13, merge 14) in which a condition (12, merge 16) breaks.
// clang-format off
static const uint32_t breaks[] = {
    SpvMagicNumber, 0x10300, 0, 40, 0,
    OP(Function, 5), 1, 30, 0, 2,
    OP(Label, 2), 10,                       // depth 1
    OP(IAdd, 5), 3, 20, 4, 4,               // of constants
    OP(Branch, 2), 11,
    OP(Label, 2), 11,                       // 2
    OP(LoopMerge, 4), 14, 13, 0,
    OP(BranchConditional, 4), 20, 12, 14,   // 20: 1; to 12, 3: 1; to 14, 3: 1
    OP(Label, 2), 12,                       // 3
    OP(SelectionMerge, 3), 16, 0,
    OP(BranchConditional, 4), 20, 15, 16,   // 20: 2; to 15, 4: 2 + 1; to 16, 4: 2 + 1
    OP(Label, 2), 15,                       // 4
    OP(IAdd, 5), 3, 21, 20, 20,             // 3 + 3
    OP(Branch, 2), 14,                      // 1, and 3 in vain
    OP(Label, 2), 16,                       // 4, after the condition
    OP(Branch, 2), 13,                      // to 13, 3: 1
    OP(Label, 2), 13,                       // 3
    OP(Branch, 2), 11,                      // back, 2 in vain
    OP(Label, 2), 14,                       // 3, after the loop
    OP(Phi, 7), 3, 22, 20, 11, 21, 15,      // other walks
    OP(IAdd, 5), 3, 23, 20, 22,             // 20: 2
    OP(Return, 1),
    OP(FunctionEnd, 1),
    OP(Function, 5), 1, 31, 0, 2,
    OP(FunctionParameter, 3), 3, 26,        // in no block
    OP(Label, 2), 17,                       // 1
    OP(IAdd, 5), 3, 24, 4, 4,
    OP(Branch, 2), 18,                      // in no construct
    OP(Label, 2), 18,                       // 2
    OP(Branch, 2), 19,
    OP(Label, 2), 19,                       // 3
    OP(Branch, 2), 32,
    OP(Label, 2), 32,                       // 4
    OP(IAdd, 5), 3, 25, 26, 24,             // 24: 3
    OP(Return, 1),
    OP(FunctionEnd, 1),
};
// clang-format on

static void steps_are_counted(void **state)
{
    vy_validation v;
    (void)state;
    assert_true(vy_spirv_validation_work(breaks, sizeof breaks / sizeof *breaks, &v));
    assert_int_equal(v.steps, 1 + 1 + 1 + 2 + 3 + 3 + 6 + 4 + 1 + 2 + 2 + 3);
    assert_int_equal(v.blocks, 11);
    assert_int_equal(v.nesting, 2);
    assert_false(v.done);
}

// ----------------------------------------------------------------------------------- of programs
static vy_validation validation_of(const char *each, const char *end, unsigned n,
                                   const vy_spirv_options *o)
{
    static char text[1 << 18];
    vy_diag d = {0};
    size_t size = (size_t)sprintf(
        text, "program f(x: in f32[N], y: out f32[N], N: u32) over(i: N) { var a: f32 = x[i];\n");
    for (unsigned k = 0; k < n; k++) size += (size_t)sprintf(text + size, each, k);
    size += (size_t)sprintf(text + size, "a = a * 1.5;\n");
    for (unsigned k = 0; k < n; k++) size += (size_t)sprintf(text + size, "%s", end);
    size += (size_t)sprintf(text + size, "y[i] = a; }\n");
    vy_module *m = vy_parse(text, size, "nested");
    assert_non_null(m);
    if (!vy_module_ok(m)) fail_msg("%s", vy_module_diag(m)->text);
    vy_compiled *c = vy_compile(vy_module_program(m, 0), o, &d);
    if (!c) fail_msg("%s", d.text);
    const vy_validation v = c->validation;
    vy_compiled_free(c);
    vy_module_free(m);
    return v;
}

static uint64_t steps_of(const char *each, const char *end, unsigned n)
{
    const vy_spirv_options o = {.validate = true, .validation_limit = 1};
    return validation_of(each, end, n, &o).steps;
}

// As the validator's time: of nests as the cube, of sequences as the square, where nothing is
// nested linearly.
static void steps_grow_as_time(void **state)
{
    static const struct {
        const char *each, *end;
        double least, most;
    } rows[] = {{"for k%u in 0..N {\n", "}\n", 7, 8.5},
                {"if a > %u.0 {\n", "}\n", 7, 8.5},
                {"for k%u in 0..N { a = sin(a); }\n", "", 3.5, 4.2},
                {"a = sin(a) + %u.0;\n", "", 1, 2.1}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const double once = (double)steps_of(rows[i].each, rows[i].end, 60),
                     twice = (double)steps_of(rows[i].each, rows[i].end, 120);
        print_message("%s%.0f, %.0f steps\n", rows[i].each, once, twice);
        assert_true(twice + 1 >= rows[i].least * once && twice <= rows[i].most * once + 10);
    }
}

static void limits_end_validation(void **state)
{
    static const char each[] = "for k%u in 0..N {\n", end[] = "}\n";
    const uint64_t steps = steps_of(each, end, 40);
    const struct {
        vy_spirv_options o;
        bool done, counted;
    } rows[] = {{{.validate = true}, true, false},
                {{.validate = true, .validation_limit = steps}, true, true},
                {{.validate = true, .validation_limit = steps - 1}, false, true},
                {{.validation_limit = steps}, false, false}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const vy_validation v = validation_of(each, end, 40, &rows[i].o);
        assert_int_equal(v.done, rows[i].done);
        assert_int_equal(v.steps, rows[i].counted ? steps : 0);
        assert_true(rows[i].counted ? v.nesting >= 40 : !v.nesting);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(steps_are_counted),
                                       cmocka_unit_test(steps_grow_as_time),
                                       cmocka_unit_test(limits_end_validation)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
