// SPDX-License-Identifier: MIT
// stored_before.h: is the element of a load surely one that its invocation has stored?
#ifndef VYRE_STORED_BEFORE_H
#define VYRE_STORED_BEFORE_H

#include "ir/core/ir.h"

typedef struct vy_stored_before {
    const vy_program *p;
    vy_structure s;
    uint32_t *first, *next; // stores by buckets, the last first; 0: the end
    uint32_t buckets;
} vy_stored_before;

// False: out of memory; then there is nothing to free.
bool vy_stored_before_make(vy_stored_before *x, const vy_program *p, vy_arena *arena);
void vy_stored_before_free(vy_stored_before *x);

// Has the invocation that executes the load surely executed a store to the same element before, in
// this dispatch?  Which stores came in between does not matter.
bool vy_is_stored_before(const vy_stored_before *x, uint32_t load);

#endif
