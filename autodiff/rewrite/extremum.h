// SPDX-License-Identifier: MIT
// extremum.h: atomic_min and atomic_max of floats that depend on the inputs.
#ifndef VYRE_EXTREMUM_H
#define VYRE_EXTREMUM_H

#include "autodiff/core/facts.h"

// ---- extremum.c
bool vy_has_extremum(const vy_program *p); // of floats
// Refuses unordered accesses.  Where an invocation may execute an atomic_min or atomic_max more
// than once, or several on the same memory, the candidate v becomes @candidate(v, n): the n-th of
// the invocation, from 1.  active[]: by instruction, for atomics whether their memory has adjoints.
// False: the module's diag.
bool vy_extremum_prepare(vy_program *p, const uint8_t *active);
// ---- extremum_shared.c
// The same for shared arrays: the winner stores its candidate.
bool vy_extremum_shared(vy_program *p, const uint8_t *active);

// ---- extremum_paths.c
// *inexact: inexact floats decide whether, where or how often the atomics execute.  False: memory.
bool vy_extremum_inexact(const grad_facts *f, bool *inexact);

#endif
