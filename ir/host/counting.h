// SPDX-License-Identifier: MIT
// counting.h: loops of a pipeline whose iterations are counted before they run.
//
//   count_whiles.c   each such loop as a repeat of as many iterations
//   run_ahead.c      the loop that runs ahead
//   loop_frame.c     steps that are appended another time
#ifndef VYRE_HOST_COUNTING_H
#define VYRE_HOST_COUNTING_H

#include "ir/build/pipe_inline.h"
#include "ir/host/host_build.h"

typedef struct counting {
    inlining c;
    vy_counted_loops which;
    vy_buffer *count;    // by `while` that runs ahead: its iterations
    vy_buffer *most;     // by loop inside another: the most iterations so far
    vy_dim *bound;       // and once that is known
    uint32_t outer;      // loops around the step
    bool again;          // the steps are appended before: their buffers begin anew
    uint8_t *flags;      // by buffer; all 0 between two loops
    uint32_t *dims;      // dimensions made of numbers of steps, by the last of these steps:
    uint32_t *first_dim; // dims[first_dim[s] .. first_dim[s + 1] − 1] become known with step s
} counting;

// What the steps of one loop stand for, as it was.
typedef struct loop_frame {
    uint32_t at, end;  // its steps
    uint32_t *buffers; // that these mention, in order of their numbers
    uint32_t count;
    vy_dim *steps, *dims;
    vy_pipe_arg *places; // by buffers[]
} loop_frame;

static inline bool counting_stopped(const counting *w) { return inline_stopped(&w->c); }

// ---- loop_frame.c
// Finds w->dims.
void counting_find_dims(counting *w);
// The dimensions that become known with the step's number, in their order: then none is deep.
void counting_numbers_known(counting *w, uint32_t step);
// Between begin and end the steps of the loop at `at` can be appended another time.  False: memory.
bool counting_frame_begin(counting *w, uint32_t at, loop_frame *f);
void counting_frame_end(counting *w, const loop_frame *f);

// ---- run_ahead.c
// Do the steps that compute the condition of the `while` write a buffer from outside?
bool counting_writes_outside(counting *w, const loop_frame *f);
// The loop at `at` on copies.  What w->count and w->most have a buffer for is counted.
void counting_run_ahead(counting *w, uint32_t at);
// A buffer of one u32, named like `name` and `of`; and what it has at this point.
vy_buffer counting_number(counting *w, const char *name, const char *of);
vy_dim counting_value(counting *w, vy_buffer b);
// How often a repeat runs, or where it ends if it begins at a constant that is not negative.  Never
// negative, as extents are.
vy_dim counting_end(counting *w, const vy_pipe_step *s);
// Does the repeat begin at such a constant?
bool counting_from_constant(const vy_pipeline *l, const vy_pipe_step *s);

#endif
