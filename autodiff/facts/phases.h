// SPDX-License-Identifier: MIT
// phases.h: which accesses may fall between the same two barriers.
#ifndef VYRE_PHASES_H
#define VYRE_PHASES_H

#include "ir/core/ir.h"

// Sets of up to 64 things (memories, or accesses) that are loaded, stored to, updated atomically.
typedef struct vy_touch {
    uint64_t loads, stores, updates;
} vy_touch;

static inline vy_touch vy_touch_both(vy_touch x, vy_touch y)
{
    return (vy_touch){x.loads | y.loads, x.stores | y.stores, x.updates | y.updates};
}

// Of one program.  Callers fill `touch` (what an instruction touches) and `gone` (barriers that do
// not count), which start empty.
typedef struct vy_phases {
    const vy_program *p;
    const vy_structure *s;
    vy_touch *touch;
    uint8_t *gone;
    vy_touch *before; // by instruction: since the barrier before it, on any way there
    vy_touch *after;  // up to the barrier behind it, on any way from there
    // By any invocation between the same two barriers, in arms that it does not take too.
    vy_touch *phase;
    vy_touch start;        // up to the first barrier
    vy_touch *head, *side; // scratch
    uint64_t work;         // instructions visited so far
} vy_phases;

bool vy_phases_make(vy_phases *f, const vy_program *p, const vy_structure *s, vy_arena *arena);
void vy_phases_find(vy_phases *f); // fills before, after and start
void vy_phases_fill(vy_phases *f); // then: fills phase

#endif
