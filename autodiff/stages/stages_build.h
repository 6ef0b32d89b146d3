// SPDX-License-Identifier: MIT
// stages_build.h: what the parts of stages.h share: stages.c; stages_shape.c, how long things are;
// stages_groups.c, num_groups.
#ifndef VYRE_STAGES_BUILD_H
#define VYRE_STAGES_BUILD_H

#include "autodiff/stages/stages.h"

typedef struct start {
    vy_init init;
    uint32_t from; // a copy: of this buffer of `whole`
    const vy_dim *dims;
} start;

typedef struct cut {
    vy_module *m;
    vy_pipe *q;
    vy_builder *b;            // of the signature
    const vy_program *whole;  // NULL: the parameters of a program are becoming those of a pipeline
    const vy_pipe_step *step; // that dispatched `whole`
    vy_program *const *stages;
    // By stage, in `whole`: how often it is dispatched, id 0: once; NULL: all once.
    const vy_dim *iterations;
    uint32_t count;
    // By stage and axis: the scalar that is num_groups of `whole`, from 1; 0: none.
    uint32_t *groups;
    uint32_t *length;  // by stage: its last scalar is the length of this buffer of it; 0: is none
    vy_pipe_arg *args; // by buffer of `whole`; id 0: not bound
    // ---- by link
    uint32_t *own;        // buffer of `whole`, or 0
    uint32_t *own_scalar; // 1 + scalar of `whole`, or 0
    uint32_t *users;      // how many stages have the buffer
    start *start;         // what an intermediate starts with, and its dimensions
    vy_buffer *made;      // intermediate of the pipeline at hand; id 0: none
} cut;

void *cut_table(vy_module *m, size_t count, size_t size); // zeroed; NULL: m's diag
// Dimension d of a stage, in the pipeline; dims: those there are, by dimension of the stage.
vy_dim cut_dim(cut *c, const vy_program *stage, vy_dim *dims, vy_dim d);
// The same of all of buffer i of stage p, an intermediate; fills `shape`.
void cut_shape(cut *c, const vy_program *p, uint32_t i, vy_dim *dims, vy_dim *shape);
// The buffer of `whole` that buffer i of stage p is; 0: none.
static inline uint32_t cut_own(const cut *c, const vy_program *p, uint32_t i)
{
    return c->own[p->buffers.data[i].link];
}

// How long buffer `buffer` of a stage, of open length, is in the pipeline.
vy_dim cut_length(cut *c, const vy_program *stage, int64_t buffer);

// Makes scalars of num_groups in stages that have a domain where `whole` has none, and of open
// lengths in domains; fills c->groups and c->length.  False: memory.
bool cut_take_scalars(cut *c);
// The buffer of the stage of which the scalar is the length; 0: of none.
uint32_t cut_length_of(const cut *c, const vy_program *stage, uint32_t scalar);
// Which axis of num_groups a scalar of a stage is; -1: none.
int cut_groups_axis(const cut *c, const vy_program *stage, uint32_t scalar);

#endif
