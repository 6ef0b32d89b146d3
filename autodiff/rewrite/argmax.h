// SPDX-License-Identifier: MIT
// argmax.h: the maximum or minimum over a loop's iterations has the derivative of one of them.
#ifndef VYRE_WINNER_H
#define VYRE_WINNER_H

#include "ir/core/ir.h"

// Rewrites carried values `v = max(v, e)` or `min` that nothing else uses, where active[] (by
// instruction) says that their results have derivatives.  False: the module's diag.
bool vy_winner(vy_program *p, const uint8_t *active);
// A quick test: may there be such a value?
bool vy_has_winner(const vy_program *p);

#endif
