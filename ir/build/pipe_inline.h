// SPDX-License-Identifier: MIT
// pipe_inline.h: the steps of a pipeline, rewritten for another signature.
//
//   pipe_inline.c    a pipeline that another one dispatches
//   count_whiles.c   each `while` as a repeat of as many iterations as it takes
#ifndef VYRE_PIPE_INLINE_H
#define VYRE_PIPE_INLINE_H

#include "ir/build/pipe_build.h"

typedef struct inlining {
    vy_pipe *q;
    const vy_pipeline *l;
    const vy_program *sig;         // of l
    const vy_pipe_scalar *scalars; // by scalar of l
    const vy_dim *groups;
    vy_arena arena;
    vy_pipe_arg *places; // by buffer of l
    vy_dim *dims;        // by dimension of l; id 0: not translated yet
    uint32_t known;      // dimensions before it are translated, or use steps not reached yet
    vy_dim *steps;       // by step of l: the number that it gives
} inlining;

void *inline_room(inlining *c, size_t count, size_t size); // zeroed, in c->arena
vy_dim inline_dim(inlining *c, vy_dim d);                  // d over the new signature
void inline_step(inlining *c, uint32_t at);                // appends step `at` of c->l

#endif
