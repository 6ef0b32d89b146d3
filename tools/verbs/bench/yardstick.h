// SPDX-License-Identifier: MIT
// yardstick.h: a gradient written by hand in GLSL, to measure ours against.
//
// It is described by a plan file: Vyre text whose programs have no code, as shaders stand for them,
// and a pipeline that dispatches them (shaders/README.md).  So its buffers, sizes, group counts,
// clears, repeats and slices are read, checked and executed by the code for pipelines; only the
// SPIR-V of the kernels is replaced.
#ifndef VYRE_TOOL_YARDSTICK_H
#define VYRE_TOOL_YARDSTICK_H

#include "tools/command/bind.h"
#include "tools/command/command.h"

typedef struct yardstick {
    vy_module *module; // of the plan file
    const vy_pipeline *pipeline;
    vy_compiled *compiled; // the pipeline with kernels that do nothing
    vy_kernel *kernels;    // those with the shaders' code
    text *words;           // of each kernel: the file NAME.spv
    vy_plan_step *steps;   // of the pipeline, without the clearing of intermediates
    vy_plan plan;          // to be executed
} yardstick;

// Reads the plan file and its shaders, each from NAME.spv beside the plan or in ../shaders as seen
// from the command's own folder.  False with *d: an error in the text, as for any Vyre text; E0812
// for shaders that do not match the plan.  yardstick_free in every case.
bool yardstick_load(yardstick *y, command *c, const char *path, vy_diag *d);
void yardstick_free(yardstick *y);

// The number that the plan states as the domain of the program called `what` ("bytes",
// "operations"), for these scalars; negative: it states none.
double yardstick_amount(const yardstick *y, const binding *b, const char *what);

#endif
