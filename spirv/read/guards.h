// SPDX-License-Identifier: MIT
// guards.h: what a shader's conditions say about the invocations that do something.
#ifndef VYRE_READ_GUARDS_H
#define VYRE_READ_GUARDS_H

#include "ir/core/flow.h"

static inline const vy_inst *read_inst(const vy_program *p, uint32_t id) // of a leaf: none
{
    return &p->insts.data[VY_IS_LEAF(id) ? 0 : id];
}
static inline bool read_is_word(vy_type t) { return t == VY_U32 || t == VY_I32; }
// Without changes of the sign.
uint32_t read_plain(const vy_program *p, uint32_t id);

// An id along an axis, times a factor: of an invocation (VY_GID) or its workgroup (VY_WID).
typedef struct read_multiple {
    vy_builtin of;
    uint32_t axis, factor;
} read_multiple;
bool read_multiple_of(const vy_program *p, uint32_t x, read_multiple *out); // false: it is none
// The axis of which `id` is the global id; -1: it is none.
int read_axis_of(const vy_program *p, uint32_t id);

// Can it be a dimension?
bool read_is_extent(const vy_program *p, uint32_t id);
// Of an extent: as an unsigned number, is it no less than what it is as a dimension?
bool read_is_natural(const vy_program *p, uint32_t id);
// Of an extent: may it be another number than the dimension is, where that is small?
bool read_may_wrap(const vy_program *p, uint32_t id);

// The id of an invocation, or of its workgroup, along an axis, times the factor, and the offset,
// are together less than the extent, or than the extent and one.
typedef struct read_bound {
    uint32_t axis, factor;
    uint32_t extent; // a value that is computed of leaves
    uint32_t offset; // the same; 0: none
    bool of_group, one, is_signed;
} read_bound;

enum { READ_MOST_BOUNDS = 16 };
typedef struct read_bounds {
    uint32_t count;
    read_bound data[READ_MOST_BOUNDS];
} read_bounds;

// What an instruction does that others may see.
typedef enum read_effect {
    READ_NO_EFFECT,
    READ_GROUP_EFFECT,  // its workgroup: shared memory, barriers, operations among lanes
    READ_BUFFER_EFFECT, // anybody
} read_effect;
read_effect read_effect_of(const vy_program *p, uint32_t id);

// Adds what holds wherever an effect of that kind or a stronger one happens.  sets: by instruction,
// memory for it, whose element 0 is 0.
void read_guards(const vy_program *p, const vy_structure *s, read_effect least, uint32_t *sets,
                 read_bounds *out);
// The bound that holds where comparison `id` is `sense`, and nowhere else; false: there is none.
bool read_bound_of(const vy_program *p, uint32_t id, bool sense, read_bound *out);
static inline bool read_same_bound(const read_bound *a, const read_bound *b)
{
    return a->axis == b->axis && a->extent == b->extent && a->offset == b->offset &&
           a->factor == b->factor && a->of_group == b->of_group && a->one == b->one &&
           a->is_signed == b->is_signed;
}

#endif
