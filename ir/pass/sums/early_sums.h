// SPDX-License-Identifier: MIT
// early_sums.h: which sums of a gradient an earlier loop can make (early_sums.c).
#ifndef VYRE_EARLY_SUMS_H
#define VYRE_EARLY_SUMS_H

#include "ir/build/rewrite.h"

enum { VY_MOST_FACTORS = 16 };

// A sum that moves.
typedef struct vy_early_sum {
    uint32_t loop, slot;   // where it was
    uint32_t term, factor; // what is added, and that without what is the same in all iterations
    uint32_t next;         // of those that go to the same loop: 1 + the index of another
    uint32_t total;        // the sum, in the new program
    bool minus, scaled;    // scaled: the term is not the factor itself
} vy_early_sum;
VY_VEC_TYPE(vy_early_sum_vec, vy_early_sum);

typedef struct vy_early_sums {
    vy_early_sum_vec sums;
    uint32_t *to;   // by LOOP: 1 + the first of the sums that it gets
    uint32_t *from; // by LOOP: 1 + the sum of its slot 0, which those of the others follow
} vy_early_sums;

// Fills *e, whose vector is the caller's to free.  False: out of memory.
bool vy_find_early_sums(vy_rewrite *w, vy_early_sums *e);

static inline bool vy_is_zero_float(const vy_program *p, uint32_t id)
{
    const vy_scalar *c = vy_id_const(p, id);
    return c && c->f == 0;
}
// Is `id` something that is the same in all iterations times another value, or chosen by it instead
// of zero: the number of that operand.  0 is `id` = x + x, too.  -1: it is neither.
int vy_early_operand(const vy_program *p, uint32_t loop, uint32_t id);

#endif
