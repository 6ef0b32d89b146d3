// SPDX-License-Identifier: MIT
// flat.h: the axes of an index of a one-dimensional buffer.
#ifndef VYRE_FLAT_H
#define VYRE_FLAT_H

#include "autodiff/affine/access.h"

// Replaces the single index of x by one for each axis that it has.  False: x is unchanged, but for
// the reason.
bool vy_unflatten(vy_affine_access *x);
void vy_access_clear(vy_affine_access *x); // frees the indices

#endif
