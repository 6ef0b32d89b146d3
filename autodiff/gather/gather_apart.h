// SPDX-License-Identifier: MIT
// gather_apart.h: adjoints of outputs whose elements a launch shows to be stored once
// (gather_apart.c, gather_apart_places.c).
#ifndef VYRE_GATHER_APART_H
#define VYRE_GATHER_APART_H

#include "autodiff/gather/gather_attempts.h"
#include "autodiff/gather/gather_owning.h"

typedef struct gather_apart {
    gather_owners owners; // what gather->owners refers to
    uint8_t *cleared;     // by buffer: the adjoint of an output, of which elements are cleared
    uint32_t *skip;       // … its axes on which all accesses have constants, as bits
    gather *whole;        // of the program as it is; its r gets the dimensions of the conditions
    gather_one *one;
    vy_program *version; // without what clears them; NULL: none, or it is not worth it
    vy_dim holds;        // 1 where the conditions hold, else 0; id 0: in every launch
    const char *text;    // … for readers
} gather_apart;

// ---- gather_apart_places.c
// The buffers, of a program with g->s.  False: there are none, or memory (g->failed).
bool gather_find_cleared(gather *g, gather_apart *x);
// Of a gather_proof: the places, one of those that are at one element; are they apart?
bool gather_find_places(gather *g, bool *vain);
bool gather_find_places_again(gather *g);
bool gather_places_apart(gather *g);
static inline gather_apart *gather_apart_of(const gather *g)
{
    return (gather_apart *)g->owners; // its first member
}

#endif
