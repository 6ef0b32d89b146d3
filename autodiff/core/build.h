// SPDX-License-Identifier: MIT
// build.h: the state of one build: of one program of the result, from its parameters to its last
// instruction.  The next build begins with none of it.
#ifndef VYRE_GRAD_BUILD_H
#define VYRE_GRAD_BUILD_H

#include "autodiff/core/plan.h"

// What the program being built is for.
typedef enum build_purpose {
    BUILD_REVERSE, // forward and reverse sweep
    BUILD_PROBE,   // the same where replays have nothing: what is asked of them shows as poison
    // ---- the forward sweep alone, for what the reverse program must know before
    BUILD_COUNT,       // how often loops run (counting_stages.c)
    BUILD_FIND_FINAL,  // what atomic_min and atomic_max leave (extremum_stages.c)
    BUILD_FIND_WINNER, // which invocation it is from
    BUILD_FIND_LAST,   // which of its events
} build_purpose;

// Without a reverse sweep?
static inline bool vy_is_ahead(build_purpose p) { return p >= BUILD_COUNT; }
// With something else in place of atomic_min and atomic_max?
static inline bool vy_is_finding(build_purpose p) { return p >= BUILD_FIND_FINAL; }

// Where the adjoint of a buffer lives.
typedef enum adjoint_kind {
    ADJ_NONE,   // inactive
    ADJ_MEMORY, // buffer `adjoint`: loads add to it, stores take from it and clear
    ADJ_ONES,   // every element is stored once and never read: its adjoint is 1
    ADJ_SEED,   // the same, but read from the caller's cotangent `adjoint`
    ADJ_ZERO,   // the same, and no cotangent: nothing flows
} adjoint_kind;

// What a buffer of the primal has become: buffers of the result, or 0.
typedef struct built_buffer {
    uint32_t copy; // holds its contents
    bool stores;   // the forward sweep performs its stores (on `copy`)
    adjoint_kind kind;
    uint32_t adjoint;
    uint32_t shadow; // holds the masks of its elements, see shadow.c
    uint32_t twin;   // any one with the same shape, for len()
    // ---- memory that only one of atomic_min and atomic_max changes, see extremum.c
    uint32_t final, winner, last;
} built_buffer;

typedef struct reverse_undo {
    uint32_t value, adjoint, mask;
} reverse_undo;
VY_VEC_TYPE(reverse_undo_vec, reverse_undo);

// What a counter of the plan has become.
typedef struct built_counter {
    uint32_t row;  // + 1, if a tape uses it: its place among the counters in use
    vy_dim rows;   // how many rows its tapes have: a scalar of the result
    uint32_t base; // value: where the rows of this invocation's block begin
} built_counter;

typedef struct build_state {
    build_purpose purpose;
    // ---- by instruction id of the primal: values of the result
    uint32_t *map;       // value
    uint32_t *count;     // loops that leave early: how many iterations ran
    uint32_t *adjoint;   // 0: none yet
    uint32_t *mask;      // bool: some use was selected; 0: none yet
    uint32_t *tape;      // of what is kept: buffer of the result
    uint32_t *tape_slot; // + 1, where the buffer keeps several values; else 0
    uint32_t *slot;      // scratch of sweep_control.c: place in a list + 1
    // ---- by leaf
    uint32_t *leaf_map;
    uint32_t *leaf_adjoint;
    uint32_t *leaf_grad; // buffer grad_NAME of a scalar
    uint32_t *leaf_slot; // as slot
    // ---- by others
    built_buffer *buffers; // by buffer id
    vy_dim *dims;          // primal dimension node → the result's
    uint32_t *stage_twin;  // by stage of the plan: the array that replays store to
    uint32_t replaying;    // loop or checkpoint whose body is being replayed; 0: forward sweep
    uint32_t untested;     // WHILE whose condition is being copied, or 0
    uint32_t arm;          // opener of the innermost arm being reversed: assignments to adjoints of
                           // values from before it are logged
    reverse_undo_vec log;
    built_counter *counters; // by counter of the plan
    uint32_t counters_used;
    uint32_t base;   // buffer: [counters in use, blocks] where the rows of a block begin
    uint32_t lane;   // value: the invocation's place in its block
    uint32_t number; // value: the invocation's number, of a program without a domain
} build_state;

// Frees what is left of the build before, and makes the tables of the next one, zeroed.  False:
// memory; free it all the same.
bool vy_build_make(build_state *b, build_purpose purpose, const vy_program *p,
                   const storage_plan *plan);
void vy_build_free(build_state *b);

#endif
