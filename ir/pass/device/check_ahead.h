// SPDX-License-Identifier: MIT
// check_ahead.h: between check_forms.c, which finds what can be checked before a loop, and
// check_ahead.c, which checks it there.
#ifndef VYRE_CHECK_AHEAD_H
#define VYRE_CHECK_AHEAD_H

#include "ir/build/rewrite.h"

enum {
    VY_AHEAD_COUNTERS = 4, // loops of few iterations in an outermost one
    VY_NO_SIDE = 3,        // no axis of the workgroup
};

// What a value is made of.
typedef struct vy_ahead_form {
    bool known, kept; // kept: no lane and no iteration changes it
    uint8_t axis;     // of the workgroup, along which it changes
    uint8_t counters; // bit k: made of counter k
    uint8_t high;
    int32_t slope;
} vy_ahead_form;

typedef struct vy_ahead {
    vy_rewrite w;
    const uint32_t *along[3];
    vy_ahead_form *of;     // by instruction
    uint8_t *freed;        // selects and loads
    uint32_t *taken, look; // by condition: twice the look that counted it, + 1 once it is checked
    uint32_t *value, *stamp, now;          // by instruction: what was evaluated, and when
    uint32_t counter[VY_AHEAD_COUNTERS];   // loops
    uint64_t trips[VY_AHEAD_COUNTERS];     // of those
    uint32_t counters, checks;             // of the loop that is looked at
    uint32_t iteration[VY_AHEAD_COUNTERS]; // that is evaluated
    bool last;                             // … at the last lane, not at the first
    vy_id_vec required;                    // conditions that `all` has
    vy_value all;
} vy_ahead;

vy_ahead_form vy_ahead_form_of(const vy_ahead *x, uint32_t id);
// Of an instruction that is in no loop.
void vy_look_outside(vy_ahead *x, uint32_t id);
// Can checks of the outermost loop be left out?  Decides all that is in it.
bool vy_look_inside(vy_ahead *x, uint32_t loop);
// Is it a conjunction?
bool vy_is_joined(const vy_program *p, uint32_t id);

#endif
