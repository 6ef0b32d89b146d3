// SPDX-License-Identifier: MIT
// lower.h: a host program becoming the steps of a pipeline.
//
//   lower.c          walks the program, one step or none per instruction
//   lower_tables.c   the tables of the lowering
//   lower_places.c   decides beforehand where each tensor lives
//   lower_carries.c  tensors that repeats carry
//   lower_number.c   integers as dimension expressions
//   lower_extents.c  extents that only the run decides
//   lower_call.c     dispatches; pipelines that are dispatched are inlined
#ifndef VYRE_HOST_LOWER_H
#define VYRE_HOST_LOWER_H

#include "ir/build/pipe_build.h"
#include "ir/host/host_build.h"

// Where a tensor is: a buffer of the pipeline, or a slice of it.
typedef struct lower_place {
    uint32_t buffer; // 0: not decided
    uint32_t rank;
    const vy_dim *index;
    vy_tensor shape;
} lower_place;

typedef struct lower_known lower_known; // lower_extents.c

typedef struct lowering {
    const vy_program *h;
    vy_structure s;
    vy_arena arena;
    vy_pipe *q;
    vy_builder *b; // of q's signature
    bool oom;
    // ---- by instruction
    uint32_t *last;     // tensors: the last use; where that is in a loop that the value is not in,
                        // the end of the loop
    uint32_t *direct;   // PICK, ADD: the STORE whose place it is written to at once; 0: none
    uint8_t *is_direct; // such a STORE
    uint32_t *array;   // CARRY: the array that is its buffer during an iteration; 0: none.  RESULT:
                       // not 0 if it and the CARRY are where the initial value is
    uint32_t *into;    // PICK: the CARRY in whose place it is written, as the next one; 0: none
    uint32_t *early;   // STORE of a RESULT to that buffer: the loop; 0
    uint8_t *nothing;  // ZERO, STORE: it does nothing, since two buffers are one
    uint8_t *dead;     // STORE of a constant, ZERO: nothing reads it
    uint32_t *copied;  // LOAD: the access that changes the slice before the last use; 0: none
    uint32_t *after;   // STORE of a constant: performed only after this instruction
    uint32_t *put_off; // by instruction: the first STORE to perform after it
    uint32_t *next_off; // by STORE: the next such
    uint32_t *scope;    // ZERO: a lifetime of the buffer begins here
    vy_dim *number;     // integers
    vy_dim *leaf;       // integers by leaf
    lower_place *place; // tensors
    // ---- by buffer
    uint8_t *begun;                      // its BUFFER step is made
    uint8_t *scoped;                     // it has lifetimes of its own
    uint32_t *current;                   // the buffer of the pipeline that has its contents now
    uint32_t temporaries[VY_TYPE_COUNT]; // by type: the number of the last one's name
    // ---- by key of an extent that only the run decides
    vy_dim *extent;      // while it is known
    lower_known *known;  // in the blocks around here, the innermost first
    uint32_t *first_use; // the axes with it: places in the next tables
    uint32_t *next_use;  // 0: no more
    uint32_t *used_by;   // the buffer
} lowering;

static inline bool lower_stopped(const lowering *w) { return w->oom || vy_builder_failed(w->b); }
// ---- lower_tables.c
bool lower_make_tables(lowering *w);                      // false: memory
void *lower_room(lowering *w, size_t count, size_t size); // zeroed; NULL sets oom
// Is the value a tensor, and not a number?
bool lower_is_tensor(const lowering *w, uint32_t id);
// Which operand of its maker a result updates in place; UINT32_MAX: none.
uint32_t lower_updated_by(const lowering *w, uint32_t value);

// ---- lower_places.c
bool lower_decide(lowering *w); // fills the tables from `last` to `scope`

// ---- lower_carries.c
void lower_decide_carries(lowering *w); // after the last uses and direct results
void lower_open_carries(lowering *w, uint32_t loop);
void lower_close_carries(lowering *w, uint32_t end);

// ---- lower_number.c
vy_dim lower_number(lowering *w, uint32_t id);
vy_dim lower_condition(lowering *w, uint32_t id); // of a bool: 0 or 1
vy_dim lower_test(lowering *w, uint32_t id);      // of a bool: 0, or not

// ---- lower_extents.c
void lower_know_extents(lowering *w, uint32_t zero);     // those that it gives its array
void lower_know_results(lowering *w, uint32_t dispatch); // those of its results, if they are not
void lower_forget_extents(lowering *w, uint32_t block);  // which ends: those it has given
// Are all extents of the shape known here?  Then lower_shape gives them as the pipeline's.
bool lower_is_known(const lowering *w, const vy_tensor *shape);
vy_tensor lower_shape(lowering *w, const vy_tensor *shape);

// ---- lower_call.c
// The place of a tensor that is used by a step; a constant's is made, of that shape.
lower_place lower_place_of(lowering *w, uint32_t id, const vy_tensor *shape);
lower_place lower_slice(lowering *w, uint32_t access); // that a LOAD or STORE names
lower_place lower_temporary(lowering *w, const vy_tensor *shape);
bool lower_same_place(const lower_place *x, const lower_place *y);
void lower_copy(lowering *w, const lower_place *from, const lower_place *to);
void lower_fill(lowering *w, const lower_place *to, double value);
void lower_dispatch(lowering *w, uint32_t id);
void lower_add(lowering *w, uint32_t id);

#endif
