// SPDX-License-Identifier: MIT
// gather_split.h: domain variables that the program divides into coordinates.
//
//   over(i: W * H) { let y = i / W;  let x = i % W; … }   →   over(y: H, x: W) { … }
//
// One after the other, as a product of two matrices may have both of its axes flat.
//
//   gather_parts.c    which values are coordinates, and of what rows
//   gather_split_numbers.c  … rows as long as a quotient of scalars
//   gather_split.c    the program with one variable for each; or with the only one again
//   gather_place.c    where what is kept is
#ifndef VYRE_GATHER_SPLIT_H
#define VYRE_GATHER_SPLIT_H

#include "autodiff/affine/flat_terms.h"
#include "autodiff/gather/gather_build.h"

enum { GATHER_OPEN = GATHER_PARTS }; // the end of the last part: there is no greater stride

// (i / stride[low]) % (stride[high] / stride[low]), GATHER_OPEN: without the remainder.
typedef struct gather_part {
    uint8_t low, high;
    bool is;
} gather_part;

typedef struct gather_splitting {
    gather *g;
    const vy_program *p;
    vy_affine a;   // facts of dimensions alone
    uint32_t over; // the domain variable
    gather_stride stride[GATHER_PARTS];
    uint32_t count;    // of strides, and of parts; the first is 1
    gather_part *part; // by instruction: what part of the variable it is
    vy_dim extent[GATHER_PARTS];
    bool guarded;              // the last row may not be full
    const vy_over_var *before; // the domain variables
    uint32_t before_count;
} gather_splitting;

// ---- gather_parts.c
// Finds the variable, its strides, from the least, and its parts.  False: there are none.
bool gather_find_parts(gather_splitting *s);
gather_part gather_part_of(const gather_splitting *s, uint32_t id);
// Is `id` a product of launch constants?
bool gather_stride_of(const gather_splitting *s, uint32_t id, gather_stride *out);
// b / a; false: a does not divide it.
bool gather_stride_ratio(const gather_stride *a, const gather_stride *b, gather_stride *ratio);
// Is `id` (v ^ d) < 0 of a part v = … % d?  (Of GLSL's remainder, whose sign is the divisor's.)
bool gather_signs_differ(const gather_splitting *s, uint32_t id);

// ---- gather_place.c
vy_value gather_stride_value(vy_builder *b, const gather_stride *d);
// The number that the variables of parts low ≤ k < high make, in multiples of stride `low`.
vy_value gather_number_of(const gather_splitting *s, vy_builder *b, const vy_value *variable,
                          uint32_t low, uint32_t high);
// ---- gather_split_numbers.c
bool gather_number_strides(gather_splitting *s);  // numbers that it may divide by; false: memory
void gather_require_numbers(gather_splitting *s); // what those assume of the launch

#endif
