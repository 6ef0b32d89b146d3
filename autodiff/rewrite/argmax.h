// SPDX-License-Identifier: MIT
// argmax.h: a maximum or minimum over iterations has the derivative of one of them.
#ifndef VYRE_WINNER_H
#define VYRE_WINNER_H

#include "ir/core/ir.h"

// Rewrites the loops whose carried value is `v = max(v, e)` or `min` and nothing else uses, where
// active[] (by instruction) says that their results have derivatives.  False: the module's diag.
bool vy_winner(vy_program *p, const uint8_t *active);
// Is there anything of that form at all?
bool vy_has_winner(const vy_program *p);

#endif
