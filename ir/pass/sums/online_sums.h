// SPDX-License-Identifier: MIT
// online_sums.h: which sums of exponentials need no maximum beforehand (online_sums.c).
#ifndef VYRE_ONLINE_SUMS_H
#define VYRE_ONLINE_SUMS_H

#include "ir/build/rewrite.h"

// A loop that finds the maximum of x, and one that sums terms of exp(x − top).
typedef struct vy_online {
    uint32_t first, loop;
    uint32_t top, x;          // the maximum; x, of an iteration of `loop`
    uint32_t difference, exp; // x − top, and its exponential
    uint32_t sums, loads;     // how many slots add them up; how many loads of a tape are changed
    uint32_t base, old;       // while it is rebuilt: what exponents are relative to, and the factor
    uint32_t higher;          // of earlier terms; does the base change?
} vy_online;
VY_VEC_TYPE(vy_online_vec, vy_online);

typedef struct vy_online_sums {
    vy_online_vec found;
    // By instruction: 1 + what it belongs to: of both loops, the difference and the exponential,
    // the additions to sums, and the stores and loads of a tape of the exponential.
    uint32_t *of;
} vy_online_sums;

// Fills *o, whose vector is the caller's to free.  False: out of memory.
bool vy_find_online_sums(vy_rewrite *w, vy_online_sums *o);

static inline const vy_online *vy_online_of(const vy_online_sums *o, uint32_t id)
{
    return VY_IS_LEAF(id) || !o->of[id] ? NULL : &o->found.data[o->of[id] - 1];
}

#endif
