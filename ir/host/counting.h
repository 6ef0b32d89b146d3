// SPDX-License-Identifier: MIT
// counting.h: loops of a pipeline whose iterations are counted before they run.
//
//   count_whiles.c   each such loop as a repeat of as many iterations
//   run_ahead.c      the loop that runs ahead
#ifndef VYRE_HOST_COUNTING_H
#define VYRE_HOST_COUNTING_H

#include "ir/build/pipe_inline.h"
#include "ir/host/host_build.h"

typedef struct counting {
    inlining c;
    bool nested;      // the most iterations of loops inside others are found, too
    vy_buffer *count; // by `while` that runs ahead: its iterations
    vy_buffer *most;  // by loop inside another: the most iterations so far
    vy_dim *bound;    // and once that is known
    uint32_t outer;   // loops around the step
    bool again;       // the steps are appended before: their buffers begin anew
} counting;

static inline bool counting_stopped(const counting *w) { return inline_stopped(&w->c); }

// ---- run_ahead.c
// Gives c tables and an arena of its own, for steps from `at` on that are appended another time.
// False: memory.
bool counting_copy_tables(inlining *c, const inlining *own, uint32_t at);
// Do the steps that compute the condition of the `while` at `at` write a buffer from outside?
bool counting_writes_outside(inlining *c, uint32_t at);
// The loop at `at` on copies.  What w->count and w->most have a buffer for is counted.
void counting_run_ahead(const counting *own, uint32_t at);
// A buffer of one u32, named like `name` and `of`; and what it has at this point.
vy_buffer counting_number(counting *w, const char *name, const char *of);
vy_dim counting_value(counting *w, vy_buffer b);
// The end of a repeat from a number that is not negative; never negative itself, as extents are.
vy_dim counting_end(counting *w, const vy_pipe_step *s);

#endif
