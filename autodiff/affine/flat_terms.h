// SPDX-License-Identifier: MIT
// flat_terms.h: an index as a sum of terms, each a value times numbers that a launch does not
// change.
//
//   (b * H + h) * W + w - 1     →     H·W · b  +  W · h  +  w  −  1
//
// What branches choose between is a term of each branch, 0 in the other:
//
//   (c ? y : z * H + y) * W     →     W · (c ? y : 0)  +  H·W · (c ? 0 : z)  +  W · (c ? 0 : y)
#ifndef VYRE_FLAT_TERMS_H
#define VYRE_FLAT_TERMS_H

#include "autodiff/affine/affine.h"

enum { VY_FLAT_FACTORS = 8, VY_FLAT_TERMS = 32, VY_FLAT_GUARDS = 8 };

// A condition, and what it has to be.
typedef struct vy_flat_guard {
    uint32_t condition;
    bool holds;
} vy_flat_guard;

// ±constant · value · factor[0] · factor[1] …; factors are given by their forms.  0 where a guard
// is not as it has to be.
typedef struct vy_flat_term {
    uint32_t value;                      // 0: 1
    vy_flat_guard guard[VY_FLAT_GUARDS]; // outermost first
    uint32_t guards;
    bool minus;
    int64_t constant;
    vy_extent factor[VY_FLAT_FACTORS];
    uint32_t count;
} vy_flat_term;

typedef struct vy_flat_terms {
    vy_flat_term term[VY_FLAT_TERMS];
    uint32_t count;
} vy_flat_terms;

// The terms of integer `id`, whose sum it is modulo 2³² (2⁶⁴ where it has 64 bits).  place: the
// instruction whose index it is, if results of `if`s around it that it knows the arm of count as
// what that arm yields; 0: they do not.  False: there are too many.
bool vy_flat_terms_of(const vy_affine *a, uint32_t place, uint32_t id, vy_flat_terms *out);
// ±constant · value of the term on the nest's space, 0 where a guard says so.  NULL: *why.
isl_pw_aff *vy_flat_value(vy_nest *n, const vy_flat_term *t, vy_affine_why *why);
// The form of what is constant throughout a launch: T, T + 1, the length of a buffer.  False: `id`
// is something else.
bool vy_flat_constant(const vy_affine *a, uint32_t id, vy_extent *e);
static inline bool vy_same_form(vy_extent x, vy_extent y)
{
    return x.base == y.base && x.offset == y.offset;
}
// The axis of a term, which is a multiple of its stride; -1: there is none.
int vy_row_of(const vy_affine_rows *r, const vy_flat_term *t);
// What the term adds to the index along that axis.  NULL: *why.
isl_pw_aff *vy_row_value(vy_nest *n, const vy_affine_axis *x, const vy_flat_term *t,
                         vy_affine_why *why);
// Makes 1 times a stride of terms that are one, a[i + w].  False: there are none.
bool vy_take_strides(const vy_affine *a, const vy_affine_rows *r, vy_flat_terms *t);
// Takes the set; without launches in which a scalar is less than it is assumed to be at least.
isl_set *vy_rows_signed(vy_affine *a, const vy_affine_rows *r, isl_set *set);
// Are the `count` factors of x those of y, in any order?
bool vy_same_factors(const vy_extent *x, const vy_extent *y, uint32_t count);
// The only factor of `all` that is not one of the `count` factors of `some`; > count: there is
// none.
uint32_t vy_other_factor(const vy_extent *all, const vy_extent *some, uint32_t count);

#endif
