// SPDX-License-Identifier: MIT
// flatten.c: what a pipeline passes as flat(…), as copies between dispatches.
//
//   scale(flat(w[t]))    →    buffer flat_w: f32[M * N];
//                             flatten_f32_2(w[t], flat_w);
//                             scale(flat_w);
//                             shape_f32_2(flat_w, w[t]);        if scale writes it
//
// A tensor has one shape, and its adjoint the same, so derivatives are made of this form: the
// copies are programs like others, with derivatives of their own.
#include "ir/build/edit.h"
#include "ir/build/pipe_inline.h"
#include "ir/core/pipe.h"
#include "ir/host/host_build.h"

static bool passes_flat(const vy_pipe_step *s)
{
    bool any = false;
    for (uint32_t i = 0; s->kind == VY_PIPE_DISPATCH && i < s->arg_count; i++)
        any |= s->args[i].flat;
    return any;
}

// Does the argument need a copy?  What has one dimension has the shape already.
static bool is_copied(const inlining *c, const vy_pipe_arg *a)
{
    return a->flat && c->sig->buffers.data[a->buffer.id].rank - a->rank > 1;
}

static vy_pipe_arg begin_flat(inlining *c, const vy_pipe_arg *a, const vy_pipe_arg *place,
                              bool takes)
{
    char text[320];
    vy_program *p = c->q->b->p;
    const vy_dim elements = inline_dim(c, a->elements);
    const vy_buf was = p->buffers.data[a->buffer.id];
    const char *name = vy_free_name(p, "flat", was.name, text);
    const vy_pipe_arg flat = {.buffer = vy_pipeline_buffer(c->q, name, was.type, 1, &elements)};
    if (takes && flat.buffer.id) vy_pipe_move(c->q, VY_PIPE_FLATTEN, place, &flat, 0);
    return flat;
}

static void dispatch(inlining *c, const vy_pipe_step *s)
{
    const vy_program *p = c->l->module->programs.data[s->program];
    vy_pipe_arg *places = inline_room(c, s->arg_count, sizeof *places);
    vy_pipe_arg *args = inline_room(c, s->arg_count, sizeof *args);
    for (uint32_t i = 1, n = 0; i < p->buffers.count && !inline_stopped(c); i++) {
        const vy_buf *b = &p->buffers.data[i];
        if (!vy_pipe_binds(b)) continue;
        places[n] = inline_place(c, &s->args[n]);
        places[n].flat = false;
        args[n] = is_copied(c, &s->args[n])
                      ? begin_flat(c, &s->args[n], &places[n], vy_host_takes(b))
                      : places[n];
        n++;
    }
    if (!inline_stopped(c)) inline_dispatch(c, s, args);
    for (uint32_t i = 1, n = 0; i < p->buffers.count && !inline_stopped(c); i++) {
        const vy_buf *b = &p->buffers.data[i];
        if (!vy_pipe_binds(b)) continue;
        if (is_copied(c, &s->args[n]) && vy_host_gives(b))
            vy_pipe_move(c->q, VY_PIPE_SHAPE, &args[n], &places[n], 0);
        n++;
    }
}

bool vy_host_flatten(vy_module *m, uint32_t number)
{
    const vy_pipeline *l = m->pipelines.data[number];
    bool any = false;
    for (uint32_t i = 0; i < l->steps.count && !any; i++) any = passes_flat(&l->steps.data[i]);
    if (!any) return true;
    inlining c;
    if (!vy_rewrite_steps(&c, l)) return false;
    for (uint32_t i = 0; i < l->steps.count && !inline_stopped(&c); i++) {
        const vy_pipe_step *s = &l->steps.data[i];
        vy_at(c.q->b, s->line, s->column);
        if (s->kind == VY_PIPE_BUFFER)
            vy_rewrite_buffer(&c, s->buffer.id);
        else if (passes_flat(s))
            dispatch(&c, s);
        else
            inline_step(&c, i);
    }
    return vy_rewrite_steps_end(&c, number);
}
