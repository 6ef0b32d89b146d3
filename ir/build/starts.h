// SPDX-License-Identifier: MIT
// starts.h: what buffers begin as (@init); see starts.c.
#ifndef VYRE_BUILD_STARTS_H
#define VYRE_BUILD_STARTS_H

#include "ir/core/ir.h"

// Does it begin as a copy, where the caller gives nothing?
static inline bool vy_begins_as_copy(const vy_buf *b)
{
    return b->init == VY_INIT_COPY && (b->workspace || b->cls == VY_OUT);
}
// Lets each buffer that begins as a copy name an input.  False: one is a copy of itself, and the
// module's diag says so.  The program has been checked.
bool vy_resolve_starts(vy_program *p);

#endif
