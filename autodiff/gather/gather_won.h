// SPDX-License-Identifier: MIT
// gather_won.h: which iteration of a loop, or of each of nested loops, a maximum was in.
#ifndef VYRE_GATHER_WON_H
#define VYRE_GATHER_WON_H

#include "ir/build/rewrite.h"
#include "ir/pass/scalar/iteration.h"

enum { GATHER_DEEPEST = 8 };
typedef struct gather_won {
    uint32_t loop[GATHER_DEEPEST]; // from the outermost
    uint32_t at[GATHER_DEEPEST];   // what its variable was in the iteration that won
    uint32_t loops;
    uint32_t any; // the value, known to be true, that says that one has; 0: none is noted
} gather_won;

// Is `id` what the variable of a loop was in the iteration that won last, where one has?  Notes it.
// *several: of another loop, or of another maximum, than those noted.
bool gather_see_won(gather_won *won, const vy_rewrite *w, const vy_known *known, uint32_t id,
                    bool *several);
// The number of the loop that `id` opens, or of which it is noted; GATHER_DEEPEST: of none.
uint32_t gather_won_at(const gather_won *won, uint32_t id);

// ---- gather_number.c
typedef struct gather_numbered {
    gather_won won;
    bool refused;
    // In the new program, once the loops have ended:
    vy_value place;                                        // the iteration that won
    vy_value from[GATHER_DEEPEST], length[GATHER_DEEPEST]; // of the loops
} gather_numbered;
VY_VEC_TYPE(gather_numbered_vec, gather_numbered);
typedef gather_numbered_vec gather_numbers;
// Notes that an addition is where that won.  False: memory.
bool gather_see_number(gather_numbers *all, const vy_rewrite *w, const gather_won *won,
                       uint32_t site);
// If `id` is the last of an outermost loop, copies it, and makes the numbers of what won there.
// Returns id then, else 0.
uint32_t gather_make_numbers(gather_numbers *all, vy_rewrite *w, uint32_t id);
// NULL: none is made.
const gather_numbered *gather_made_number(const gather_numbers *all, const gather_won *won);
// Whether the iteration in which the loops' variables are `at` is that one.
uint32_t gather_is_number(vy_rewrite *w, const gather_numbered *n, const uint32_t *at);

#endif
