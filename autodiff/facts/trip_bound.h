// SPDX-License-Identifier: MIT
// trip_bound.h: upper bounds of integers and trip counts, as dimensions.
#ifndef VYRE_BOUND_H
#define VYRE_BOUND_H

#include "ir/facts/range.h"

// Constant lower bounds, wrapped results included; made once for all bounds in a program.
typedef struct vy_lows {
    vy_intervals ranges;
    int64_t *least; // by instruction: of its value; of an ADD: of the sum as a mathematical integer
} vy_lows;
// All memory is the arena's.  False: out of memory.
bool vy_lows_make(vy_lows *l, const vy_program *p, const vy_structure *s, vy_arena *arena);

typedef struct vy_bounds {
    const vy_program *p; // whose values are bounded
    const vy_lows *lows; // of p
    vy_builder *b;       // makes the dimensions; has the scalars of p
    const vy_dim *dims;  // dimension of p → dimension of b; NULL: they are the same
    // By instruction of p: a dimension of p that is at least its value, or 0; NULL: no hints.
    const uint32_t *hints;
} vy_bounds;

// A dimension that is at least the integer `id`, or none.
vy_dim vy_upper_bound(const vy_bounds *r, uint32_t id);
// A dimension that is at least the trip count of a loop and never negative, or none.
vy_dim vy_trip_bound(const vy_bounds *r, uint32_t loop);

#endif
