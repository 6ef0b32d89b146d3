// SPDX-License-Identifier: MIT
// runner.h: the session layer's runner, as the options of the command ask for it.
#ifndef VYRE_TOOL_RUNNER_H
#define VYRE_TOOL_RUNNER_H

#include "tools/command/bind.h"
#include "tools/command/gpu.h"

#include "session/runner.h"

typedef vys_runner runner;

// How written SPIR-V is made; false: an unknown --enable.
bool spirv_options(command *c, vy_spirv_options *o, vy_diag *d);
// Says once, of the entry compiled, that it was not validated as that takes too long.
void note_validation(command *c, const char *name, const vy_compiled *compiled);
bool runner_prepare(runner *r, command *c, binding *b, vy_diag *d);
bool runner_prepare_steps(runner *r, command *c, binding *b, const vy_plan *steps, vy_diag *d);
// With --report it also tells what the interpreter saw, and fails after a race or a read of what
// was never written.
bool runner_run(runner *r, command *c, double *ms, vy_diag *d);

#endif
