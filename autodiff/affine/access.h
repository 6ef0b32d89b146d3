// SPDX-License-Identifier: MIT
// access.h: which elements an instruction touches, as an isl relation.
//
//   over(i: N)  for k in 0..K:  atomic_add(g[i + k], v)
//   [N, K] -> { [i, k] -> [i + k] : 0 <= i < N and 0 <= k < K }
//
// An index such as `a[i * K + k]` of a one-dimensional buffer f32[M * K] is read as a[i, k] of
// f32[M, K] where the bounds prove 0 <= k < K: the axes of an access are those of the index, not
// those that the buffer declares.  So is the first index of a buffer of vectors, f32[M * K, 4]: the
// component comes after the axes recovered from it.
#ifndef VYRE_ACCESS_H
#define VYRE_ACCESS_H

#include "autodiff/affine/affine.h"

enum { VY_MAX_AXES = VY_MAX_RANK };

typedef struct vy_affine_access {
    vy_nest nest; // of the instruction
    uint32_t id;  // LOAD, STORE or ATOMIC_*
    uint32_t buffer;
    uint32_t rank; // axes of the index
    uint32_t flat; // the first ones, recovered from the flat first index of the buffer; 0: none are
    // … whose strides are not factors of the buffer's extent: that of the first axis is the
    // buffer's, and the last row may end beyond it.
    bool strided;
    const vy_affine_rows *rows;     // … recovered under the condition of these; else NULL
    vy_extent extent[VY_MAX_AXES];  // as forms of the program's dimensions
    vy_dim dim[VY_MAX_AXES];        // … and as dimensions; of recovered axes: their extents
    isl_pw_aff *index[VY_MAX_AXES]; // NULL: not affine …
    vy_affine_why why[VY_MAX_AXES]; // … because
    uint32_t value[VY_MAX_AXES];    // the index operand; of recovered axes: 0
    uint32_t unclamped; // axes, a mask, along which `index` is the number before it is clamped
} vy_affine_access;

// The axis of the buffer that axis k of an index is, or was recovered from.
static inline uint32_t vy_buffer_axis(const vy_affine_access *x, uint32_t k)
{
    return k < x->flat ? 0 : k - x->flat + (x->flat > 0);
}

// `levels` as for vy_nest_make.  False: memory, or isl gave up.  Call vy_access_free either way.
bool vy_access_make(vy_affine_access *x, vy_affine *a, uint32_t id, uint32_t levels);
// The same, where `like` is that of a place with the same constructs around it, the same number of
// levels and the same first index: nothing of those is computed again.
bool vy_access_make_like(vy_affine_access *x, const vy_affine_access *like, uint32_t id);
void vy_access_free(vy_affine_access *x);
// Is every axis affine, and the iteration domain exact?
bool vy_access_exact(const vy_affine_access *x);
// { nest → elements }, projected onto the axes in `axes` (a bit mask; UINT32_MAX: all) and
// restricted to elements that exist (along axes that are not unclamped).  NULL: an axis is not
// affine, or isl gave up.
isl_map *vy_access_map(const vy_affine_access *x, uint32_t axes);
// The relation as isl prints it, in the arena; NULL: memory, or not affine.
const char *vy_access_text(const vy_affine_access *x, vy_arena *arena);

#endif
