// SPDX-License-Identifier: MIT
// subgroup.h: operations among lanes, before and while they are reversed.
#ifndef VYRE_SUBGROUP_H
#define VYRE_SUBGROUP_H

#include "reverse.h"

// Makes subgroup operations ready for the reverse: writes out maxima and minima as what one lane has, and
// padding lanes where the reverse would pass through them (unpad.h).  active[]: by instruction, whether it
// has a derivative.  False: the module's diag.
bool vy_subgroup_prepare(vy_program *p, const uint8_t *active);
bool vy_has_subgroup(const vy_program *p);

// sweep_subgroup.c: the reverse of an operation with an adjoint.
void vy_reverse_subgroup(reverse *r, uint32_t id, uint32_t g, uint32_t mask);
// Is operand 0 used in some lanes only?
bool vy_subgroup_chooses(vy_op op);
// May a replay execute it again, and get the same?
bool vy_subgroup_repeats(const reverse *r, uint32_t id);

#endif
