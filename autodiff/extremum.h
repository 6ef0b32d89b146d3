// SPDX-License-Identifier: MIT
// extremum.h: atomic_min and atomic_max of floats that depend on the inputs.
#ifndef VYRE_EXTREMUM_H
#define VYRE_EXTREMUM_H

#include "reverse.h"

// ---- extremum.c
bool vy_has_extremum(const vy_program *p); // of floats
// Refuses what has no order; gives an atomic_min or atomic_max that its invocation may reach again, or another
// one of the same memory, one more operand: the how manyth it is for that invocation, from 1.  active[]: by
// instruction, of atomics whether their memory has adjoints.  False: the module's diag.
bool vy_extremum_prepare(vy_program *p, const uint8_t *active);
static inline bool vy_is_extremum(vy_op op)
{
    return op == VY_OP_ATOMIC_MIN || op == VY_OP_ATOMIC_MAX;
}
// ---- extremum_shared.c
// Those on shared arrays: the winner stores its candidate.  The same active[]; false: the module's diag.
bool vy_extremum_shared(vy_program *p, const uint8_t *active);

// ---- sweep_extremum.c
void vy_extremum_declare(reverse *r, uint32_t buffer); // what the program being built needs for it
void vy_extremum_replay(reverse *r, uint32_t id, bool performs);
void vy_extremum_reverse(reverse *r, uint32_t id);
// ---- extremum_stages.c
// What the reverse program just built asks for: nothing, winners, or which event of theirs it was.
vy_finding vy_extremum_asks(const reverse *r, const vy_program *p);
// Puts in front of `p`, the reverse program, which the result lists, the programs that find that.  False:
// the module's diag.
bool vy_extremum_stages(reverse *r, vy_program *p, vy_finding asks);
// ---- extremum_paths.c
// Do computed floats decide whether, where and how often the atomics are reached?  False: memory.
bool vy_extremum_loose(const reverse *r, bool *loose);
// ---- build.c
// The forward sweep with what r->finding says in place of the atomics; or NULL.
vy_program *vy_reverse_find(reverse *r, const char *suffix);

#endif
