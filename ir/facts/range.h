// SPDX-License-Identifier: MIT
// range.h: bounds of integer values and proofs that an index is in range.
#ifndef VYRE_RANGE_H
#define VYRE_RANGE_H

#include "ir/core/dims.h"
#include "ir/facts/interval.h"

// value_range.c: constant bounds of every value.
typedef struct vy_intervals {
    const vy_program *p;
    const vy_structure *s;
    int64_t most;    // of lengths and numbers of invocations that no constant tells
    vy_interval *of; // by instruction
    uint8_t *exact;  // by instruction: an ADD, SUB, MUL or CAST that has the mathematical result
} vy_intervals;
bool vy_intervals_make(vy_intervals *v, const vy_program *p, const vy_structure *s,
                       vy_arena *arena); // false: out of memory
// The same for a caller that takes lengths and domains to be below 2³⁰: no device has more memory.
bool vy_intervals_make_small(vy_intervals *v, const vy_program *p, const vy_structure *s,
                             vy_arena *arena);
vy_interval vy_interval_of(const vy_intervals *v, uint32_t id);

// in_range.c: sets axes[id] for every memory instruction to the number of its first indices that
// are proved in range, in all invocations of the domain that reach it.  False: out of memory.
bool vy_prove_axes(const vy_program *p, const vy_structure *s, vy_arena *arena, uint8_t *axes);
// in_range.c: sets proved[id] for every memory instruction whose indices are proved in range in all
// invocations of the domain that reach it.  False: out of memory.
bool vy_prove_ranges(const vy_program *p, const vy_structure *s, vy_arena *arena, uint8_t *proved);

#endif
