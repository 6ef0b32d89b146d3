// SPDX-License-Identifier: MIT
// reverse.h: the state of one differentiation, shared by the files of autodiff/.
//
// The result is built front to back by one builder: first a *forward sweep*, a copy of the primal,
// then the *reverse sweep* over the same instructions backwards.  See docs/autodiff.md.
#ifndef VYRE_REVERSE_H
#define VYRE_REVERSE_H

#include "autodiff/core/counter.h"
#include "autodiff/grad.h"
#include "ir/build/edit.h"
#include "ir/facts/memory.h"
#include "ir/build/edit.h"
#include "ir/facts/memory.h"

enum { VARIED = 1, USEFUL = 2, ACTIVE = VARIED | USEFUL };

// Where the adjoint of a buffer lives.
typedef enum adjoint_kind {
    ADJ_NONE,   // inactive
    ADJ_MEMORY, // buffer `adjoint`: loads add to it, stores take from it and clear
    ADJ_ONES,   // every element is stored once and never read: its adjoint is 1
    ADJ_SEED,   // the same, but read from the caller's cotangent `adjoint`
    ADJ_ZERO,   // the same, and no cotangent: nothing flows
} adjoint_kind;

typedef struct reverse_buffer {
    uint8_t activity; // VARIED, USEFUL
    bool of, wrt;
    uint32_t last_write; // last instruction of the primal that writes it, or 0
    uint32_t first_write;
    bool loaded;     // by an instruction whose value may matter
    bool read;       // … that no store hands back, see store_adds.c
    bool early;      // every load comes before every write
    uint32_t sites;  // loads that have an adjoint
    uint32_t home;   // local arrays: innermost loop or checkpoint around every clear; others 0
    uint32_t clears; // local arrays: instructions that clear it
    uint32_t copy;   // buffer of the result that holds its contents, or 0
    bool stores;     // the forward sweep performs its stores (on `copy`)
    adjoint_kind kind;
    uint32_t adjoint; // buffer of the result
    bool exclusive;   // every element that is loaded is one invocation's, see race_free_owner.c
    bool spilled;     // its adjoint is in a workspace, see spill.c
    bool shadowed;    // its elements have masks, see shadow.c
    uint32_t cover; // not shadowed, as long as this load's value counts always (full_reads.c); or 0
    uint32_t shadow; // buffer of the result that holds them, or 0
    uint32_t twin;   // any buffer of the result with the same shape, for len()
    // ---- memory that only one of atomic_min and atomic_max changes, see extremum.c
    bool extremum, events;        // events: they are numbered
    uint32_t final, winner, last; // buffers of the result
    const char *winner_name, *last_name;
} reverse_buffer;

// A shared array that replays of `root` store to again, see shared_replay.c.
typedef struct reverse_stage {
    uint32_t buffer, root;
    uint32_t next; // of the same root; + 1
    uint32_t twin; // buffer of the result
    bool quiet;    // nobody loads: replays do without
    bool loaded, settled;
} reverse_stage;
VY_VEC_TYPE(reverse_stage_vec, reverse_stage);

typedef struct reverse_undo {
    uint32_t value, adjoint, mask;
} reverse_undo;
VY_VEC_TYPE(reverse_undo_vec, reverse_undo);

// What the forward sweep being built does in place of atomic_min and atomic_max, see sweep_extremum.c.
typedef enum vy_finding { VY_FIND_NOTHING, VY_FIND_FINAL, VY_FIND_WINNER, VY_FIND_LAST } vy_finding;

typedef struct reverse {
    const vy_program *p; // the primal
    const vy_grad_options *options;
    vy_module *out;
    vy_builder *b;
    vy_structure s;
    // ---- facts about the primal, by instruction id
    const uint32_t *hints; // by instruction: upper bound, see trip_bound.h; or NULL
    uint8_t *activity;
    uint8_t *leaf_activity; // by leaf
    uint32_t *home;         // innermost LOOP or WHILE around it
    uint32_t *scope;        // innermost LOOP, WHILE or CHECKPOINT around it: what is replayed
    uint8_t *needed;        // the reverse sweep may ask for the value outside its own arm
    uint8_t *maskable; // every use of the value is conditional, see masks.c; of a store: it may
                       // lie out of range
    uint8_t *busy;     // openers: something inside has an adjoint
    reverse_buffer *buffers; // by buffer id
    bool phased;             // the reverse has the primal's barriers
    bool has_halves;         // some values are f16
    uint8_t *adds;     // by load and store: the store adds to the load's element, see store_adds.c
    uint8_t *own;      // by load: nobody else touches the element in its phase, see phase_owner.c
    uint8_t *together; // decides about barriers: may not be kept, see uniform_control.c
    uint32_t *stage;   // by load of a shared array: see shared_replay.c
    uint32_t *staged_at; // by loop or checkpoint: + 1, the first of its stages
    reverse_stage_vec stages;
    vy_writes writes; // of shared arrays, where there are any
    vy_arena arena;
    // ---- the result so far, by instruction id of the primal
    uint32_t *map;      // value
    uint32_t *count;    // loops that leave early: how many iterations ran
    uint32_t *adjoint;  // 0: none yet
    uint32_t *mask;     // bool: some use was selected; 0: none yet
    uint32_t *leaf_map; // by leaf
    uint32_t *leaf_adjoint;
    uint32_t *leaf_grad; // buffer grad_NAME of a scalar, by leaf
    vy_dim *dims;        // primal dimension node → the result's
    uint32_t replaying;  // loop or checkpoint whose body is being replayed; 0: forward sweep
    uint32_t untested;   // WHILE whose condition is being copied, or 0
    uint32_t arm;        // opener of the innermost arm being reversed: assignments to adjoints of
                         // values from before it are logged
    reverse_undo_vec log;
    uint32_t *slot, *leaf_slot; // scratch of sweep_control.c: place in a list + 1, by id
    // ---- tape: values that a reverse loop cannot have otherwise
    uint32_t *kept;      // by instruction id: keep it on a tape; 1 + the CHECKPOINT whose replay
                         // records it, or 1: the forward sweep does; 0: not kept
    uint32_t *tape;      // buffer of the result
    uint32_t *tape_slot; // + 1, where the buffer keeps several values; else 0
    vy_counter_vec counters; // loops that only the data bound
    uint32_t *counter;       // by loop: + 1, the first of its counters; 0: none
    uint32_t counters_used;
    const char *base_name;
    uint32_t base;   // buffer: [counters in use, blocks] where the rows of a block begin
    uint32_t lane;   // value: the invocation's place in its block
    uint32_t number; // value: the invocation's number, of a program without a domain
    bool probing;    // replays have nothing: what is asked of them shows as poison
    bool
        counting; // what is built is the program that counts (counting_stages.c), or one that finds
    vy_finding finding;
    bool failed;
} reverse;

// ---- state.c
// `count` + 1 zeroed elements; NULL: memory, and the differentiation has failed.
void *vy_reverse_zeroed(reverse *r, size_t count, size_t size);
bool vy_reverse_tables(reverse *r); // makes all tables; false: memory
void vy_reverse_free(reverse *r);
// The leaf of the result that stands for one of the primal.
uint32_t vy_reverse_leaf(reverse *r, uint32_t leaf_id);
// Fails the differentiation at instruction `id` of the primal; 0: at its head.
void vy_reverse_fail(reverse *r, vy_code code, uint32_t id, const char *fix, const char *format,
                     ...) __attribute__((format(printf, 5, 6)));
// ---- queries.c
static inline bool vy_is_extremum(vy_op op)
{
    return op == VY_OP_ATOMIC_MIN || op == VY_OP_ATOMIC_MAX;
}
// Is operand 0 of a subgroup operation used in some lanes only?
bool vy_subgroup_chooses(vy_op op);
bool vy_is_written(const vy_program *p, uint32_t buffer);
bool vy_stores_once(const reverse *r, uint32_t id); // every loop around the store moves its index
// Does the reverse of instruction `id` add to the adjoint of a buffer that other invocations see?
static inline bool vy_adds_outside(const reverse *r, uint32_t id)
{
    const vy_inst *i = &r->p->insts.data[id];
    return i->op == VY_OP_LOAD && (r->activity[id] & ACTIVE) == ACTIVE &&
           vy_type_is_float((vy_type)i->type) && r->p->buffers.data[i->aux].cls <= VY_INOUT;
}
// Does `outer` (0: everything) enclose instruction `id`?
static inline bool vy_encloses(const reverse *r, uint32_t outer, uint32_t id)
{
    return !outer || (outer < id && id < r->s.partner[outer]);
}
// Of the adjoints of arrays and outputs, which are sums: halves are added up as f32.
static inline vy_type vy_adjoint_type(vy_type t) { return t == VY_F16 ? VY_F32 : t; }
static inline uint32_t vy_primal(reverse *r, uint32_t id)
{
    return VY_IS_LEAF(id) ? vy_reverse_leaf(r, id) : r->map[id];
}
static inline bool vy_is_active(const reverse *r, uint32_t id)
{
    uint8_t a = VY_IS_LEAF(id) ? r->leaf_activity[VY_LEAF_INDEX(id)] : r->activity[id];
    return (a & ACTIVE) == ACTIVE && vy_type_is_float(vy_id_type(r->p, id));
}
// A straight_through of online_softmax.c, whose operands are equal: the first alone is computed, here and where the
// result is differentiated again.  One that a user wrote stays in the result.
#define VY_EQUAL_PAIR 1 // its aux
static inline bool vy_is_equal_pair(const vy_program *p, uint32_t id)
{
    const vy_inst *i = &p->insts.data[id];
    return i->op == VY_OP_STRAIGHT_THROUGH && i->aux == VY_EQUAL_PAIR;
}
// A buffer's or program's name for messages.
static inline const char *vy_buffer_name(const reverse *r, uint32_t buffer)
{
    return r->p->buffers.data[buffer].name;
}

#endif
