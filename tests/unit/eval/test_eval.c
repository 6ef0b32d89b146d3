// SPDX-License-Identifier: MIT
// test_eval.c: the interpreter on programs built through the C API: domains, control flow, memory,
// types.  Parallel constructs and reports: test_eval_parallel.c; arguments: test_eval_bind.c.
#include "tests/unit/eval_util.h"
#include "ir/vyre.h"

#include <math.h>

// ----------------------------------------------------------------------------------------- domains
static void test_header_example(void **state)
{
    (void)state;
    test_program t = begin("scale");
    vy_value n = vy_param_scalar(t.b, "N", VY_U32);
    vy_dim d = vy_dim_value(t.b, n);
    vy_buffer x = vy_param_buffer(t.b, "x", VY_IN, VY_F32, 1, &d);
    vy_buffer y = vy_param_buffer(t.b, "y", VY_OUT, VY_F32, 1, &d);
    vy_value i = vy_over(t.b, "i", d);
    store1(t.b, y, i, vy_mul(t.b, load1(t.b, x, i), f32(t.b, 2)));
    finish(&t);
    float in[101], out[101];
    for (int k = 0; k < 101; k++) in[k] = (float)k, out[k] = -1;
    RUN(&t, {"x", in, 101}, {"y", out, 101});
    for (int k = 0; k < 101; k++) assert_true(out[k] == (float)(2 * k));
    drop(&t);
}

// One store per invocation, at its own coordinates, for domains of rank 1 to 5.
static void run_domain(uint32_t rank, const int64_t *extents, uint32_t wx, uint32_t wy, uint32_t wz)
{
    test_program t = begin("domain");
    vy_dim dims[5];
    vy_value index[5], number = u32(t.b, 0);
    uint64_t shape[5], count = 1;
    for (uint32_t k = 0; k < rank; k++) {
        dims[k] = vy_dim_const(t.b, extents[k]);
        shape[k] = (uint64_t)extents[k];
        count *= shape[k];
    }
    vy_buffer y = vy_param_buffer(t.b, "y", VY_INOUT, VY_U32, rank, dims);
    if (wx) vy_workgroup(t.b, wx, wy, wz);
    for (uint32_t k = 0; k < rank; k++) {
        index[k] = vy_over(t.b, (const char *[]){"a", "b", "c", "d", "e"}[k], dims[k]);
        number = vy_add(t.b, vy_mul(t.b, number, u32(t.b, extents[k])), index[k]);
    }
    vy_store(t.b, y, index, vy_add(t.b, vy_load(t.b, y, index), vy_add(t.b, number, u32(t.b, 1))));
    finish(&t);
    static uint32_t out[4096];
    memset(out, 0, sizeof out);
    assert_true(count <= COUNT(out));
    vy_diag d;
    const vy_eval_buffer buffer = {"y", out, shape, rank};
    if (!vy_eval(t.p, &buffer, 1, NULL, 0, NULL, NULL, &d)) fail_msg("%s", d.text);
    for (uint64_t k = 0; k < count; k++) assert_int_equal(out[k], k + 1);
    for (uint64_t k = count; k < COUNT(out); k++) assert_int_equal(out[k], 0);
    drop(&t);
}

static void test_domains(void **state)
{
    (void)state;
    run_domain(1, (int64_t[]){1}, 0, 0, 0);
    run_domain(1, (int64_t[]){64}, 0, 0, 0);
    run_domain(1, (int64_t[]){65}, 0, 0, 0);
    run_domain(1, (int64_t[]){7}, 3, 2, 2);
    run_domain(2, (int64_t[]){13, 9}, 0, 0, 0);
    run_domain(2, (int64_t[]){1, 100}, 5, 3, 1);
    run_domain(3, (int64_t[]){3, 5, 9}, 0, 0, 0);
    run_domain(4, (int64_t[]){3, 2, 5, 7}, 0, 0, 0);
    run_domain(4, (int64_t[]){3, 5, 2, 3}, 2, 2, 4);
    run_domain(5, (int64_t[]){2, 3, 2, 3, 5}, 0, 0, 0);
    run_domain(3, (int64_t[]){4, 0, 4}, 0, 0, 0);
    run_domain(1, (int64_t[]){0}, 0, 0, 0);
}

static void test_ids(void **state)
{
    (void)state;
    test_program t = begin("ids");
    vy_builder *b = t.b;
    vy_buffer y = param(b, "y", VY_OUT, VY_U32, 48 * 8);
    vy_workgroup(b, 4, 2, 1);
    const vy_value w = vy_builtin_value(b, VY_WID, 0), h = vy_builtin_value(b, VY_WID, 1);
    const vy_value lindex = vy_builtin_value(b, VY_LINDEX, 0);
    vy_value row = vy_add(b, vy_mul(b, h, vy_builtin_value(b, VY_NUM_GROUPS, 0)), w);
    row = vy_mul(b, vy_add(b, vy_mul(b, row, u32(b, 8)), lindex), u32(b, 8));
    const vy_value ids[8] = {gid(b, 0),
                             gid(b, 1),
                             gid(b, 2),
                             lid(b, 0),
                             lid(b, 1),
                             vy_builtin_value(b, VY_LANE, 0),
                             vy_builtin_value(b, VY_SUBGROUP_SIZE, 0),
                             vy_builtin_value(b, VY_NUM_GROUPS, 1)};
    for (uint32_t k = 0; k < 8; k++) store1(b, y, vy_add(b, row, u32(b, k)), ids[k]);
    finish(&t);
    uint32_t out[48 * 8];
    const vy_eval_options o = {.groups = {3, 2, 0}, .subgroup_size = 3};
    run_with(&t, ARGS({"y", out, COUNT(out)}), &o, NULL);
    for (uint32_t g = 0; g < 6; g++)
        for (uint32_t l = 0; l < 8; l++) {
            const uint32_t *r = &out[(g * 8 + l) * 8];
            const uint32_t want[8] = {
                g % 3 * 4 + l % 4, g / 3 * 2 + l / 4, 0, l % 4, l / 4, l % 3, 3, 2};
            assert_memory_equal(r, want, sizeof want);
        }
    drop(&t);
}

// ------------------------------------------------------------------------------------ control flow
// y[i] = body(i) for i < 100.
typedef vy_value (*body_fn)(vy_builder *b, vy_value i);
typedef int64_t (*reference_fn)(int64_t i);

static void check_i32(const char *name, body_fn body, reference_fn reference)
{
    test_program t = begin(name);
    vy_buffer y = param(t.b, "y", VY_OUT, VY_I32, 100);
    vy_value i = vy_over(t.b, "i", vy_dim_const(t.b, 100));
    store1(t.b, y, i, body(t.b, vy_cast(t.b, VY_I32, i)));
    finish(&t);
    int32_t out[100];
    RUN(&t, {"y", out, 100});
    for (int k = 0; k < 100; k++)
        if (out[k] != reference(k))
            fail_msg("%s at %d: got %d, expected %d", name, k, out[k], (int)reference(k));
    drop(&t);
}

static vy_value nested_if(vy_builder *b, vy_value i)
{
    vy_var v = vy_var_new(b, "v", i32(b, 1));
    vy_if(b, vy_lt(b, i, i32(b, 50)));
    {
        vy_set(b, v, vy_add(b, vy_get(b, v), i));
        vy_if(b, vy_eq(b, vy_rem(b, i, i32(b, 3)), i32(b, 0)));
        vy_set(b, v, vy_mul(b, vy_get(b, v), i32(b, 7)));
        vy_else(b);
        vy_set(b, v, vy_sub(b, vy_get(b, v), i32(b, 4)));
        vy_end(b);
    }
    vy_else(b);
    vy_if(b, vy_lt(b, i, i32(b, 200)));
    vy_set(b, v, vy_neg(b, i));
    vy_end(b);
    vy_end(b);
    return vy_get(b, v);
}

static int64_t nested_if_c(int64_t i)
{
    if (i >= 50) return -i;
    return i % 3 == 0 ? (1 + i) * 7 : 1 + i - 4;
}

// A triangular nest with break, continue, and an inner loop backwards.
static vy_value loops(vy_builder *b, vy_value i)
{
    vy_var v = vy_var_new(b, "v", i32(b, 0));
    vy_value j = vy_for(b, "j", i32(b, 0), i);
    {
        vy_if(b, vy_eq(b, vy_rem(b, j, i32(b, 5)), i32(b, 3)));
        vy_continue(b);
        vy_end(b);
        vy_if(b, vy_lt(b, i32(b, 60), j));
        vy_break(b);
        vy_end(b);
        vy_value k = vy_for_step(b, "k", j, i, i32(b, 7), true);
        vy_set(b, v, vy_add(b, vy_mul(b, vy_get(b, v), i32(b, 31)), vy_add(b, k, j)));
        vy_end(b);
    }
    vy_end(b);
    return vy_get(b, v);
}

static int64_t loops_c(int64_t i)
{
    uint32_t v = 0;
    for (int64_t j = 0; j < i; j++) {
        if (j % 5 == 3) continue;
        if (60 < j) break;
        int64_t k = j;
        while (k + 7 < i) k += 7;
        for (; k >= j; k -= 7) v = v * 31 + (uint32_t)(k + j);
    }
    return (int32_t)v;
}

// Carried values that swap, and a while with its own condition region.
static vy_value collatz(vy_builder *b, vy_value i)
{
    vy_var n = vy_var_new(b, "n", vy_add(b, i, i32(b, 1)));
    vy_var steps = vy_var_new(b, "steps", i32(b, 0));
    vy_var p = vy_var_new(b, "p", i32(b, 0)), q = vy_var_new(b, "q", i32(b, 1));
    vy_while(b);
    vy_while_test(b, vy_ne(b, vy_get(b, n), i32(b, 1)));
    {
        vy_value odd = vy_eq(b, vy_and(b, vy_get(b, n), i32(b, 1)), i32(b, 1));
        vy_if(b, odd);
        vy_set(b, n, vy_add(b, vy_mul(b, vy_get(b, n), i32(b, 3)), i32(b, 1)));
        vy_else(b);
        vy_set(b, n, vy_shr(b, vy_get(b, n), i32(b, 1)));
        vy_end(b);
        vy_set(b, steps, vy_add(b, vy_get(b, steps), i32(b, 1)));
        vy_value old = vy_get(b, p);
        vy_set(b, p, vy_get(b, q));
        vy_set(b, q, old);
        vy_if(b, vy_le(b, i32(b, 100), vy_get(b, steps)));
        vy_break(b);
        vy_end(b);
    }
    vy_end(b);
    return vy_add(b, vy_mul(b, vy_get(b, steps), i32(b, 10)), vy_get(b, p));
}

static int64_t collatz_c(int64_t i)
{
    int64_t n = i + 1, steps = 0;
    while (n != 1) {
        n = n & 1 ? 3 * n + 1 : n / 2;
        if (++steps >= 100) break;
    }
    return steps * 10 + steps % 2;
}

static vy_value empty_and_extreme_loops(vy_builder *b, vy_value i)
{
    vy_var v = vy_var_new(b, "v", i32(b, 0));
    vy_for(b, "a", i32(b, 5), i32(b, 5));
    vy_set(b, v, i32(b, 1000));
    vy_end(b);
    vy_for(b, "b", i, i32(b, -3)); // never
    vy_set(b, v, i32(b, 1000));
    vy_end(b);
    vy_value u = vy_for_step(b, "u", u32(b, 0xfffffff0), u32(b, 0xffffffff), u32(b, 4), false);
    vy_set(b, v, vy_add(b, vy_get(b, v), vy_cast(b, VY_I32, vy_sub(b, u, u32(b, 0xfffffff0)))));
    vy_end(b); // 0 + 4 + 8 + 12
    vy_value big = vy_for_step(b, "l", vy_int(b, VY_I64, INT64_MIN), vy_int(b, VY_I64, INT64_MAX),
                               vy_int(b, VY_I64, INT64_MAX), true);
    vy_set(b, v,
           vy_add(b, vy_get(b, v),
                  vy_select(b, vy_lt(b, big, vy_int(b, VY_I64, 0)), i32(b, 100), i32(b, 1))));
    vy_end(b); // least, −1, greatest − 1
    return vy_get(b, v);
}

static int64_t empty_and_extreme_loops_c(int64_t i)
{
    (void)i;
    return 24 + 201;
}

static vy_value checkpointed(vy_builder *b, vy_value i)
{
    vy_var v = vy_var_new(b, "v", i), w = vy_var_new(b, "w", i32(b, 3));
    vy_checkpoint(b);
    vy_set(b, v, vy_mul(b, vy_get(b, v), vy_get(b, v)));
    vy_set(b, w, vy_add(b, vy_get(b, v), vy_get(b, w)));
    vy_end(b);
    return vy_sub(b, vy_get(b, w), vy_get(b, v));
}

static int64_t checkpointed_c(int64_t i)
{
    (void)i;
    return 3;
}

static void test_control_flow(void **state)
{
    (void)state;
    check_i32("nested_if", nested_if, nested_if_c);
    check_i32("loops", loops, loops_c);
    check_i32("collatz", collatz, collatz_c);
    check_i32("extreme", empty_and_extreme_loops, empty_and_extreme_loops_c);
    check_i32("checkpointed", checkpointed, checkpointed_c);
}

static void test_early_return(void **state)
{
    (void)state;
    test_program t = begin("early");
    vy_builder *b = t.b;
    vy_buffer y = param(b, "y", VY_INOUT, VY_U32, 20);
    vy_value i = vy_over(b, "i", vy_dim_const(b, 20));
    vy_for(b, "k", u32(b, 0), u32(b, 10));
    vy_if(b, vy_lt(b, u32(b, 12), i));
    vy_return(b);
    vy_end(b);
    store1(b, y, i, vy_add(b, load1(b, y, i), u32(b, 1)));
    vy_end(b);
    store1(b, y, i, vy_add(b, load1(b, y, i), u32(b, 100)));
    finish(&t);
    uint32_t out[20] = {0};
    RUN(&t, {"y", out, 20});
    for (uint32_t k = 0; k < 20; k++) assert_int_equal(out[k], k > 12 ? 0 : 110);
    drop(&t);
}

// step ≤ 0 known only at run time; fine where the loop is not reached.
static void test_bad_step(void **state)
{
    (void)state;
    test_program t = begin("step");
    vy_builder *b = t.b;
    vy_buffer x = param(b, "x", VY_IN, VY_I32, 4), y = param(b, "y", VY_OUT, VY_I32, 4);
    vy_value i = vy_over(b, "i", vy_dim_const(b, 4));
    vy_value s = load1(b, x, i);
    vy_if(b, vy_ne(b, s, i32(b, -7)));
    vy_at(b, 12, 5);
    vy_value k = vy_for_step(b, "k", i32(b, 0), i32(b, 10), s, false);
    store1(b, y, i, k);
    vy_end(b);
    vy_end(b);
    finish(&t);
    int32_t in[4] = {1, 3, -7, 20}, out[4];
    RUN(&t, {"x", in, 4}, {"y", out, 4});
    assert_memory_equal(out, ((int32_t[]){9, 9, 0, 0}), sizeof out);
    in[1] = 0;
    vy_diag d;
    assert_false(try_run(&t, ARGS({"x", in, 4}, {"y", out, 4}), NULL, NULL, &d));
    assert_string_equal(d.code, "E0707");
    assert_int_equal(d.line, 12);
    drop(&t);
}

static void test_step_limit(void **state)
{
    (void)state;
    test_program t = begin("endless");
    vy_builder *b = t.b;
    vy_buffer x = param(b, "x", VY_INOUT, VY_U32, 1);
    vy_over(b, "i", vy_dim_const(b, 1));
    vy_while(b);
    vy_while_test(b, vy_ne(b, load1(b, x, u32(b, 0)), u32(b, 5)));
    store1(b, x, u32(b, 0), u32(b, 1));
    vy_end(b);
    finish(&t);
    uint32_t data = 0;
    vy_diag d;
    const vy_eval_options o = {.max_steps = 10000};
    assert_false(try_run(&t, ARGS({"x", &data, 1}), &o, NULL, &d));
    assert_string_equal(d.code, "E0708");
    drop(&t);
}

// ------------------------------------------------------------------------------------------ memory
static void test_out_of_range(void **state)
{
    (void)state;
    test_program t = begin("range");
    vy_builder *b = t.b;
    vy_dim dims[2] = {vy_dim_const(b, 2), vy_dim_const(b, 3)};
    vy_buffer x = vy_param_buffer(b, "x", VY_INOUT, VY_I32, 2, dims);
    vy_buffer y = param(b, "y", VY_OUT, VY_I32, 5);
    vy_over(b, "i", vy_dim_const(b, 1));
    const vy_value zero = u32(b, 0);
    // Each axis by itself: [0, 3] is not [1, 0].
    const vy_value past[2] = {zero, u32(b, 3)}, below[2] = {i32(b, 1), i32(b, -1)};
    const vy_value huge[2] = {vy_int(b, VY_U64, -1), zero};
    store1(b, y, u32(b, 0), vy_load(b, x, past));
    store1(b, y, u32(b, 1), vy_load(b, x, below));
    store1(b, y, u32(b, 2), vy_load(b, x, huge));
    vy_store(b, x, past, i32(b, 99));
    store1(b, y, u32(b, 3), vy_atomic(b, "add", x, below, i32(b, 5)));
    store1(b, y, i32(b, -1), i32(b, 9));
    const vy_value fine[2] = {u32(b, 1), u32(b, 2)};
    store1(b, y, u32(b, 4), vy_load(b, x, fine));
    finish(&t);
    int32_t x_data[6] = {1, 2, 3, 4, 5, 6}, out[5];
    const uint64_t shape[2] = {2, 3}, five = 5;
    const vy_eval_buffer buffers[2] = {{"x", x_data, shape, 2}, {"y", out, &five, 1}};
    const vy_eval_options o = {.report_out_of_range = true};
    vy_eval_report r;
    vy_diag d;
    assert_true(vy_eval(t.p, buffers, 2, NULL, 0, &o, &r, &d));
    assert_memory_equal(x_data, ((int32_t[]){1, 2, 3, 4, 5, 6}), sizeof x_data);
    assert_memory_equal(out, ((int32_t[]){0, 0, 0, 0, 6}), sizeof out);
    assert_int_equal(r.out_of_range, 6);
    assert_string_equal(r.first.code, "E0710");
    assert_non_null(strstr(r.first.text, "index 3 of x, axis 1"));
    drop(&t);
}

static void test_storage_types(void **state)
{
    (void)state;
    static const vy_type types[] = {VY_BOOL, VY_I8,  VY_U8,  VY_I16, VY_U16, VY_I32,
                                    VY_U32,  VY_I64, VY_U64, VY_F16, VY_F32, VY_F64};
    for (size_t k = 0; k < COUNT(types); k++) {
        const vy_type type = types[k], value = vy_type_loaded(type);
        test_program t = begin("copy");
        vy_builder *b = t.b;
        vy_buffer x = param(b, "x", VY_IN, type, 9), y = param(b, "y", VY_OUT, type, 9);
        vy_dim nine = vy_dim_const(b, 9);
        vy_buffer tmp =
            vy_local_array(b, "tmp", value, 1, &nine); // storage-only types have no local arrays
        vy_value i = vy_over(b, "i", nine), v = load1(b, x, i);
        assert_int_equal(vy_value_type(b, v), value);
        if (value == VY_BOOL)
            v = vy_not(b, v);
        else if (vy_type_is_float(value))
            v = vy_mul(b, v, vy_float(b, value, 3));
        else
            v = vy_mul(b, v, vy_int(b, value, 3)); // wraps when stored
        store1(b, tmp, i, v);
        store1(b, y, i, load1(b, tmp, i));
        finish(&t);
        unsigned char in[72], out[72];
        const uint32_t size = vy_type_size(type);
        for (uint32_t e = 0; e < 9; e++) {
            const int64_t n = (int64_t)e * 37 - 100;
            const float f = (float)n;
            const double g = (double)n;
            const uint16_t h = (uint16_t)(0x3c00 + 0x400 * e); // 2^e
            memset(in + e * size, 0, size);
            if (type == VY_F32)
                memcpy(in + e * size, &f, 4);
            else if (type == VY_F64)
                memcpy(in + e * size, &g, 8);
            else if (type == VY_F16)
                memcpy(in + e * size, &h, 2);
            else if (type == VY_BOOL)
                in[e * size] = e & 1;
            else
                memcpy(in + e * size, &n, size);
        }
        RUN(&t, {"x", in, 9}, {"y", out, 9});
        for (uint32_t e = 0; e < 9; e++) {
            const int64_t n = ((int64_t)e * 37 - 100) * 3;
            const float f = (float)n;
            const double g = (double)n;
            const uint16_t h = (uint16_t)(0x3c00 + 0x400 * (e + 1) + 0x200); // 3·2^e
            const uint32_t flag = !(e & 1);
            const void *want = type == VY_F32    ? (const void *)&f
                               : type == VY_F64  ? (const void *)&g
                               : type == VY_F16  ? (const void *)&h
                               : type == VY_BOOL ? (const void *)&flag
                                                 : (const void *)&n;
            if (memcmp(out + e * size, want, size)) fail_msg("%s %u", vy_type_name(type), e);
        }
        drop(&t);
    }
}

// A local array starts as zeros each time its declaration is executed.
static void test_local_arrays(void **state)
{
    (void)state;
    test_program t = begin("local");
    vy_builder *b = t.b;
    vy_buffer y = param(b, "y", VY_OUT, VY_I32, 70);
    vy_value i = vy_over(b, "i", vy_dim_const(b, 70)), n = vy_cast(b, VY_I32, i);
    vy_var sum = vy_var_new(b, "sum", i32(b, 0));
    vy_value k = vy_for(b, "k", i32(b, 0), i32(b, 4));
    {
        vy_dim eight = vy_dim_const(b, 8);
        vy_buffer v = vy_local_array(b, "v", VY_I32, 1, &eight);
        store1(b, v, k, n);
        vy_value j = vy_for(b, "j", i32(b, 0), i32(b, 8));
        vy_set(b, sum, vy_add(b, vy_get(b, sum), load1(b, v, j)));
        vy_end(b);
    }
    vy_end(b);
    store1(b, y, i, vy_get(b, sum));
    finish(&t);
    int32_t out[70];
    RUN(&t, {"y", out, 70});
    for (int e = 0; e < 70; e++) assert_int_equal(out[e], 4 * e);
    drop(&t);
}

// Unaligned memory is as good as any.
static void test_unaligned(void **state)
{
    (void)state;
    test_program t = begin("unaligned");
    vy_buffer x = param(t.b, "x", VY_INOUT, VY_F64, 3);
    vy_value i = vy_over(t.b, "i", vy_dim_const(t.b, 3));
    store1(t.b, x, i, vy_add(t.b, load1(t.b, x, i), vy_float(t.b, VY_F64, 1)));
    finish(&t);
    unsigned char memory[25] = {0};
    RUN(&t, {"x", memory + 1, 3});
    const double one = 1;
    for (int k = 0; k < 3; k++) assert_memory_equal(memory + 1 + 8 * k, &one, 8);
    drop(&t);
}

// ---------------------------------------------------------------------------------------- f64 mode
static void test_f64_mode(void **state)
{
    (void)state;
    test_program t = begin("f64mode");
    vy_builder *b = t.b;
    vy_value s = vy_param_scalar(b, "s", VY_F32);
    vy_buffer x = param(b, "x", VY_IN, VY_F16, 2), y = param(b, "y", VY_OUT, VY_F32, 2);
    vy_dim two = vy_dim_const(b, 2);
    vy_buffer tmp = vy_local_array(b, "tmp", VY_F16, 1, &two);
    vy_value i = vy_over(b, "i", two);
    store1(b, tmp, i, load1(b, x, i));
    vy_value v = vy_cast(b, VY_F32, load1(b, tmp, i));
    store1(b, y, i, vy_div(b, vy_call(b, "exp", 1, &v), s));
    finish(&t);
    double in[2] = {0.1, 3}, out[2] = {7, 7};
    const uint64_t n = 2;
    const vy_eval_buffer buffers[2] = {{"x", in, &n, 1}, {"y", out, &n, 1}};
    const vy_eval_scalar scalar = {"s", {.f = 0.3}};
    const vy_eval_options o = {.f64 = true};
    vy_diag d;
    assert_true(vy_eval(t.p, buffers, 2, &scalar, 1, &o, NULL, &d));
    for (int k = 0; k < 2; k++) assert_true(out[k] == exp(in[k]) / 0.3);
    drop(&t);
}

// -------------------------------------------------------------------------------------------- size
// A million instructions, more than one chunk of lanes, values that are live from start to end.
static void test_long_program(void **state)
{
    (void)state;
    test_program t = begin("long");
    vy_builder *b = t.b;
    vy_buffer x = param(b, "x", VY_IN, VY_U32, 200), y = param(b, "y", VY_OUT, VY_U32, 200);
    vy_value i = vy_over(b, "i", vy_dim_const(b, 200)), first = load1(b, x, i), v = first;
    uint32_t want[200], in[200], out[200];
    for (uint32_t k = 0; k < 200; k++) want[k] = in[k] = k * k + 1;
    for (uint32_t k = 0; k < 250000; k++) {
        v = vy_mul(b, v, u32(b, 2 * (int64_t)k + 3));
        v = vy_xor(b, vy_add(b, v, first), u32(b, k));
        for (uint32_t e = 0; e < 200; e++) want[e] = (want[e] * (2 * k + 3) + in[e]) ^ k;
    }
    store1(b, y, i, v);
    finish(&t);
    assert_true(vy_program_instruction_count(t.p) > 700000);
    RUN(&t, {"x", in, 200}, {"y", out, 200});
    assert_memory_equal(out, want, sizeof want);
    drop(&t);
}

static void test_deep_nesting(void **state)
{
    (void)state;
    test_program t = begin("deep");
    vy_builder *b = t.b;
    vy_buffer y = param(b, "y", VY_OUT, VY_U32, 300);
    vy_value i = vy_over(b, "i", vy_dim_const(b, 300));
    vy_var v = vy_var_new(b, "v", u32(b, 0));
    for (uint32_t k = 0; k < 200; k++) {
        vy_if(b, vy_lt(b, u32(b, k), i));
        vy_set(b, v, vy_add(b, vy_get(b, v), u32(b, 1)));
    }
    for (uint32_t k = 0; k < 200; k++) vy_end(b);
    store1(b, y, i, vy_get(b, v));
    finish(&t);
    uint32_t out[300];
    RUN(&t, {"y", out, 300});
    for (uint32_t k = 0; k < 300; k++) assert_int_equal(out[k], k < 200 ? k : 200);
    drop(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_header_example),
        cmocka_unit_test(test_domains),
        cmocka_unit_test(test_ids),
        cmocka_unit_test(test_control_flow),
        cmocka_unit_test(test_early_return),
        cmocka_unit_test(test_bad_step),
        cmocka_unit_test(test_step_limit),
        cmocka_unit_test(test_out_of_range),
        cmocka_unit_test(test_storage_types),
        cmocka_unit_test(test_local_arrays),
        cmocka_unit_test(test_unaligned),
        cmocka_unit_test(test_f64_mode),
        cmocka_unit_test(test_long_program),
        cmocka_unit_test(test_deep_nesting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
