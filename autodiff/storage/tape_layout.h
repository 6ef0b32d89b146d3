// SPDX-License-Identifier: MIT
// tape_layout.h: where a value lies on its tape: what the files of tape.c share.
//
//   tape.c             declares the tapes of a program
//   tape_invocation.c  … how many invocations have a place on them, and which this one is
//   tape_access.c      stores values and loads them
#ifndef VYRE_TAPE_LAYOUT_H
#define VYRE_TAPE_LAYOUT_H

#include "autodiff/core/counter.h"
#include "autodiff/core/reverse.h"

// The CHECKPOINT whose replay tapes `id`; 0: the forward sweep does.
static inline uint32_t vy_tape_keeper(const reverse *r, uint32_t id)
{
    return r->plan.kept[id] - 1;
}
// What the program being built has of a counter.
static inline built_counter *vy_tape_built(const reverse *r, const vy_counter *c)
{
    return &r->build.counters[c - r->plan.counters.data];
}
// The counter of the innermost unbounded loop around `id`, inside the scope that tapes it; or NULL.
const vy_counter *vy_tape_counter(const reverse *r, uint32_t id);
// The type of the tape's elements.
vy_type vy_tape_type(const reverse *r, uint32_t id);
// The number of invocations of a program without a domain.
vy_dim vy_tape_all_groups(reverse *r);

#endif
