// SPDX-License-Identifier: MIT
// test_isl_known.c: answers of isl that are remembered (autodiff/core/isl_known.c): they are isl's,
// of the very question that is asked, and found again however often.
#include "autodiff/core/isl_known.h"
#include "ir/core/mem.h"

#include <isl/options.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { SETS = 6, ROUNDS = 2000 };

typedef struct world {
    vy_isl_memory m;
    isl_set *set[SETS]; // of two dimensions
    uint32_t random;
} world;

static uint32_t below(world *w, uint32_t n)
{
    w->random = w->random * 1664525 + 1013904223;
    return (w->random >> 8) % n;
}

static isl_space *plane(world *w) { return vy_isl_space_set_alloc(w->m.ctx, 0, 2); }

static void begin(world *w)
{
    *w = (world){.random =
                     (uint32_t)(getenv("VYRE_FRESH_SEED") ? atol(getenv("VYRE_FRESH_SEED")) : 7)};
    assert_true(vy_isl_memory_begin(&w->m));
    isl_options_set_on_error(w->m.ctx, ISL_ON_ERROR_CONTINUE);
    for (int64_t k = 0; k < SETS; k++) {
        isl_set *s = vy_isl_set_universe(plane(w));
        s = vy_isl_set_lower_bound_si(s, isl_dim_set, k % 2, k);
        w->set[k] = vy_isl_set_upper_bound_val(s, isl_dim_set, k / 2 % 2, 2 * k + 3);
    }
}

static void end(world *w)
{
    for (uint32_t k = 0; k < SETS; k++) isl_set_free(w->set[k]);
    vy_isl_memory_end(&w->m);
}

// A test that fails leaves its world to teardown: contexts of a thread are a list (isl_memory.h).
static int setup(void **state)
{
    world *w = malloc(sizeof *w);
    if (!w) return -1;
    begin(w);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    vy_test_fail_after(-1);
    end(*state);
    free(*state);
    return 0;
}

static isl_set *copy(isl_set *s) { return isl_set_copy(s); }

// One of the functions of two sets, asked as remembered or not.
static isl_set *combine(uint32_t what, isl_set *a, isl_set *b, bool known)
{
    switch (what) {
    case 0: return (known ? vy_isl_set_intersect : isl_set_intersect)(copy(a), copy(b));
    case 1: return (known ? vy_isl_set_union : isl_set_union)(copy(a), copy(b));
    case 2: return (known ? vy_isl_set_subtract : isl_set_subtract)(copy(a), copy(b));
    default: return (known ? vy_isl_set_coalesce : isl_set_coalesce)(copy(a));
    }
}

// Bounds of dimension k, through functions with numbers.
static isl_set *bounded(uint32_t what, isl_set *a, uint32_t k, int n, bool known)
{
    switch (what) {
    case 0: return (known ? vy_isl_set_coalesce : isl_set_coalesce)(copy(a));
    case 1:
        return known ? vy_isl_set_lower_bound_si(copy(a), isl_dim_set, k, n)
                     : isl_set_lower_bound_si(copy(a), isl_dim_set, k, n);
    case 2:
        return known ? vy_isl_set_upper_bound_si(copy(a), isl_dim_set, k, n)
                     : isl_set_upper_bound_si(copy(a), isl_dim_set, k, n);
    default:
        return known ? vy_isl_set_drop_constraints_involving_dims(copy(a), isl_dim_set, k, 1)
                     : isl_set_drop_constraints_involving_dims(copy(a), isl_dim_set, k, 1);
    }
}

// Questions that differ in one operand, their order, the function or a number: each has its answer.
static void of_the_question(void **state)
{
    world *w = *state;
    for (uint32_t n = 0; n < ROUNDS; n++) {
        const uint32_t what = below(w, 4), i = below(w, SETS), j = below(w, SETS);
        const uint32_t k = below(w, 2);
        const int by = (int)below(w, 9) - 4;
        isl_set *x = combine(what, w->set[i], w->set[j], true);
        isl_set *y = combine(what, w->set[i], w->set[j], false);
        assert_int_equal(isl_set_is_equal(x, y), isl_bool_true);
        isl_set *u = bounded(what, x, k, by, true), *v = bounded(what, y, k, by, false);
        assert_int_equal(isl_set_is_equal(u, v), isl_bool_true);
        assert_int_equal(vy_isl_set_is_subset(w->set[i], u), isl_set_is_subset(w->set[i], v));
        assert_int_equal(vy_isl_set_is_empty(u), isl_set_is_empty(v));
        isl_set_free(x);
        isl_set_free(y);
        isl_set_free(v);
        if (below(w, 4) == 0) { // what is asked of next is another set, wherever it lies
            isl_set_free(w->set[j]);
            w->set[j] = u;
        } else {
            isl_set_free(u);
        }
    }
}

static isl_pw_aff *sum(world *w, int64_t by)
{
    isl_pw_aff *x = vy_isl_variable(plane(w), isl_dim_set, 0);
    isl_pw_aff *y = vy_isl_pw_aff_scale_val(vy_isl_variable(plane(w), isl_dim_set, 1), by);
    return vy_isl_pw_aff_add(x, y);
}

// What is made again from names and numbers is the same object, and nothing is computed for it.
static void once(void **state)
{
    world *w = *state;
    isl_pw_aff *x = sum(w, 3), *other = sum(w, 4);
    const uint32_t count = vy_isl_known_count(&w->m);
    isl_pw_aff *y = sum(w, 3);
    assert_ptr_equal(x, y);
    assert_ptr_not_equal(x, other);
    assert_int_equal(vy_isl_known_count(&w->m), count);
    isl_pw_aff_free(x);
    isl_pw_aff_free(y);
    isl_pw_aff_free(other);
}

// Memory does not grow with the number of questions.
static void bounded_number(void **state)
{
    world *w = *state;
    uint32_t most = 0;
    for (int64_t k = 0; k < VY_ISL_MOST_ANSWERS; k++) { // two questions each
        isl_pw_aff *x = sum(w, k), *y = sum(w, k);
        assert_int_equal(isl_pw_aff_plain_is_equal(x, y), isl_bool_true);
        if (most < vy_isl_known_count(&w->m)) most = vy_isl_known_count(&w->m);
        isl_pw_aff_free(x);
        isl_pw_aff_free(y);
    }
    assert_in_range(most, VY_ISL_MOST_ANSWERS - 1, VY_ISL_MOST_ANSWERS);
    assert_true(vy_isl_known_count(&w->m) < VY_ISL_MOST_ANSWERS);
}

// Of what isl gives up nothing is remembered, and until it is told to go on nothing is recalled.
static void given_up(void **state)
{
    world *w = *state;
    isl_set *known = combine(0, w->set[0], w->set[1], true);
    const uint32_t count = vy_isl_known_count(&w->m);
    isl_ctx_set_max_operations(w->m.ctx, 1);
    isl_ctx_reset_operations(w->m.ctx);
    isl_set *none = combine(2, w->set[2], w->set[3], true);
    assert_null(none);
    assert_null(combine(0, w->set[0], w->set[1], true));
    assert_int_equal(vy_isl_known_count(&w->m), count);
    isl_ctx_set_max_operations(w->m.ctx, 0);
    isl_ctx_reset_error(w->m.ctx);
    isl_ctx_reset_operations(w->m.ctx);
    isl_set *again = combine(0, w->set[0], w->set[1], true),
            *now = combine(2, w->set[2], w->set[3], true);
    assert_ptr_equal(again, known);
    assert_non_null(now);
    isl_set_free(known);
    isl_set_free(again);
    isl_set_free(now);
}

// One of the questions about sets and functions with quotients, within `most` operations.
static void ask_within(world *w, uint32_t what, uint32_t most, isl_pw_aff *const *f, isl_set *s)
{
    isl_pw_aff *x = isl_pw_aff_copy(f[0]), *y = isl_pw_aff_copy(f[1]);
    isl_set *a = copy(s);
    isl_ctx_set_max_operations(w->m.ctx, most);
    isl_ctx_reset_operations(w->m.ctx);
    const uint32_t before = vy_isl_known_count(&w->m);
    switch (what) {
    case 0: x = vy_isl_pw_aff_add(x, isl_pw_aff_copy(y)); break;
    case 1: x = vy_isl_pw_aff_max(x, isl_pw_aff_copy(y)); break;
    case 2: a = vy_isl_set_remove_divs(a); break;
    default: (void)vy_isl_set_is_subset(a, w->set[3]); break;
    }
    if (isl_ctx_last_error(w->m.ctx) != isl_error_none)
        assert_int_equal(vy_isl_known_count(&w->m), before);
    isl_ctx_set_max_operations(w->m.ctx, 0);
    isl_ctx_reset_error(w->m.ctx);
    isl_pw_aff_free(x);
    isl_pw_aff_free(y);
    isl_set_free(a);
}

// Some functions give something when isl had too few operations, in the last steps: that is no
// answer.  (isl_set_gist leaks then, in isl 0.25.)
static void within_budgets(void **state)
{
    world *w = *state;
    isl_pw_aff *f[] = {
        isl_pw_aff_read_from_str(w->m.ctx, "[n, m] -> {[i, j] -> [floor((i + n)/3)] : 0 <= i < n "
                                           "and 0 <= j < m; [i, j] -> [j + 1] : i >= n}"),
        isl_pw_aff_read_from_str(w->m.ctx, "[n, m] -> {[i, j] -> [2i + j] : i > j; "
                                           "[i, j] -> [m - j] : i <= j and j mod 4 = 1}")};
    isl_set *s =
        isl_set_read_from_str(w->m.ctx,
                              "[n, m] -> {[i, j] : 0 <= i < n and exists a : 3a <= j <= 2a + m}");
    for (uint32_t what = 0; what < 4; what++)
        for (uint32_t most = 1; most < 1200; most++) {
            ask_within(w, what, most, f, s);
            vy_isl_forget(&w->m);
        }
    isl_pw_aff_free(f[0]);
    isl_pw_aff_free(f[1]);
    isl_set_free(s);
}

// An answer for which there is no room is an answer, and the failure is known.
static void without_memory(void **state)
{
    world *w = *state;
    uint32_t failures = 0;
    enum { SUMS = 200, OF_ALL = 5, OF_EACH = 2 }; // two variables; a multiple and a sum
    for (long n = 0;; n++) {
        end(w);
        begin(w);
        const uint32_t before = vy_isl_known_count(&w->m);
        vy_test_fail_after(n);
        for (int64_t k = 0; k < SUMS; k++) isl_pw_aff_free(sum(w, k));
        vy_test_fail_after(-1);
        const bool failed = vy_isl_memory_failed(&w->m);
        if (!failed) assert_int_equal(vy_isl_known_count(&w->m), before + OF_ALL + OF_EACH * SUMS);
        failures += failed;
        if (!failed || n > 100) break;
    }
    assert_true(failures > 1);
}

int main(void)
{
#define OF_A_WORLD(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {OF_A_WORLD(of_the_question), OF_A_WORLD(once),
                                       OF_A_WORLD(given_up),        OF_A_WORLD(within_budgets),
                                       OF_A_WORLD(bounded_number),  OF_A_WORLD(without_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
