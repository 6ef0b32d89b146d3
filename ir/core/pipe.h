// SPDX-License-Identifier: MIT
// pipe.h: pipelines, the internal interface.
//
//   pipeline.c        building and reflection     check_pipeline.c  blocks, what is known where
//   check_dispatch.c  arguments of one dispatch   print_pipe.c      text
//   equal.c           comparison                  binary_*.c        binary form
//   pipe_edit.c       one step replaced          pipe_inline.c     calls of pipelines
//   pipe_uses.c       what must be cleared          pipe_slices.c     which slices steps name
#ifndef VYRE_PIPE_H
#define VYRE_PIPE_H

#include "ir/core/dims.h"

// Parameters of a program that a dispatch binds: buffers that are no workspace.
static inline bool vy_pipe_binds(const vy_buf *b) { return vy_is_global(b->cls) && !b->workspace; }

// dims[s] becomes the dimension of the signature that scalar s of `p` gets from the shapes of the
// buffers passed; id 0 where no shape determines it.  The arguments must fit (vy_check_arguments).
void vy_pipe_infer(const vy_program *signature, const vy_program *p, const vy_pipe_arg *args,
                   vy_dim *dims);

// The bound and the counter of the repeat that a `while` is: exact as a double, and never reached.
// Nothing uses the counter.
#define VY_WHILE_MOST (INT64_C(1) << 52)
#define VY_WHILE_COUNTER "turn"

// A dispatch of a pipeline, which is inlined: `program` is its number.  No finished pipeline has
// such a step, but what is passed is checked like that of a dispatch.
#define VY_PIPE_CALL ((vy_pipe_kind)(VY_PIPE_END + 1))

// Calls `use` for each dimension expression of a step.  implied: also what a text need not say,
// the scalars of a dispatch and the lengths of what is passed flat.
void vy_pipe_each_dim(const vy_pipeline *l, const vy_pipe_step *s, bool implied, void *user,
                      void (*use)(void *user, vy_dim d));

// Checks number, types, ranks of the arguments of one dispatch.  False: see the module's diag.
bool vy_check_arguments(vy_module *m, const vy_program *signature, const vy_program *p,
                        const vy_pipe_step *s);
// Checks the entire pipeline; an error that only a malformed file can have is INTERNAL.
bool vy_check_pipeline(vy_pipeline *p);

// The checks of a dispatch that do not depend on where in the pipeline it is (check_dispatch.c).
bool vy_check_dispatch(vy_pipeline *l, const vy_pipe_step *s, const vy_dim_facts *facts);
// The same for calls of pipelines; they come from one that is being built.
bool vy_check_calls(vy_pipeline *l, uint32_t count, const vy_pipe_step *calls);
// False: an index of the slice buffer[index[0], …] is provably out of range.
bool vy_check_slice(vy_pipeline *l, const vy_pipe_step *s, const vy_dim_facts *facts,
                    vy_buffer buffer, uint32_t rank, const vy_dim *index);

// Takes the buffers that are not marked out of the signature; nothing uses them.  keep: 1 where a
// buffer stays, then its new number.  False: out of memory.
bool vy_pipe_keep_buffers(vy_program *signature, vy_pipe_step_vec *steps, uint32_t *keep);

// Intermediates in the order in which they begin, as a text has them.  False: out of memory.
bool vy_pipe_order_buffers(vy_pipeline *l);
// Takes out the steps that are marked, and renumbers the others.  False: out of memory.
bool vy_pipe_remove_steps(vy_pipeline *l, const uint8_t *gone);

// By buffer of the signature: must an intermediate be cleared where its lifetime begins?  Not if
// its first use overwrites all of it, in the same block, or its slices are overwritten before they
// are read.  False: out of memory.
bool vy_pipe_cleared(const vy_pipeline *l, vy_arena *arena, uint8_t *cleared);

#endif
