// SPDX-License-Identifier: MIT
// conditions.h: conditions on scalars under which gradients are gathered ("h * w <= cstep",
// gather/gather_assume.c), as texts: those that a result has, and those that a caller assumes
// (vy_grad_options.assume).
#ifndef VYRE_CONDITIONS_H
#define VYRE_CONDITIONS_H

#include "autodiff/grad.h"
#include "ir/core/ir.h"

// Do two texts state one condition?  Blanks, the order of terms and factors, and which side the
// smaller one is written on (`cstep >= w * h`) do not matter.
bool vy_condition_same(const char *x, const char *y);
// A gradient of m is gathered under the condition.  False: memory.
bool vy_condition_note(vy_module *m, const char *text);
bool vy_conditions_take(vy_module *m, const vy_module *from); // all of those of `from`
// `out`, a finished result or NULL; an error (E0507), and NULL, where a condition is assumed that
// no gradient of it is gathered under.  What will be differentiated again is not gathered yet.
vy_module *vy_conditions_known(vy_module *out, const vy_grad_options *o, vy_diag *diag);

#endif
