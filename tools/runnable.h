// SPDX-License-Identifier: MIT
// runnable.h: what can be run, compiled and described: a program, or a pipeline of programs.
#ifndef VYRE_TOOL_RUNNABLE_H
#define VYRE_TOOL_RUNNABLE_H

#include "tools/tool.h"

#include "ir/pipeline.h"
#include "spirv/spirv.h"

typedef struct runnable {
    const vy_program *program;   // its parameters; of a pipeline, the signature, which has no code
    const vy_pipeline *pipeline; // NULL: a program
} runnable;

runnable runnable_program(const vy_program *p);
runnable runnable_pipeline(const vy_pipeline *p);
// What a derived module is for: its last pipeline, else its first program.
runnable runnable_result(const vy_module *m);
const char *runnable_name(runnable r);
vy_compiled *runnable_compile(runnable r, const vy_spirv_options *o, vy_diag *d);
// Of all programs that take part, each once.
uint32_t runnable_instructions(runnable r);
// Whether a float buffer parameter is an output where --of names none.
bool runnable_default_of(runnable r, vy_buffer b);
// What is known of a launch: scalars (by index), lengths of buffers with one dimension (by vy_buffer.id), what
// num_groups is, and the dimensions of the parameters' program as vy_program_dim_values gives them.
typedef struct launch_values {
    const int64_t *scalars, *lengths, *groups, *dims;
    const bool *known; // of the scalars
    const vy_dim_state *states;
} launch_values;
// Turns that the loops of one invocation take together, at most, in the program that takes the most of
// them (*worst); loops that depend on data count as one, and *complete is then false.
uint64_t runnable_turns(runnable r, const launch_values *v, const vy_program **worst,
                        bool *complete);
// The same of one program, in all launches of it that r makes.
uint64_t runnable_program_turns(runnable r, const vy_program *p, const launch_values *v,
                                bool *complete);
// How far the domain of `p` extends along an axis, at least, in all launches of it; -1: that is not known.
int64_t runnable_extent(runnable r, const vy_program *p, uint32_t axis, const launch_values *v);

// Do the rows of all workgroups that it dispatches fill `lanes`?
bool runnable_rows_fill(runnable r, uint32_t lanes);

#endif
