// SPDX-License-Identifier: MIT
// affine_limit.c: a limit on isl's work that does not depend on a clock.
//
// isl counts its operations, pivots and allocations, and gives up at a limit.  The time of one
// grows with the set: 0.3 µs for the sets of stencils and convolutions, 3 µs where conditions have
// many cases with remainders of sums in each.  So the limit falls with the number of dimensions,
// cases and divisions of the current set.  The tasks of a round share one count: a heavy task gives
// up early and leaves the rest of the budget to the lighter ones.
#include "autodiff/affine/affine.h"

#include <isl/aff.h>

enum {
    MAX_OPERATIONS = 2400000, // of a round of small sets: 400 taps of a stencil take 1,650,000
    LIGHT = 8,                // weights below are light; a weight is cases × (1 + divisions)²
    HALF = 4,                 // the weight that halves the limit
    MEETING = 16              // what quotients that meet in a maximum add to its weight
};

bool vy_affine_ok(const vy_affine *a)
{
    return !a->failed && a->ctx && !vy_isl_memory_failed(a->memory) &&
           isl_ctx_last_error(a->ctx) == isl_error_none;
}

bool vy_affine_spent(const vy_affine *a) { return a->spent; }

static void set_limit(vy_affine *a)
{
    const uint64_t n = a->params.count + a->dims;
    const uint64_t by = (1 + n * n / 64) * (1 + a->weight / HALF) * (a->thrifty ? 4 : 1);
    const uint64_t most = MAX_OPERATIONS / by;
    isl_ctx_set_max_operations(a->ctx, most ? most : 1); // 0: no limit
}

void vy_affine_limit(vy_affine *a, uint32_t dims)
{
    a->dims = dims;
    a->weight = 0;
    set_limit(a);
}

static void weigh(vy_affine *a, uint64_t weight)
{
    if (weight <= a->weight) return;
    a->weight = weight < UINT32_MAX ? (uint32_t)weight : UINT32_MAX;
    set_limit(a);
}

// ----------------------------------------------------------------------------------------- weights
static isl_stat count_divisions(isl_basic_set *s, void *user)
{
    uint32_t *most = user;
    const int n = (int)isl_basic_set_dim(s, isl_dim_div);
    if (n > 0 && (uint32_t)n > *most) *most = (uint32_t)n;
    isl_basic_set_free(s);
    return isl_stat_ok;
}

static uint64_t weight_of(isl_set *set)
{
    uint32_t divisions = 0;
    const int cases = (int)isl_set_n_basic_set(set);
    if (cases <= 0) return 0;
    isl_set_foreach_basic_set(set, count_divisions, &divisions);
    return (uint64_t)cases * (1 + divisions) * (1 + divisions);
}

static isl_stat add_piece(isl_set *set, isl_aff *aff, void *user)
{
    uint64_t *sum = user;
    const int own = (int)isl_aff_dim(aff, isl_dim_div);
    *sum += weight_of(set) + (own > 0 ? (uint64_t)own : 0);
    isl_set_free(set);
    isl_aff_free(aff);
    return isl_stat_ok;
}

static uint64_t weight_of_value(isl_pw_aff *x)
{
    uint64_t sum = 0;
    if (x) isl_pw_aff_foreach_piece(x, add_piece, &sum);
    return sum < UINT32_MAX ? sum : UINT32_MAX;
}

void vy_affine_weigh(vy_affine *a, isl_set *set)
{
    if (set) weigh(a, weight_of(set));
}

// A maximum is found by integer programming, whose steps work on numbers of hundreds of bits once
// quotients meet: 1 µs each where a case has one division, 8 µs where it has two.  What is found
// takes 0.02 s at most, of cases with one.  Once isl has given up on some, the next attempts have
// similar ones: each leaves an eighth of the limit to those behind it.
void vy_affine_weigh_maximum(vy_affine *a, isl_set *set)
{
    uint32_t divisions = 0;
    if (set) isl_set_foreach_basic_set(set, count_divisions, &divisions);
    const uint64_t square = (uint64_t)divisions * divisions;
    const uint64_t weight = HALF * square * square * (divisions > 1 ? MEETING : 1);
    const uint32_t before = a->memory->given_up < 4 ? a->memory->given_up : 4;
    weigh(a, before ? (HALF + weight) << 3 * before : weight);
}

void vy_affine_weigh_both(vy_affine *a, isl_pw_aff *x, isl_pw_aff *y)
{
    weigh(a, weight_of_value(x) * weight_of_value(y));
}

// ------------------------------------------------------------------------------------------ rounds
void vy_affine_reset(vy_affine *a)
{
    a->failed |= vy_isl_memory_failed(a->memory);
    a->spent |= a->round && a->weight < LIGHT && isl_ctx_last_error(a->ctx) == isl_error_quota;
    isl_ctx_reset_error(a->ctx);
    if (!a->round) isl_ctx_reset_operations(a->ctx);
}

void vy_affine_begin_round(vy_affine *a)
{
    a->failed |= vy_isl_memory_failed(a->memory);
    a->round = true;
    a->spent = false;
    isl_ctx_reset_error(a->ctx);
    isl_ctx_reset_operations(a->ctx);
}
