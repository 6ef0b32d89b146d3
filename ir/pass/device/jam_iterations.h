// SPDX-License-Identifier: MIT
// jam_iterations.h: which loops jam_iterations.c takes.
#ifndef VYRE_PASS_JAM_ITERATIONS_H
#define VYRE_PASS_JAM_ITERATIONS_H

#include "ir/build/rewrite.h"

enum {
    VY_MOST_JAMMED = 4,      // iterations that become one
    VY_INDEPENDENT_SUMS = 8, // so many at a time wait for none of them: an addition takes as long
};

// What becomes of an instruction of a loop.
typedef enum vy_jam_kind {
    VY_JAM_EARLY,   // of all iterations first: it waits for no earlier iteration
    VY_JAM_LAZY,    // made where it is used: a load, a place, a condition
    VY_JAM_LATE,    // the same; it is used once, by what is carried
    VY_JAM_CARRIED, // iteration by iteration: it depends on what an earlier one leaves
} vy_jam_kind;

// How many long sums does an iteration make at a time, fewer than VY_INDEPENDENT_SUMS?  0: it makes
// none, or the loop is not one that is taken.  kind: by instruction; that of those of the loop is
// noted.  depth: scratch, by instruction.
uint32_t vy_jam_sums(const vy_rewrite *w, uint32_t loop, uint8_t *kind, uint32_t *depth);

#endif
