// SPDX-License-Identifier: MIT
// iteration.h: what an iteration of a `while` does where conditions are known.
#ifndef VYRE_ITERATION_H
#define VYRE_ITERATION_H

#include "ir/build/rewrite.h"

static inline bool vy_counts_in(vy_type t) // may a counter have the type?
{
    return t == VY_I32 || t == VY_U32 || t == VY_I64 || t == VY_U64;
}
// Without changes of the sign.
uint32_t vy_counting_plain(const vy_rewrite *w, uint32_t id);
// Is it the same in all iterations, and may it be computed ahead of the loop?
bool vy_counting_invariant(const vy_rewrite *w, uint32_t loop, uint32_t id);

// What is known of conditions: in iterations after which the loop goes on, or of its last one; on
// one way through them.
enum { VY_MOST_KNOWN = 32 };
typedef struct vy_known {
    uint32_t count;
    struct {
        uint32_t id;
        bool sense;
    } data[VY_MOST_KNOWN];
} vy_known;

// Notes that `id` is `sense`, and what follows of other conditions.  depth: 0.
void vy_learn(const vy_rewrite *w, vy_known *k, uint32_t id, bool sense, uint32_t depth);
// Is a condition true where that is known?  -1: that does not tell.
int vy_truth(const vy_rewrite *w, const vy_known *k, uint32_t id);
// Equal values: also results of one `if` whose arms yield the same for both.
bool vy_same_value(const vy_rewrite *w, uint32_t x, uint32_t y);

typedef struct vy_change { // of a carried value, by one iteration
    bool known;
    uint32_t step; // 0: none
    bool down;
} vy_change;
vy_change vy_change_of(const vy_rewrite *w, uint32_t carry, uint32_t next, const vy_known *k);

// Does an iteration in which the condition, an instruction of the loop's body, is `sense` do
// nothing: no effect, and all carried values stay?
bool vy_ends_idle(const vy_rewrite *w, uint32_t loop, uint32_t condition, bool sense);

#endif
