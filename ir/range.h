// SPDX-License-Identifier: MIT
// range.h: bounds of integer values and proofs that an index is in range.
#ifndef VYRE_RANGE_H
#define VYRE_RANGE_H

#include "pass.h"

typedef struct vy_interval {
    int64_t lo, hi; // as signed 64-bit numbers, both included
} vy_interval;

// interval.c: constant bounds of every value.
typedef struct vy_intervals {
    const vy_program *p;
    const vy_structure *s;
    vy_interval *of; // by instruction
    uint8_t *exact;  // by instruction: ADD SUB MUL CAST that give the mathematical result
} vy_intervals;
bool vy_intervals_make(vy_intervals *v, const vy_program *p, const vy_structure *s,
                       vy_arena *arena); // false: memory
vy_interval vy_interval_of(const vy_intervals *v, uint32_t id);

// dims.c: equal dimensions get equal forms: value = (value of base) + offset; base 0 is zero.
typedef struct vy_extent {
    uint32_t base;
    int64_t offset;
} vy_extent;
#define VY_NO_BASE UINT32_MAX

typedef struct vy_dim_facts {
    vy_extent *form;  // by dimension node
    int64_t *least;   // by base: a value it is known to reach at least where code runs
    uint32_t *scalar; // by scalar parameter: base that is its value, or VY_NO_BASE
} vy_dim_facts;
bool vy_dim_facts_make(vy_dim_facts *f, const vy_program *p, vy_arena *arena); // false: memory

// range.c: sets proved[id] for every memory instruction whose indices are in range in all
// invocations of the domain that reach it.  False: memory.
bool vy_prove_ranges(const vy_program *p, const vy_structure *s, vy_arena *arena, uint8_t *proved);

#endif
