// SPDX-License-Identifier: MIT
// runner.h: one program or pipeline with its data, ready to be executed again and again by either engine.
#ifndef VYRE_TOOL_RUNNER_H
#define VYRE_TOOL_RUNNER_H

#include "tools/bind.h"
#include "tools/gpu.h"

#include "spirv/spirv.h"

typedef struct runner {
    runnable what;
    binding *data; // the caller's
    vy_compiled *compiled;
    const vy_plan *steps; // what runs: of `compiled`, or the caller's
    vkrt_plan *plan;
} runner;

// How written or run SPIR-V is made, from the options; false: an unknown --enable.
bool spirv_options(const command *c, vy_spirv_options *o, vy_diag *d);
// Compiles (c->gpu's device is open for vulkan).  runner_free in every case, before binding_free.
bool runner_prepare(runner *r, command *c, binding *b, vy_diag *d);
// The same for a plan that exists already, whose buffers and scalars are the binding's; Vulkan only.
bool runner_prepare_steps(runner *r, command *c, binding *b, const vy_plan *steps, vy_diag *d);
// Gives the engine the contents of the binding's buffers.
bool runner_upload(runner *r, vy_diag *d);
// Runs once; *ms: time on the device, or in the interpreter.
bool runner_run(runner *r, command *c, double *ms, vy_diag *d);
// Fetches `out` and `inout` buffers into the binding.
bool runner_read(runner *r, vy_diag *d);
void runner_free(runner *r);

#endif
