// SPDX-License-Identifier: MIT
// affine_divide.c: quotients and remainders, of which isl has those by positive constants, rounded
// down.
//
//   i / 4, i % 4      0 ≤ i: there it does not matter how they are rounded
//   i >> 2, i & 3     any i: these are rounded down, whatever its sign
//   (i + 1) % N       0 ≤ i + 1 < 2N: { i + 1 : i + 1 < N; i + 1 − N : i + 1 ≥ N }
#include "autodiff/affine/affine.h"

// Is x a constant that is at least 1?
static bool positive(vy_number x) { return x.range.lo == x.range.hi && x.range.lo >= 1; }

// Is x non-negative everywhere in the domain?
static bool is_natural(const vy_nest *n, vy_number x)
{
    if (x.range.lo >= 0) return true;
    isl_set *bad = vy_nest_below(n, x.pa, 0);
    const bool ok = vy_isl_set_is_empty(bad) == isl_bool_true;
    isl_set_free(bad);
    return ok;
}

static vy_number refuse(vy_number x, vy_number y, vy_affine_why *why)
{
    vy_affine_drop(x, y);
    *why = VY_AFFINE_DIVISION;
    return (vy_number){0};
}

// Is 0 ≤ x < 2y wherever the nest is reached?
static bool is_below_twice(const vy_nest *n, vy_number x, vy_number y)
{
    isl_pw_aff *twice = vy_isl_pw_aff_add(isl_pw_aff_copy(y.pa), isl_pw_aff_copy(y.pa));
    return vy_nest_inside(n, x.pa, twice);
}

// x / y or x % y where 0 ≤ x < 2y: periodic boundaries, `(i + 1) % N`.
static vy_number once_around(const vy_nest *n, vy_op op, vy_number x, vy_number y,
                             vy_affine_why *why)
{
    if (!is_below_twice(n, x, y)) return refuse(x, y, why);
    isl_set *less = vy_isl_pw_aff_lt_set(isl_pw_aff_copy(x.pa), isl_pw_aff_copy(y.pa));
    isl_set *more = vy_isl_pw_aff_ge_set(isl_pw_aff_copy(x.pa), isl_pw_aff_copy(y.pa));
    vy_number r = {.range = {0, op == VY_OP_DIV ? 1 : y.range.hi - 1}};
    isl_pw_aff *first = op == VY_OP_DIV ? vy_nest_number(n, 0) : isl_pw_aff_copy(x.pa);
    isl_pw_aff *second = op == VY_OP_DIV
                             ? vy_nest_number(n, 1)
                             : vy_isl_pw_aff_sub(isl_pw_aff_copy(x.pa), isl_pw_aff_copy(y.pa));
    r.pa = vy_isl_pw_aff_intersect_domain(first, less);
    r.pa = vy_isl_pw_aff_union_add(r.pa, vy_isl_pw_aff_intersect_domain(second, more));
    vy_affine_drop(x, y);
    return r;
}

vy_number vy_affine_divide(const vy_nest *n, vy_op op, vy_number x, vy_number y, vy_affine_why *why)
{
    if (y.range.lo != y.range.hi) return once_around(n, op, x, y, why);
    if (!positive(y) || !is_natural(n, x)) return refuse(x, y, why);
    if (x.range.lo < 0) x.range.lo = 0;
    vy_affine_weigh_both(n->a, x.pa, y.pa);
    return vy_affine_combine(op, x, y);
}

vy_number vy_affine_divide_down(const vy_nest *n, vy_op op, vy_number x, int64_t by)
{
    const vy_interval r = x.range;
    const int64_t lo = r.lo / by - (r.lo % by < 0), hi = r.hi / by - (r.hi % by < 0);
    const vy_number y = {vy_nest_number(n, by), {by, by}};
    x = vy_affine_combine(op, x, y);
    x.range = op == VY_OP_DIV ? (vy_interval){lo, hi} : (vy_interval){0, by - 1};
    if (op == VY_OP_REM && lo == hi) // of one period
        x.range = (vy_interval){r.lo - lo * by, r.hi - lo * by};
    return x;
}

isl_set *vy_affine_signs_differ(const vy_nest *n, vy_number x, vy_number y, bool holds)
{
    isl_set *all = vy_isl_set_universe(isl_space_copy(n->space));
    isl_set *a = vy_isl_pw_aff_lt_set(x.pa, vy_nest_number(n, 0));
    isl_set *b = y.range.lo >= 0
                     ? vy_isl_set_empty(isl_space_copy(n->space))
                     : vy_isl_pw_aff_lt_set(isl_pw_aff_copy(y.pa), vy_nest_number(n, 0));
    isl_pw_aff_free(y.pa);
    isl_set *one = vy_isl_set_subtract(isl_set_copy(a), isl_set_copy(b));
    one = vy_isl_set_union(one, vy_isl_set_subtract(b, a));
    return holds ? vy_isl_set_intersect(all, one) : vy_isl_set_subtract(all, one);
}
