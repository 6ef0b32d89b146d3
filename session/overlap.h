// SPDX-License-Identifier: MIT
// overlap.h: sums of a step that begin while the rest of it is computed (session/ranks.h).
#ifndef VYRE_SESSION_OVERLAP_H
#define VYRE_SESSION_OVERLAP_H

#include "session/ranks.h"

// Reads an array and begins its sum.
typedef bool vys_begin_sum(vys_ranks *r, uint32_t index, uint32_t step, vy_diag *d);
// Watches the arrays of the last part, unless there is one rank or no device.
bool vys_overlap_begin(vys_ranks *r, vys_begin_sum *begin, vy_diag *d);
void vys_overlap_free(vys_ranks *r);
// Before the derivative of the last part runs: from now on sums begin.  All ranks call it.
bool vys_overlap_arm(vys_ranks *r, uint32_t step, vy_diag *d);
// After it: begins the sums that are left.
bool vys_overlap_drain(vys_ranks *r, vy_diag *d);
// The order in which all ranks begin sums, and so finish them.
uint32_t vys_overlap_order(const vys_ranks *r, uint32_t place);

#endif
