// SPDX-License-Identifier: MIT
// raise.h: the steps of a pipeline becoming a host program.
//
//   raise.c         walks the steps
//   raise_number.c  dimension expressions as instructions
//   raise_states.c  repeats of which the reverse keeps some states only
#ifndef VYRE_HOST_RAISE_H
#define VYRE_HOST_RAISE_H

#include "ir/build/build.h"
#include "ir/host/host_build.h"

// A repeat that is cut into segments, while it is open.
typedef struct raise_segments {
    uint32_t count;      // of states: buffers that its iterations change and read
    uint32_t *outer;     // by state: the buffer outside
    uint32_t *inner;     // and that of one iteration
    uint32_t *values[2]; // by state: scratch
    bool again;          // in a checkpoint of its own
} raise_segments;

typedef struct raising {
    const vy_pipeline *l;
    vy_builder *b;
    vy_arena arena;
    uint32_t *steps;           // by REPEAT and VALUE: the number
    uint32_t *known;           // by dimension: its number, where that is visible
    uint8_t *unknown;          // by dimension: it depends on a counter or a value
    uint32_t *current;         // by buffer of the signature: that of the host program
    raise_segments **segments; // by REPEAT, or NULL: all are as they are written
    uint8_t *own;              // by REPEAT, or NULL: each iteration is a checkpoint
    bool revolve;              // repeats that revolve keep all states (revolve.c)
    bool all;                  // outermost repeats keep √n states, too
    uint32_t open;             // repeats
    vy_id_vec hints;           // by instruction: a dimension that is at least its value
    vy_dim *extent;            // by dimension: the key of the extent that is it (VY_MADE_EXTENT)
} raising;

// ---- raise_number.c
void *raise_room(raising *r, size_t count, size_t size); // zeroed; NULL fails the builder
uint32_t raise_number(raising *r, vy_dim d);             // as an i64
// The first n in `out`; returns n.
uint32_t raise_numbers(raising *r, uint32_t n, const vy_dim *dims, uint32_t *out);

// ---- raise_states.c
// Opens and closes the repeat that step `at` begins; *t: its counter.
bool raise_open_segments(raising *r, uint32_t at);
void raise_close_segments(raising *r, uint32_t at);
// Notes a bound of the instruction that is `to`, the end of a repeat.
void raise_hint_extent(raising *r, uint32_t id, vy_dim to);

#endif
