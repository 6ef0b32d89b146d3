// SPDX-License-Identifier: MIT
// test_assume.c: what programs assume of their scalars: built, printed, written, compared; and what
// callers of a derivative do.
#include "tests/unit/autodiff/transform_util.h"

#include "autodiff/core/conditions.h"

// y[i] = x[i * S], with N * S ≤ M assumed.
static vy_module *build(bool assumes, bool bad)
{
    vy_module *m = vy_module_new();
    vy_builder *b = vy_program_begin(m, "p");
    vy_value n = vy_param_scalar(b, "N", VY_U32), s = vy_param_scalar(b, "S", VY_U32);
    vy_value most = vy_param_scalar(b, "M", VY_U32);
    vy_dim rows = vy_dim_value(b, n), all = vy_dim_value(b, most);
    vy_dim reached = vy_dim_binary(b, VY_DIM_MUL, rows, vy_dim_value(b, s));
    vy_buffer x = vy_param_buffer(b, "x", VY_IN, VY_F32, 1, &all);
    vy_buffer y = vy_param_buffer(b, "y", VY_OUT, VY_F32, 1, &rows);
    vy_value i = vy_over(b, "i", rows), at = vy_mul(b, i, s);
    if (assumes) vy_assume(b, reached, bad ? (vy_dim){77} : all);
    if (assumes) vy_assume(b, reached, all); // said once
    vy_store(b, y, &i, vy_load(b, x, &at));
    vy_program_end(b);
    return m;
}

static void text_and_binary(void **state)
{
    (void)state;
    vy_module *m = build(true, false), *plain = build(false, false);
    if (!vy_module_ok(m)) fail_msg("%s", vy_module_diag(m)->text);
    size_t size;
    char *text = vy_print(m, &size);
    assert_non_null(strstr(text, "over(i: N) assume(N * S <= M) {"));
    vy_module *again = vy_parse(text, size, "t.vyre");
    prints_alike(m, again);
    vy_module_free(again);
    void *data = vy_binary_write(m, &size);
    again = vy_binary_read(data, size);
    assert_true(vy_module_ok(again));
    prints_alike(m, again);
    assert_false(vy_module_equal(m, plain));
    vy_free(data);
    vy_free(text);
    vy_module_free(again);
    vy_module_free(plain);
    vy_module_free(m);
}

static void refuses_bad_dimensions(void **state)
{
    (void)state;
    vy_module *m = build(true, true);
    assert_false(vy_module_ok(m));
    assert_string_equal(vy_module_diag(m)->code, "E0003");
    vy_module_free(m);
}

static void same_conditions(void **state)
{
    (void)state;
    static const char *const same[][2] = {
        {"h * w <= cstep", "h*w<=cstep"},       {"h * w <= cstep", "cstep >= w * h"},
        {"a + b * c <= d", "c*b + a <= d"},     {"max(a, b) * c <= d", "c * max(a,b) <= d"},
        {"(a + 1) * b <= c", "b * (a+1) <= c"}, {"a - b <= c", "c >= a-b"},
    };
    static const char *const other[][2] = {
        {"h * w <= cstep", "h * w >= cstep"},
        {"h * w <= cstep", "h * w < cstep"},
        {"h * w <= cstep", "hw <= cstep"},
        {"a - b <= c", "b - a <= c"},
        {"a * b + c <= d", "a + b * c <= d"},
        {"max(a, b) <= c", "max(b, a) <= c"},
        {"a <= b", ""},
        {"a / b <= c", "b / a <= c"},
    };
    for (size_t k = 0; k < sizeof same / sizeof *same; k++)
        if (!vy_condition_same(same[k][0], same[k][1])) fail_msg("%s", same[k][1]);
    for (size_t k = 0; k < sizeof other / sizeof *other; k++)
        if (vy_condition_same(other[k][0], other[k][1])) fail_msg("%s", other[k][1]);
}

// Requests that assume the same share a derivative, and no others do; the texts need not stay.
static void requests(void **state)
{
    (void)state;
    vy_module *m = parse("program f(x: in f32[?], y: out f32[N, M], N: u32, M: u32, S: u32) "
                         "over(i: N, j: M) { y[i, j] = x[i * S + j] * x[i * S + j]; }");
    char promise[] = "M <= S";
    const char *assume = promise;
    const vy_grad_options o = {.assume = &assume, .assume_count = 1};
    const vy_derived *plain = transform(m, (vy_ref){0}, NULL), *assumed;
    assumed = transform(m, (vy_ref){0}, &o);
    assert_ptr_not_equal(plain, assumed);
    assert_true(plain->result.pipeline);
    assert_false(assumed->result.pipeline);
    assert_ptr_equal(transform(m, (vy_ref){0}, &o), assumed);
    memset(promise, 'x', sizeof promise - 1);
    assert_ptr_not_equal(transform(m, (vy_ref){0}, &o), assumed);
    vy_module_free(m);
}

// Comparing conditions takes memory: where there is none, that is the error.
static void out_of_memory(void **state)
{
    (void)state;
    vy_module *m = vy_module_new();
    const char *assume = "M <= S";
    assert_true(vy_condition_note(m, "S >= M"));
    for (long n = 0; m; n++) {
        vy_diag d = {0};
        vy_test_fail_after(n);
        vy_module *out =
            vy_conditions_known(m, &(vy_grad_options){.assume = &assume, .assume_count = 1}, &d);
        vy_test_fail_after(-1);
        if (out) {
            assert_true(n > 0);
            break;
        }
        assert_string_equal(d.code, "E0001");
        m = vy_module_new(); // it was freed
        assert_true(vy_condition_note(m, "S >= M"));
    }
    vy_module_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_and_binary), cmocka_unit_test(refuses_bad_dimensions),
        cmocka_unit_test(same_conditions), cmocka_unit_test(requests),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
