// SPDX-License-Identifier: MIT
// components.h: which instructions do the same to the components of vectors.
//
//   v1 = load p[i, 0]    v3 = v1 * s    v5 = v1 * v1          {v1, v2}   p is one of vec2
//   v2 = load p[i, 1]    v4 = v2 * s    v6 = v2 * v2          {v3, v4}   {v5, v6}
//
// The IR knows scalars only; a program of vectors has a copy of each operation for each component,
// anywhere.  A *group* is one such set, of the instructions of one stretch without control flow:
// loads, stores or additions of a row, or an operation whose operands are of the same component of
// the same groups, or one value for all, or constants.  What a construct carries or yields for a
// vector (ir/core/vector_slots.h) is a group, too, where it is, and so is what has the names of its
// components.
#ifndef VYRE_COMPONENTS_H
#define VYRE_COMPONENTS_H

#include "ir/core/vector_slots.h"

typedef struct vy_group {
    uint32_t member[VY_MOST_COMPONENTS]; // by component; 0: none
    uint32_t size;
    bool complete;
    bool vector;         // they are better together …
    bool stays;          // … but stay where they are
    bool made;           // of what is not computed alike: a vector, but no operation on one
    uint32_t next, last; // while they are found
} vy_group;
VY_VEC_TYPE(vy_group_vec, vy_group);

typedef struct vy_components {
    vy_group_vec groups; // [0] is a dummy; that of an operand precedes that of its user
    uint32_t *group;     // by instruction; 0: none
    uint8_t *component;  // of those in a group
    uint32_t *stretch;   // by instruction: the one that begins its stretch; itself: a boundary
} vy_components;

// Does a buffer hold vectors (vector_buffers.h), or has anything the name of a component?  Else the
// program has no groups.
bool vy_has_vectors(const vy_program *p);
// The tables are in `arena`; false: out of memory.  To be freed with vy_components_free.
bool vy_components_find(vy_components *c, const vy_program *p, const vy_structure *s,
                        vy_arena *arena);
void vy_components_free(vy_components *c);

#endif
