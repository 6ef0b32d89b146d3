// SPDX-License-Identifier: MIT
// test_grad_request.c: requests to vy_grad that cannot be met, and what the result looks like to a
// C caller.  Gradients themselves: test_grad.c and tests/text/grad.
#include "autodiff/grad.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static vy_module *parse(const char *text)
{
    vy_module *m = vy_parse(text, strlen(text), "t.vyre");
    assert_non_null(m);
    assert_true(vy_module_ok(m));
    return m;
}

static void refused(const char *text, const vy_grad_options *o, const char *code, const char *says)
{
    vy_module *m = parse(text);
    vy_diag d = {0};
    assert_null(vy_grad(m, o, &d));
    assert_int_equal(d.severity, VY_ERROR);
    assert_int_equal(d.blame, VY_BLAME_PROGRAM);
    assert_string_equal(d.code, code);
    assert_non_null(strstr(d.text, says));
    assert_true(*d.fix);
    assert_true(vy_module_ok(m)); // a refusal is no error of the module
    vy_module_free(m);
}

#define F "program f(x: in f32[N], y: out f32[N], N: u32) over(i: N) { y[i] = x[i] * x[i]; } "
#define G "program g(x: in f32[N], y: out f32[N], N: u32) over(i: N) { y[i] = x[i]; } "

static void no_program(void **state)
{
    (void)state;
    refused(F G, &(vy_grad_options){0}, "E0505", "several programs");
    refused(F G, &(vy_grad_options){.program = "h"}, "E0505", "no program `h`");
    refused("", &(vy_grad_options){0}, "E0505", "no program");
}

static void no_buffer(void **state)
{
    (void)state;
    const char *const nope[] = {"nope"}, *const y[] = {"y"};
    refused(F, &(vy_grad_options){.wrt = nope, .wrt_count = 1}, "E0501", "no input `nope`");
    refused(F, &(vy_grad_options){.wrt = y, .wrt_count = 1}, "E0501", "no input `y`");
    refused(F, &(vy_grad_options){.of = nope, .of_count = 1}, "E0501", "no output `nope`");
}

// An error of the module comes back as it is.
static void broken_module(void **state)
{
    (void)state;
    const char text[] = "program f(";
    vy_module *m = vy_parse(text, sizeof text - 1, "t.vyre");
    vy_diag d = {0};
    assert_non_null(m);
    assert_null(vy_grad(m, NULL, &d));
    assert_string_equal(d.code, vy_module_diag(m)->code);
    vy_module_free(m);
}

// One program of several: named NAME_grad, buffers in the stated order, order counted.
static void result(void **state)
{
    (void)state;
    vy_module *m = parse(F G);
    vy_diag d = {0};
    vy_grad_options o = {.program = "f", .seed_buffer = true, .with_value = true};
    vy_module *g = vy_grad(m, &o, &d);
    assert_non_null(g);
    assert_int_equal(vy_module_order(g), 1);
    assert_int_equal(vy_module_program_count(g), 1);
    const vy_program *p = vy_module_program(g, 0);
    assert_string_equal(vy_program_name(p), "f_grad");
    static const struct {
        const char *name;
        vy_buffer_class cls;
    } want[] = {{"x", VY_IN}, {"grad_y", VY_IN}, {"y", VY_OUT}, {"grad_x", VY_OUT}};
    assert_int_equal(vy_program_buffer_count(p), 4);
    for (uint32_t i = 0; i < 4; i++) {
        const vy_buffer_info b = vy_program_buffer(p, (vy_buffer){i + 1});
        assert_string_equal(b.name, want[i].name);
        assert_int_equal(b.cls, want[i].cls);
        assert_int_equal(b.binding, i);
    }
    assert_true(vy_module_check(g));
    vy_module_free(g);
    vy_module_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_program),
        cmocka_unit_test(no_buffer),
        cmocka_unit_test(broken_module),
        cmocka_unit_test(result),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
