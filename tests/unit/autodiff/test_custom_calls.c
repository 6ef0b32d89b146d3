// SPDX-License-Identifier: MIT
// test_custom_calls.c: calls of functions that state their derivative: of several results, through
// the C API, in text and binary form, broken as no builder makes them, when memory runs out; how
// many are inlined.  What the derivatives are: tests/text/grad/custom.
#include "autodiff/transform.h"
#include "ir/core/ir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/out_of_memory.h"

static const vy_type F[4] = {VY_F32, VY_F32, VY_F32, VY_F32};

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

static void pair(vy_builder *b, const vy_value *x, vy_value *y, void *user)
{
    (void)user;
    y[0] = vy_mul(b, x[0], x[0]);
    y[1] = vy_add(b, x[0], x[0]);
}

// 5 p̄ + 7 q̄
static void pair_back(vy_builder *b, const vy_value *x, vy_value *y, void *user)
{
    (void)user;
    y[0] =
        vy_add(b, vy_mul(b, vy_float(b, VY_F32, 5), x[1]), vy_mul(b, vy_float(b, VY_F32, 7), x[2]));
}

// (5 ẋ, 7 ẋ)
static void pair_dot(vy_builder *b, const vy_value *x, vy_value *y, void *user)
{
    (void)user;
    y[0] = vy_mul(b, vy_float(b, VY_F32, 5), x[1]);
    y[1] = vy_mul(b, vy_float(b, VY_F32, 7), x[1]);
}

// y[i] = p + 2 q, where (p, q) = f(x[i])
static bool add_pair_program(vy_module *m, vy_function_id f)
{
    vy_builder *b = vy_program_begin(m, "p");
    if (!b) return false;
    const vy_dim d = vy_dim_value(b, vy_param_scalar(b, "N", VY_U32));
    const vy_buffer x = vy_param_buffer(b, "x", VY_IN, VY_F32, 1, &d);
    const vy_buffer y = vy_param_buffer(b, "y", VY_OUT, VY_F32, 1, &d);
    const vy_value i = vy_over(b, "i", d), v = vy_load(b, x, &i);
    vy_value r[2] = {v, v};
    vy_apply(b, f, 1, &v, r);
    vy_store(b, y, &i, vy_add(b, r[0], vy_mul(b, vy_float(b, VY_F32, 2), r[1])));
    return vy_program_end(b) != NULL;
}

static vy_module *build_pair(vy_rule_of kind)
{
    const bool back = kind == VY_VJP;
    vy_module *m = vy_module_new();
    if (!m) return NULL;
    const vy_function_id f = vy_function_define(m, "pair", 1, F, 2, F, pair, NULL);
    const vy_function_id g = vy_function_define(m, "rule", back ? 3 : 2, F, back ? 1 : 2, F,
                                                back ? pair_back : pair_dot, NULL);
    if (f.id && g.id && (back ? vy_function_vjp(m, f, g) : vy_function_jvp(m, f, g)))
        add_pair_program(m, f);
    return m;
}

static void same_forms(const vy_module *m)
{
    size_t size;
    char *text = vy_print(m, &size);
    vy_module *again = vy_parse(text, size, "again");
    if (!vy_module_ok(again)) fail_msg("%s", vy_module_diag(again)->text);
    assert_true(vy_module_equal(m, again));
    vy_module_free(again);
    vy_free(text);
    void *block = vy_binary_write(m, &size);
    again = vy_binary_read(block, size);
    assert_true(vy_module_ok(again) && vy_module_equal(m, again));
    vy_module_free(again);
    vy_free(block);
}

// Gradient and tangent are 5 + 2 · 7, whichever rule there is.
static void several_results(void **state)
{
    (void)state;
    for (uint32_t kind = 0; kind < VY_RULES_OF; kind++) {
        const uint64_t three[] = {3};
        float grad[3] = {0}, x[3] = {1, 2, 3}, dot[3] = {1, 2, 1}, dot_y[3] = {0};
        const vy_eval_buffer buffers[] = {{"x", x, three, 1},
                                          {"dot_x", dot, three, 1},
                                          {"dot_y", dot_y, three, 1}};
        vy_diag d;
        vy_module *m = build_pair((vy_rule_of)kind);
        assert_true(vy_module_ok(m) && vy_module_check(m));
        same_forms(m);
        vy_module *g = vy_grad(m, NULL, &d);
        assert_non_null(g);
        same_forms(g);
        run(g, "grad_x", grad);
        assert_true(grad[0] == 19 && grad[1] == 19 && grad[2] == 19);
        vy_module_free(g);
        g = vy_jvp(m, &(vy_grad_options){.with_value = true}, &d);
        assert_non_null(g);
        same_forms(g);
        vy_module_free(g);
        assert_non_null(g = vy_jvp(m, NULL, &d));
        assert_true(vy_eval(vy_module_program(g, 0), buffers, 3, NULL, 0, NULL, NULL, &d));
        assert_true(dot_y[0] == 19 && dot_y[1] == 38 && dot_y[2] == 19);
        vy_module_free(g);
        run(m, "y", grad);
        assert_true(grad[0] == 5 && grad[1] == 12 && grad[2] == 21);
        vy_module_free(m);
    }
}

// The call of `pair` in program p: its number.
static uint32_t call_of(const vy_program *p)
{
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (p->insts.data[id].op == VY_OP_APPLY) return id;
    return 0;
}

// A call has all its results: one that nothing uses is nothing to remove.
static void unused_result(void **state)
{
    (void)state;
    const char *text = "fn g(x: f32, a: f32, b: f32) -> f32 { return a + b; } "
                       "@vjp(g) fn f(x: f32) -> (f32, f32) { return (x, x); } "
                       "program p(x: in f32[N], y: out f32[N], N: u32) over(i: N) "
                       "{ let (a, b) = f(x[i]); let (c, d) = f(x[0]); y[i] = a; }";
    vy_module *m = vy_parse(text, strlen(text), "t.vyre");
    vy_program *p = m->programs.data[0];
    vy_pass_context c = {0};
    assert_true(vy_module_ok(m) && vy_pass_dce(p, &c) && c.changed);
    c.changed = false;
    assert_true(vy_pass_dce(p, &c) && !c.changed && vy_module_check(m));
    const uint32_t id = call_of(p);
    assert_int_equal(p->insts.data[id + 2].op, VY_OP_PICK);
    assert_int_not_equal(p->insts.data[id + 3].op, VY_OP_APPLY); // f(x[0]) is gone, whole
    vy_module_free(m);
}

// What no builder makes: results out of order, of another type, used as a value, missing.
static void broken_results(void **state)
{
    (void)state;
    for (int k = 0; k < 5; k++) {
        vy_module *m = build_pair(VY_VJP);
        vy_program *p = m->programs.data[0];
        const uint32_t id = call_of(p);
        assert_true(id && p->insts.data[id + 2].op == VY_OP_PICK);
        vy_inst *i = p->insts.data;
        if (k == 0) i[id + 1].aux = 1;
        if (k == 1) i[id + 2].type = VY_U32;
        if (k == 2) i[id + 2].op = VY_OP_NEG, i[id + 2].aux = 0;
        if (k == 3) p->args.data[i[id + 4].args] = id;
        if (k == 4) i[id].type = VY_F64;
        assert_false(vy_module_check(m));
        assert_string_equal(vy_module_diag(m)->code, "E0301");
        vy_module_free(m);
    }
}

// Functions of which each calls the next one twice: what is inlined has a bound.
static void too_many(void **state)
{
    (void)state;
    char text[8000];
    size_t n = 0;
    const int depth = 60;
    for (int k = 0; k < depth; k++)
        n += (size_t)snprintf(text + n, sizeof text - n,
                              "@jvp(d) fn r%d(x: f32) -> f32 { return r%d(x * 0.5) + r%d(x); } ", k,
                              k + 1, k + 1);
    snprintf(
        text + n, sizeof text - n,
        "@jvp(d) fn r%d(x: f32) -> f32 { return x; } fn d(x: f32, dx: f32) -> f32 { return dx; } "
        "program p(x: in f32[1], y: out f32[1]) over(i: 1) { y[i] = r0(2.0); }",
        depth);
    vy_module *m = vy_parse(text, strlen(text), "t");
    if (!vy_module_ok(m)) fail_msg("%s", vy_module_diag(m)->text);
    assert_false(vy_optimize(m, &(vy_opt_options){.level = 2, .final = true}));
    assert_string_equal(vy_module_diag(m)->code, "E0002");
    vy_module_free(m);
}

static bool everything(uint32_t variant)
{
    (void)variant;
    return in_all_forms(build_pair(VY_VJP));
}

static void memory(void **state)
{
    (void)state;
    out_of_memory(everything, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(several_results), cmocka_unit_test(broken_results),
        cmocka_unit_test(unused_result),   cmocka_unit_test(too_many),
        cmocka_unit_test(memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
