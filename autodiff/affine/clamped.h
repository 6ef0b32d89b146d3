// SPDX-License-Identifier: MIT
// clamped.h: axes whose index is a number that is clamped, without a case for each end.
//
//   a[min(max(i - left, 0), w - 1)]                over(i: n)
//
//   i reaches e     e = 0 and i - left ≤ 0,  or  i - left = e,  or  e = w - 1 and i - left ≥ w - 1
//   the same        least ≤ i - left ≤ most, of    least = 0 < e ? e : −far
//                                                  most = e < w - 1 ? e : far
//
// The number before it is clamped is one expression, and which of them an element e has is an
// interval whose ends are parameters like e itself.  Of the index there would be three cases, of
// those along two axes nine, and 81 along four, which is more than isl gets far with, and each has
// a copy of the code of a point.
#ifndef VYRE_CLAMPED_H
#define VYRE_CLAMPED_H

#include "autodiff/affine/access.h"
#include "autodiff/affine/scan.h"

typedef struct vy_clamped {
    isl_pw_aff *of;   // what is clamped; NULL: the index is taken as it is
    isl_aff *lo, *hi; // of parameters alone; NULL: there is no such bound
    bool lo_last;     // it is lo where the bounds are out of order, else hi
    int64_t most;     // |of| is no more
} vy_clamped;

typedef struct vy_clamps {
    vy_clamped axis[VY_MAX_AXES];
} vy_clamps;

// Are axes in `axes` of x clamped, so that their cases would be several?  Then *out says how.
// *wraps: what is clamped may wrap around before, so it is taken as it is.  Call vy_clamps_free
// either way.
bool vy_access_unclamp(vy_affine_access *x, uint32_t axes, vy_clamps *out, bool *wraps);
// vy_access_map, vy_access_text of x with the axes that are clamped as they are before.
isl_map *vy_unclamped_map(const vy_affine_access *x, uint32_t axes, const vy_clamps *c);
const char *vy_unclamped_text(const vy_affine_access *x, const vy_clamps *c, vy_arena *arena);
bool vy_same_clamps(const vy_clamps *x, const vy_clamps *y, uint32_t axes);
void vy_clamps_free(vy_clamps *c);
// The least and the most number that clamping makes e, in the program being built; a number that
// does not fit: l has refused.
void vy_clamped_ends(vy_lattice *l, const vy_clamped *c, vy_signed e, vy_signed *least,
                     vy_signed *most);

#endif
