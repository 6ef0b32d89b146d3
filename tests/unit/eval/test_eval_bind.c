// SPDX-License-Identifier: MIT
// test_eval_bind.c: arguments of the interpreter: names, shapes, inferred scalars, workspaces, bad
// requests, lack of memory; and the path hash.
#include "tests/unit/eval_util.h"

#include "ir/eval/eval.h"
#include "tests/unit/failing.h"

static void expect(const test_program *t, const vy_eval_buffer *buffers, uint32_t n,
                   const vy_eval_scalar *scalars, uint32_t scalar_count, const char *code,
                   const char *text)
{
    vy_diag d;
    if (vy_eval(t->p, buffers, n, scalars, scalar_count, NULL, NULL, &d)) fail_msg("no %s", code);
    if (strcmp(d.code, code) || !strstr(d.text, text))
        fail_msg("got %s: %s, expected %s: %s", d.code, d.text, code, text);
    assert_int_not_equal(d.fix[0], 0);
}

// c[i, j] = Σ a[i, k] b[k, j] with M, N, K inferred.
static test_program matmul(void)
{
    test_program t = begin("matmul");
    vy_builder *b = t.b;
    vy_value M = vy_param_scalar(b, "M", VY_U32), N = vy_param_scalar(b, "N", VY_U32),
             K = vy_param_scalar(b, "K", VY_I32);
    vy_dim m = vy_dim_value(b, M), n = vy_dim_value(b, N), k = vy_dim_value(b, K);
    vy_buffer x = vy_param_buffer(b, "a", VY_IN, VY_F32, 2, (vy_dim[]){m, k});
    vy_buffer y = vy_param_buffer(b, "b", VY_IN, VY_F32, 2, (vy_dim[]){k, n});
    vy_buffer c = vy_param_buffer(b, "c", VY_OUT, VY_F32, 2, (vy_dim[]){m, n});
    vy_value ij[2] = {vy_over(b, "i", m), vy_over(b, "j", n)};
    vy_var sum = vy_var_new(b, "sum", f32(b, 0));
    vy_value l = vy_for(b, "k", i32(b, 0), K);
    vy_value p =
        vy_mul(b, vy_load(b, x, (vy_value[]){ij[0], l}), vy_load(b, y, (vy_value[]){l, ij[1]}));
    vy_set(b, sum, vy_add(b, vy_get(b, sum), p));
    vy_end(b);
    vy_store(b, c, ij, vy_get(b, sum));
    finish(&t);
    return t;
}

static void test_inference(void **state)
{
    (void)state;
    test_program t = matmul();
    float a[4] = {1, 2, 3, 4}, b[4] = {5, 6, 7, 8}, c[4];
    const uint64_t s22[] = {2, 2}, s23[] = {2, 3}, s32[] = {3, 2};
    vy_eval_buffer v[3] = {{"a", a, s22, 2}, {"b", b, s22, 2}, {"c", c, s22, 2}};
    vy_diag d;
    assert_true(vy_eval(t.p, v, 3, NULL, 0, NULL, NULL, &d));
    assert_memory_equal(c, ((float[]){19, 22, 43, 50}), sizeof c);
    v[1].shape = s32;
    expect(&t, v, 3, NULL, 0, "E0704", "K is 2 by a, axis 1, but 3 by b, axis 0");
    v[1].shape = s23;
    expect(&t, v, 3, NULL, 0, "E0704", "N is 3 by b, axis 1, but 2 by c, axis 1");
    v[1].shape = s22;
    const vy_eval_scalar given = {"M", {.u = 5}};
    expect(&t, v, 3, &given, 1, "E0704", "scalar M is given as 5, but a, axis 0, has extent 2");
    const uint64_t huge[] = {2, 1ull << 31};
    v[0].shape = huge;
    expect(&t, v, 3, NULL, 0, "E0704", "does not fit scalar K of type i32");
    drop(&t);
}

static void test_bad_arguments(void **state)
{
    (void)state;
    test_program t = matmul();
    float a[4] = {0}, b[4] = {0}, c[4];
    const uint64_t s22[] = {2, 2};
    vy_eval_buffer v[4] = {{"a", a, s22, 2}, {"b", b, s22, 2}, {"c", c, s22, 2}, {"a", a, s22, 2}};
    expect(&t, v, 2, NULL, 0, "E0702", "buffer c is not given");
    expect(&t, v, 4, NULL, 0, "E0701", "buffer a is given twice");
    v[3].name = "z";
    expect(&t, v, 4, NULL, 0, "E0701", "no buffer parameter 'z'");
    v[3].name = NULL;
    expect(&t, v, 4, NULL, 0, "E0701", "no buffer parameter ''");
    v[1].rank = 1;
    expect(&t, v, 3, NULL, 0, "E0703", "b has 2 dimensions, but a shape of 1");
    v[1].rank = 2;
    v[1].data = NULL;
    expect(&t, v, 3, NULL, 0, "E0702", "b is given without data");
    v[1].data = b;
    const vy_eval_scalar unknown = {"Q", {.u = 5}}, twice[2] = {{"M", {.u = 2}}, {"M", {.u = 2}}};
    expect(&t, v, 3, &unknown, 1, "E0701", "no scalar parameter 'Q'");
    expect(&t, v, 3, twice, 2, "E0701", "scalar M twice");
    v[2].data = a + 2;
    expect(&t, v, 3, NULL, 0, "E0706", "buffers a and c overlap");
    v[2].data = c;
    v[1].data = a; // both only read
    vy_diag d;
    assert_true(vy_eval(t.p, v, 3, NULL, 0, NULL, NULL, &d));
    assert_false(vy_eval(NULL, v, 3, NULL, 0, NULL, NULL, &d));
    assert_string_equal(d.code, "E0003");
    drop(&t);
}

// Computed extents, `?`, a scalar that no shape determines.
static void test_dimensions(void **state)
{
    (void)state;
    test_program t = begin("dims");
    vy_builder *b = t.b;
    vy_value n = vy_param_scalar(b, "N", VY_I64);
    vy_dim d = vy_dim_value(b, n), one = vy_dim_const(b, 1), two = vy_dim_const(b, 2);
    vy_dim tri =
        vy_dim_binary(b, VY_DIM_DIV,
                      vy_dim_binary(b, VY_DIM_MUL, d, vy_dim_binary(b, VY_DIM_ADD, d, one)), two);
    vy_dim any = vy_dim_unknown(b);
    vy_buffer x = vy_param_buffer(b, "x", VY_IN, VY_U32, 1, &tri);
    vy_buffer q = vy_param_buffer(b, "q", VY_IN, VY_U32, 1, &any);
    vy_buffer y = vy_param_buffer(b, "y", VY_OUT, VY_U32, 1, &two);
    vy_over(b, "i", one);
    store1(b, y, u32(b, 0), vy_len(b, x, 0));
    store1(b, y, u32(b, 1), vy_len(b, q, 0));
    finish(&t);
    uint32_t xs[6] = {0}, qs[5] = {0}, ys[2];
    const uint64_t s6 = 6, s5 = 5, s2 = 2, s0 = 0;
    vy_eval_buffer v[3] = {{"x", xs, &s6, 1}, {"q", qs, &s5, 1}, {"y", ys, &s2, 1}};
    vy_eval_scalar s = {"N", {.i = 3}};
    vy_diag g;
    assert_true(vy_eval(t.p, v, 3, &s, 1, NULL, NULL, &g));
    assert_memory_equal(ys, ((uint32_t[]){6, 5}), sizeof ys);
    expect(&t, v, 3, NULL, 0, "E0702", "scalar N is not given");
    s.value.i = 4;
    expect(&t, v, 3, &s, 1, "E0704", "x, axis 0, is declared with extent 10, but 6 is given");
    s.value.i = INT64_MAX;
    expect(&t, v, 3, &s, 1, "E0705", "does not fit 64 bits");
    v[1] = (vy_eval_buffer){"q", NULL, &s0, 1}; // empty: no data needed
    s.value.i = 3;
    assert_true(vy_eval(t.p, v, 3, &s, 1, NULL, NULL, &g));
    assert_int_equal(ys[1], 0);
    drop(&t);
}

static void test_negative_extents(void **state)
{
    (void)state;
    test_program t = begin("negative");
    vy_builder *b = t.b;
    vy_value n = vy_param_scalar(b, "N", VY_I32);
    vy_dim d = vy_dim_value(b, n), e = vy_dim_binary(b, VY_DIM_SUB, d, vy_dim_const(b, 4));
    vy_buffer y = param(b, "y", VY_OUT, VY_U32, 8);
    vy_buffer w = vy_param_buffer(b, "w", VY_INOUT, VY_U32, 1, &d);
    vy_buffer_workspace(b, w);
    vy_value i = vy_over(b, "i", e);
    store1(b, w, i, i);
    store1(b, y, i, u32(b, 1));
    finish(&t);
    uint32_t ys[8];
    const uint64_t s8 = 8;
    const vy_eval_buffer v = {"y", ys, &s8, 1};
    vy_eval_scalar s = {"N", {.i = 3}};
    vy_diag g;
    memset(ys, 0xff, sizeof ys);
    assert_true(vy_eval(t.p, &v, 1, &s, 1, NULL, NULL, &g)); // an extent below 0 is 0
    for (int k = 0; k < 8; k++) assert_int_equal(ys[k], 0);  // `out` is cleared all the same
    s.value.i = -1;
    expect(&t, &v, 1, &s, 1, "E0705", "the extent of w, axis 0, is -1");
    drop(&t);
}

// Workspaces are made inside, or are the caller's if given.
static void test_workspaces(void **state)
{
    (void)state;
    test_program t = begin("work");
    vy_builder *b = t.b;
    vy_buffer x = param(b, "x", VY_IN, VY_F32, 3), y = param(b, "y", VY_OUT, VY_F32, 3);
    vy_buffer w[3];
    for (int k = 0; k < 3; k++) {
        w[k] = param(b, (const char *[]){"w0", "w1", "w2"}[k], VY_INOUT, VY_F32, 3);
        vy_buffer_workspace(b, w[k]);
        vy_buffer_init(b, w[k], (vy_init[]){VY_INIT_NONE, VY_INIT_ONES, VY_INIT_COPY}[k],
                       k == 2 ? "x" : NULL);
    }
    vy_value i = vy_over(b, "i", vy_dim_const(b, 3));
    vy_value v = vy_add(b, load1(b, w[0], i), vy_mul(b, f32(b, 10), load1(b, w[1], i)));
    store1(b, w[2], i, vy_mul(b, load1(b, w[2], i), f32(b, 100)));
    store1(b, y, i, vy_add(b, v, vy_add(b, load1(b, w[2], i), load1(b, x, i))));
    finish(&t);
    float xs[3] = {1, 2, 3}, ys[3], mine[3] = {7, 7, 7};
    RUN(&t, {"x", xs, 3}, {"y", ys, 3});
    assert_memory_equal(ys, ((float[]){111, 212, 313}), sizeof ys);
    assert_memory_equal(xs, ((float[]){1, 2, 3}), sizeof xs);
    RUN(&t, {"x", xs, 3}, {"y", ys, 3}, {"w1", mine, 3});
    assert_memory_equal(ys, ((float[]){171, 272, 373}), sizeof ys);
    drop(&t);
}

// A domain too large to count and a group count of any size are refused, not wrapped.
static void test_large_launch(void **state)
{
    (void)state;
    test_program t = begin("large");
    vy_builder *b = t.b;
    vy_dim n = vy_dim_value(b, vy_param_scalar(b, "N", VY_U32));
    vy_buffer y = param(b, "y", VY_OUT, VY_U32, 1);
    for (int k = 0; k < 3; k++) vy_over(b, (const char *[]){"i", "j", "k"}[k], n);
    atomic1(b, "add", y, u32(b, 0), u32(b, 1));
    finish(&t);
    uint32_t data;
    const uint64_t one = 1;
    const vy_eval_buffer v = {"y", &data, &one, 1};
    const vy_eval_scalar s = {"N", {.u = UINT32_MAX}};
    expect(&t, &v, 1, &s, 1, "E0712", "domain");
    drop(&t);
}

// Any allocation may fail; the answer is a diagnostic and nothing leaks.
static void test_out_of_memory(void **state)
{
    (void)state;
    test_program t = matmul();
    float a[4] = {0}, b[4] = {0}, c[4];
    const uint64_t s22[] = {2, 2};
    const vy_eval_buffer v[3] = {{"a", a, s22, 2}, {"b", b, s22, 2}, {"c", c, s22, 2}};
    const vy_eval_options o = {.report_races = true, .report_uninitialised = true};
    long n = 0;
    for (bool ok = false; !ok; n = next_failing(n)) {
        vy_diag d;
        vy_eval_report r;
        vy_test_fail_after(n);
        ok = vy_eval(t.p, v, 3, NULL, 0, &o, &r, &d);
        vy_test_fail_after(-1);
        if (!ok) assert_string_equal(d.code, "E0001");
        assert_true(n < 1000);
    }
    assert_true(n > 10);
    drop(&t);
}

// -------------------------------------------------------------------------------------- path hash
static uint64_t path_of(const test_program *t, double x)
{
    double y;
    const uint64_t one = 1;
    const vy_eval_buffer v[2] = {{"x", &x, &one, 1}, {"y", &y, &one, 1}};
    uint64_t hash = 1;
    const vy_eval_hooks hooks = {.path_hash = &hash};
    vy_diag d;
    assert_true(vy_eval_hooked(t->p, v, 2, NULL, 0, NULL, &hooks, NULL, &d));
    return hash;
}

static void test_path_hash(void **state)
{
    (void)state;
    static const char *const functions[] = {"abs",    "floor", "sign", "relu",
                                            "branch", "trips", "exp"};
    for (size_t k = 0; k < COUNT(functions); k++) {
        test_program t = begin("path");
        vy_builder *b = t.b;
        vy_buffer x = param(b, "x", VY_IN, VY_F64, 1), y = param(b, "y", VY_OUT, VY_F64, 1);
        vy_over(b, "i", vy_dim_const(b, 1));
        const vy_value zero = vy_float(b, VY_F64, 0);
        vy_value v = load1(b, x, u32(b, 0));
        vy_var r = vy_var_new(b, "r", v);
        if (strcmp(functions[k], "branch") == 0) {
            vy_if(b, vy_lt(b, v, zero));
            store1(b, y, u32(b, 0), v);
            vy_end(b);
        } else if (strcmp(functions[k], "trips") == 0) {
            vy_for(b, "j", i32(b, -2), vy_cast(b, VY_I32, vy_mul(b, v, vy_float(b, VY_F64, 10))));
            vy_set(b, r, vy_mul(b, vy_get(b, r), v));
            vy_end(b);
        } else {
            vy_set(b, r, vy_call(b, functions[k], 1, &v));
        }
        store1(b, y, u32(b, 0), vy_get(b, r));
        finish(&t);
        const bool smooth = strcmp(functions[k], "exp") == 0;
        if ((path_of(&t, -0.125) == path_of(&t, 0.125)) != smooth) fail_msg("%s", functions[k]);
        assert_true(path_of(&t, 0.125) == path_of(&t, 0.1251));
        drop(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inference),     cmocka_unit_test(test_bad_arguments),
        cmocka_unit_test(test_dimensions),    cmocka_unit_test(test_negative_extents),
        cmocka_unit_test(test_workspaces),    cmocka_unit_test(test_large_launch),
        cmocka_unit_test(test_out_of_memory), cmocka_unit_test(test_path_hash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
