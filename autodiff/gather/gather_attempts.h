// SPDX-License-Identifier: MIT
// gather_attempts.h: what is done to a reverse program before it is gathered, so that the analysis
// can read it; shared by the attempts (gather_attempts.c).
#ifndef VYRE_GATHER_ATTEMPTS_H
#define VYRE_GATHER_ATTEMPTS_H

#include "autodiff/gather/gather_build.h"

// What would become of a program.
typedef struct gather_probe {
    bool all;  // everything would be gathered
    bool open; // … if conditions hold
} gather_probe;

// What has been gathered of a program.
typedef struct gather_made {
    bool any;
    vy_program *rest; // the reverse program without that; NULL: nothing is left
} gather_made;

// What gather_winner.c did to the reverse program.
typedef struct gather_winners {
    vy_program *before; // as it was; NULL: nothing
    uint8_t *buffers;   // by buffer: it is added to where a maximum was
} gather_winners;

// What gather_multiples.c did to the reverse program.
typedef struct gather_multiples {
    vy_program *before; // as it was; NULL: nothing
    vy_arena arena;     // of the conditions
} gather_multiples;

// ---- gather_winner.c
// Gives additions where a maximum was the form that the analysis can read, if there are any.
// shared: also to elements that all invocations add to, which a gather is not worth.
// False: m's diag, or memory.  Call gather_free_winners either way.
bool gather_try_winners(vy_program *p, bool shared, gather_winners *all);
void gather_free_winners(gather_winners *all);
bool gather_wins_in_vain(const gather *g); // not all of them are gathered
// ---- gather_multiples.c
// Gives quotients of multiples the form that the analysis can read, if there are any, under
// conditions of begin->launch.  False: m's diag, or memory.  Call gather_free_multiples either way.
bool gather_try_multiples(gather *begin, gather_multiples *out);
void gather_free_multiples(gather_multiples *all);
// ---- gather_cases.c
// Where scalars choose between places that add, and that suffices to gather all of them: makes a
// program of each choice, and gathers each by `one`.  *done: it did.  whole: not if one program for
// all has no conditions.  False: m's diag, or memory.
bool gather_by_cases(gather *begin, bool (*one)(gather *), bool whole, bool *done);

#endif
