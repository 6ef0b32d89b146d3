// SPDX-License-Identifier: MIT
// context.h: what is known about integers and conditions at a place of a program.
#ifndef VYRE_CONTEXT_H
#define VYRE_CONTEXT_H

#include "ir/facts/range.h"

enum { VY_MOST_FACTS = 24 };

// less < more, or ≤ if not strict, as signed 64-bit numbers or in the order of their unsigned type.
typedef struct vy_fact {
    uint32_t less, more;
    bool strict;
} vy_fact;

// The value of a condition.
typedef struct vy_known {
    uint32_t condition;
    bool holds;
} vy_known;

// Proofs about the values of one program.
typedef struct vy_prover {
    const vy_program *p;
    const vy_structure *s;
    vy_intervals v;
    vy_dim_facts d;
    vy_fact facts[VY_MOST_FACTS]; // what the enclosing conditions say; more of them: not used
    vy_known known[VY_MOST_FACTS];
    uint32_t fact_count, known_count;
    int *budget;        // steps left for this proof
    uint32_t facts_for; // the arm or construct that the facts were collected for
} vy_prover;

static inline const vy_inst *vy_prover_inst(const vy_prover *q, uint32_t id)
{
    return VY_IS_LEAF(id) ? NULL : &q->p->insts.data[id];
}

// False: out of memory.  What is proved holds for the invocations of the domain (see range.c).
bool vy_prover_make(vy_prover *q, const vy_program *p, const vy_structure *s, vy_arena *arena);
// Collects the facts that hold at instruction `id`, for the questions below.
void vy_prover_enter(vy_prover *q, uint32_t id);
// in_range.c: are the indices of access `id` proved in range where they are used at `place`?
bool vy_is_in_range_at(vy_prover *q, uint32_t id, uint32_t place);
bool vy_is_at_least(const vy_prover *q, uint32_t id, int64_t k); // |k| ≤ 2^33
bool vy_is_below(const vy_prover *q, uint32_t id, vy_extent e);
// Is `more` a scalar parameter or a constant, and less < more, or ≤ if not strict?
bool vy_is_below_value(const vy_prover *q, uint32_t less, uint32_t more, bool strict);
// The value of a bool: 1 or 0; −1: not known.
int vy_condition_value(const vy_prover *q, uint32_t condition);

#endif
