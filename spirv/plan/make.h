// SPDX-License-Identifier: MIT
// make.h: plans (plan.h) from kernels.
#ifndef VYRE_PLAN_MAKE_H
#define VYRE_PLAN_MAKE_H

#include "spirv/words/module.h"

bool vy_plan_make(const vy_kernel *kernel, vy_arena *arena, vy_plan *plan);
vy_role vy_plan_role(const vy_kernel_binding *b);
uint64_t vy_plan_one(const char *type);                        // the bits of 1
vy_plan_step vy_plan_watch_check(uint32_t word, uint32_t one); // expressions

// pipeline.c.  The programs that a pipeline dispatches, in order of their first dispatch, as
// kernels.
typedef struct vy_pipe_kernels {
    const vy_program **programs;
    uint32_t count;
    uint32_t *index; // by program of the module: kernel
    bool **sliced;   // by kernel, by buffer id of the program
} vy_pipe_kernels;
bool vy_pipe_kernels_make(const vy_pipeline *p, vy_arena *arena, vy_pipe_kernels *k);
// plan_pipeline.c: its plan, once they are compiled.  False: memory.
bool vy_plan_pipeline(const vy_pipeline *p, const vy_pipe_kernels *k, const vy_kernel *kernels,
                      vy_arena *arena, vy_plan *plan);

#endif
