// SPDX-License-Identifier: MIT
// test_eval_parallel.c: barriers, shared arrays, subgroups, atomics; the reports of the
// interpreter.
#include "tests/unit/eval_util.h"
#include "ir/vyre.h"

#include <math.h>
#include <stdlib.h>

// -------------------------------------------------------------------------------- shared, barriers
// out[wid] = sum of the workgroup's slice of x, by a tree; n need not be a multiple of its size.
static test_program tree_sum(uint32_t n, uint32_t size, bool with_barrier)
{
    test_program t = begin("tree");
    vy_builder *b = t.b;
    vy_buffer x = param(b, "x", VY_IN, VY_F32, n);
    vy_buffer y = param(b, "y", VY_OUT, VY_F32, (n + size - 1) / size);
    vy_dim d = vy_dim_const(b, size);
    vy_buffer s = vy_shared_array(b, "s", VY_F32, 1, &d);
    vy_workgroup(b, size, 1, 1);
    vy_value me = lid(b, 0), i = gid(b, 0);
    store1(b, s, me, load1(b, x, i)); // out of range: zero
    vy_barrier(b);
    for (uint32_t h = size / 2; h > 0; h /= 2) {
        vy_if(b, vy_lt(b, me, u32(b, h)));
        vy_value sum = vy_add(b, load1(b, s, me), load1(b, s, vy_add(b, me, u32(b, h))));
        store1(b, s, me, sum);
        vy_end(b);
        if (with_barrier) vy_barrier(b);
    }
    vy_if(b, vy_eq(b, me, u32(b, 0)));
    store1(b, y, vy_builtin_value(b, VY_WID, 0), load1(b, s, u32(b, 0)));
    vy_end(b);
    finish(&t);
    return t;
}

static const vy_eval_options all_reports = {.report_races = true,
                                            .report_out_of_range = true,
                                            .report_uninitialised = true};

static void test_tree_sum(void **state)
{
    (void)state;
    test_program t = tree_sum(1000, 256, true);
    float x[1000], y[4];
    for (int k = 0; k < 1000; k++) x[k] = (float)k;
    vy_eval_options o = all_reports;
    o.groups[0] = 4;
    o.report_out_of_range = false;
    vy_eval_report r;
    run_with(&t, ARGS({"x", x, 1000}, {"y", y, 4}), &o, &r);
    for (int g = 0; g < 4; g++) {
        float sum = 0;
        for (int k = 256 * g; k < 256 * g + 256 && k < 1000; k++) sum += x[k];
        assert_true(y[g] == sum);
    }
    assert_int_equal(r.races, 0);
    assert_int_equal(r.uninitialised, 0);
    drop(&t);
}

static void test_missing_barrier(void **state)
{
    (void)state;
    test_program t = tree_sum(64, 64, false);
    float x[64] = {1}, y[1];
    vy_eval_report r;
    run_with(&t, ARGS({"x", x, 64}, {"y", y, 1}), &all_reports, &r);
    assert_true(r.races > 0);
    assert_string_equal(r.first.code, "E0709");
    assert_non_null(strstr(r.first.text, "s["));
    drop(&t);
}

// Padding takes part in barriers and reductions but stores nothing: its element stays unwritten.
static void test_padding(void **state)
{
    (void)state;
    test_program t = begin("padding");
    vy_builder *b = t.b;
    vy_dim n = vy_dim_const(b, 5), size = vy_dim_const(b, 8);
    vy_buffer y = param(b, "y", VY_OUT, VY_I32, 40);
    vy_buffer s = vy_shared_array(b, "s", VY_I32, 1, &size);
    vy_workgroup(b, 8, 1, 1);
    vy_value i = vy_over(b, "i", n), me = lid(b, 0);
    store1(b, s, me, i32(b, 1));
    vy_barrier(b);
    // what lanes inside have filled; text/diag/e0715_partial reads what padding lanes would have
    vy_value other = load1(b, s, vy_sub(b, u32(b, 4), me));
    store1(b, y, i, vy_add(b, other, i32(b, 10)));
    store1(b, y, vy_add(b, me, u32(b, 5)), vy_subgroup(b, "add", i32(b, 1)));
    store1(b, y, vy_add(b, me, u32(b, 10)), vy_subgroup(b, "min", i32(b, 3)));
    const vy_value all = vy_subgroup(b, "all", vy_lt(b, i, u32(b, 5)));
    const vy_value any = vy_subgroup(b, "any", vy_lt(b, u32(b, 4), i));
    store1(b, y, vy_add(b, me, u32(b, 15)), vy_cast(b, VY_I32, all));
    store1(b, y, vy_add(b, me, u32(b, 20)), vy_cast(b, VY_I32, any));
    finish(&t);
    int32_t y_data[40];
    vy_eval_report r;
    run_with(&t, ARGS({"y", y_data, 40}), &all_reports, &r);
    assert_memory_equal(y_data, ((int32_t[]){11, 11, 11, 11, 11}), 20);
    for (int k = 0; k < 5; k++) {
        assert_int_equal(y_data[5 + k], 5);
        assert_int_equal(y_data[10 + k], 3);
        assert_int_equal(y_data[15 + k], 1);
        assert_int_equal(y_data[20 + k], 0);
    }
    assert_int_equal(r.uninitialised, 0);
    assert_int_equal(r.races, 0);
    drop(&t);
}

// --------------------------------------------------------------------------------------- subgroups
// Lanes 0..9 of a workgroup of 10 in subgroups of 4: results of op on lane+1.
static void check_reduce(const char *op, vy_type type, const double *want)
{
    test_program t = begin("reduce");
    vy_builder *b = t.b;
    vy_buffer y = param(b, "y", VY_OUT, type, 10);
    vy_workgroup(b, 10, 1, 1);
    vy_value i = lid(b, 0), v = vy_cast(b, type, vy_add(b, i, u32(b, 1)));
    store1(b, y, i, vy_subgroup(b, op, v));
    finish(&t);
    int32_t out[10];
    float fout[10];
    const vy_eval_options o = {.subgroup_size = 4};
    run_with(&t, ARGS({"y", type == VY_F32 ? (void *)fout : (void *)out, 10}), &o, NULL);
    for (int k = 0; k < 10; k++)
        if ((type == VY_F32 ? (double)fout[k] : (double)out[k]) != want[k])
            fail_msg("subgroup_%s, lane %d", op, k);
    drop(&t);
}

static void test_subgroup_reductions(void **state)
{
    (void)state;
#define WANT(...) (const double[]){__VA_ARGS__}
    check_reduce("add", VY_F32, WANT(10, 10, 10, 10, 26, 26, 26, 26, 19, 19));
    check_reduce("add", VY_I32, WANT(10, 10, 10, 10, 26, 26, 26, 26, 19, 19));
    check_reduce("mul", VY_F32, WANT(24, 24, 24, 24, 1680, 1680, 1680, 1680, 90, 90));
    check_reduce("min", VY_I32, WANT(1, 1, 1, 1, 5, 5, 5, 5, 9, 9));
    check_reduce("max", VY_F32, WANT(4, 4, 4, 4, 8, 8, 8, 8, 10, 10));
    check_reduce("and", VY_I32, WANT(0, 0, 0, 0, 0, 0, 0, 0, 8, 8));
    check_reduce("or", VY_U32, WANT(7, 7, 7, 7, 15, 15, 15, 15, 11, 11));
    check_reduce("xor", VY_U32, WANT(4, 4, 4, 4, 12, 12, 12, 12, 3, 3));
    check_reduce("inclusive_add", VY_F32, WANT(1, 3, 6, 10, 5, 11, 18, 26, 9, 19));
    check_reduce("exclusive_add", VY_I32, WANT(0, 1, 3, 6, 0, 5, 11, 18, 0, 9));
}

static void test_subgroup_lanes(void **state)
{
    (void)state;
    test_program t = begin("lanes");
    vy_builder *b = t.b;
    vy_buffer y = param(b, "y", VY_OUT, VY_I32, 40);
    vy_workgroup(b, 10, 1, 1);
    vy_value i = lid(b, 0), v = vy_cast(b, VY_I32, vy_add(b, i, u32(b, 100)));
    const vy_value up = vy_add(b, vy_builtin_value(b, VY_LANE, 0), u32(b, 1));
    const vy_value r[3] = {vy_subgroup_lane(b, "broadcast", v, u32(b, 2)),
                           vy_subgroup_lane(b, "shuffle", v, up),
                           vy_subgroup_lane(b, "shuffle_xor", v, u32(b, 1))};
    for (uint32_t k = 0; k < 3; k++) store1(b, y, vy_add(b, i, u32(b, 10 * k)), r[k]);
    finish(&t);
    int32_t out[40];
    const vy_eval_options o = {.subgroup_size = 4};
    run_with(&t, ARGS({"y", out, 40}), &o, NULL);
    // The last subgroup has two lanes: lane 2 of it does not exist.
    const int32_t want[30] = {102, 102, 102, 102, 106, 106, 106, 106, 0,   0,
                              101, 102, 103, 0,   105, 106, 107, 0,   109, 0,
                              101, 100, 103, 102, 105, 104, 107, 106, 109, 108};
    assert_memory_equal(out, want, sizeof want);
    drop(&t);
}

// ----------------------------------------------------------------------------------------- atomics
static void check_atomic(const char *op, vy_type type, double start, double want)
{
    test_program t = begin("atomic");
    vy_builder *b = t.b;
    vy_buffer x = param(b, "x", VY_INOUT, type, 1), old = param(b, "old", VY_OUT, type, 70);
    vy_value i = vy_over(b, "i", vy_dim_const(b, 70)),
             v = vy_cast(b, type, vy_add(b, i, u32(b, 1)));
    store1(b, old, i, atomic1(b, op, x, u32(b, 0), v));
    finish(&t);
    float fx = (float)start, fold[70];
    uint32_t ux = (uint32_t)(int64_t)start, uold[70];
    const bool is_float = type == VY_F32;
    vy_eval_report r;
    run_with(&t,
             ARGS({"x", is_float ? (void *)&fx : (void *)&ux, 1},
                  {"old", is_float ? (void *)fold : (void *)uold, 70}),
             &all_reports, &r);
    if (is_float ? (double)fx != want : ux != (uint32_t)(int64_t)want) fail_msg("atomic_%s", op);
    assert_true(is_float ? (double)fold[0] == start : uold[0] == (uint32_t)(int64_t)start);
    assert_int_equal(r.races + r.uninitialised + r.out_of_range, 0);
    drop(&t);
}

static void test_atomics(void **state)
{
    (void)state;
    check_atomic("add", VY_F32, 0.5, 2485.5);
    check_atomic("sub", VY_I32, 5, -2480);
    check_atomic("add", VY_U32, 4294967295.0, 2484);
    check_atomic("min", VY_F32, 99, 1);
    check_atomic("max", VY_I32, -5, 70);
    check_atomic("and", VY_U32, 127, 0);
    check_atomic("or", VY_U32, 0, 127);
    check_atomic("xor", VY_U32, 0, 71); // 1 ^ … ^ 70
    check_atomic("exchange", VY_F32, 3, 70);
}

static void test_compare_exchange(void **state)
{
    (void)state;
    test_program t = begin("cas");
    vy_builder *b = t.b;
    vy_buffer x = param(b, "x", VY_INOUT, VY_U32, 1), old = param(b, "old", VY_OUT, VY_U32, 70);
    vy_value i = vy_over(b, "i", vy_dim_const(b, 70)), zero = u32(b, 0);
    store1(b, old, i, vy_atomic_cas(b, x, &zero, i, vy_add(b, i, u32(b, 1))));
    finish(&t);
    uint32_t value = 0, out[70];
    RUN(&t, {"x", &value, 1}, {"old", out, 70});
    assert_int_equal(value, 70);
    for (uint32_t k = 0; k < 70; k++) assert_int_equal(out[k], k);
    drop(&t);
}

// --------------------------------------------------------------------------------- order, races
// Every workgroup runs once, in an order that depends only on the seed.
static void test_shuffled_order(void **state)
{
    (void)state;
    test_program t = begin("order");
    vy_builder *b = t.b;
    vy_buffer c = param(b, "c", VY_INOUT, VY_U32, 1), y = param(b, "y", VY_OUT, VY_U32, 100);
    vy_workgroup(b, 1, 1, 1);
    vy_value i = vy_over(b, "i", vy_dim_const(b, 100));
    store1(b, y, atomic1(b, "add", c, u32(b, 0), u32(b, 1)), i);
    finish(&t);
    uint32_t order[4][100];
    for (uint32_t k = 0; k < 4; k++) {
        uint32_t count = 0;
        bool seen[100] = {false};
        const vy_eval_options o = {.shuffle_seed = k == 3 ? 2 : k};
        run_with(&t, ARGS({"c", &count, 1}, {"y", order[k], 100}), &o, NULL);
        for (uint32_t e = 0; e < 100; e++) seen[order[k][e]] = true;
        for (uint32_t e = 0; e < 100; e++) assert_true(seen[e] && (k || order[0][e] == e));
    }
    assert_memory_not_equal(order[0], order[1], sizeof order[0]);
    assert_memory_not_equal(order[1], order[2], sizeof order[0]);
    assert_memory_equal(order[2], order[3], sizeof order[0]);
    drop(&t);
}

typedef void (*race_body)(vy_builder *b, vy_buffer x, vy_value i);

// Workgroups of 4, domain of 8.
static vy_eval_report races_of(race_body body, uint64_t seed)
{
    test_program t = begin("race");
    vy_builder *b = t.b;
    vy_buffer x = param(b, "x", VY_INOUT, VY_I32, 16);
    vy_workgroup(b, 4, 1, 1);
    vy_value i = vy_over(b, "i", vy_dim_const(b, 8));
    vy_at(b, 7, 3);
    body(b, x, i);
    finish(&t);
    int32_t data[16] = {0};
    vy_eval_options o = all_reports;
    o.shuffle_seed = seed;
    vy_eval_report r;
    run_with(&t, ARGS({"x", data, 16}), &o, &r);
    drop(&t);
    return r;
}

static void own_element(vy_builder *b, vy_buffer x, vy_value i)
{
    store1(b, x, i, vy_add(b, load1(b, x, i), i32(b, 1)));
    store1(b, x, i, i32(b, 2));
}
static void all_read(vy_builder *b, vy_buffer x, vy_value i)
{
    store1(b, x, vy_add(b, i, u32(b, 8)), load1(b, x, u32(b, 0)));
}
static void all_write(vy_builder *b, vy_buffer x, vy_value i)
{
    (void)i; // indices by lane, which E0313 does not analyse
    vy_value lane = vy_builtin_value(b, VY_LANE, 0);
    store1(b, x, vy_add(b, vy_div(b, lane, u32(b, 1000)), u32(b, 3)), i32(b, 1));
}
static void neighbour(vy_builder *b, vy_buffer x, vy_value i)
{
    store1(b, x, i, load1(b, x, vy_add(b, i, u32(b, 1))));
}
static void neighbour_after_barrier(vy_builder *b, vy_buffer x, vy_value i)
{
    store1(b, x, i, i32(b, 5));
    vy_barrier(b);
    vy_value other = vy_xor(b, i, u32(b, 1)); // of the same workgroup
    vy_value v = load1(b, x, other);
    vy_barrier(b);
    store1(b, x, other, v);
}
static void across_groups_despite_barrier(vy_builder *b, vy_buffer x, vy_value i)
{
    store1(b, x, i, i32(b, 5));
    vy_barrier(b);
    store1(b, x, vy_add(b, i, u32(b, 8)), load1(b, x, vy_xor(b, i, u32(b, 4))));
}
static void atomics_only(vy_builder *b, vy_buffer x, vy_value i)
{
    atomic1(b, "add", x, vy_and(b, i, u32(b, 1)), i32(b, 1));
}
static void atomic_and_read(vy_builder *b, vy_buffer x, vy_value i)
{
    atomic1(b, "add", x, u32(b, 0), i32(b, 1));
    store1(b, x, vy_add(b, i, u32(b, 8)), load1(b, x, u32(b, 0)));
}
static void atomic_then_own_write(vy_builder *b, vy_buffer x, vy_value i)
{
    atomic1(b, "max", x, i, i32(b, 1));
    store1(b, x, i, i32(b, 0));
}
// Invocation 0 writes x[9] in the first epoch; one of the other workgroup reads it, whatever
// happens to x[9] in between.
static void hidden_by_a_third(vy_builder *b, vy_buffer x, vy_value i)
{
    vy_if(b, vy_eq(b, i, u32(b, 0)));
    store1(b, x, u32(b, 9), i32(b, 1));
    vy_end(b);
    vy_barrier(b);
    vy_if(b, vy_eq(b, i, u32(b, 1)));
    store1(b, x, u32(b, 9), load1(b, x, u32(b, 9)));
    vy_end(b);
    vy_barrier(b);
    vy_if(b, vy_eq(b, i, u32(b, 6)));
    store1(b, x, u32(b, 10), load1(b, x, u32(b, 9)));
    vy_end(b);
}

// The last lane of each workgroup reads, like all before it, and then writes: the last reader is
// the lane itself, the ones that it races with read earlier.
static void last_reader_writes(vy_builder *b, vy_buffer x, vy_value i)
{
    const vy_value mine = vy_mul(b, vy_div(b, i, u32(b, 4)), u32(b, 4));
    store1(b, x, vy_add(b, i, u32(b, 8)), load1(b, x, mine));
    vy_if(b, vy_eq(b, vy_and(b, i, u32(b, 3)), u32(b, 3)));
    store1(b, x, mine, i32(b, 1));
    vy_end(b);
}
// Invocations 0 and 4, of two workgroups, read; then 4 writes, and races with the first reader.
static void reader_of_another_group(vy_builder *b, vy_buffer x, vy_value i)
{
    vy_if(b, vy_eq(b, vy_and(b, i, u32(b, 3)), u32(b, 0)));
    store1(b, x, vy_add(b, i, u32(b, 8)), load1(b, x, u32(b, 15)));
    vy_end(b);
    vy_if(b, vy_eq(b, i, u32(b, 4)));
    store1(b, x, u32(b, 15), i32(b, 1));
    vy_end(b);
}

static void test_races(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        race_body body;
        bool races;
    } rows[] = {
        {"own element", own_element, false},
        {"all read", all_read, false},
        {"all write", all_write, true},
        {"neighbour", neighbour, true},
        {"neighbour after barrier", neighbour_after_barrier, false},
        {"across groups", across_groups_despite_barrier, true},
        {"atomics only", atomics_only, false},
        {"atomic and read", atomic_and_read, true},
        {"atomic, then own write", atomic_then_own_write, false},
        {"hidden by a third", hidden_by_a_third, true},
        {"last reader writes", last_reader_writes, true},
        {"reader of another group", reader_of_another_group, true},
    };
    for (size_t k = 0; k < COUNT(rows); k++) {
        for (uint64_t seed = 0; seed < 3; seed++) {
            const vy_eval_report r = races_of(rows[k].body, seed);
            if ((r.races > 0) != rows[k].races)
                fail_msg("%s: %d races", rows[k].name, (int)r.races);
            if (!rows[k].races) continue;
            assert_string_equal(r.first.code, "E0709");
            assert_int_equal(r.first.line, 7);
        }
    }
    const vy_eval_report r = races_of(all_write, 0);
    assert_int_equal(r.races, 7);
    assert_string_equal(r.first.text,
                        "data race on x[3]: invocation (i=1) writes it, which invocation "
                        "(i=0) writes");
}

// `out` elements: read before written; an atomic starts from the cleared zero.
static void test_unwritten_out(void **state)
{
    (void)state;
    test_program t = begin("unwritten");
    vy_builder *b = t.b;
    vy_buffer y = param(b, "y", VY_OUT, VY_I32, 4), z = param(b, "z", VY_OUT, VY_I32, 4);
    vy_value i = vy_over(b, "i", vy_dim_const(b, 4));
    vy_if(b, vy_lt(b, i, u32(b, 2)));
    store1(b, y, i, i32(b, 3));
    vy_end(b);
    atomic1(b, "add", z, i, load1(b, y, i));
    store1(b, y, i, load1(b, z, i));
    finish(&t);
    int32_t ys[4], zs[4];
    vy_eval_report r;
    run_with(&t, ARGS({"y", ys, 4}, {"z", zs, 4}), &all_reports, &r);
    assert_int_equal(r.uninitialised, 2);
    assert_int_equal(r.races, 0);
    assert_non_null(strstr(r.first.text, "invocation (i=2) reads y[2]"));
    assert_memory_equal(ys, ((int32_t[]){3, 3, 0, 0}), sizeof ys);
    drop(&t);
}

// A shared array is new in every workgroup: what another one wrote is neither visible nor a race.
static void test_shared_is_per_group(void **state)
{
    (void)state;
    test_program t = begin("fresh");
    vy_builder *b = t.b;
    vy_buffer y = param(b, "y", VY_OUT, VY_I32, 4);
    vy_dim one = vy_dim_const(b, 1);
    vy_buffer s = vy_shared_array(b, "s", VY_I32, 1, &one);
    vy_workgroup(b, 1, 1, 1);
    vy_value i = vy_over(b, "i", vy_dim_const(b, 4));
    vy_if(b, vy_eq(b, i, u32(b, 0)));
    store1(b, s, u32(b, 0), i32(b, 8));
    vy_end(b);
    store1(b, y, i, load1(b, s, u32(b, 0)));
    finish(&t);
    int32_t out[4];
    vy_eval_report r;
    run_with(&t, ARGS({"y", out, 4}), &all_reports, &r);
    assert_int_equal(r.races, 0);
    assert_int_equal(r.uninitialised, 3);
    assert_memory_equal(out, ((int32_t[]){8, 0, 0, 0}), sizeof out);
    drop(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tree_sum),
        cmocka_unit_test(test_missing_barrier),
        cmocka_unit_test(test_padding),
        cmocka_unit_test(test_subgroup_reductions),
        cmocka_unit_test(test_subgroup_lanes),
        cmocka_unit_test(test_atomics),
        cmocka_unit_test(test_compare_exchange),
        cmocka_unit_test(test_shuffled_order),
        cmocka_unit_test(test_races),
        cmocka_unit_test(test_unwritten_out),
        cmocka_unit_test(test_shared_is_per_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
