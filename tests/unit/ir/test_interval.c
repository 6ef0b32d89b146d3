// SPDX-License-Identifier: MIT
// test_interval.c: the results of ir/facts/interval.c for operations on intervals, against all
// values in them.
//
// Every operation of the table on two integers, every type, every pair of small intervals around
// the ends of the types and around powers of two; of wide ones samples.  The reference is
// vy_scalar_eval.
#include "ir/facts/interval.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { VALUES = 6, MOST = 160 };

// An interval, and all or some of its values.
typedef struct some {
    vy_interval is;
    uint32_t count;
    bool all;
    vy_scalar at[VALUES];
} some;

static const vy_type types[] = {VY_I32, VY_U32, VY_I64, VY_U64};

static some sample(vy_interval is)
{
    some s = {.is = is, .all = (uint64_t)is.hi - (uint64_t)is.lo < VALUES};
    if (s.all) {
        for (; s.count <= (uint64_t)is.hi - (uint64_t)is.lo; s.count++)
            s.at[s.count].i = (int64_t)((uint64_t)is.lo + s.count);
        return s;
    }
    const int64_t half = (int64_t)(((uint64_t)is.hi - (uint64_t)is.lo) / 2);
    const int64_t v[] = {is.lo, is.lo + 1, is.lo + half, is.hi - 1, is.hi, is.lo + half / 3};
    for (s.count = 0; s.count < VALUES; s.count++) s.at[s.count].i = v[s.count];
    return s;
}

// Intervals of a type.  A u64 from 2^63 on is negative here, as everywhere; no interval has both.
static uint32_t intervals(vy_type t, some out[MOST])
{
    static const int64_t at[] = {INT64_MIN,  INT32_MIN,
                                 -8,         -3,
                                 -1,         0,
                                 1,          5,
                                 31,         INT32_MAX - 1,
                                 INT32_MAX,  INT64_C(1) << 31,
                                 UINT32_MAX, INT64_C(1) << 32,
                                 INT64_MAX};
    static const int64_t wide[] = {0, 1, 4, 40, INT32_MAX, INT64_MAX};
    const vy_interval whole = vy_interval_of_type(t);
    uint32_t n = 0;
    for (size_t k = 0; k < sizeof at / sizeof *at; k++)
        for (size_t w = 0; w < sizeof wide / sizeof *wide; w++) {
            vy_interval is = {at[k], at[k]};
            if (__builtin_add_overflow(at[k], wide[w], &is.hi)) is.hi = INT64_MAX;
            if (t == VY_U64 && is.lo < 0 && is.hi >= 0) is.hi = -1;
            if (vy_interval_within(is, whole)) out[n++] = sample(is);
        }
    out[n++] = sample(whole);
    assert_true(n <= MOST);
    return n;
}

static bool is_in(vy_scalar v, vy_interval x) { return x.lo <= v.i && v.i <= x.hi; }

// The value without wrapping: of a u64, the unsigned number.
static __int128 number(vy_type t, vy_scalar v) { return t == VY_U64 ? (__int128)v.u : v.i; }

static __int128 arithmetic(vy_op op, __int128 x, __int128 y)
{
    if (op == VY_OP_ADD || op == VY_OP_SUB) return op == VY_OP_ADD ? x + y : x - y;
    // The product of two u64 may wrap to a negative __int128.  The comparison stays right: neither
    // it nor the true product is a u64.
    return (__int128)((unsigned __int128)x * (unsigned __int128)y);
}

// What evaluating a pair's values finds: the bounds of the results, and whether none wrapped.
typedef struct found {
    vy_interval is;
    bool kept;
} found;

static found go_through(vy_op op, vy_type t, const some *x, const some *y, vy_interval said)
{
    const bool wraps = op == VY_OP_ADD || op == VY_OP_SUB || op == VY_OP_MUL;
    found f = {{INT64_MAX, INT64_MIN}, true};
    for (uint32_t a = 0; a < x->count; a++)
        for (uint32_t b = 0; b < y->count; b++) {
            const vy_scalar args[] = {x->at[a], y->at[b]};
            vy_scalar v;
            assert_true(vy_scalar_eval(op, t, t, args, 0, false, &v));
            if (!is_in(v, said))
                fail_msg("%s of %s: %lld, %lld gives %lld, not in %lld … %lld", vy_op_infos[op].id,
                         vy_type_name(t), (long long)args[0].i, (long long)args[1].i,
                         (long long)v.i, (long long)said.lo, (long long)said.hi);
            f.is = vy_interval_join(f.is, (vy_interval){v.i, v.i});
            f.kept &=
                !wraps || number(t, v) == arithmetic(op, number(t, args[0]), number(t, args[1]));
        }
    return f;
}

static bool same(vy_interval x, vy_interval y) { return x.lo == y.lo && x.hi == y.hi; }

// Sums, differences and products have exact bounds where nothing wraps; minima and maxima always.
// Nothing is known of u64 values that read as negative.
static void check_pair(vy_op op, vy_type t, const some *x, const some *y)
{
    bool exact;
    const vy_interval said = vy_interval_binary(op, t, x->is, y->is, &exact);
    const found f = go_through(op, t, x, y, said);
    const bool clear = t != VY_U64 || (x->is.lo >= 0 && y->is.lo >= 0 && f.is.lo >= 0);
    const bool sum = op == VY_OP_ADD || op == VY_OP_SUB || op == VY_OP_MUL;
    assert_true(f.kept || !exact);
    assert_true(sum || !exact);
    if (!x->all || !y->all || !clear) return;
    if (sum) assert_true(exact == f.kept);
    if (exact || op == VY_OP_MIN || op == VY_OP_MAX) assert_true(same(said, f.is));
}

static void test_operations(void **state)
{
    (void)state;
    uint32_t ops = 0;
    for (int op = 1; op < VY_OP_COUNT; op++) {
        const vy_op_info *info = &vy_op_infos[op];
        const bool whole =
            info->rule == VY_RULE_N || info->rule == VY_RULE_I || info->rule == VY_RULE_IB;
        if (info->effect != VY_PURE || info->arity != 2 || !whole) continue;
        ops++;
        for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
            some x[MOST];
            const uint32_t n = intervals(types[k], x);
            for (uint32_t a = 0; a < n; a++)
                for (uint32_t b = 0; b < n; b++) check_pair((vy_op)op, types[k], &x[a], &x[b]);
        }
    }
    assert_int_equal(ops, 12); // + - * / % min max & | ^ << >>
}

// Quotients, remainders and shifts of small non-negative numbers are close to exact: 5 … 7 divided
// by 2 is 2 … 3, and no multiple of 8 lies in 9 … 12.
static void test_close(void **state)
{
    (void)state;
    bool exact;
#define IS(op, a, b, c, d, lo, hi)                                                                 \
    assert_true(same(vy_interval_binary(VY_OP_##op, VY_U32, (vy_interval){a, b},                   \
                                        (vy_interval){c, d}, &exact),                              \
                     (vy_interval){lo, hi}))
    IS(DIV, 5, 7, 2, 2, 2, 3);
    IS(DIV, 5, 7, 0, 2, 0, 7);
    IS(DIV, 5, 7, 0, 0, 0, 0);
    assert_true(same(vy_interval_binary(VY_OP_DIV, VY_I32, (vy_interval){-7, 5},
                                        (vy_interval){2, 3}, &exact),
                     (vy_interval){-3, 2}));
    IS(REM, 9, 12, 8, 8, 1, 4);
    IS(REM, 7, 8, 8, 8, 0, 7);
    IS(REM, 0, 100, 1, 9, 0, 8);
    IS(REM, 0, 3, 0, 9, 0, 3);
    IS(AND, 0, 100, 0, 7, 0, 7);
    IS(SHR, 8, 17, 2, 2, 2, 4);
    IS(SHR, 8, 17, 0, 2, 0, 17);
#undef IS
}

static void test_casts(void **state)
{
    (void)state;
    for (vy_type from = VY_BOOL; from <= VY_U16; from++)
        for (vy_type to = VY_BOOL; to <= VY_U64; to++) {
            if (!vy_type_is_integer(from) || !vy_type_is_integer(to)) continue;
            some x[MOST];
            const uint32_t n = intervals(from, x);
            for (uint32_t a = 0; a < n; a++) {
                bool exact, kept = true;
                const vy_interval said = vy_interval_cast(from, to, x[a].is, &exact);
                for (uint32_t k = 0; k < x[a].count; k++) {
                    vy_scalar v;
                    if (!vy_scalar_eval(VY_OP_CAST, from, to, &x[a].at[k], 0, false, &v)) continue;
                    assert_true(is_in(v, said));
                    kept &= number(from, x[a].at[k]) == number(to, v);
                }
                assert_true(kept || !exact);
                if (x[a].all && (from != VY_U64 || x[a].is.lo >= 0)) assert_true(exact == kept);
            }
        }
}

static void check_comparison(vy_op op, vy_type t, const some *x, const some *y)
{
    const int said = vy_interval_compare(op, t, x->is, y->is);
    bool seen[2] = {false, false};
    for (uint32_t a = 0; a < x->count; a++)
        for (uint32_t b = 0; b < y->count; b++) {
            const vy_scalar args[] = {x->at[a], y->at[b]};
            vy_scalar v;
            assert_true(vy_scalar_eval(op, t, VY_BOOL, args, 0, false, &v));
            seen[v.u != 0] = true;
        }
    assert_false(said >= 0 && seen[!said]);
    const bool clear = t != VY_U64 || (x->is.lo >= 0 && y->is.lo >= 0);
    if (x->all && y->all && clear) assert_true((said < 0) == (seen[0] && seen[1]));
}

// Numbers k with from ≤ k < to.
static void check_counter(vy_type t, const some *from, const some *to)
{
    const vy_interval said = vy_interval_counter(t, from->is, to->is);
    for (uint32_t a = 0; a < from->count; a++)
        for (uint32_t b = 0; b < to->count; b++) {
            const vy_scalar first = from->at[a], end = to->at[b];
            if (number(t, first) >= number(t, end)) continue;
            assert_true(is_in(first, said));
            assert_true(is_in((vy_scalar){.u = end.u - 1}, said));
        }
}

static void test_conditions(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        some x[MOST];
        const uint32_t n = intervals(types[k], x);
        for (uint32_t a = 0; a < n; a++)
            for (uint32_t b = 0; b < n; b++) {
                for (vy_op op = VY_OP_NONE; op < VY_OP_COUNT; op++)
                    if (op == VY_OP_EQ || op == VY_OP_NE || op == VY_OP_LT || op == VY_OP_LE)
                        check_comparison(op, types[k], &x[a], &x[b]);
                check_counter(types[k], &x[a], &x[b]);
            }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operations),
        cmocka_unit_test(test_close),
        cmocka_unit_test(test_casts),
        cmocka_unit_test(test_conditions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
