// SPDX-License-Identifier: MIT
// launch_numbers.h: quotients and remainders that depend on scalars alone, as dimensions, and
// products where they are assumed to be small.
//
//   let n = (channels + 3) / 4;   a[z * n + k]        the stride ⌊(channels + 3) / 4⌋
//
// A launch does not change them, so what is said of scalars that are strides may be said of them.
// Only those are numbers of which nothing wraps around or could be negative: dimensions have 64
// bits, and programs compute theirs as u32.
#ifndef VYRE_LAUNCH_NUMBERS_H
#define VYRE_LAUNCH_NUMBERS_H

#include "ir/core/ir.h"
#include "ir/facts/interval.h"

// What a scalar is taken to be.
typedef enum vy_affine_kind {
    VY_AFFINE_ANY,
    VY_AFFINE_IS_CALM,  // between ±VY_AFFINE_CALM
    VY_AFFINE_NATURAL,  // … and not negative
    VY_AFFINE_POSITIVE, // … and not 0
} vy_affine_kind;
// Calm scalars are between this and its negative: sums of a few, times 16, do not wrap as i32.
#define VY_AFFINE_CALM (INT64_C(1) << 26)

// What values scalar k may have, of that kind.
vy_interval vy_affine_range_of_kind(vy_type t, uint8_t kind);

// Integers of 32 bits, of which numbers are.
static inline bool vy_is_narrow(vy_type t) { return vy_type_is_integer(t) && vy_type_size(t) == 4; }
// Is what the operation makes of numbers a number, if it neither wraps nor divides by 0?
bool vy_makes_number(vy_op op);

typedef struct vy_launch_number {
    uint32_t dim; // 0: it is none
    // Of what is not constant, no more than VY_AFFINE_CALM by assumption alone: what it is then, as
    // `dim` is that of every launch, between 0 and VY_AFFINE_CALM.  0: it is no product.
    uint32_t product;
    vy_interval range;
} vy_launch_number;

// By instruction, in the arena; adds dimensions to p.  kind: by scalar, or NULL.  products: those
// of what is not negative are numbers, too, and at most VY_AFFINE_CALM.  NULL: memory.
const vy_launch_number *vy_launch_numbers_make(vy_program *p, const uint8_t *kind, bool products,
                                               vy_arena *arena);

#endif
