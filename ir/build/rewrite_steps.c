// SPDX-License-Identifier: MIT
// rewrite_steps.c: a pipeline rewritten step by step, under the same signature.
//
// Parameters, scalars, and buffers keep their numbers; dimensions without counters and values, too.
#include "ir/build/edit.h"
#include "ir/build/pipe_inline.h"
#include "ir/core/pipe.h"

static vy_pipe *begin_pipe(const vy_pipeline *l)
{
    vy_builder *b = vy_rebuild_begin(l->signature);
    vy_pipe *q = b ? vy_realloc(NULL, sizeof *q) : NULL;
    if (!q) {
        if (b) vy_program_abandon(b);
        vy_fail_oom(l->module);
        return NULL;
    }
    b->p->signature = true;
    *q = (vy_pipe){.m = l->module, .b = b};
    return q;
}

static vy_pipe_scalar scalar_of(vy_builder *b, uint32_t i)
{
    const vy_type type = b->p->scalars.data[i].type;
    const vy_value v = {vy_leaf_other(b, VY_LEAF_SCALAR, type, i, 0)};
    if (!vy_type_is_integer(type)) return (vy_pipe_scalar){.kind = VY_PIPE_PARAM, .scalar = i};
    return (vy_pipe_scalar){.kind = VY_PIPE_DIM, .dim = vy_dim_value(b, v)};
}

bool vy_rewrite_steps(inlining *c, const vy_pipeline *l)
{
    *c = (inlining){.q = begin_pipe(l), .l = l, .sig = l->signature, .known = 1};
    if (!c->q) return false;
    vy_program *p = c->q->b->p;
    const uint32_t dims = c->sig->dims.count;
    c->places = inline_room(c, p->buffers.count, sizeof *c->places);
    c->dims = inline_room(c, dims, sizeof *c->dims);
    c->steps = inline_room(c, l->steps.count, sizeof *c->steps);
    vy_pipe_scalar *scalars = inline_room(c, p->scalars.count, sizeof *scalars);
    if (vy_builder_failed(c->q->b)) return true; // reported at the end
    for (uint32_t i = 1; i < c->sig->buffers.count; i++) c->places[i].buffer.id = i;
    for (uint32_t i = 0; i < c->sig->scalars.count; i++) scalars[i] = scalar_of(c->q->b, i);
    for (uint32_t i = 1; i < dims; i++) {
        const vy_dim_node *d = &c->sig->dims.data[i];
        const bool own =
            d->op < VY_DIM_ADD ? d->op != VY_DIM_STEP : c->dims[d->a].id && c->dims[d->b].id;
        if (own) c->dims[i].id = i;
        if (d->op == VY_DIM_STEP) // of no step here
            c->q->b->p->dims.data[i] = (vy_dim_node){.op = VY_DIM_CONST};
    }
    c->scalars = scalars;
    return true;
}

void vy_rewrite_buffer(inlining *c, uint32_t buffer)
{
    const vy_pipe_step s = {.kind = VY_PIPE_BUFFER, .buffer = {buffer}};
    const vy_buf *b = &c->sig->buffers.data[buffer];
    vy_dim *dims = vy_arena_alloc(&c->q->m->arena, b->rank * sizeof *dims);
    for (uint32_t k = 0; dims && k < b->rank; k++) dims[k] = inline_dim(c, b->dims[k]);
    if (!dims || !vy_vec_push(&c->q->steps, s)) vy_build_oom(c->q->b);
    if (!vy_builder_failed(c->q->b)) c->q->b->p->buffers.data[buffer].dims = dims;
}

bool vy_rewrite_steps_end(inlining *c, uint32_t number)
{
    vy_module *m = c->q->m;
    vy_arena_free(&c->arena);
    vy_pipeline *made = vy_pipe_end(c->q, NULL);
    if (!made) return false;
    m->pipelines.count--;
    vy_pipeline_free(m->pipelines.data[number]);
    m->pipelines.data[number] = made;
    return true;
}
