// SPDX-License-Identifier: MIT
// storage.h: what the reverse keeps, and what it computes again.
#ifndef VYRE_GRAD_STORAGE_H
#define VYRE_GRAD_STORAGE_H

#include "autodiff/core/reverse.h"

// ---- poison.c
bool vy_reverse_poison(reverse *r,
                       const vy_program *p); // is there poison that can be had from a tape?
// ---- repeatable.c
// Local array that a replay of `root` makes anew?
bool vy_is_remade(const reverse *r, uint32_t buffer, uint32_t root);
// Can a replay of `root` compute the value (not a carried one) again?
bool vy_can_repeat(const reverse *r, uint32_t id, uint32_t root);
// May a replay execute a subgroup operation again, and get the same?
bool vy_subgroup_repeats(const reverse *r, uint32_t id);
// ---- shared_replay.c
bool vy_restage(reverse *r); // finds the stages of loads; false after an error
// Can a replay of `root` load what `load` (of a shared array) saw?
bool vy_restage_finds(const reverse *r, uint32_t load, uint32_t root);
// In the replay at hand: the array of the result to load from, or to write to; 0: not to be had,
// not done.
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
// How many workgroups of that size the program being built runs in along each axis; where this one
// is.
void vy_group_dims(vy_builder *b, const uint32_t workgroup[3], vy_dim dims[VY_GROUP_RANK]);
void vy_group_index(vy_builder *b, uint32_t index[VY_GROUP_RANK]);
// Has `p`, just built, no room for its shared arrays?  True: it must be built again with adjoints
// elsewhere.
bool vy_spill(reverse *r, const vy_program *p);
uint32_t vy_spill_declare(reverse *r, const char *name, vy_type type, uint32_t like);
// Writes what stands before the index of an element of the adjoint; how many.
uint32_t vy_spill_index(reverse *r, uint32_t buffer, uint32_t *index);
// ---- plan.c
// From the values that the reverse asks for (by instruction; an ENDLOOP: how often the loop ran),
// which to keep: fills `kept` as storage_plan.kept.
bool vy_plan(reverse *r, const uint8_t *asked, uint32_t *kept);
// ---- tape.c
// Which kept values does `p`, the program just built, read?  Marks by instruction.
bool vy_tape_used(reverse *r, const vy_program *p, uint8_t *used);
enum { VY_TAPE_LANES = 32 }; // invocations that share a block of rows
bool vy_tape_declare(reverse *r);
// Numbers the counters that tapes use, the same way in all builds by one plan.
void vy_tape_number_counters(reverse *r);
vy_dim vy_tape_blocks(reverse *r);      // how many blocks there are
vy_dim vy_tape_invocations(reverse *r); // how many invocations
// A name that no parameter of the primal or of the program being built has: NAME, followed by
// `number` if it is not 0, and by a further one where that is taken.
enum { VY_FREE_NAME = 340 };
const char *vy_reverse_free_name(const reverse *r, const char *name, uint32_t number,
                                 char text[VY_FREE_NAME]);
vy_value vy_tape_invocation(reverse *r); // the invocation's number, row-major over the domain
// Stores the value of `id` if this copy is the one that records it.
void vy_tape_record(reverse *r, uint32_t id);
// Its value from the tape where this copy may read it there, else 0.
uint32_t vy_tape_load(reverse *r, uint32_t id);
// ---- counter.c
// Rewrites a primal for reverse mode:
//   - loops without a bound (trip_bound.h) get counters, as ordinary integer variables;
//   - a `while` whose condition writes memory, or is more than an expression in other ways, becomes
//     a loop that leaves early, so that the last evaluation of the condition is part of an
//     iteration.
// *hints as for vy_segment.  False: the module's diag says why.
bool vy_count_loops(vy_program *p, uint32_t **hints, vy_counter_vec *counters);
// ---- invert.c
// Makes the value in an iteration from the one after it (of the result).
uint32_t vy_invert(reverse *r, uint32_t opener, uint32_t k, uint32_t next);
// ---- recount.c
// Does carry k of a loop follow from the iteration's number?
bool vy_has_closed_form(const reverse *r, uint32_t opener, uint32_t k);
// Can a carried value that decides about barriers be had by running its steps again?  Then vy_rerun
// makes what it is after `times` iterations; `variable` gives the loop's variable in one of them.
bool vy_can_rerun(const reverse *r, uint32_t opener, uint32_t k);
uint32_t vy_rerun(reverse *r, uint32_t opener, uint32_t k, uint32_t times,
                  uint32_t (*variable)(reverse *r, uint32_t opener, uint32_t number));

#endif
