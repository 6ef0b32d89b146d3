// SPDX-License-Identifier: MIT
// zeros.h: which zeros a float can be.
#ifndef VYRE_ZEROS_H
#define VYRE_ZEROS_H

#include "ir/core/ir.h"

// Is the float x provably not −0?  From at most `depth` operations that it is made of, so false may
// mean that it is not known; the time is exponential in the depth.
bool vy_never_minus_zero(const vy_program *p, uint32_t x, int depth);

#endif
