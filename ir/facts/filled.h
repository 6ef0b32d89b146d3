// SPDX-License-Identifier: MIT
// filled.h: outputs all of which a program stores before it does anything else with them.
#ifndef VYRE_FILLED_H
#define VYRE_FILLED_H

#include "ir/core/ir.h"

// Sets filled[b] of each `out` buffer b that is surely stored to at every index, whatever the sizes
// and the data, and of which no element is loaded or updated before that.
void vy_find_filled(const vy_program *p, const vy_structure *s, uint8_t *filled);

#endif
