// SPDX-License-Identifier: MIT
// shapes_build.h: one program whose buffers are getting shapes; shared by shapes/*.c.
//
//   recover.c   the driver, and the new program
//   given.c     shapes that the caller gives
//   strides.c   candidates: open buffers, and the strides of their indices
//   prove.c     are the indices in those rows, and how far does the first one go?
#ifndef VYRE_SHAPES_BUILD_H
#define VYRE_SHAPES_BUILD_H

#include "autodiff/affine/flat_terms.h"
#include "ir/build/rewrite.h"

enum { SHAPES_AXES = VY_FLAT_FACTORS };

typedef struct shapes_buffer {
    bool is;                       // may get a shape
    bool given;                    // its dimensions are
    bool one;                      // … for one axis: indices stay flat
    uint32_t inner;                // axes after the first
    vy_extent extent[SHAPES_AXES]; // their extents
    vy_dim dim[SHAPES_AXES + 1];   // of all axes
    isl_set *first;                // the indices along the first axis
} shapes_buffer;

typedef struct shapes_access {
    uint32_t id; // LOAD, STORE or ATOMIC_*
    vy_flat_terms terms;
    uint8_t axis[VY_FLAT_TERMS]; // of each term
} shapes_access;
VY_VEC_TYPE(shapes_access_vec, shapes_access);

typedef struct shapes {
    vy_rewrite w;
    vy_affine a;
    shapes_buffer *buffers; // by id
    shapes_access_vec accesses;
    uint32_t *at; // by instruction: 1 + index of the access
} shapes;

static inline vy_program *shapes_program(const shapes *s) { return s->w.p; }
static inline shapes_buffer *shapes_of(const shapes *s, const shapes_access *x)
{
    return &s->buffers[s->w.p->insts.data[x->id].aux];
}

// A new dimension of the program; id 0: memory.
vy_dim shapes_node(shapes *s, vy_dim_node n);
// ---- given.c
// Takes "M, K" for buffer b.  False: the module's diag.
bool shapes_give(shapes *s, uint32_t b, const char *dims);
void shapes_settle(shapes *s); // the forms of their extents, once s->a has begun
// ---- strides.c
void shapes_candidates(shapes *s); // which buffers may get a shape
bool shapes_read(shapes *s);       // their accesses; false: memory
void shapes_strides(shapes *s);    // of each; those without no longer are candidates
// The axis of each term.  strides: those that are a stride are 1 times it, if there are any.
// False: some belongs to none.
bool shapes_axes(shapes *s, shapes_access *x, bool strides);
void shapes_bound(shapes *s); // takes the extents of candidates to be extents
// ---- prove.c
// Drops what is not proved; finds the first extents.  True: it has dropped a candidate.
bool shapes_prove(shapes *s);

#endif
