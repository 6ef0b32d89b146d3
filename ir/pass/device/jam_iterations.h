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

typedef struct vy_jam {
    vy_rewrite *w;
    const uint8_t *same;            // by instruction: is it the same in the entire workgroup?
    uint8_t *kind;                  // vy_jam_kind, of the instructions of the loop
    uint32_t *depth;                // scratch
    uint32_t *made[VY_MOST_JAMMED]; // by copy, by instruction: what is early, and what that uses
    uint32_t *again;                // of one copy, by instruction: what follows
    uint32_t loop, end, first;      // `first` behind its CARRYs
    const struct vy_pass_context *context;                    // what may be copied
    uint32_t counter[VY_MOST_JAMMED], second[VY_MOST_JAMMED]; // by copy
} vy_jam;

bool vy_jam_tables(vy_jam *x); // all but `same`; false: out of memory
// How many long sums does an iteration make at a time, fewer than VY_INDEPENDENT_SUMS?  0: it makes
// none, or the loop is not one that is taken.  Notes x->kind of its instructions.
uint32_t vy_jam_sums(const vy_jam *x, uint32_t loop);
// May its body be copied so many times?
bool vy_jam_may_copy(const vy_jam *x, uint32_t loop, uint32_t times);
// Of a loop that vy_jam_sums has looked at last: its iterations from..to, `factor` at a time; with
// one at a time those from `start` on (in reverse: before it; 0: all).  values: what it carries,
// and then its results; one more than it has slots.
void vy_jam_emit(vy_jam *x, uint32_t loop, const uint32_t bound[2], uint32_t factor, uint32_t start,
                 uint32_t *values);

#endif
