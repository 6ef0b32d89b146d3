// SPDX-License-Identifier: MIT
// redundant.h: stores of one value by several invocations to one element.
#ifndef VYRE_GRAD_REDUNDANT_H
#define VYRE_GRAD_REDUNDANT_H

#include "ir/core/ir.h"

// Of such stores, where active[] (by instruction) says that the value has a derivative, one
// invocation makes one.  False: the module's diag.
bool vy_store_once(vy_program *p, const uint8_t *active);

#endif
