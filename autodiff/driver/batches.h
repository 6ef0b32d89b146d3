// SPDX-License-Identifier: MIT
// batches.h: a program whose domain runs in batches; see batches.c.
#ifndef VYRE_DRIVER_BATCHES_H
#define VYRE_DRIVER_BATCHES_H

#include "autodiff/core/reverse.h"

// A copy of p in a module of its own, whose last pipeline has p's name and parameters, and runs p's
// domain in o->batches batches, one after the other.  Names the outputs in *o.  p takes it
// (vy_grad_batches).  NULL: *diag.
vy_module *vy_in_batches(const vy_program *p, vy_grad_options *o, vy_diag *diag);
// The derivative of p as the derivative of that.  call: vy_transform.  NULL: *diag.
vy_module *vy_derive_batches(const vy_program *p, const vy_grad_options *o, vy_derive_call *call,
                             vy_diag *diag);
// The variable of the domain along which it is cut: the first whose extent is no constant, else the
// first with more than one value; the number of variables: none.
uint32_t vy_batched_axis(const vy_program *p);
// Does the request mean that?
static inline bool vy_wants_batches(const vy_program *p, const vy_grad_options *o)
{
    return o->batches > 1 && !o->forward && vy_grad_batches(p);
}

#endif
