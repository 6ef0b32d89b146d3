// SPDX-License-Identifier: MIT
// exact_sum.h: sums of floats that are exact, so that their order does not matter.  See
// exact_sum.c.
#ifndef VYRE_FIXED_H
#define VYRE_FIXED_H

#include "ir/core/ir.h"

// i32 words that one sum of floats of type t takes; 0 for other types.  They start as 0.
uint32_t vy_fixed_words(vy_type t);

// Where one sum is: at sums[at…][first…], behind `rank` axes; `sums` has i32 elements.
typedef struct vy_sum_place {
    vy_buffer sums;
    uint32_t rank;
    vy_value at[VY_MAX_RANK]; // the word's place comes behind them
    vy_value first; // place of the first word, where the sums of all elements are one row; id 0: 0
} vy_sum_place;

// Adds v to the sum.  Any number of invocations may do so at once.
void vy_fixed_add(vy_builder *b, const vy_sum_place *place, vy_value v);
// The sum, rounded once to t, to nearest even: plain loads, so no invocation may be adding.
vy_value vy_fixed_total(vy_builder *b, const vy_sum_place *place, vy_type t);
// Sets the sum to 0: plain stores.
void vy_fixed_clear(vy_builder *b, const vy_sum_place *place, vy_type t);

#endif
