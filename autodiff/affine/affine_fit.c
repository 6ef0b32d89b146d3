// SPDX-License-Identifier: MIT
// affine_fit.c: makes functions wrap as values of their type do.
//
//   i + 1            i < N, N < 2^30: conservative bounds show that it fits, without isl
//   i - 1   (u32)    where `i > 0` is not known: { i - 1 : i >= 1; i + 4294967295 : i <= 0 }
//   8 * i   (u32)    may exceed its type by several periods: refused
//
// The wrapped piece costs nothing where it is unreachable; where it is reachable it is still exact:
// an index of four thousand million is out of range.
#include "autodiff/affine/affine.h"
#include "autodiff/affine/single.h"

enum { MAX_PIECES = 4 }; // of a function: each sum that may wrap doubles their number

vy_interval vy_affine_type(vy_type t)
{
    const vy_interval whole = vy_interval_of_type(t);
    if (vy_type_size(t) < 8) return whole;
    return (vy_interval){vy_type_is_signed(t) ? whole.lo / 2 : 0, whole.hi / 2};
}

isl_set *vy_nest_reached(const vy_nest *n)
{
    return vy_affine_within(isl_set_copy(n->domain), isl_set_copy(n->a->context));
}

bool vy_nest_inside(const vy_nest *n, isl_pw_aff *v, isl_pw_aff *extent)
{
    isl_set *here = vy_nest_reached(n);
    const bool below = vy_affine_always_less(here, v, extent);
    const bool inside = below && vy_affine_always_at_least(here, v, vy_nest_number(n, 0));
    isl_set_free(here);
    return inside;
}

isl_set *vy_nest_below(const vy_nest *n, isl_pw_aff *pa, int64_t bound)
{
    return vy_isl_set_intersect(vy_isl_pw_aff_lt_set(isl_pw_aff_copy(pa), vy_nest_number(n, bound)),
                                vy_nest_reached(n));
}

static isl_set *above(const vy_nest *n, isl_pw_aff *pa, int64_t bound)
{
    return vy_isl_set_intersect(vy_isl_pw_aff_gt_set(isl_pw_aff_copy(pa), vy_nest_number(n, bound)),
                                vy_nest_reached(n));
}

static isl_pw_aff *restricted(isl_pw_aff *pa, isl_set *where, int64_t shift)
{
    isl_pw_aff *r = vy_isl_pw_aff_intersect_domain(isl_pw_aff_copy(pa), where);
    return shift ? vy_isl_pw_aff_add_constant_val(r, shift) : r;
}

static const int64_t wrap = INT64_C(1) << 32;

// Does x exceed the 32-bit range r by at most one period?
static bool wraps_once(const vy_nest *n, vy_number x, vy_interval r)
{
    isl_set *far =
        vy_isl_set_union(vy_nest_below(n, x.pa, r.lo - wrap), above(n, x.pa, r.hi + wrap));
    const bool once = vy_isl_set_is_empty(far) == isl_bool_true;
    isl_set_free(far);
    return once;
}

// Three pieces: where x is within r, below it, and above it.
static vy_number wrapped(const vy_nest *n, vy_number x, vy_interval r, isl_set *low, isl_set *high)
{
    isl_set *fits = vy_isl_set_subtract(vy_isl_set_subtract(vy_nest_reached(n), isl_set_copy(low)),
                                        isl_set_copy(high));
    isl_pw_aff *pa = restricted(x.pa, fits, 0);
    pa = vy_isl_pw_aff_union_add(pa, restricted(x.pa, isl_set_copy(low), wrap));
    pa = vy_isl_pw_aff_union_add(pa, restricted(x.pa, isl_set_copy(high), -wrap));
    return (vy_number){pa, r};
}

static vy_number refuse(vy_number x, vy_affine_why reason, vy_affine_why *why)
{
    *why = reason;
    isl_pw_aff_free(x.pa);
    return (vy_number){0};
}

vy_number vy_affine_fit(const vy_nest *n, vy_number x, vy_type t, vy_affine_why *why)
{
    const vy_interval r = vy_affine_type(t);
    if (!x.pa) return refuse(x, VY_AFFINE_LIMIT, why);
    if (vy_interval_within(x.range, r)) return x;
    if (isl_pw_aff_n_piece(x.pa) > MAX_PIECES) return refuse(x, VY_AFFINE_LIMIT, why);
    isl_set *low = vy_nest_below(n, x.pa, r.lo), *high = above(n, x.pa, r.hi);
    const isl_bool under = vy_isl_set_is_empty(low), over = vy_isl_set_is_empty(high);
    vy_number out = x;
    if (out.range.lo < r.lo) out.range.lo = r.lo;
    if (out.range.hi > r.hi) out.range.hi = r.hi;
    if (under == isl_bool_error || over == isl_bool_error)
        out = refuse(x, VY_AFFINE_LIMIT, why);
    else if ((!under || !over) && (vy_type_size(t) != 4 || !wraps_once(n, x, r)))
        out = refuse(x, VY_AFFINE_WRAP, why);
    else if (!under || !over) {
        out = wrapped(n, x, r, low, high);
        isl_pw_aff_free(x.pa);
    }
    isl_set_free(low);
    isl_set_free(high);
    return out;
}
