// SPDX-License-Identifier: MIT
// access.h: what loads, stores and atomics do to memory: which element they name, and how much of an
// atomic an update of one is.
#ifndef VYRE_CORE_ACCESS_H
#define VYRE_CORE_ACCESS_H

#include "ir/core/ir.h"

// ------------------------------------------------------------------------------------ the element
// The axes of the buffer that an access names; so many first operands are its index.
static inline uint32_t vy_rank_of(const vy_program *p, uint32_t access)
{
    return p->buffers.data[p->insts.data[access].aux].rank;
}
// Have two accesses the same values as indices, on all axes but `but`?  Of another buffer, too.
enum { VY_NO_AXIS = VY_MAX_RANK };
bool vy_same_index(const vy_program *p, uint32_t x, uint32_t y, uint32_t but);
// Do two accesses certainly name one element, as long as no loop changes its index in between?
static inline bool vy_same_element(const vy_program *p, uint32_t x, uint32_t y)
{
    return p->insts.data[x].aux == p->insts.data[y].aux && vy_same_index(p, x, y, VY_NO_AXIS);
}

// ------------------------------------------------------------------------------------- an update
// M[i] = f(M[i], v), as it stands in a program or is to be made:
typedef enum vy_strength {
    VY_STRENGTH_NONE,   // no update
    VY_STRENGTH_ATOMIC, // other invocations may come to the element at the same time
    VY_STRENGTH_OWNED,  // none does (mark_owned.c; local arrays), so it is read and written plainly
    VY_STRENGTH_ONLY,   // nor does this one come back: the element is zero (mark_single_access.c)
    VY_STRENGTH_PLAIN,  // no atomic any more, but a load, an operation and a store
} vy_strength;
// Of an ATOMIC_*; NONE of anything else.  Plain ones have to be found: ir/facts/addition.h.
vy_strength vy_strength_of(const vy_program *p, uint32_t id);
uint8_t vy_strength_flags(vy_strength s); // how an ATOMIC_* says it
// What was proved of an ATOMIC_*.  Was less known?
bool vy_set_strength(vy_program *p, uint32_t id, vy_strength proved);

#endif
