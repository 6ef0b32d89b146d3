// SPDX-License-Identifier: MIT
// pipe_slices.h: which slices of a buffer the steps of a pipeline name.
//
//   repeat t in 0..T { step(u[t], u[t + 1]); }  last(u[T], y)
//
// Here the slices are t + 0, t + 1, and T + 0, relative to the counter of a repeat and to its end.
#ifndef VYRE_PIPE_SLICES_H
#define VYRE_PIPE_SLICES_H

#include "ir/core/dims.h"

typedef struct vy_slices {
    const vy_pipeline *l;
    vy_dim_facts facts;
    uint32_t *counter; // by REPEAT step: the base of its counter, or 0
} vy_slices;

// In linear time; all memory is the arena's.  False: out of memory.
bool vy_slices_make(vy_slices *s, const vy_pipeline *l, vy_arena *arena);

// Is the index a constant; the counter of the repeat, or its end, and an offset?
bool vy_slice_const(const vy_slices *s, vy_dim index, int64_t *at);
bool vy_slice_turn(const vy_slices *s, uint32_t repeat, vy_dim index, int64_t *offset);
bool vy_slice_end(const vy_slices *s, uint32_t repeat, vy_dim index, int64_t *offset);
// Is it a repeat from 0, whose count is known when it begins?
bool vy_slice_counts(const vy_slices *s, uint32_t repeat);

#endif
