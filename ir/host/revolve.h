// SPDX-License-Identifier: MIT
// revolve.h: `repeat … checkpoint(revolve, k)` of a derived pipeline.
//
//   revolve_request.c  which repeats have it, with how many states
//   revolve_match.c  the forward and the reverse repeat, and what their tapes hold
//   revolve.c        the schedule
//   revolve_steps.c  … of which each level repeats steps of the pipeline
#ifndef VYRE_HOST_REVOLVE_H
#define VYRE_HOST_REVOLVE_H

#include "ir/build/edit.h"
#include "ir/build/pipe_build.h"
#include "ir/core/pipe.h"

// What one iteration passes to the next one.
typedef struct revolve_state {
    uint32_t tape;   // the buffer that has it for every iteration
    uint32_t buffer; // where the forward repeat has it when an iteration begins
    vy_buffer work;  // where the reverse has it, in the new pipeline
} revolve_state;

typedef struct revolve_loop {
    const vy_pipeline *l;
    uint32_t forward, reverse;      // REPEATs
    uint32_t body;                  // the first step of the forward one that does not write a tape
    vy_dim count;                   // of iterations
    uint32_t levels;                // of the schedule: k, at most VY_REVOLVE_MOST
    const vy_dim_node *states_node; // a k that is no constant, of `source`; NULL: levels
    const vy_program *source;
    bool replays; // nothing but the reverse needs what the forward one computes
    revolve_state *states;
    uint32_t state_count;
    uint8_t *varies;  // by dimension: it depends on a step whose number changes
    uint8_t *skipped; // by step: the advance leaves this dispatch out
    uint8_t *inner;   // by buffer: it begins in the body
} revolve_loop;

// ---- revolve_match.c
// Fills everything but `work` and what is known of k.  `at`: the repeat that was differentiated.
// NULL: found; else why it has no form that the schedule could be given.
const char *revolve_match(revolve_loop *x, const vy_pipeline *l, const vy_pipe_step *at,
                          vy_arena *arena);
// ---- revolve.c
// The module's last pipeline, x->l, gets the schedule.  False: it is as it was; the module's diag.
bool revolve_schedule(vy_module *m, const revolve_loop *x, vy_arena *arena);

#endif
