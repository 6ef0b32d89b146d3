// SPDX-License-Identifier: MIT
// access.h: what loads, stores and atomics do to memory: which element they name, and how much
// atomicity an update of it needs.
#ifndef VYRE_CORE_ACCESS_H
#define VYRE_CORE_ACCESS_H

#include "ir/core/ir.h"

// ------------------------------------------------------------------------------------ the element
// Rank of the buffer that is accessed: the index is this many operands, the first ones.
static inline uint32_t vy_rank_of(const vy_program *p, uint32_t access)
{
    return p->buffers.data[p->insts.data[access].aux].rank;
}
// How many of the first indices of an access are known to be in range (VY_FLAG_INRANGE, _FIRST).
static inline uint32_t vy_axes_known(const vy_program *p, uint32_t access)
{
    const uint8_t flags = p->insts.data[access].flags;
    return flags & VY_FLAG_INRANGE ? vy_rank_of(p, access) : flags / VY_FLAG_FIRST;
}
// Do two accesses have the same values as indices, on all axes but `but`?  The buffers may differ.
enum { VY_NO_AXIS = VY_MAX_RANK };
bool vy_same_index(const vy_program *p, uint32_t x, uint32_t y, uint32_t but);
// Do two accesses surely name the same element, as long as no loop changes the index in between?
static inline bool vy_same_element(const vy_program *p, uint32_t x, uint32_t y)
{
    return p->insts.data[x].aux == p->insts.data[y].aux && vy_same_index(p, x, y, VY_NO_AXIS);
}
// Do two accesses of one buffer surely name different elements: are their indices different
// constants on some axis?
bool vy_different_elements(const vy_program *p, uint32_t x, uint32_t y);

// ------------------------------------------------------------------------------------- an update
// M[i] = f(M[i], v), as a program has it or is to have it:
typedef enum vy_strength {
    VY_STRENGTH_NONE,   // no update
    VY_STRENGTH_ATOMIC, // other invocations may access the element at the same time
    VY_STRENGTH_OWNED,  // no other does (mark_owned.c; local arrays): plain read and write suffice
    VY_STRENGTH_ONLY,   // its invocation's only access: the element is zero (mark_single_access.c)
    VY_STRENGTH_PLAIN,  // no longer an atomic: a load, an operation and a store
} vy_strength;
// Of an ATOMIC_*; NONE for anything else.  Plain updates have to be found: ir/facts/addition.h.
vy_strength vy_strength_of(const vy_program *p, uint32_t id);
uint8_t vy_strength_flags(vy_strength s); // the flags of an ATOMIC_* that express it
// Sets what was proved of an ATOMIC_*.  Returns whether that is more than was known.
bool vy_set_strength(vy_program *p, uint32_t id, vy_strength proved);

#endif
