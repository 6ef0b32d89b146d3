// SPDX-License-Identifier: MIT
// array_versions.h: an array for each time that a local array is filled anew.
#ifndef VYRE_ARRAY_VERSIONS_H
#define VYRE_ARRAY_VERSIONS_H

#include "ir/core/ir.h"

// Local arrays that are overwritten become several that are not, as far as what they held may be
// needed again; copies of whole local arrays become these.  active: not used.  False: the module's
// diag.
bool vy_array_versions(vy_program *p, const uint8_t *active);
// A quick test: is there a local array that is stored to in a loop?
bool vy_has_versions(const vy_program *p);

#endif
