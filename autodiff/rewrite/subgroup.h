// SPDX-License-Identifier: MIT
// subgroup.h: operations among lanes, before and while they are reversed.
#ifndef VYRE_SUBGROUP_H
#define VYRE_SUBGROUP_H

#include "autodiff/core/reverse.h"

// Makes subgroup operations ready for the reverse: writes out maxima and minima as what one lane
// has, and padding lanes where the reverse would pass through them (explicit_padding.h).  active[]:
// by instruction, whether it has a derivative.  False: the module's diag.
bool vy_subgroup_prepare(vy_program *p, const uint8_t *active);
bool vy_has_subgroup(const vy_program *p);

#endif
