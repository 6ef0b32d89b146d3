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

// The arguments of the dispatch, with copies in the place of those that are passed flat.
static void begin_arguments(inlining *c, const vy_pipe_step *s, reshaped *copies, vy_pipe_arg *args)
{
    const vy_program *p = c->l->module->programs.data[s->program];
    vy_pipe_scalar *scalars = inline_room(c, p->scalars.count, sizeof *scalars);
    for (uint32_t k = 0; scalars && k < p->scalars.count; k++)
        scalars[k] = inline_scalar(c, &s->scalars[k]);
    for (uint32_t i = 1, n = 0; i < p->buffers.count && !inline_stopped(c); i++) {
        const vy_buf *b = &p->buffers.data[i];
        if (!vy_pipe_binds(b)) continue;
        const vy_pipe_arg *a = &s->args[n], place = inline_place(c, a);
        args[n] = place;
        args[n].flat = false;
        if (inline_reshapes(c->sig, a, b)) {
            char text[320];
            const vy_program *made = c->q->b->p;
            const char *of = made->buffers.data[place.buffer.id].name;
            const char *name = vy_free_name(made, "flat", of, text);
            copies[n] = inline_reshaped(c, &place, inline_dim(c, a->elements), p, b, scalars);
            if (copies[n].shape) args[n] = inline_reshape(c, name, &copies[n]);
        }
        n++;
    }
}

static void dispatch(inlining *c, const vy_pipe_step *s)
{
    reshaped *copies = inline_room(c, s->arg_count, sizeof *copies);
    vy_pipe_arg *args = inline_room(c, s->arg_count, sizeof *args);
    if (copies && args) begin_arguments(c, s, copies, args);
    if (!inline_stopped(c)) inline_dispatch(c, s, args);
    for (uint32_t n = 0; n < s->arg_count && !inline_stopped(c); n++)
        if (copies[n].shape) inline_reshape_back(c, &args[n], &copies[n]);
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
