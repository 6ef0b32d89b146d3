// SPDX-License-Identifier: MIT
// most.h: the greatest element of a set, as a dimension of the program.
//
//   { [j] : 0 <= j < min(h, 2*w - 1) }      →      min(h, 2 * w - 1)
#ifndef VYRE_MOST_H
#define VYRE_MOST_H

#include "autodiff/affine/affine.h"

// What all elements of `reached` (kept), a set of one dimension, are below, and no less: one more
// than the greatest, a sum of scalars, or the greatest or least of a few; with a->quotients w in
// place of (w + 1) / 2 · 2, if nothing reaches it.  Its nodes are added to p, which is a->p.
// round: where that is a scalar less a few, the scalar.  id 0: it is something else, or memory
// (a->failed).
vy_dim vy_affine_end_of(vy_affine *a, vy_program *p, isl_set *reached, bool round);
// What all elements of `reached` (kept) are below, not necessarily the least: a scalar or
// dimension, or else a sum of scalars, or the least of a few.  (Of clamped indices,
// min(max(i, 0), w - 1), and of those of several branches, the greatest has more cases than are of
// use.)  id 0: there is none, or memory.
vy_dim vy_affine_above(vy_affine *a, vy_program *p, isl_set *reached);

#endif
