// SPDX-License-Identifier: MIT
// pipe_flat.c: what is passed as flat(…), as a copy in the shape of its parameter.
//
//   inner(flat(w[t]), P=…, Q=…)    →    buffer inner_x: f32[P, Q];
//                                       buffer flat_inner_x: f32[M * N];
//                                       flatten_f32_2(w[t], flat_inner_x);
//                                       shape_f32_2(flat_inner_x, inner_x);
//                                       …                        the same back, if it is written
//
// Needed where a slice of the parameter is no slice of what is passed (pipelines that are
// dispatched), and where a tensor has one shape (derivatives).
#include "ir/build/edit.h"
#include "ir/build/pipe_inline.h"
#include "ir/core/pipe.h"

static uint32_t remaining(const vy_pipe *q, const vy_pipe_arg *a)
{
    return q->b->p->buffers.data[a->buffer.id].rank - a->rank;
}

bool inline_reshapes(const vy_program *sig, const vy_pipe_arg *a, const vy_buf *parameter)
{
    const uint32_t rank = sig->buffers.data[a->buffer.id].rank - a->rank;
    return a->flat && (rank > 1 || parameter->rank > 1);
}

static const vy_dim *shape_of(inlining *c, const vy_program *p, const vy_buf *parameter,
                              const vy_pipe_scalar *scalars)
{
    inlining of = {.q = c->q, .sig = p, .scalars = scalars, .known = 1};
    vy_dim *shape = inline_room(c, parameter->rank, sizeof *shape);
    of.dims = inline_room(&of, p->dims.count, sizeof *of.dims);
    for (uint32_t k = 0; shape && of.dims && k < parameter->rank; k++)
        shape[k] = inline_dim(&of, parameter->dims[k]);
    vy_arena_free(&of.arena);
    return shape;
}

reshaped inline_reshaped(inlining *c, const vy_pipe_arg *place, vy_dim elements,
                         const vy_program *p, const vy_buf *parameter,
                         const vy_pipe_scalar *scalars)
{
    reshaped r = {.place = *place,
                  .elements = elements,
                  .rank = parameter->rank,
                  .takes = parameter->cls != VY_OUT,
                  .gives = parameter->cls != VY_IN};
    vy_dim *line = parameter->rank == 1 ? inline_room(c, 1, sizeof *line) : NULL;
    if (line) *line = elements;
    r.shape = parameter->rank == 1 ? line : shape_of(c, p, parameter, scalars);
    r.place.flat = false;
    return r;
}

// All elements as one dimension, between two shapes.
static vy_pipe_arg add_line(inlining *c, const vy_buf *of, vy_dim elements)
{
    char text[320];
    const vy_pipe_names *names = c->q->names;
    const char *name = vy_free_name(c->q->b->p, "flat", of->name, text);
    if (names) name = names->buffer(names->user, name);
    return (vy_pipe_arg){.buffer = vy_pipeline_buffer(c->q, name, of->type, 1, &elements)};
}

static void move(inlining *c, const vy_pipe_arg *from, const vy_pipe_arg *to, vy_dim elements)
{
    if (inline_stopped(c)) return;
    if (remaining(c->q, to) == 1) {
        vy_pipe_move(c->q, VY_PIPE_FLATTEN, from, to, 0);
        return;
    }
    vy_pipe_arg line = *from;
    if (remaining(c->q, from) > 1) {
        const vy_buf to_buffer = c->q->b->p->buffers.data[to->buffer.id];
        line = add_line(c, &to_buffer, elements);
        if (!inline_stopped(c)) vy_pipe_move(c->q, VY_PIPE_FLATTEN, from, &line, 0);
    }
    if (!inline_stopped(c)) vy_pipe_move(c->q, VY_PIPE_SHAPE, &line, to, 0);
}

vy_pipe_arg inline_reshape(inlining *c, const char *name, const reshaped *r)
{
    const vy_type type = c->q->b->p->buffers.data[r->place.buffer.id].type;
    const vy_pipe_arg copy = {.buffer = vy_pipeline_buffer(c->q, name, type, r->rank, r->shape)};
    if (r->takes) move(c, &r->place, &copy, r->elements);
    return copy;
}

void inline_reshape_back(inlining *c, const vy_pipe_arg *copy, const reshaped *r)
{
    if (r->gives) move(c, copy, &r->place, r->elements);
}
