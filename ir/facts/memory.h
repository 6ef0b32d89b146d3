// SPDX-License-Identifier: MIT
// memory.h: which accesses may alias, and what a range of instructions may write.
#ifndef VYRE_MEMDEP_H
#define VYRE_MEMDEP_H

#include "ir/core/flow.h"

// The memory of a buffer: the buffer itself, or the one that another front end made it a view of.
static inline uint32_t vy_memory_of(const vy_program *p, uint32_t buffer)
{
    uint32_t of = p->buffers.data[buffer].view_of;
    return of ? of : buffer;
}
// Is it visible to one invocation only, or read-only?
static inline bool vy_memory_private(const vy_program *p, uint32_t buffer)
{
    return p->buffers.data[buffer].cls == VY_LOCAL || p->buffers.data[buffer].cls == VY_IN;
}
// Are two values surely different?  Constants, or the same value plus different constants.
bool vy_values_differ(const vy_program *p, uint32_t x, uint32_t y);
// May accesses with these indices to one buffer alias?
bool vy_indices_meet(const vy_program *p, uint32_t rank, const uint32_t *x, const uint32_t *y);

// Where memory is written, for queries about ranges of instructions.
typedef struct vy_writes {
    const vy_program *p;
    uint32_t *start; // by memory: its writes are at[start[m]] … at[start[m+1]-1], ascending
    uint32_t *at;    // memory 0: barriers
} vy_writes;
// `which`: the accesses that count; an atomic is a read and a write.  False: out of memory.
enum { VY_COUNT_WRITES = 1, VY_COUNT_READS = 2 };
bool vy_writes_make(vy_writes *w, const vy_program *p, int which, vy_arena *arena);
// Position in `at` of the first write to memory m after instruction `id`.
uint32_t vy_first_after(const vy_writes *w, uint32_t m, uint32_t id);
// May the contents of `buffer` change, as this invocation observes them, between instructions from
// and to (both excluded)?
bool vy_written_between(const vy_writes *w, uint32_t buffer, uint32_t from, uint32_t to);
// Is there a barrier in between?
bool vy_barrier_between(const vy_writes *w, uint32_t from, uint32_t to);

#endif
