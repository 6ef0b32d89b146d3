// SPDX-License-Identifier: MIT
// pipe_inline.h: the steps of a pipeline, rewritten for another signature.
//
//   pipe_inline.c    a pipeline that another one dispatches
//   inline_dims.c    dimensions over the new signature
//   pipe_flat.c      what is passed as flat(…), as copies
//   rewrite_steps.c  a pipeline under its own signature
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
static inline bool inline_stopped(const inlining *c) { return vy_builder_failed(c->q->b); }
// What is passed, over the new signature; and the dispatch s with other arguments.
vy_pipe_arg inline_place(inlining *c, const vy_pipe_arg *a);
void inline_dispatch(inlining *c, const vy_pipe_step *s, const vy_pipe_arg *args);

vy_pipe_scalar inline_scalar(inlining *c, const vy_pipe_scalar *s);

// ---- pipe_flat.c
typedef struct reshaped {
    vy_pipe_arg place; // what is passed, over the new signature
    vy_dim elements;   // how many it has
    uint32_t rank;
    const vy_dim *shape; // of the parameter; NULL: memory
    bool takes, gives;   // the parameter is read, written
} reshaped;

// Is the argument, over the signature `sig`, passed flat to a parameter of another rank or shape?
bool inline_reshapes(const vy_program *sig, const vy_pipe_arg *a, const vy_buf *parameter);
// What a parameter of `p` gets, over the new signature, as are the scalars of `p`.
reshaped inline_reshaped(inlining *c, const vy_pipe_arg *place, vy_dim elements,
                         const vy_program *p, const vy_buf *parameter,
                         const vy_pipe_scalar *scalars);
// A new buffer of its shape, called `name`, with what the parameter takes; and back what it gives.
vy_pipe_arg inline_reshape(inlining *c, const char *name, const reshaped *r);
void inline_reshape_back(inlining *c, const vy_pipe_arg *copy, const reshaped *r);

// ---- rewrite_steps.c
// Begins to rewrite `l`: the walk appends its steps, as they are by inline_step, BUFFERs by
// vy_rewrite_buffer.  False: memory.  The end installs the result as pipeline `number` of the
// module, its last, in place of `l`; false: see the module's diag, `l` is as it was.
bool vy_rewrite_steps(inlining *c, const vy_pipeline *l);
void vy_rewrite_buffer(inlining *c, uint32_t buffer);
bool vy_rewrite_steps_end(inlining *c, uint32_t number);

#endif
