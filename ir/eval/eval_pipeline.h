// SPDX-License-Identifier: MIT
// eval_pipeline.h: a pipeline that the interpreter runs: what eval_pipeline.c and eval_dispatch.c
// share.
#ifndef VYRE_EVAL_PIPELINE_H
#define VYRE_EVAL_PIPELINE_H

#include "ir/eval/eval.h"

typedef struct pipe_repeat { // one that is running
    uint32_t step;
    int64_t to;
} pipe_repeat;

typedef struct pipe_runner {
    vy_machine m; // of the signature
    const vy_pipeline *pipeline;
    const vy_eval_hooks *hooks;
    int64_t *values; // by step
    bool *known;
    pipe_repeat *repeats; // innermost last
    uint32_t depth;
    vy_eval_buffer *args;
    uint64_t *lengths; // of those that are passed flat
    uint8_t *cleared;  // by buffer of the signature: an intermediate that begins as zero
    vy_eval_scalar *scalars;
    vy_dual_buffer *dots; // in runs with tangents: for those of `args` that are floats
    vy_dual_scalar *scalar_dots;
    uint32_t dot_count, scalar_dot_count;
    uint64_t steps;           // taken
    uint64_t workspace_bytes; // of the intermediates, in their own types
    uint64_t workspace_left;  // for workspaces of the next dispatch
    vy_eval_report report;    // of all dispatches
} pipe_runner;

// ---- eval_dispatch.c
// The program that a step dispatches.
const vy_program *vy_eval_step_callee(const pipe_runner *r, const vy_pipe_step *s);
bool vy_eval_step_fail(pipe_runner *r, vy_code code, const vy_pipe_step *s, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
// The value of a dimension; `what` names it in the error.
bool vy_eval_step_dim(pipe_runner *r, const vy_pipe_step *s, vy_dim d, const char *what,
                      int64_t *out);
// Linear index of the element buffer[index…]; missing indices are 0.
bool vy_eval_step_element(pipe_runner *r, const vy_pipe_step *s, vy_buffer buffer, uint32_t rank,
                          const vy_dim *index, uint64_t *element);
bool vy_eval_step_dispatch(pipe_runner *r, const vy_pipe_step *s);

#endif
