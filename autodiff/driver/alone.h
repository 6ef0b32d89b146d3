// SPDX-License-Identifier: MIT
// alone.h: a program as the pipeline that dispatches it, once or in batches; see alone.c.
#ifndef VYRE_DRIVER_ALONE_H
#define VYRE_DRIVER_ALONE_H

#include "autodiff/core/reverse.h"

// Adds to m a pipeline `name` with the parameters of p, a program of it.  given: NULL, or by buffer
// whether the pipeline, and no longer the program, makes it begin as a copy of another one.  NULL:
// *diag, or memory.
vy_pipeline *vy_alone(vy_module *m, vy_program *p, const char *name, const uint8_t *given,
                      vy_diag *diag);
// Adds to m a pipeline with the name and the parameters of `shown` that dispatches p for one batch
// of the domain, which is cut along `axis`, after the other.  p: `shown`, with two scalars more
// (batches.c).
vy_pipeline *vy_alone_in_batches(vy_module *m, const vy_program *shown, vy_program *p,
                                 uint32_t axis, uint32_t batches, vy_diag *diag);

// Adds to `work`, which has a copy of p, such a pipeline as its last; *o names its outputs then, in
// memory of `work`.  False: *diag, or memory.
typedef bool vy_alone_make(vy_module *work, const vy_program *p, vy_grad_options *o, vy_diag *diag);
// The module of this; and the derivative of p as that of the pipeline.  call: vy_transform.  NULL:
// *diag.
vy_module *vy_alone_module(const vy_program *p, vy_alone_make *make, vy_grad_options *o,
                           vy_diag *diag);
vy_module *vy_alone_derive(const vy_program *p, vy_alone_make *make, const vy_grad_options *o,
                           vy_derive_call *call, vy_diag *diag);

// The outputs that the request means are those of p: to a pipeline each `inout` is one that it
// writes.  False: memory.
bool vy_alone_outputs(vy_module *work, const vy_program *p, vy_grad_options *o);

#endif
