// SPDX-License-Identifier: MIT
// domain_dependence.h: which values differ between invocations that differ in one domain variable.
#ifndef VYRE_DOMAIN_DEPENDENCE_H
#define VYRE_DOMAIN_DEPENDENCE_H

#include "ir/core/ir.h"

enum { VY_ALONG_AXES = 8 }; // only this many domain variables are tracked, the last ones

// Bit k of each mask is variable first + k.
typedef struct vy_along {
    const vy_program *p;
    const vy_structure *s;
    uint32_t first;
    // By instruction.  Of writes all bits, as each invocation makes its own; of accesses to a local
    // array the same bits for all, as a copy of an invocation has all of the array or nothing.
    uint8_t *of;
    uint8_t *route; // by opening marker: what decides control flow to it and through it
    uint8_t *array; // by local array: its contents differ, or what is accessed of it
} vy_along;
// False: out of memory.
bool vy_along_make(vy_along *a, const vy_program *p, const vy_structure *s, vy_arena *arena);
uint8_t vy_along_leaf(const vy_along *a, uint32_t id);
// Of an access: along which variables its element differs, or whether it takes place.
uint8_t vy_along_element(const vy_along *a, uint32_t access);

// A buffer parameter one of whose axes (*k) has the extent of the domain along `axis`; 0: none.
uint32_t vy_axis_buffer(const vy_program *p, uint32_t axis, const uint32_t *classes, uint32_t *k);
// Is the extent available as a value: a constant, a scalar, the length of a buffer?  `classes`:
// vy_dim_classes.
bool vy_axis_has_extent(const vy_program *p, uint32_t axis, const uint32_t *classes);
// The extent, if it is a constant from 1 to 2^32 − 1, else 0.
uint32_t vy_axis_constant(const vy_program *p, uint32_t axis);

#endif
