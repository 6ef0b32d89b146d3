// SPDX-License-Identifier: MIT
// reverse.h: the state of one differentiation, shared by the files of autodiff/.
//
// The result is built front to back by one builder: first a *forward sweep*, a copy of the primal,
// then the *reverse sweep* over the same instructions backwards.  See docs/autodiff.md.
#ifndef VYRE_REVERSE_H
#define VYRE_REVERSE_H

#include "counter.h"
#include "grad.h"
#include "ir/ir.h"
#include "ir/memdep.h"

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
    bool read;       // … that no store hands back, see additions.c
    bool early;      // every load comes before every write
    uint32_t sites;  // loads that have an adjoint
    uint32_t home;   // local arrays: innermost loop or checkpoint around every clear; others 0
    uint32_t clears; // local arrays: instructions that clear it
    uint32_t copy;   // buffer of the result that holds its contents, or 0
    bool stores;     // the forward sweep performs its stores (on `copy`)
    adjoint_kind kind;
    uint32_t adjoint; // buffer of the result
    bool exclusive;   // every element that is loaded is one invocation's, see exclusive.c
    bool spilled;     // its adjoint is in a workspace, see spill.c
    bool shadowed;    // its elements have masks, see shadow.c
    uint32_t cover;   // not shadowed, as long as this load's value counts always (covered.c); or 0
    uint32_t shadow;  // buffer of the result that holds them, or 0
    uint32_t twin;    // any buffer of the result with the same shape, for len()
    // ---- memory that only one of atomic_min and atomic_max changes, see extremum.c
    bool extremum, events;        // events: they are numbered
    uint32_t final, winner, last; // buffers of the result
    const char *winner_name, *last_name;
} reverse_buffer;

// A shared array that replays of `root` store to again, see restage.c.
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
    const uint32_t *hints; // by instruction: upper bound, see bound.h; or NULL
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
    uint8_t *adds;       // by load and store: the store adds to the load's element, see additions.c
    uint8_t *own;        // by load: nobody else touches the element in its phase, see own.c
    uint8_t *together;   // decides about barriers: may not be kept, see together.c
    uint32_t *stage;     // by load of a shared array: see restage.c
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
    bool counting;   // what is built is the program that counts (pipeline.c), or one that finds
    vy_finding finding;
    bool failed;
} reverse;

// ---- grad.c
// vy_grad that shows its tables to `observer` (or NULL) when the result is built, before parameters
// that nobody uses are dropped.
typedef struct reverse_observer {
    void (*note)(void *user, const reverse *r, const vy_program *result);
    void *user;
    struct vy_gather_notes *gathers; // or NULL
    bool narrow;                     // sums of half floats stay as they are
} reverse_observer;
// ---- grad.c
// Differentiates r->p = primal, which it may rewrite, into module r->out; cuts loops into segments as often
// as asked for.
bool vy_differentiate(vy_program *primal, const vy_program *source,
                      const reverse_observer *observer, reverse *r);
// ---- derive.c
vy_module *vy_grad_observed(const vy_module *m, const vy_grad_options *options,
                            const reverse_observer *observer, vy_diag *diag);
// ---- build.c
// Each returns a program, simplified, or NULL; the module does not list it yet.
vy_program *vy_reverse_build(reverse *r); // forward and reverse sweep
vy_program *vy_reverse_count(reverse *r); // the longest lengths of tapes, by block of invocations
// Drops what nobody uses, checks, and adds the program to the result; frees it after an error.
bool vy_reverse_finish(reverse *r, vy_program *p);
// ---- grad.c
bool vy_reverse_poison(reverse *r,
                       const vy_program *p); // is there poison that can be had from a tape?
// ---- pipeline.c
// Adds the reverse program to the result, with what must run before it.  Frees it after an error.
bool vy_reverse_result(reverse *r, vy_program *p);
// ---- choice.c
void vy_reverse_choose(reverse *r, const vy_program *source); // marks outputs and inputs
bool vy_is_written(const vy_program *p, uint32_t buffer);
// ---- prune.c
// Removes compiler-made buffers and arrays that no instruction uses, with `all` every buffer that neither code nor a
// shape nor the domain needs, and renumbers the rest.  False: memory (the module's diag).
bool vy_drop_unused(vy_program *p, bool all);
// Of a program that runs after others: drops all parameters it does not use, and takes as `in` what it does not write
// (its length, its contents): a dispatch clears what it takes as `out`, and with it what the others wrote.  False: memory.
bool vy_drop_stage(vy_program *p);
void vy_drop_scalars(vy_program *p,
                     uint32_t first); // from `first` on, that are no extent of a buffer
// Those that neither code nor a shape nor the domain needs.  False: memory.
bool vy_drop_unused_scalars(vy_program *p);
// ---- activity.c
// Operand k of pure operation `id` passes a derivative to the result.
bool vy_derivative_passes(const vy_program *p, uint32_t id, uint32_t k);
// Operands whose values CARRY or RESULT `id` takes over, at most three; returns how many.
uint32_t vy_slot_sources(const vy_program *p, const vy_structure *s, uint32_t id, uint32_t out[3]);
bool vy_activity(reverse *r); // fills activity, leaf_activity, buffers[].activity
// ---- masks.c
void vy_masks(reverse *r); // fills maskable, needed, busy
// ---- order.c
bool vy_order(reverse *r); // refuses what the old values of atomics decide; needs busy
// ---- exclusive.c
bool vy_exclusive(reverse *r); // fills buffers[].exclusive; false: memory
// Does the reverse of instruction `id` add to the adjoint of a buffer that other invocations see?
static inline bool vy_adds_outside(const reverse *r, uint32_t id)
{
    const vy_inst *i = &r->p->insts.data[id];
    return i->op == VY_OP_LOAD && (r->activity[id] & ACTIVE) == ACTIVE &&
           vy_type_is_float((vy_type)i->type) && r->p->buffers.data[i->aux].cls <= VY_INOUT;
}
// ---- injective.c
// By buffer: do the index maps prove that no two invocations touch one element, in the accesses that sites[] names by
// instruction?  thorough: also where each domain variable has an axis to itself, which ir/owner.c finds in the result,
// and where only a condition tells invocations apart.  False: memory.
bool vy_injective(const vy_program *p, const vy_structure *s, const uint8_t *sites, bool thorough,
                  uint8_t *injective);
// ---- params.c
// Of the adjoints of arrays and outputs, which are sums: halves are added up as f32.
static inline vy_type vy_adjoint_type(vy_type t) { return t == VY_F16 ? VY_F32 : t; }
bool vy_reverse_params(reverse *r); // chooses adjoint kinds, declares the result's parameters
// Declares workspace `prefix_NAME` of the shape of primal buffer `like`.
uint32_t vy_reverse_workspace(reverse *r, const char *prefix, uint32_t like, vy_init init,
                              const char *from);
uint32_t vy_reverse_leaf(reverse *r, uint32_t leaf_id);
bool vy_stores_once(const reverse *r, uint32_t id); // every loop around the store moves its index
// Does `outer` (0: everything) enclose instruction `id`?
static inline bool vy_encloses(const reverse *r, uint32_t outer, uint32_t id)
{
    return !outer || (outer < id && id < r->s.partner[outer]);
}
// ---- replay.c
void vy_replay(reverse *r, uint32_t first, uint32_t last); // copies instructions [first, last]
static inline uint32_t vy_primal(reverse *r, uint32_t id)
{
    return VY_IS_LEAF(id) ? vy_reverse_leaf(r, id) : r->map[id];
}
// Local array that a replay of `root` makes anew?
bool vy_is_remade(const reverse *r, uint32_t buffer, uint32_t root);
// Can a replay of `root` compute the value (not a carried one) again?
bool vy_can_repeat(const reverse *r, uint32_t id, uint32_t root);
// ---- restage.c
void vy_find_phased(reverse *r); // fills phased
bool vy_restage(reverse *r);     // finds the stages of loads; false after an error
// Can a replay of `root` load what `load` (of a shared array) saw?
bool vy_restage_finds(const reverse *r, uint32_t load, uint32_t root);
// In the replay at hand: the array of the result to load from, or to write to; 0: not to be had, not done.
uint32_t vy_restage_load(reverse *r, uint32_t load);
uint32_t vy_restage_store(const reverse *r, uint32_t id);
bool vy_restages(const reverse *r, uint32_t root, uint32_t buffer); // buffer 0: any
void vy_restage_declare(reverse *r, uint32_t (*declare)(reverse *r, uint32_t like));
// Leaves out what nobody loads from in `p`, just built: true if it must be built again.
bool vy_restage_settle(reverse *r, const vy_program *p);
void vy_restage_merge(const reverse *r, vy_program *p);
// ---- barriers.c
bool vy_reverse_barriers(const reverse *r, vy_program *p); // drops those that part nothing
// ---- spill.c
enum {
    VY_SHARED_BYTES = 16 * 1024, // every device has: maxComputeSharedMemorySize is at least that
    VY_GROUP_RANK = 3,           // of the workgroups: z, y, x
};
uint64_t vy_array_bytes(const vy_program *p, const vy_buf *b); // of constant dimensions
// Bytes of the shared arrays that `p` accesses.  False: memory.
bool vy_shared_bytes(const vy_program *p, uint64_t *bytes);
// How many workgroups of that size the program being built runs in along each axis; where this one is.
void vy_group_dims(vy_builder *b, const uint32_t workgroup[3], vy_dim dims[VY_GROUP_RANK]);
void vy_group_index(vy_builder *b, uint32_t index[VY_GROUP_RANK]);
// Has `p`, just built, no room for its shared arrays?  True: it must be built again with adjoints elsewhere.
bool vy_spill(reverse *r, const vy_program *p);
uint32_t vy_spill_declare(reverse *r, const char *name, vy_type type, uint32_t like);
// Writes what stands before the index of an element of the adjoint; how many.
uint32_t vy_spill_index(reverse *r, uint32_t buffer, uint32_t *index);
// ---- additions.c
bool vy_additions(reverse *r); // fills adds; false after an error
// ---- own.c
bool vy_own(reverse *r); // fills own; false after an error
// ---- together.c
bool vy_together(reverse *r); // fills together; false after an error
// After the check of a derived program failed: was it for that?  Says it of the primal then.
void vy_together_explain(reverse *r);
// ---- plan.c
// From the values that the reverse asks for (by instruction; an ENDLOOP: how often the loop ran), which
// to keep: fills `kept` as reverse.kept.
bool vy_plan(reverse *r, const uint8_t *asked, uint32_t *kept);
// ---- valued.c
// Marks the instructions that the forward run computes for their values, and the buffers it loads from;
// both tables begin as zeros.
void vy_valued(const reverse *r, uint8_t *live, uint8_t *arrays);
// ---- tape.c
// Which kept values does `p`, the program just built, read?  Marks by instruction.
bool vy_tape_used(reverse *r, const vy_program *p, uint8_t *used);
enum { VY_TAPE_LANES = 32 }; // invocations that share a block of rows
bool vy_tape_declare(reverse *r);
vy_dim vy_tape_blocks(reverse *r);      // how many blocks there are
vy_dim vy_tape_invocations(reverse *r); // how many invocations
// A name that no parameter of the primal or of the program being built has: NAME, followed by `number` if it is
// not 0, and by a further one where that is taken.
enum { VY_FREE_NAME = 340 };
const char *vy_reverse_free_name(const reverse *r, const char *name, uint32_t number,
                                 char text[VY_FREE_NAME]);
vy_value vy_tape_invocation(reverse *r); // the invocation's number, row-major over the domain
// Stores the value of `id` if this copy is the one that records it.
void vy_tape_record(reverse *r, uint32_t id);
// Its value from the tape where this copy may read it there, else 0.
uint32_t vy_tape_load(reverse *r, uint32_t id);
// ---- sweep.c
void vy_reverse_range(reverse *r, uint32_t first, uint32_t last);
// Adds `g` to the adjoint of `id`; `edge` says when this use counts (0: always).
void vy_contribute(reverse *r, uint32_t id, uint32_t g, uint32_t edge);
void vy_set_adjoint(reverse *r, uint32_t id, uint32_t adjoint, uint32_t mask);
// Names a carried adjoint after the value it belongs to, for readers: `adj_s`.
void vy_name_adjoint(reverse *r, uint32_t adjoint, uint32_t of);
static inline bool vy_is_active(const reverse *r, uint32_t id)
{
    uint8_t a = VY_IS_LEAF(id) ? r->leaf_activity[VY_LEAF_INDEX(id)] : r->activity[id];
    return (a & ACTIVE) == ACTIVE && vy_type_is_float(vy_id_type(r->p, id));
}
// ---- sweep_control.c
void vy_reverse_if(reverse *r, uint32_t opener);
void vy_reverse_checkpoint(reverse *r, uint32_t opener);
// ---- sweep_loop.c
void vy_reverse_loop(reverse *r, uint32_t opener);
// Does carry k of a loop follow from the iteration's number?  Its initial value.
bool vy_has_closed_form(const reverse *r, uint32_t opener, uint32_t k);
uint32_t vy_carry_init(const reverse *r, uint32_t opener, uint32_t k);
// ---- invert.c
// Can the step of carry k of a loop be undone?  Then vy_invert makes the value in an iteration from the
// one after it (of the result).
bool vy_is_invertible(const reverse *r, uint32_t opener, uint32_t k);
uint32_t vy_invert(reverse *r, uint32_t opener, uint32_t k, uint32_t next);
// ---- known.c
// own_atomics.c: atomics whose old value is wanted become load, operation and store where an invocation owns the element.
bool vy_pass_own_atomics(vy_program *p, vy_pass_context *c);
bool vy_pass_known(vy_program *p, vy_pass_context *c); // counts what only constants decide
// ---- rerun.c
// Can a carried value that decides about barriers be had by running its steps again?  Then vy_rerun makes
// what it is after `times` iterations; `variable` gives the loop's variable in one of them.
bool vy_can_rerun(const reverse *r, uint32_t opener, uint32_t k);
uint32_t vy_rerun(reverse *r, uint32_t opener, uint32_t k, uint32_t times,
                  uint32_t (*variable)(reverse *r, uint32_t opener, uint32_t number));
// ---- sweep_memory.c
void vy_reverse_memory(reverse *r, uint32_t id);
// Every axis of `index` (ids of the result) is inside buffer `buffer` (of the result): a bool.
uint32_t vy_in_range(reverse *r, uint32_t buffer, const uint32_t *index);
void vy_clear_adjoint(reverse *r, uint32_t buffer); // of an array, with its shadow
// ---- shadow.c
bool vy_shadow_choose(reverse *r); // fills buffers[].shadowed; false: memory
bool vy_shadow_prune(reverse *r);  // clears it where masks decide nothing; false: memory
// `buffer` and `condition` are of the primal and of the result, `index` is of the result.
uint32_t vy_shadow_read(reverse *r, uint32_t buffer, const uint32_t *index); // a bool
void vy_shadow_clear(reverse *r, uint32_t buffer, const uint32_t *index);
// alone: no other invocation touches the element.
void vy_shadow_mark(reverse *r, uint32_t buffer, const uint32_t *index, uint32_t condition,
                    bool alone);
// A straight_through of rescale.c, whose operands are equal: the first alone is computed, here and where the
// result is differentiated again.  One that a user wrote stays in the result.
#define VY_EQUAL_PAIR 1 // its aux
static inline bool vy_is_equal_pair(const vy_program *p, uint32_t id)
{
    const vy_inst *i = &p->insts.data[id];
    return i->op == VY_OP_STRAIGHT_THROUGH && i->aux == VY_EQUAL_PAIR;
}
// ---- covered.c
// The load that reads every element of a local array after its `n` writes are done, or 0.
uint32_t vy_covering_load(const reverse *r, uint32_t buffer, const uint32_t *writes, uint32_t n);
// ---- rules.c
typedef struct rule {
    vy_builder *b;
    vy_type type;            // of the operation
    uint32_t a, b_, c, y, g; // operands, result, adjoint of the result
    uint32_t aux;
    uint32_t want;   // bit k: operand k is active
    uint32_t out[3]; // contributions to the operands' adjoints
    uint32_t pick;   // PICK2: the condition; else 0
} rule;
typedef enum rule_kind {
    RULE_LINEAR,  // partials are ±1: no mask is needed
    RULE_PARTIAL, // contributions in out[]
    RULE_PICK,    // contributions in out[], pick set
    RULE_ZERO,
    RULE_NONE, // no derivative (integers)
    RULE_HAND,
} rule_kind;
rule_kind vy_rule_kind_of(vy_op op);
// Is the derivative of `id` by operand k zero by convention for some operands?  Then
// vy_rule_kept says where contribution `d` to it is not: a bool, or 0 for everywhere.
bool vy_rule_drops(const vy_program *p, uint32_t id, uint32_t k);
uint32_t vy_rule_kept(vy_builder *b, uint32_t d, uint32_t g);
void vy_rule_apply(vy_op op, rule *r);

void vy_reverse_fail(reverse *r, vy_code code, uint32_t id, const char *fix, const char *format,
                     ...) __attribute__((format(printf, 5, 6)));
// A buffer's or program's name for messages.
static inline const char *vy_buffer_name(const reverse *r, uint32_t buffer)
{
    return r->p->buffers.data[buffer].name;
}

// deterministic.c: replaces all atomic additions of floats in the module, which is optimised before.
bool vy_order_sums(vy_module *m, bool lean);
// wide.c: makes the sums of half floats that derivatives are sums of f32 that are rounded once; the module is optimised
// before if there are any.
typedef struct vy_wide_names {
    const char **names; // of the buffers of the result that hold adjoints
    uint32_t count;
    bool own; // only those that an invocation adds to in a loop; the others' sums have an order
} vy_wide_names;
// Those of `p`, just built; in the module's arena.  False: memory.
bool vy_wide_find(reverse *r, const vy_program *p, vy_wide_names *names);
bool vy_widen_sums(vy_module *m, const vy_wide_names *names);

#endif
