// SPDX-License-Identifier: MIT
// test_grad_request.c: requests that vy_grad refuses, and what the result looks like to a C caller.
// Gradients themselves: test_grad.c and tests/text/grad.
#include "autodiff/transform.h"
#include "ir/pipeline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
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
    assert_true(vy_module_ok(m)); // a refusal does not break the module
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

// An error of the module is returned unchanged.
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

// ------------------------------------------------------------------------------------------- roles
typedef struct role {
    const char *name;
    vy_derivative_kind kind;
    const char *of, *root; // NULL: none
} role;

// The roles of the parameters of the only program or pipeline called f_grad.
static void has_roles(const vy_program *p, const role *want, uint32_t n)
{
    uint32_t seen = 0;
    for (uint32_t i = 1; i <= vy_program_buffer_count(p); i++) {
        const vy_buffer_info b = vy_program_buffer(p, (vy_buffer){i});
        if (b.cls > VY_INOUT || b.workspace) {
            assert_true(b.role.kind == VY_IS_WORKSPACE || b.role.kind == VY_IS_PARAMETER);
            continue;
        }
        const role *w = NULL;
        for (uint32_t k = 0; k < n; k++)
            if (strcmp(want[k].name, b.name) == 0) w = &want[k];
        if (!w) fail_msg("unexpected parameter %s", b.name);
        assert_int_equal(b.role.kind, w->kind);
        assert_string_equal(b.role.of, w->of);
        assert_string_equal(b.role.root, w->root ? w->root : w->of);
        seen++;
    }
    assert_int_equal(seen, n);
}

#define H                                                                                          \
    "program f(x: in f32[N], m: inout f32[N], y: out f32[N], a: f32, N: u32) over(i: N) "          \
    "{ y[i] = a * x[i] * m[i]; m[i] = x[i] * x[i]; }"

static void roles(void **state)
{
    (void)state;
    const char *const wrt[] = {"x", "m", "a"};
    const vy_grad_options o = {.wrt = wrt, .wrt_count = 3, .seed_buffer = true, .with_value = true};
    vy_module *m = parse(H);
    vy_diag d = {0};
    vy_module *g = vy_grad(m, &o, &d);
    assert_non_null(g);
    static const role want[] = {
        {"x", VY_IS_PRIMAL, "x", NULL},         {"m", VY_IS_PRIMAL, "m", NULL},
        {"grad_y", VY_IS_COTANGENT, "y", NULL}, {"ct_m", VY_IS_COTANGENT, "m", NULL},
        {"y", VY_IS_VALUE, "y", NULL},          {"grad_x", VY_IS_GRADIENT, "x", NULL},
        {"grad_m", VY_IS_GRADIENT, "m", NULL},  {"grad_a", VY_IS_SCALAR_GRADIENT, "a", NULL},
    };
    has_roles(vy_module_find(g, "f_grad"), want, sizeof want / sizeof *want);
    // The source has none, nor has a program that was parsed.
    const vy_program *p = vy_module_program(m, 0);
    assert_int_equal(vy_program_buffer(p, (vy_buffer){1}).role.kind, VY_IS_PARAMETER);
    vy_module_free(g);
    vy_module_free(m);
}

// Of a derivative of a derivative `of` is a parameter of the first, `root` one of the program
// itself.
static void roles_again(void **state)
{
    (void)state;
    const vy_grad_options first = {.accumulate = VY_ACCUMULATE_ATOMIC, .again = true};
    const char *const of[] = {"grad_x"};
    vy_module *m = parse(F);
    vy_diag d = {0};
    vy_module *g = vy_grad(m, &first, &d);
    assert_non_null(g);
    vy_module *h = vy_grad(g, &(vy_grad_options){.of = of, .of_count = 1}, &d);
    assert_non_null(h);
    static const role want[] = {
        {"x", VY_IS_PRIMAL, "x", NULL},
        {"grad2_x", VY_IS_GRADIENT, "x", NULL},
    };
    has_roles(vy_module_program(h, 0), want, 2);
    vy_module_free(h);
    h = vy_grad(g, &(vy_grad_options){.of = of, .of_count = 1, .seed_buffer = true}, &d);
    assert_non_null(h);
    static const role seeded[] = {
        {"x", VY_IS_PRIMAL, "x", NULL},
        {"grad2_grad_x", VY_IS_COTANGENT, "grad_x", "x"},
        {"grad2_x", VY_IS_GRADIENT, "x", NULL},
    };
    has_roles(vy_module_program(h, 0), seeded, 3);
    vy_module_free(h);
    vy_module_free(g);
    vy_module_free(m);
}

// A name that a derivative would give to something of x is taken, for each of the three prefixes:
// the next number is used, and the names that come of it are read back as of x.
static void taken_names(void **state)
{
    (void)state;
    static const char *const prefixes[] = {"grad", "ct", "dot"};
    for (size_t k = 0; k < sizeof prefixes / sizeof *prefixes; k++) {
        char text[300], name[20];
        snprintf(text, sizeof text,
                 "program f(x: in f32[N], %s_x: in f32[N], y: out f32[N], N: u32) over(i: N) "
                 "{ y[i] = x[i] * x[i] * %s_x[i]; }",
                 prefixes[k], prefixes[k]);
        vy_module *m = parse(text);
        vy_diag d = {0};
        vy_module *g = vy_grad(m, NULL, &d);
        assert_non_null(g);
        assert_true(vy_program_find_buffer(vy_module_program(g, 0), "grad2_x").id);
        snprintf(name, sizeof name, "%s2_x", prefixes[k]);
        assert_string_equal(vy_text_base(name), "x");
        snprintf(name, sizeof name, "%sx", prefixes[k]);
        assert_null(vy_text_base(name));
        vy_module_free(g);
        vy_module_free(m);
    }
}

// A pipeline that counts first has them too.
static void roles_of_pipelines(void **state)
{
    (void)state;
    vy_module *m = parse("program f(x: in f32[N], n: in u32[N], y: out f32[N], N: u32) over(i: N) "
                         "{ var s = x[i]; for k in 0..n[i] { s = sin(s) * s; } y[i] = s; }");
    vy_diag d = {0};
    vy_module *g = vy_grad(m, NULL, &d);
    assert_non_null(g);
    const vy_pipeline *l = vy_module_find_pipeline(g, "f_grad");
    assert_non_null(l);
    static const role want[] = {
        {"x", VY_IS_PRIMAL, "x", NULL},
        {"n", VY_IS_PRIMAL, "n", NULL},
        {"grad_x", VY_IS_GRADIENT, "x", NULL},
    };
    has_roles(vy_pipeline_signature(l), want, 3);
    vy_module_free(g);
    vy_module_free(m);
}

// --------------------------------------------------------------------------------- what is reached
// Through memory, loops, arms and indices: vy_grad_reaches, which finds the inputs that have a
// derivative in one walk, and vy_grad_ends, which walks the other way from one input, and must
// explain every input that the former leaves out.
static void reached(void **state)
{
    (void)state;
    vy_module *m =
        parse("program f(a: in f32[N], b: in f32[N], c: in f32[N], d: in f32[N], e: in f32[N], "
              "h: in f32[N], y: out f32[N], N: u32) over(i: N) { local t: f32[4]; var s = a[i]; "
              "t[u32(c[i]) % 4] = b[i]; for k in 0..4 { s = s * 0.5 + t[k]; } "
              "if d[i] > 0.0 { s = s + floor(e[i]); } else { s = s * h[i]; } y[i] = s; }");
    static const bool want[] = {true, true, false, false, false, true};
    const vy_program *p = vy_module_program(m, 0);
    bool got[9]; // six inputs, y, t, and 0
    assert_true(vy_grad_reaches(p, got));
    for (uint32_t i = 0; i < 6; i++) {
        vy_grad_end end;
        if (got[i + 1] != want[i]) fail_msg("input %u", i);
        assert_true(vy_grad_ends(p, (vy_buffer){i + 1}, &end) == !want[i]);
    }
    vy_module_free(m);
}

// In memory, parameters of a derivative follow the arrays of its program, of which some are removed
// before it is differentiated again: the default request is by name.
static void default_after_arrays(void **state)
{
    (void)state;
    const vy_grad_options forward = {0}, reverse = {.seed_buffer = true};
    static const char *const want[] = {"grad2_x", "grad2_z", "grad2_dot_x", "grad2_dot_z"};
    vy_module *m = parse(
        "program p(x: in f64[N], y: out f64[N], z: inout f64[N, 4], N: u32) workgroup(8) over(i: N)"
        "{ shared t: f64[8]; if lindex == 0 { for q in 0..8 { t[q] = 0.4; } } barrier();"
        " var v = 0.5f64; local little: f64[2];"
        " for k in rev(0..4) { v = tanh(little[1] * v + 0.5); little[k] = sin(v + x[N - 1] * 0.5); }"
        " atomic_min(t[lindex / 2], z[N - 1 - i, 1]); barrier(); y[i] = sin(v) + sin(t[2]); }");
    vy_diag d = {0};
    vy_module *once = vy_jvp(m, &forward, &d), *twice = once ? vy_grad(once, &reverse, &d) : NULL;
    if (!twice) fail_msg("%s %s", d.code, d.text);
    const vy_program *p = vy_module_program(twice, vy_module_program_count(twice) - 1);
    uint32_t gradients = 0;
    for (uint32_t i = 1; i <= vy_program_buffer_count(p); i++)
        gradients += vy_is_gradient(vy_program_buffer(p, (vy_buffer){i}).role.kind);
    assert_int_equal(gradients, 4);
    for (uint32_t k = 0; k < 4; k++) assert_true(vy_program_find_buffer(p, want[k]).id);
    vy_module_free(twice);
    vy_module_free(once);
    vy_module_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_program),    cmocka_unit_test(no_buffer),
        cmocka_unit_test(broken_module), cmocka_unit_test(result),
        cmocka_unit_test(roles),         cmocka_unit_test(roles_again),
        cmocka_unit_test(taken_names),   cmocka_unit_test(roles_of_pipelines),
        cmocka_unit_test(reached),       cmocka_unit_test(default_after_arrays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
