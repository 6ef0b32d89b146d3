// SPDX-License-Identifier: MIT
// gather_owning.h: what is left once what can be gathered is (gather_own.c, gather_grid.c).
#ifndef VYRE_GATHER_OWNING_H
#define VYRE_GATHER_OWNING_H

#include "autodiff/gather/gather_build.h"

// ---- gather_own.c
// Makes the additions plain where elements are one invocation's each under conditions of the
// launch, if that leaves no atomics.  False: m's diag, or memory.
// split: over coordinates, too.
bool gather_own(const gather *begin, bool split);
// ---- gather_grid.c
enum { GATHER_GRID = 1 << 24 }; // invocations along an axis, at most
// Gives a program without a domain one, until the end; false: memory.
bool gather_begin_grid(gather *g);
// Only one workgroup is to run along axes whose variable is not in `apart` (bits).
void gather_narrow_grid(gather *g, uint32_t apart);
void gather_require_grid(gather *g); // what the analysis takes to hold of it
void gather_end_grid(gather *g);
// ---- gather_notes.c
// The same of gather_own.c, in place of what was noted before.
bool gather_take_owned(const gather *g, const vy_program *r, vy_gather_notes *notes);

#endif
