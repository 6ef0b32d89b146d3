// SPDX-License-Identifier: MIT
// online_softmax.h: sums that a loop rescales when its running maximum grows.
#ifndef VYRE_RESCALE_H
#define VYRE_RESCALE_H

#include "autodiff/facts/degree.h"
#include "ir/core/ir.h"

// Gives the results of such loops the derivative of a plain sum, where active[] (by instruction)
// says that they have one.  False: the module's diag.
bool vy_rescale(vy_program *p, const uint8_t *active);
// May there be such a loop?
bool vy_has_rescaling(const vy_program *p);

// ---- online_softmax_find.c
typedef struct vy_rescaled {
    vy_degrees d;
    const uint32_t *uses; // by instruction
    uint32_t k;           // the maximum is carried value k
    uint32_t ifs;         // around the instruction that makes it
    bool stopped;         // no derivative passes through it
    bool cancels;         // nothing depends on which maximum it is
} vy_rescaled;
// Fills r, whose tables are allocated, for the loop r->d.loop.  False: it is no such loop.
bool vy_rescaled_find(vy_rescaled *r, const uint8_t *active);
// Is carried value k a sum whose result gets the derivative of the plain sum?
bool vy_rescaled_sum(const vy_rescaled *r, uint32_t k);

#endif
