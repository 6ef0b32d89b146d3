// SPDX-License-Identifier: MIT
// phases.h: which accesses may be in one phase, that is, between the same two barriers.
#ifndef VYRE_PHASES_H
#define VYRE_PHASES_H

#include "ir/core/ir.h"

// Sets of up to 64 items (memories, or accesses) that are loaded, stored to, updated atomically.
typedef struct vy_phase_access {
    uint64_t loads, stores, updates;
} vy_phase_access;

static inline vy_phase_access vy_touch_both(vy_phase_access x, vy_phase_access y)
{
    return (vy_phase_access){x.loads | y.loads, x.stores | y.stores, x.updates | y.updates};
}

// The phases of one program.  Callers fill `touch` (what an instruction touches) and `removed`
// (barriers to ignore), which start empty.
typedef struct vy_phases {
    const vy_program *p;
    const vy_structure *s;
    vy_phase_access *touch;
    uint8_t *removed;
    vy_phase_access *before; // by instruction: since the preceding barrier, on any path to it
    vy_phase_access *after;  // up to the following barrier, on any path from it
    // By any invocation in the same phase, also in arms that this one does not take.
    vy_phase_access *phase;
    vy_phase_access start;        // up to the first barrier
    vy_phase_access *head, *side; // scratch
    uint64_t work;                // instructions visited so far
} vy_phases;

bool vy_phases_make(vy_phases *f, const vy_program *p, const vy_structure *s, vy_arena *arena);
void vy_phases_find(vy_phases *f); // fills before, after and start
void vy_phases_fill(vy_phases *f); // after that: fills phase

#endif
