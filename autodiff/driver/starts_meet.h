// SPDX-License-Identifier: MIT
// starts_meet.h: buffers that begin as copies of what is used otherwise, too; see starts_meet.c.
#ifndef VYRE_DRIVER_STARTS_MEET_H
#define VYRE_DRIVER_STARTS_MEET_H

#include "autodiff/core/reverse.h"

// Is a gradient requested that is the sum of two adjoints, or of the adjoint of an `inout` and what
// the caller has?
bool vy_starts_meet(const vy_program *p, const vy_grad_options *o);
// The pipeline as which such a program is differentiated, the last of a module of its own; *o then
// names its outputs, in memory of that module.  NULL: *diag.
vy_module *vy_apart(const vy_program *p, vy_grad_options *o, vy_diag *diag);
// The gradient of such a program, in a module of its own; call: vy_transform.  NULL: *diag.
vy_module *vy_derive_apart(const vy_program *p, const vy_grad_options *o, vy_derive_call *call,
                           vy_diag *diag);

#endif
