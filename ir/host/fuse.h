// SPDX-License-Identifier: MIT
// fuse.h: one program for two that a pipeline dispatches one after the other.
#ifndef VYRE_HOST_FUSE_H
#define VYRE_HOST_FUSE_H

#include "ir/core/pipe.h"

// How the parameters of the second program are passed.
typedef struct vy_fused {
    const vy_program *first, *second;
    // By buffer of the second: the buffer of the first that is the same memory, 0: none.  By
    // scalar: 1 + the scalar of the first that has the same value, 0: none.
    const uint32_t *buffers, *scalars;
    // By buffer of the first: an `out` parameter that nothing else reads.  Each invocation accesses
    // its own element only, so it becomes a local array of one element.
    const uint8_t *local;
} vy_fused;

// The program that does in each invocation what the first and then the second does: the bound
// parameters of the first, then those of the second that are not the same, likewise its scalars.
// It is added to `m`.  Neither has workspaces, shared memory, barriers or lengths of its own.
// NULL: m's diag.
vy_program *vy_fuse_programs(vy_module *m, const vy_fused *f);

// ---- fuse_access.c
// Has it nothing that invocations share, no loops, no lengths of its own, no derivative of its own?
bool vy_fuse_allows(const vy_program *p);
// Are all accesses to the buffer at the element with the invocation's variables as indices?
bool vy_fuse_is_own(const vy_program *p, uint32_t buffer);
// Has it an element for each invocation, and no others?
bool vy_fuse_covers(const vy_program *p, uint32_t buffer);
// Does every invocation overwrite its element of the buffer, which has no others?
bool vy_fuse_overwrites(const vy_program *p, uint32_t buffer);
// Does any of its code write to the buffer?
bool vy_fuse_writes(const vy_program *p, uint32_t buffer);
bool vy_fuse_asks_length(const vy_program *p, uint32_t buffer);

#endif
