// SPDX-License-Identifier: MIT
// alone.h: a program as the pipeline that dispatches it once; see alone.c.
#ifndef VYRE_DRIVER_ALONE_H
#define VYRE_DRIVER_ALONE_H

#include "ir/core/ir.h"

// Adds to m a pipeline `name` with the parameters of p, a program of it.  given: NULL, or by buffer
// whether the pipeline, and no longer the program, makes it begin as a copy of another one.  NULL:
// *diag, or memory.
vy_pipeline *vy_alone(vy_module *m, vy_program *p, const char *name, const uint8_t *given,
                      vy_diag *diag);

#endif
