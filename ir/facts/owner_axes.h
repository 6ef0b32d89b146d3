// SPDX-License-Identifier: MIT
// owner_axes.h: buffers each of whose elements only one invocation accesses.
#ifndef VYRE_OWNER_AXES_H
#define VYRE_OWNER_AXES_H

#include "ir/core/ir.h"

// By buffer: is it declared `@owned`, or does the program show it?  NULL: out of memory.
bool *vy_find_owned(const vy_program *p, vy_arena *arena);

#endif
