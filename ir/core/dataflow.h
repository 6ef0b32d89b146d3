// SPDX-License-Identifier: MIT
// dataflow.h: sparse data flow: a worklist over the uses of values.
//
// A fact about values that only grows (or only shrinks) has one fixpoint, whatever the order in
// which the instructions are visited.  Sweeping over the program until nothing changes takes as
// many sweeps as the fact's path is long, which is quadratic where a loop passes the value of slot
// k + 1 to slot k.  Here only what may change is visited again:
//
//   forwards    a fact about `id` has changed: vy_dataflow_push_users
//   backwards   a fact about an operand has changed: vy_dataflow_push of the operand
//   memory      a fact about a buffer has changed: vy_dataflow_push_accesses
//
// The users of a value are the operations, loads and stores that have it as an operand, the CARRYs
// and RESULTs that may take its value, and the opening markers of the constructs that it controls;
// the markers in between are not users (flow.h).
#ifndef VYRE_DATAFLOW_H
#define VYRE_DATAFLOW_H

#include "ir/core/flow.h"

typedef struct vy_dataflow {
    const vy_program *p;
    const vy_structure *s;
    // By instruction: its users are users[k] for k from first_user[id] to first_user[id + 1] − 1.
    uint32_t *first_user, *users;
    // By buffer: likewise its memory operations, in order.
    uint32_t *first_access, *accesses;
    uint32_t *work, count; // the worklist; each instruction at most once
    uint8_t *waits;
} vy_dataflow;

// In linear time; all memory is the arena's.  False: out of memory.
bool vy_dataflow_make(vy_dataflow *d, const vy_program *p, const vy_structure *s, vy_arena *arena);
// Puts an instruction on the worklist; not a leaf, whose facts depend on no others.
static inline void vy_dataflow_push(vy_dataflow *d, uint32_t id)
{
    if (VY_IS_LEAF(id) || d->waits[id]) return;
    d->waits[id] = 1;
    d->work[d->count++] = id;
}
void vy_dataflow_push_all(vy_dataflow *d);
void vy_dataflow_push_users(vy_dataflow *d, uint32_t id);
void vy_dataflow_push_accesses(vy_dataflow *d, uint32_t buffer);
// The next instruction to visit, or 0.
static inline uint32_t vy_dataflow_pop(vy_dataflow *d)
{
    if (!d->count) return 0;
    uint32_t id = d->work[--d->count];
    d->waits[id] = 0;
    return id;
}

#endif
