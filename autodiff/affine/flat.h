// SPDX-License-Identifier: MIT
// flat.h: the axes of a flat index, the first one of a buffer.
#ifndef VYRE_FLAT_H
#define VYRE_FLAT_H

#include "autodiff/affine/access.h"

// Replaces the first index of x by one for each axis that it has; those of the buffer's other axes
// come after them.  False: x is unchanged, but for the reason.
bool vy_unflatten(vy_affine_access *x);
// The value that is the index along recovered axis k; 0: it is a sum, or one value of several.
uint32_t vy_flat_along(const vy_affine_access *x, uint32_t k);
void vy_access_clear(vy_affine_access *x); // frees the indices

#endif
