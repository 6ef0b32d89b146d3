// SPDX-License-Identifier: MIT
// single.h: comparisons and relations of functions that are one affine expression everywhere.
//
// isl compares functions of pieces pair by pair and asks of each pair whether integer points are in
// it: most of the time of small programs.  One expression compared with one is one constraint.
#ifndef VYRE_SINGLE_H
#define VYRE_SINGLE_H

#include "autodiff/core/isl_known.h"

#include <stdbool.h>

// Where x < y, and where x >= y; both take x and y.
isl_set *vy_affine_less(isl_pw_aff *x, isl_pw_aff *y);
isl_set *vy_affine_at_least(isl_pw_aff *x, isl_pw_aff *y);
// Is x < y, or x >= y, on all of `here`?  Both keep `here` and x, and take y.  Where x has several
// pieces they are asked one after the other, and the first that is not refutes the rest: where that
// is for all of them is a set of more cases than any of these, and is not needed.
bool vy_affine_always_less(isl_set *here, isl_pw_aff *x, isl_pw_aff *y);
bool vy_affine_always_at_least(isl_set *here, isl_pw_aff *x, isl_pw_aff *y);
// The expression that the function is on all points; NULL: it has other pieces, or holes.
// Keeps it.
isl_aff *vy_affine_single(isl_pw_aff *f);
// { points of `domain` → (of[0], of[1], …) }; takes `domain`, of which it has the dimensions, and
// keeps the functions.
isl_map *vy_affine_relation(isl_set *domain, isl_pw_aff *const *of, int count);

// The set where the parameters are as `params` says; takes both.  Two conjunctions become one: isl
// asks besides whether integer points are in it, which costs more than all else here, and is asked
// later where it matters.
isl_set *vy_affine_within(isl_set *set, isl_set *params);

#endif
