// SPDX-License-Identifier: MIT
// subgroup.h: operations among lanes, before and while they are reversed.
#ifndef VYRE_SUBGROUP_H
#define VYRE_SUBGROUP_H

#include "autodiff/core/reverse.h"

// Prepares subgroup operations for the reverse: replaces maxima and minima by one lane's value, and
// makes padding lanes explicit where the reverse would pass through them (explicit_padding.h).
// active[]: by instruction, whether it has a derivative.  False: the module's diag.
bool vy_subgroup_prepare(vy_program *p, const uint8_t *active);
// The same for forward mode, where tangents go the way of the values: padding lanes are made
// explicit for products alone, whose tangents need the other lanes' values.
bool vy_subgroup_prepare_forward(vy_program *p, const uint8_t *active);
bool vy_has_subgroup(const vy_program *p);

#endif
