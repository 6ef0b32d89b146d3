// SPDX-License-Identifier: MIT
// trip_bound.h: upper bounds of integers and trip counts, as dimensions.
#ifndef VYRE_BOUND_H
#define VYRE_BOUND_H

#include "ir/core/ir.h"

typedef struct vy_bounds {
    const vy_program *p; // whose values are asked about
    vy_builder *b;       // where the dimensions are made; it has the scalars of p
    const vy_dim *dims;  // dimension of p → dimension of b; NULL: they are the same
    // By instruction of p: a dimension of p that is at least its value, or 0; NULL: there are none.
    const uint32_t *hints;
} vy_bounds;

// A dimension that is at least the integer `id`, or none.
vy_dim vy_upper_bound(const vy_bounds *r, uint32_t id);
// A dimension that is at least the number of iterations of a loop and never negative, or none.
vy_dim vy_trip_bound(const vy_bounds *r, uint32_t loop);

#endif
