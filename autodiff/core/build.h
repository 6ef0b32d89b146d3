// SPDX-License-Identifier: MIT
// build.h: the state while one program of the result is built, from its parameters to its last
// instruction.  The next build starts from scratch.
#ifndef VYRE_GRAD_BUILD_H
#define VYRE_GRAD_BUILD_H

#include "autodiff/core/plan.h"

// What the program being built is for.
typedef enum build_purpose {
    BUILD_REVERSE, // forward and reverse sweep
    BUILD_PROBE,   // the same, but every replayed value is poison: what is needed shows as poison
    // ---- the forward sweep alone, for what the reverse program must know beforehand
    BUILD_COUNT,       // trip counts (counting_stages.c)
    BUILD_FIND_FINAL,  // the final values of atomic_min and atomic_max (extremum_stages.c)
    BUILD_FIND_WINNER, // the invocation that each comes from
    BUILD_FIND_LAST,   // which of that invocation's events it is
} build_purpose;

// Without a reverse sweep?
static inline bool vy_is_ahead(build_purpose p) { return p >= BUILD_COUNT; }
// Does it replace atomic_min and atomic_max?
static inline bool vy_is_finding(build_purpose p) { return p >= BUILD_FIND_FINAL; }

// Where the adjoint of a buffer lives.
typedef enum adjoint_kind {
    ADJ_NONE,   // inactive
    ADJ_MEMORY, // buffer `adjoint`: reversed loads add to it, reversed stores read and clear it
    ADJ_ONES,   // every element is stored once and never read: its adjoint is 1
    ADJ_SEED,   // the same, but read from the caller's cotangent `adjoint`
    ADJ_ZERO,   // the same, without a cotangent: its adjoint is 0
} adjoint_kind;

// The counterparts of a buffer of the primal: buffers of the result, or 0.
typedef struct built_buffer {
    uint32_t copy; // holds its contents
    bool stores;   // the forward sweep performs its stores (on `copy`)
    adjoint_kind kind;
    uint32_t adjoint;
    uint32_t shadow; // holds the masks of its elements, see shadow.c
    uint32_t twin;   // any buffer of the same shape, for len()
    uint32_t added;  // the first dispatch whose derivative changes `adjoint` itself; so far, or 0
    uint32_t sum;    // the gradient to which `adjoint` is added at the end, or 0
    // ---- memory in which atomic_min or atomic_max changes elements, see extremum.c
    uint32_t final, winner, last;
} built_buffer;

typedef struct reverse_undo {
    uint32_t value, adjoint, mask;
} reverse_undo;
VY_VEC_TYPE(reverse_undo_vec, reverse_undo);

// The counterpart of a counter of the plan.
typedef struct built_counter {
    uint32_t row;  // + 1, if a tape uses it: its index among the counters in use
    vy_dim rows;   // the number of rows of its tapes: a scalar of the result
    uint32_t base; // value: the first row of this invocation's block
} built_counter;

// Elements of adjoints of shared arrays, and of their masks, to which all invocations have yet to
// add what they have stored, see sweep_lane_sums.c.
enum {
    REVERSE_SUMS = 16,                     // of each type at most, at a time
    REVERSE_WAITING = 2 * REVERSE_SUMS + 1 // a mask may be the first to wait again
};
typedef struct reverse_sum {
    uint32_t part;                         // array of what each invocation adds; 0: 1 is
    uint32_t to, rank, index[VY_MAX_RANK]; // the element, of the result
} reverse_sum;
typedef struct reverse_parts {
    vy_type type;
    uint32_t array[REVERSE_SUMS], count;
    uint32_t used; // the first so many of them wait
} reverse_parts;
typedef struct reverse_sums {
    reverse_parts adjoints, masks;
    reverse_sum sum[REVERSE_WAITING];
    uint32_t count;
} reverse_sums;

typedef struct build_state {
    build_purpose purpose;
    // ---- by instruction id of the primal: values of the result
    uint32_t *map;        // value
    uint32_t *count;      // loops that leave early: how many iterations they ran
    uint32_t *adjoint;    // 0: none yet
    uint32_t *mask;       // bool: some use was selected; 0: none yet
    uint32_t *tape;       // taped values: buffer of the result
    uint32_t *tape_slot;  // + 1, where the buffer keeps several values; else 0
    uint32_t *same_in;    // taped values: bit k: the k-th loop around is no axis, tape_axes.c
    uint32_t *first_in;   // likewise: its first iteration records everything
    uint32_t *slot;       // scratch of sweep_control.c: index in a list + 1
    uint32_t *begins;     // of a host program, by loop: the first value whose tape begins there
    uint32_t *begins_too; // and by value: the next such, or 0
    // ---- by leaf
    uint32_t *leaf_map;
    uint32_t *leaf_adjoint;
    uint32_t *leaf_grad; // buffer grad_NAME of a scalar
    uint32_t *leaf_slot; // like slot
    // ---- by others
    built_buffer *buffers; // by buffer id
    vy_dim *dims;          // primal dimension node → the result's
    uint32_t *sized;       // by dimension of a host program, an extent that the run decides: the
                           // ZERO that does
    uint32_t *stage_twin;  // by stage of the plan: the array that replays store to
    uint32_t replaying;    // loop or checkpoint whose body is being replayed; 0: forward sweep
    bool values_only;      // of that body, only values are copied: see recount.c
    uint32_t untested;     // WHILE whose condition is being copied, or 0
    uint32_t arm;          // opener of the innermost arm being reversed: changes to adjoints of
                           // values defined before it are logged
    reverse_undo_vec log;
    reverse_sums sums;
    built_counter *counters; // by counter of the plan
    uint32_t counters_used;
    uint32_t base;   // buffer [counters in use, blocks]: the first row of each block
    uint32_t lane;   // value: the invocation's index in its block
    uint32_t number; // value: the invocation's number, in a program without a domain
} build_state;

// Frees the previous build and makes the tables of the next one, zeroed.  False: memory; call
// vy_build_free either way.
bool vy_build_make(build_state *b, build_purpose purpose, const vy_program *p,
                   const storage_plan *plan);
// After both sweeps: frees what only they need of each value of the primal.
void vy_build_swept(build_state *b);
void vy_build_free(build_state *b);

#endif
