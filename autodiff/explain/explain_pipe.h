// SPDX-License-Identifier: MIT
// explain_pipe.h: the explanation of a pipeline while it is made.
#ifndef VYRE_EXPLAIN_PIPE_H
#define VYRE_EXPLAIN_PIPE_H

#include "autodiff/explain/explain_build.h"

// A step of a derivative that writes to one of its parameters, by names.
typedef struct note_writer {
    const char *program, *buffer;
} note_writer;
VY_VEC_TYPE(note_writer_vec, note_writer);

typedef struct note_result {
    const char *name, *of;
    vy_derivative_mode mode;
    uint32_t first, count; // in writers
} note_result;
VY_VEC_TYPE(note_result_vec, note_result);

typedef struct note_request {
    const char *of, *name;
    uint32_t line;         // of the dispatch
    uint32_t first, count; // in results
    const char **programs;
    uint32_t program_count;
} note_request;
VY_VEC_TYPE(note_request_vec, note_request);

typedef struct request_notes {
    note_request_vec requests;
    note_result_vec results;
    note_writer_vec writers;
} request_notes;

VY_VEC_TYPE(schedule_vec, const char *);

typedef struct pipe_explaining {
    explaining x; // memory, notes; forward: the signature
    vy_pipeline_explanation *e;
    request_notes requests;
    schedule_vec schedules;             // as texts
    const vy_pipeline *source, *result; // optimised
    const vy_pipeline *run;             // what runs forwards: `source`, or its sums in one order
} pipe_explaining;

// ---- pipe_requests.c
// Notes the derivatives of module m that `result`, a host program, dispatches.
void vy_requests_take(pipe_explaining *w, const reverse *r, const vy_program *result);
void vy_requests_free(request_notes *n);
void vy_explain_requests(pipe_explaining *w);

// ---- pipe_steps.c
// A workspace that a pipeline needs: an intermediate, or one of a program that it dispatches.
typedef struct pipe_space {
    const char *name;
    const vy_program *p;
    uint32_t buffer;
    vy_poly bytes;
} pipe_space;
VY_VEC_TYPE(pipe_space_vec, pipe_space);

// What the steps of a pipeline do, and the workspaces it needs, as polynomials of `c`.
typedef struct pipe_count {
    vy_count *c;
    const vy_pipeline *l;
    const vy_poly *dims; // of the signature
    vy_poly work[VY_PIPE_WORK_COUNT];
    // By step, + 1: what it does each time.  [0]: what is done before the first.
    uint32_t (*each)[VY_PIPE_WORK_COUNT];
    pipe_space_vec spaces;
    vy_poly bytes; // of all of them
} pipe_count;
bool vy_pipe_count(explaining *x, const vy_sizes *sizes, pipe_count *n); // false: memory

// ---- pipe_spaces.c
void vy_explain_spaces(pipe_explaining *w, const pipe_count *g);

// ---- pipe_run.c
// Runs through the steps of a pipeline whose sizes are known.  False: they are not, a value from a
// buffer decides, or it takes too long.
bool vy_pipe_run(explaining *x, const pipe_count *n, uint64_t work[VY_PIPE_WORK_COUNT]);

#endif
