// SPDX-License-Identifier: MIT
// storage.h: what the reverse tapes, and what it recomputes.
#ifndef VYRE_GRAD_STORAGE_H
#define VYRE_GRAD_STORAGE_H

#include "autodiff/core/reverse.h"

// Has the value a tape?
static inline bool vy_is_taped(const reverse *r, uint32_t id)
{
    return r->plan.kept[id] && !r->plan.stands[id];
}
// ---- poison.c
// Plans to tape the values for which poison is left in `p`; true if there are new ones.
bool vy_reverse_poison(reverse *r, const vy_program *p);
// ---- repeatable.c
// Is it an array that a replay of `root` recomputes?
bool vy_is_remade(const reverse *r, uint32_t buffer, uint32_t root);
// Can a replay of `root` recompute the value (not a carried one)?
bool vy_can_repeat(const reverse *r, uint32_t id, uint32_t root);
// Does carry k of a loop follow from the iteration's number?  If it decides whether a barrier is
// reached, it always does (autodiff/reverse/recount.c).
bool vy_has_closed_form(const reverse *r, uint32_t opener, uint32_t k);
// May a replay execute a subgroup operation again with the same result?
bool vy_subgroup_repeats(const reverse *r, uint32_t id);
// ---- shared_replay.c
bool vy_restage(reverse *r); // finds the stages of loads; false after an error
// Can a replay of `root` load what `load` (of a shared array) saw?
bool vy_restage_finds(const reverse *r, uint32_t load, uint32_t root);
// In the current replay: the array of the result to load from, or to write to; 0: the value is not
// available, the write is omitted.
uint32_t vy_restage_load(reverse *r, uint32_t load);
uint32_t vy_restage_store(const reverse *r, uint32_t id);
bool vy_restages(const reverse *r, uint32_t root, uint32_t buffer); // buffer 0: any
void vy_restage_declare(reverse *r, uint32_t (*declare)(reverse *r, uint32_t like));
// Omits the stores to twins from which `p`, just built, does not load: true if it must be built
// again.
bool vy_restage_settle(reverse *r, const vy_program *p);
void vy_restage_merge(const reverse *r, vy_program *p);
// ---- barriers.c
bool vy_reverse_barriers(const reverse *r, vy_program *p); // removes redundant ones; false: memory
// ---- spill.c
enum {
    VY_SHARED_BYTES = 16 * 1024, // the minimum of maxComputeSharedMemorySize
    VY_GROUP_RANK = 3,           // dimensions of the grid of workgroups: z, y, x
};
uint64_t vy_array_bytes(const vy_program *p, const vy_buf *b); // of constant dimensions
// Bytes of the shared arrays that `p` accesses.  False: memory.
bool vy_shared_bytes(const vy_program *p, uint64_t *bytes);
// The number of workgroups of that size in which the program being built runs, along each axis; the
// index of this one.
void vy_group_dims(vy_builder *b, const uint32_t workgroup[3], vy_dim dims[VY_GROUP_RANK]);
void vy_group_index(vy_builder *b, uint32_t index[VY_GROUP_RANK]);
// Do the shared arrays of `p`, just built, exceed shared memory?  True: it must be built again with
// adjoints in workspaces.
bool vy_spill(reverse *r, const vy_program *p);
uint32_t vy_spill_declare(reverse *r, const char *name, vy_type type, uint32_t like);
// Writes the leading indices of an element of a spilled adjoint, and returns their number.
uint32_t vy_spill_index(reverse *r, uint32_t buffer, uint32_t *index);
// ---- plan.c
// From the values that the reverse needs (by instruction; an ENDLOOP: the loop's trip count),
// decides which to tape: fills `kept` as storage_plan.kept.
bool vy_plan(reverse *r, const uint8_t *needed, uint32_t *kept);
// ---- tape.c
bool vy_tape_declare(reverse *r);
// Numbers the counters that tapes use, the same way in all builds by one plan.
void vy_tape_number_counters(reverse *r);
// A name that no parameter of the primal or of the program being built has: NAME, followed by
// `number` if it is not 0, and by another number if that is taken.
enum { VY_FREE_NAME = 340 };
const char *vy_reverse_free_name(const reverse *r, const char *name, uint32_t number,
                                 char text[VY_FREE_NAME]);
// ---- tape_invocation.c
enum { VY_TAPE_LANES = 32 };             // invocations that share a block of rows
vy_dim vy_tape_blocks(reverse *r);       // the number of blocks
vy_dim vy_tape_invocations(reverse *r);  // the number of invocations
vy_value vy_tape_invocation(reverse *r); // the invocation's number, row-major over the domain
// ---- tape_access.c
// Computes the index at which the value of `id` will be stored, so that the dispatch that comes
// next can write it there (ir/host/lower_places.c).
void vy_tape_locate(reverse *r, uint32_t id);
// Stores the value of `id` if this copy is the one that records it.
void vy_tape_record(reverse *r, uint32_t id);
// The value of `id` from the tape if this copy may load it, else 0.
uint32_t vy_tape_load(reverse *r, uint32_t id);
// Which taped values does `p`, the program just built, read?  Marks by instruction.
bool vy_tape_used(reverse *r, const vy_program *p, uint8_t *used);
// ---- standing.c
// Finds the values that stand in a local array until the end: fills `stands` of the plan, of which
// `kept` values have no tape.  False: memory.
bool vy_find_standing(reverse *r);
uint32_t vy_standing_load(reverse *r, uint32_t id); // the value of `id`, from its array
// ---- rewind_find.c
// After the plan: takes the stores to local arrays back where that needs less, and plans again.
// False after an error.
bool vy_rewind(reverse *r, const uint8_t *needed);
// ---- rewind.c
enum { VY_REWIND_LATE = 1, VY_REWIND_EARLY = 2 }; // storage_plan.taken_back
// Can the reverse compute its index wherever it is?
bool vy_rewind_has_place(const grad_facts *f, uint32_t store);
// Does a replay of `root` load from a rewound array what `load` found?
bool vy_rewind_finds(const reverse *r, uint32_t load, uint32_t root);
// Takes stores back: those that come ahead of the replay of an iteration; the one being reversed.
void vy_rewind_ahead(reverse *r, uint32_t loop);
void vy_rewind_store(reverse *r, uint32_t store);
// ---- tape_axes.c
bool vy_tape_axes(reverse *r); // fills same_in and first_in of the build; false: memory
// Is the k-th loop around the taped value `id`, from inside, an axis of its tape?
bool vy_tape_has_axis(const reverse *r, uint32_t id, uint32_t k);
// Is it none, and records its first iteration all that any would?
bool vy_tape_waits(const reverse *r, uint32_t id, uint32_t k);
// ---- tape_tensor.c
// Of a value of a host program: how many axes it has; the buffer it is of, or NULL.
uint32_t vy_tensor_rank(const reverse *r, uint32_t id);
const char *vy_tensor_name(const reverse *r, uint32_t id);
// Finds which ZERO decides each extent that only the run knows.
void vy_tape_sizes(reverse *r);
// Does it have the same shape in all iterations, of loops inside the checkpoint `keeper` (also a
// number)?  After vy_tape_sizes.
bool vy_tape_fits(const reverse *r, uint32_t id, uint32_t keeper);
// The same.  False: an error is set, and varies_in_size.
bool vy_tape_is_steady(reverse *r, uint32_t id, uint32_t keeper);
// Do the replays of `keeper` decide its shape?  Then its tape begins in each, with an array.
bool vy_tape_begins(const reverse *r, uint32_t id, uint32_t keeper);
// Notes that this tape begins at the outermost loop or checkpoint around `id` inside its keeper.
void vy_tape_begin_with(reverse *r, uint32_t id);
// Begins the tapes of what the loop has, in the replay of the checkpoint around it.
void vy_tape_begin(reverse *r, uint32_t loop);
// The error that nothing bounds the trip count of a loop; sets lacks_bound, returns false.
bool vy_tape_no_bound(reverse *r, uint32_t loop);
// The dimensions of its tape: trip counts, outermost first, and its own; of a number [1].
// Returns the rank.
uint32_t vy_tape_of_tensor(reverse *r, uint32_t id, uint32_t loops, const vy_dim *counts,
                           vy_dim *dims);
// ---- undo_shape.c
// The log of what STORE `id` overwrites, which is taped in its name; NULL: it has none.
const undo_log *vy_undo_log_of(const reverse *r, uint32_t id);
vy_type vy_undo_type(const reverse *r, const undo_log *log);
// As NAME_log_u declares it.
const vy_buf *vy_undo_declared(const reverse *r, const undo_log *log);
// Can its extents be computed where the dispatch is?
bool vy_undo_has_shape(reverse *r, const undo_log *log);
// Its dimensions in the program being built; returns the rank.
uint32_t vy_undo_dims(reverse *r, const undo_log *log, vy_dim *dims);
// ---- counter.c
// Rewrites a primal for reverse mode:
//   - loops without a bound (trip_bound.h) get counters, as ordinary integer variables;
//   - a `while` whose condition writes memory, or is otherwise more than an expression, becomes a
//     loop that leaves early, so that the last evaluation of the condition is part of an iteration.
// *hints as for vy_segment.  False: the module's diag says why.
bool vy_count_loops(vy_program *p, uint32_t **hints, vy_counter_vec *counters);
// ---- invert.c
// The value in an iteration, computed from the one in the next iteration (of the result).
uint32_t vy_invert(reverse *r, uint32_t opener, uint32_t k, uint32_t next);

#endif
