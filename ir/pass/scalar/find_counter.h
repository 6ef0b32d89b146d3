// SPDX-License-Identifier: MIT
// find_counter.h: does a `while` count, and how?
#ifndef VYRE_FIND_COUNTER_H
#define VYRE_FIND_COUNTER_H

#include "ir/pass/scalar/iteration.h"

typedef enum vy_counting_form {
    VY_COUNTS_NOT,
    VY_COUNTS_UP,    // from the initial value to the bound
    VY_COUNTS_DOWN,  // by one, from the initial value to the bound
    VY_COUNTS_TRIPS, // the way from the one to the other is no range of the type, or may be none
} vy_counting_form;

typedef struct vy_counting_loop { // a WHILE; ids are of its program
    vy_counting_form form;
    uint32_t slot;    // the carried value that counts
    uint32_t compare; // what is tested of it, which is `sense` in the body
    bool sense;
    bool last;                   // tested where an iteration ends: the loop runs once at least
    bool moved;                  // … after the step
    bool idle;                   // … ahead of all that it does: as if tested ahead of iterations
    bool down, reaches, differs; // k < n; k > n; k <= n, k >= n; k != n
    vy_type type;                // in which it is compared
    uint32_t bound;              // n, which can be computed ahead of the loop
    uint32_t step;               // what is added or subtracted, of either sign; the same
    uint32_t unsure;             // a scalar that counts if it is positive, which is not known; 0
    bool wide;                   // … and if it is no greater than the signed type's greatest
} vy_counting_loop;

// False: it does not count.  Where `unsure` is set, it does if that is assumed of the scalar;
// where `wide` is, if it is as well assumed to be a number of the signed type of its size.
bool vy_find_counter(const vy_rewrite *w, uint32_t loop, vy_counting_loop *c);
// How far a step goes; 0: that is positive, but not known.
uint64_t vy_counting_step(const vy_rewrite *w, const vy_counting_loop *c);
// Whether the loop is tested ahead of its iterations, by comparing a carried value with what does
// not change in it: `slot`, `compare`, `sense`, `bound` and how they are compared.
bool vy_counting_test(const vy_rewrite *w, uint32_t loop, vy_counting_loop *c);
// The value of what is the same in all iterations (vy_counting_invariant), in the new program.
uint32_t vy_counting_ahead(vy_rewrite *w, uint32_t loop, uint32_t id);
vy_scalar vy_greatest(vy_type integer);

#endif
