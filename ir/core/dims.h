// SPDX-License-Identifier: MIT
// dims.h: when are two dimensions equal?
#ifndef VYRE_DIMS_H
#define VYRE_DIMS_H

#include "ir/core/ir.h"

// Equal dimensions get equal forms: value = (value of base) + offset; base 0 is zero.
typedef struct vy_extent {
    uint32_t base;
    int64_t offset;
} vy_extent;
#define VY_NO_BASE UINT32_MAX

typedef struct vy_dim_facts {
    vy_extent *form;  // by dimension node
    int64_t *least;   // by base: a lower bound of its value wherever code runs
    uint32_t *scalar; // by scalar parameter: the base that is its value, or VY_NO_BASE
} vy_dim_facts;
// False: out of memory.
bool vy_dim_facts_make(vy_dim_facts *f, const vy_program *p, vy_arena *arena);

// True if the two are provably equal, or provably different.
static inline bool vy_same_dim(const vy_dim_facts *f, vy_dim a, vy_dim b)
{
    return f->form[a.id].base == f->form[b.id].base && f->form[a.id].offset == f->form[b.id].offset;
}
static inline bool vy_other_dim(const vy_dim_facts *f, vy_dim a, vy_dim b)
{
    return f->form[a.id].base == f->form[b.id].base && f->form[a.id].offset != f->form[b.id].offset;
}
// Are the expressions equal node by node?  Needs no facts; some equal dimensions, and those of more
// than a few hundred nodes, are not recognised.
bool vy_equal_dims(const vy_program *p, vy_dim a, vy_dim b);
// Classes of equal expressions, by dimension.  NULL: out of memory.
uint32_t *vy_dim_classes(const vy_program *p, vy_arena *arena);

// The value of an operation on dimensions; false: it overflows or divides by zero.
bool vy_dim_combine(vy_dim_op op, int64_t a, int64_t b, int64_t *value);

#endif
