// SPDX-License-Identifier: MIT
// test_custom.c: functions that state their own derivative, through the C API: built by callbacks,
// or found in a text; what is refused; text and binary form; when memory runs out.  What the
// derivatives are: tests/text/grad/custom.
#include "autodiff/transform.h"
#include "ir/core/ir.h"
#include "spirv/spirv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/out_of_memory.h"

static const vy_type F[4] = {VY_F32, VY_F32, VY_F32, VY_F32};

// ------------------------------------------------------------------------------------- the callbacks
static void square(vy_builder *b, const vy_value *x, vy_value *y, void *user)
{
    (void)user;
    y[0] = vy_mul(b, x[0], x[0]);
}

// A slope that no derivation would find: (*user) ct
static void slope(vy_builder *b, const vy_value *x, vy_value *y, void *user)
{
    y[0] = vy_mul(b, vy_float(b, VY_F32, *(const double *)user), x[1]);
}

// A value that is not the builder's, and one of another type.
static void nothing(vy_builder *b, const vy_value *x, vy_value *y, void *user)
{
    (void)b, (void)x, (void)user;
    y[0] = (vy_value){0};
}

static void shares(vy_builder *b, const vy_value *x, vy_value *y, void *user)
{
    (void)user;
    vy_barrier(b);
    y[0] = x[0];
}

// y[i] = f(x[i]), or x[i] * f(x[i]) where f has no rule and is inlined.
static bool add_program(vy_module *m, vy_function_id f)
{
    vy_builder *b = vy_program_begin(m, "p");
    if (!b) return false;
    const vy_value n = vy_param_scalar(b, "N", VY_U32);
    const vy_dim d = vy_dim_value(b, n);
    const vy_buffer x = vy_param_buffer(b, "x", VY_IN, VY_F32, 1, &d);
    const vy_buffer y = vy_param_buffer(b, "y", VY_OUT, VY_F32, 1, &d);
    const vy_value i = vy_over(b, "i", d), v = vy_load(b, x, &i);
    vy_value result = v;
    vy_apply(b, f, 1, &v, &result);
    vy_store(b, y, &i, result);
    return vy_program_end(b) != NULL;
}

static vy_module *build(double *factor)
{
    vy_module *m = vy_module_new();
    if (!m) return NULL;
    const vy_function_id f = vy_function_define(m, "square", 1, F, 1, F, square, NULL);
    const vy_function_id g = vy_function_define(m, "slope", 2, F, 1, F, slope, factor);
    if (f.id && g.id && vy_function_vjp(m, f, g)) add_program(m, f);
    return m;
}

// The result of the module's last program for x = (1, 2, 3).
static void run(const vy_module *m, const char *result, float out[3])
{
    float x[3] = {1, 2, 3};
    const uint64_t three[] = {3};
    const vy_eval_buffer buffers[] = {{"x", x, three, 1}, {result, out, three, 1}};
    vy_diag d;
    if (!vy_eval(vy_module_program(m, vy_module_program_count(m) - 1), buffers, 2, NULL, 0, NULL,
                 NULL, &d))
        fail_msg("%s", d.text);
}

// -------------------------------------------------------------------------------------------- tests
static void by_callbacks(void **state)
{
    (void)state;
    double factor = 5;
    float y[3] = {0}, grad[3] = {0};
    vy_diag d;
    vy_module *m = build(&factor);
    assert_true(vy_module_ok(m));
    run(m, "y", y);
    assert_true(y[0] == 1 && y[1] == 4 && y[2] == 9);
    vy_module *g = vy_grad(m, NULL, &d);
    assert_non_null(g);
    run(g, "grad_x", grad);
    assert_true(grad[0] == 5 && grad[1] == 5 && grad[2] == 5);
    vy_module_free(g);
    assert_non_null(g = vy_jvp(m, NULL, &d));
    vy_module_free(g);
    vy_compiled *c = vy_compile(vy_module_program(m, 0), NULL, &d); // no pass has inlined it
    assert_non_null(c);
    vy_compiled_free(c);
    vy_module_free(m);
}

static void of_a_text(void **state)
{
    (void)state;
    const char *text = "fn g(x: f32, ct: f32) -> f32 { return 3.0 * ct; } "
                       "@vjp(g) fn f(x: f32) -> f32 { return x + 1.0; } "
                       "fn other(x: f32) -> f32 { return x; }";
    vy_module *m = vy_parse(text, strlen(text), "t.vyre");
    assert_true(vy_module_ok(m));
    assert_int_equal(vy_function_find(m, "other").id, 0); // inlined wherever it is called
    assert_true(add_program(m, vy_function_find(m, "f")));
    float grad[3] = {0};
    vy_diag d;
    vy_module *g = vy_grad(m, NULL, &d);
    assert_non_null(g);
    run(g, "grad_x", grad);
    assert_true(grad[0] == 3 && grad[2] == 3);
    vy_module_free(g);
    vy_module_free(m);
}

// One rule, of two parameters, for both modes: d(5 f(x, 2x)) = 5 (2 + 3 (2x) 2) dx.
static void by_tangents(void **state)
{
    (void)state;
    const char *text =
        "fn h(x: f32, z: f32, dx: f32, dz: f32) -> f32 { return 2.0 * dx + 3.0 * z * dz; } "
        "@jvp(h) fn f(x: f32, z: f32) -> f32 { return x + z; } "
        "program p(x: in f32[N], y: out f32[N], N: u32) over(i: N) "
        "{ y[i] = 5.0 * f(x[i], 2.0 * x[i]); }";
    vy_module *m = vy_parse(text, strlen(text), "t.vyre");
    float grad[3] = {0}, x[3] = {1, 2, 3}, dot[3] = {1, 1, 1}, dot_y[3] = {0};
    const uint64_t three[] = {3};
    const vy_eval_buffer buffers[] = {{"x", x, three, 1},
                                      {"dot_x", dot, three, 1},
                                      {"dot_y", dot_y, three, 1}};
    vy_diag d;
    assert_true(vy_module_ok(m));
    vy_module *g = vy_grad(m, NULL, &d);
    assert_non_null(g);
    run(g, "grad_x", grad);
    vy_module_free(g);
    assert_non_null(g = vy_jvp(m, NULL, &d));
    assert_true(vy_eval(vy_module_program(g, 0), buffers, 3, NULL, 0, NULL, NULL, &d));
    for (int i = 0; i < 3; i++)
        assert_true(grad[i] == 10 + 60 * x[i] && dot_y[i] == 10 + 60 * x[i]);
    vy_module_free(g);
    vy_module_free(m);
}

static vy_module *two(vy_function_id *f, vy_function_id *g)
{
    static double one = 1;
    vy_module *m = vy_module_new();
    *f = vy_function_define(m, "f", 1, F, 1, F, square, NULL);
    *g = vy_function_define(m, "g", 2, F, 1, F, slope, &one);
    assert_true(f->id && g->id);
    return m;
}

static void expect(vy_module *m, const char *code, const char *says)
{
    assert_false(vy_module_ok(m));
    assert_string_equal(vy_module_diag(m)->code, code);
    if (!strstr(vy_module_diag(m)->text, says)) fail_msg("%s", vy_module_diag(m)->text);
    assert_true(*vy_module_diag(m)->fix);
    vy_module_free(m);
}

static void refused(void **state)
{
    (void)state;
    vy_function_id f, g;
    vy_module *m = two(&f, &g);
    assert_false(vy_function_vjp(m, g, f));
    expect(m, "E0220", "it must be fn f(f32, f32, f32) -> (f32, f32)");
    m = two(&f, &g);
    assert_false(vy_function_jvp(m, f, f));
    expect(m, "E0220", "it is that function");
    m = two(&f, &g);
    assert_false(vy_function_vjp(m, f, (vy_function_id){7}));
    expect(m, "E0003", "no such function");
    m = two(&f, &g);
    assert_int_equal(vy_function_define(m, "f", 1, F, 1, F, square, NULL).id, 0);
    expect(m, "E0003", "its name is taken");
    m = two(&f, &g);
    assert_int_equal(vy_function_define(m, "h", 1, F, 0, F, square, NULL).id, 0);
    expect(m, "E0003", "1 to 32 results");
    m = two(&f, &g);
    assert_int_equal(vy_function_define(m, "h", 1, F, 1, F, nothing, NULL).id, 0);
    expect(m, "E0003", "result 0 of function `h`");
    m = two(&f, &g);
    assert_int_equal(vy_function_define(m, "h", 1, F, 1, F, shares, NULL).id, 0);
    expect(m, "E0220", "`barrier` is in function `h`");
    m = two(&f, &g);
    assert_false(add_program(m, g));
    expect(m, "E0003", "vy_apply");
}

static void forms(void **state)
{
    (void)state;
    double factor = 2;
    size_t size;
    vy_module *m = build(&factor);
    char *text = vy_print(m, &size);
    vy_module *again = vy_parse(text, size, "again");
    assert_true(vy_module_ok(again) && vy_module_equal(m, again));
    vy_module_free(again);
    void *block = vy_binary_write(m, &size);
    assert_non_null(block);
    again = vy_binary_read(block, size);
    assert_true(vy_module_ok(again) && vy_module_equal(m, again));
    vy_function *f = &again->functions.data[0];
    f->rules[VY_VJP] = 1; // itself: another module now, and a wrong one
    assert_false(vy_module_equal(m, again));
    assert_false(vy_module_check(again));
    vy_module_free(again);
    vy_free(block);
    vy_free(text);
    vy_module_free(m);
}

// A function that calls itself can only come from a file.
static void recursive(void **state)
{
    (void)state;
    double factor = 2;
    vy_module *m = build(&factor);
    vy_program *f = m->functions.data[0].code;
    assert_int_equal(f->insts.data[1].op, VY_OP_MUL);
    f->insts.data[1].op = VY_OP_APPLY;
    f->insts.data[1].nargs = 1;
    assert_false(vy_module_check(m));
    assert_non_null(strstr(vy_module_diag(m)->text, "it calls itself"));
    vy_module_free(m);
}

// A program's rule by its name, which is built after it.
static bool add_unary(vy_module *m, const char *name, const char *in, const char *out,
                      const char *rule, vy_rule_of kind)
{
    vy_builder *b = vy_program_begin(m, name);
    if (!b) return false;
    if (rule && kind == VY_VJP) vy_program_vjp(b, rule);
    if (rule && kind == VY_JVP) vy_program_jvp(b, rule);
    const vy_value n = vy_param_scalar(b, "N", VY_U32);
    const vy_dim d = vy_dim_value(b, n);
    const vy_buffer x = vy_param_buffer(b, in, VY_IN, VY_F32, 1, &d);
    const vy_buffer y = vy_param_buffer(b, out, VY_OUT, VY_F32, 1, &d);
    const vy_value i = vy_over(b, "i", d), v = vy_load(b, x, &i);
    vy_store(b, y, &i, vy_add(b, v, v));
    return vy_program_end(b) != NULL;
}

// The same with @jvp: forward mode answers with the rule, reverse mode with the derivative of the
// rule, whose parameters have the roles that they have for f.
static void tangents_of_programs(void **state)
{
    (void)state;
    vy_diag d;
    vy_module *m = vy_module_new();
    vy_builder *b = vy_program_begin(m, "none");
    vy_program_jvp(b, "");
    vy_program_abandon(b);
    expect(m, "E0003", "vy_program_jvp");
    m = vy_module_new();
    assert_true(add_unary(m, "f", "x", "y", "dots", VY_JVP));
    assert_true(add_unary(m, "dots", "dot_x", "dot_y", NULL, VY_JVP) && vy_module_check(m));
    const vy_derived *g = vy_transform(m, (vy_ref){0}, &(vy_grad_options){.forward = true}, &d);
    assert_non_null(g);
    assert_true(g->result.index == 1 && !g->result.pipeline && g->order == 1);
    assert_int_equal(g->roles[1].kind, VY_IS_TANGENT);
    assert_int_equal(g->roles[2].kind, VY_IS_TANGENT_OUT);
    g = vy_transform(m, (vy_ref){0}, NULL, &d);
    assert_non_null(g);
    const vy_program *made = m->programs.data[g->result.index];
    const uint32_t x = vy_program_find_buffer(m->programs.data[0], "x").id;
    const uint32_t cotangent = vy_program_find_buffer(made, "grad_dot_y").id;
    const uint32_t gradient = vy_program_find_buffer(made, "grad_dot_x").id;
    assert_int_equal(g->roles[cotangent].kind, VY_IS_COTANGENT);
    assert_int_equal(g->roles[gradient].kind, VY_IS_GRADIENT);
    assert_int_equal(g->roles[gradient].parameter, x);
    assert_ptr_equal(g, vy_transform(m, (vy_ref){0}, NULL, &d));
    vy_module_free(m);
}

static void of_programs(void **state)
{
    (void)state;
    vy_module *m = vy_module_new();
    assert_true(add_unary(m, "f", "x", "y", "back", VY_VJP));
    assert_true(add_unary(m, "back", "grad_y", "grad_x", NULL, VY_VJP) && vy_module_check(m));
    size_t size;
    vy_diag d;
    void *block = vy_binary_write(m, &size);
    vy_module *again = vy_binary_read(block, size);
    assert_true(vy_module_ok(again) && vy_module_equal(m, again));
    again->programs.data[0]->rules[VY_VJP] = NULL;
    assert_false(vy_module_equal(m, again));
    vy_module_free(again);
    vy_free(block);
    const vy_derived *g = vy_transform(m, (vy_ref){0}, NULL, &d); // the rule, with roles
    assert_non_null(g);
    assert_true(g->result.index == 1 && !g->result.pipeline && g->order == 1);
    assert_int_equal(g->roles[1].kind, VY_IS_COTANGENT);
    assert_int_equal(g->roles[2].kind, VY_IS_GRADIENT);
    assert_int_equal(g->roles[2].parameter, vy_program_find_buffer(m->programs.data[0], "x").id);
    assert_ptr_equal(g, vy_transform(m, (vy_ref){0}, NULL, &d));
    const char *const nope[] = {"nope"};
    assert_null(vy_transform(m, (vy_ref){0}, &(vy_grad_options){.of = nope, .of_count = 1}, &d));
    assert_string_equal(d.code, "E0501");
    vy_module_free(m);
    m = vy_module_new();
    assert_true(add_unary(m, "f", "x", "y", "back", VY_VJP) && !vy_module_check(m));
    expect(m, "E0220", "there is no program or pipeline of that name");
}

static bool program_everything(vy_rule_of kind)
{
    static const char *const name[][2] = {{"grad_y", "grad_x"}, {"dot_x", "dot_y"}};
    vy_diag d;
    vy_module *m = vy_module_new();
    const bool made = m && add_unary(m, "f", "x", "y", "rule", kind) &&
                      add_unary(m, "rule", name[kind][0], name[kind][1], NULL, kind);
    vy_module *g = made ? vy_grad(m, &(vy_grad_options){.program = "f"}, &d) : NULL;
    const bool ok = g && vy_module_ok(g);
    vy_module_free(g);
    vy_module_free(m);
    return ok;
}

// variant 0: a function; then programs, by rule.
static bool everything(uint32_t variant)
{
    double factor = 2;
    return variant ? program_everything((vy_rule_of)(variant - 1)) : in_all_forms(build(&factor));
}

static void memory(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < 1 + VY_RULES_OF; k++) out_of_memory(everything, k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_callbacks), cmocka_unit_test(of_a_text),
        cmocka_unit_test(by_tangents),  cmocka_unit_test(refused),
        cmocka_unit_test(forms),        cmocka_unit_test(recursive),
        cmocka_unit_test(of_programs),  cmocka_unit_test(tangents_of_programs),
        cmocka_unit_test(memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
