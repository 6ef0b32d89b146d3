// SPDX-License-Identifier: MIT
// gather_left.h: derivatives of a lower order in a derivative.
#ifndef VYRE_GATHER_LEFT_H
#define VYRE_GATHER_LEFT_H

#include "autodiff/grad.h"

// Gathers what they add by atomics: the programs of `m`, the last derivative of a pipeline, whose
// order is below `order`.  False: m's diag.
bool vy_gather_left(vy_module *m, uint32_t order, const vy_grad_options *options);

#endif
