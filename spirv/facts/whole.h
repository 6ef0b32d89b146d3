// SPDX-License-Identifier: MIT
// whole.h: which sizes leave elements of shared arrays unfilled: what the files of whole.c share.
#ifndef VYRE_SPIRV_WHOLE_H
#define VYRE_SPIRV_WHOLE_H

#include "ir/core/dataflow.h"

// By instruction.
typedef struct vy_whole_uses {
    uint8_t *decides; // affects whether or where shared arrays are accessed
    uint8_t *counts;  // a load that certainly affects what is stored (whole_counts.c)
    uint8_t *shared;  // computed from constants and scalar parameters: the same in all invocations
} vy_whole_uses;

bool vy_whole_find_counting(vy_dataflow *flow,
                            const vy_whole_uses *u); // sets u->counts; false: memory
bool vy_whole_uses_make(const vy_program *p, const vy_structure *s,
                        vy_whole_uses *u); // false: memory
void vy_whole_uses_free(vy_whole_uses *u);

// The accesses of one invocation to shared arrays, as far as its position in the workgroup
// determines them (whole_walk.c).
typedef struct vy_whole_visitor {
    void *user;
    // element: row-major; −1: unknown.  All writes that may happen, but only the reads that happen
    // whatever the data.
    void (*write)(void *user, uint32_t buffer, int64_t element);
    void (*clear)(void *user, uint32_t buffer); // by the entire workgroup
    void (*read)(void *user, uint32_t load, int64_t element);
} vy_whole_visitor;

typedef struct vy_whole_walk vy_whole_walk;
vy_whole_walk *vy_whole_walk_make(const vy_program *p, const vy_structure *s,
                                  const vy_whole_uses *u,
                                  const vy_whole_visitor *v);     // NULL: memory
bool vy_whole_walk_lane(vy_whole_walk *w, const uint32_t lid[3]); // false: it takes too long
void vy_whole_walk_free(vy_whole_walk *w);

#endif
