// SPDX-License-Identifier: MIT
// quiet.h: loads of shared memory that nothing changes between two barriers.
#ifndef VYRE_QUIET_H
#define VYRE_QUIET_H

#include "ir/core/ir.h"

// By instruction: 1 at a load whose workgroup writes nothing to that memory from the barrier before
// it to the one behind it, so that all invocations that load one element there get one number.
// *quiet is NULL where there is no such load.  False: out of memory.
bool vy_find_quiet(const vy_program *p, const vy_structure *s, vy_arena *arena, uint8_t **quiet);

#endif
