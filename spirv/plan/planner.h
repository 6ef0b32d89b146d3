// SPDX-License-Identifier: MIT
// planner.h: what planner.c, plan_dispatch.c and plan_pipeline.c share while they make a plan.  Not
// installed.
#ifndef VYRE_PLANNER_H
#define VYRE_PLANNER_H

#include "ir/core/pipe.h"
#include "spirv/emit/emit.h"
#include "spirv/describe/describe.h"
#include "spirv/plan/make.h"

VY_VEC_TYPE(vy_plan_buffer_vec, vy_plan_buffer);
VY_VEC_TYPE(vy_plan_step_vec, vy_plan_step);

typedef struct vy_shared { // workspaces of one kernel with these values of its symbols
    uint32_t kernel, first;
    const uint32_t *symbols;
} vy_shared;
VY_VEC_TYPE(vy_shared_vec, vy_shared);

typedef struct vy_planner {
    vy_describe d; // of the signature: symbols, expressions
    const vy_pipeline *p;
    const vy_pipe_kernels *k;
    const vy_kernel *kernels;
    vy_plan_buffer_vec buffers;
    vy_plan_step_vec steps;
    vy_shared_vec shared;
    uint32_t *step_symbols; // by pipeline step
    uint32_t *opened;       // by pipeline step: plan step of a REPEAT
    bool watched;           // some kernel detects whether the driver ends loops; shared by all:
    uint32_t watch;         // the plan buffer of the word
    uint32_t watch_symbol;  // and the symbol that it is read into
} vy_planner;

// All set w->d.oom when out of memory, and then return something harmless.
void *vy_planner_room(vy_planner *w, size_t count, size_t size); // zeroed; one element more
uint32_t vy_planner_const(vy_planner *w, int64_t value);
// "line 3" of the step, for messages; of one that is in no text, the name of the pipeline.
static inline const char *vy_planner_line(const vy_planner *w, const vy_pipe_step *s, char out[120])
{
    if (!s->line) return w->p->name;
    return vy_line_text(w->p->module, s->line, 1, out);
}
const char *vy_planner_print(vy_planner *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void vy_planner_step(vy_planner *w, vy_plan_step s);
void vy_planner_fill(vy_planner *w, uint32_t buffer, uint64_t pattern, const vy_plan_part *part);
void vy_planner_copy(vy_planner *w, uint32_t to, uint32_t from, const vy_plan_part *part);
// Adds a CHECK unless it is sure to pass.
void vy_planner_check(vy_planner *w, vy_check how, uint32_t expr, uint32_t limit, const char *text);
// Element number of buffer[index…] as an expression, each index checked.
uint32_t vy_planner_element(vy_planner *w, const vy_pipe_step *s, vy_buffer b, uint32_t rank,
                            const vy_dim *index);
void vy_planner_watch(vy_planner *w); // reads the watch word back and checks it, if there is one
void vy_planner_dispatch(vy_planner *w, const vy_pipe_step *s); // plan_dispatch.c
// Plan buffer of a buffer of the signature.
static inline uint32_t vy_planner_buffer(vy_buffer b) { return b.id - 1; }

#endif
