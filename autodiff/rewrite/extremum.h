// SPDX-License-Identifier: MIT
// extremum.h: atomic_min and atomic_max of floats that depend on the inputs.
#ifndef VYRE_EXTREMUM_H
#define VYRE_EXTREMUM_H

#include "autodiff/core/facts.h"

// ---- extremum.c
bool vy_has_extremum(const vy_program *p); // of floats
// Refuses what has no order; where an invocation may reach an atomic_min or atomic_max again, or
// another one of the same memory, what it offers becomes @candidate(v, n): the n-th of the
// invocation's candidates, from 1.  active[]: by instruction, of atomics whether their memory has
// adjoints.  False: the module's diag.
bool vy_extremum_prepare(vy_program *p, const uint8_t *active);
// ---- extremum_shared.c
// Those on shared arrays: the winner stores its candidate.  The same active[]; false: the module's
// diag.
bool vy_extremum_shared(vy_program *p, const uint8_t *active);

// ---- extremum_paths.c
// Do computed floats decide whether, where and how often the atomics are reached?  False: memory.
bool vy_extremum_loose(const grad_facts *f, bool *loose);

#endif
