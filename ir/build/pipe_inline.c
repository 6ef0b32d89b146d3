// SPDX-License-Identifier: MIT
// pipe_inline.c: the steps of a pipeline inside another one.
//
//   pipeline half(x: in f32[N], y: out f32[N], N: u32) { buffer h: f32[N]; … y[…] }
//   half(u[t], v);    →    buffer half_h: f32[len(v)]; …
//
// Its parameters are what is passed (a slice x[i] of the parameter x is u[t, i] here), its
// intermediates become intermediates of this pipeline, dimensions and numbers are rewritten over
// this one's.  An intermediate begins at the call; it ends with the block in which the call is.
//
// What is passed as flat(…) is copied to a buffer in the parameter's shape, and back.
//
// An `out` parameter begins as zeros.  A program clears what it takes as `out`, so they are written
// only where something else uses the parameter first, or nothing does.
//
// All steps have the place of the call, because the buffers that a message names are its arguments.
#include "ir/build/edit.h"
#include "ir/build/pipe_build.h"
#include "ir/build/pipe_inline.h"
#include "ir/core/dims.h"
#include "ir/core/pipe.h"

#include <stdio.h>
#include <string.h>

static vy_dim *dims_of(inlining *c, uint32_t n, const vy_dim *dims)
{
    vy_dim *all = inline_room(c, n, sizeof *all);
    for (uint32_t k = 0; all && k < n; k++) all[k] = inline_dim(c, dims[k]);
    return all;
}

// -------------------------------------------------------------------------------- `out` parameters
// Are these repeats `if c` and `else`: of 0..1 − x and 0..x?
static bool is_else(const vy_pipeline *l, const vy_pipe_step *x, const vy_pipe_step *y)
{
    const vy_dim_node *dims = l->signature->dims.data, *d = &dims[x->to.id];
    return d->op == VY_DIM_SUB && dims[d->a].op == VY_DIM_CONST && dims[d->a].value == 1 &&
           vy_equal_dims(l->signature, (vy_dim){d->b}, y->to);
}

// Does the dispatch take all of the buffer as `out`?  *used: the step uses it.
static bool takes_as_output(const vy_pipeline *l, const vy_pipe_step *s, uint32_t buffer,
                            bool *used)
{
    *used = s->kind == VY_PIPE_VALUE && s->buffer.id == buffer;
    if (s->kind == VY_PIPE_BUFFER) {
        const vy_buf *b = &l->signature->buffers.data[s->buffer.id];
        *used = b->init == VY_INIT_COPY &&
                vy_program_find_buffer(l->signature, b->init_from).id == buffer;
    }
    if (s->kind != VY_PIPE_DISPATCH) return false;
    const vy_program *p = l->module->programs.data[s->program];
    for (uint32_t k = 1, n = 0; k < p->buffers.count; k++) {
        if (!vy_pipe_binds(&p->buffers.data[k])) continue;
        const vy_pipe_arg *a = &s->args[n++];
        if (a->buffer.id != buffer) continue;
        *used = true;
        return a->rank == 0 && p->buffers.data[k].cls == VY_OUT;
    }
    return false;
}

// Is step i the `if` of two arms of one dispatch each?
static bool is_choice(const vy_pipeline *l, uint32_t i)
{
    const vy_pipe_step *s = &l->steps.data[i];
    return s->kind == VY_PIPE_REPEAT && i + 5 < l->steps.count && s->partner == i + 2 &&
           s[3].kind == VY_PIPE_REPEAT && s[3].partner == i + 5 && is_else(l, s, s + 3);
}

// Does what uses the parameter first write to all of it as `out`?
static bool begins_as_output(const vy_pipeline *l, uint32_t buffer)
{
    const vy_pipe_step *steps = l->steps.data;
    bool used = false, other = false;
    uint32_t repeats = 0; // around the step: it may run no iteration
    for (uint32_t i = 0; i < l->steps.count; i++) {
        if (is_choice(l, i)) {
            const bool then = takes_as_output(l, &steps[i + 1], buffer, &used);
            const bool otherwise = takes_as_output(l, &steps[i + 4], buffer, &other);
            if (used || other) return then && otherwise && !repeats;
            i += 5;
            continue;
        }
        if (steps[i].kind == VY_PIPE_REPEAT) repeats++;
        if (steps[i].kind == VY_PIPE_END && steps[steps[i].partner].kind == VY_PIPE_REPEAT)
            repeats--;
        const bool all = takes_as_output(l, &steps[i], buffer, &used);
        if (used) return all && !repeats;
    }
    return false;
}

// The contents with which an `out` parameter begins.
static void start_parameter(inlining *c, uint32_t i)
{
    const vy_buf *b = &c->sig->buffers.data[i];
    if (b->cls != VY_OUT) return;
    if (b->init == VY_INIT_ONES) {
        vy_pipe_move(c->q, VY_PIPE_FILL, NULL, &c->places[i], 1);
    } else if (b->init == VY_INIT_COPY) {
        const uint32_t from = vy_program_find_buffer(c->sig, b->init_from).id;
        vy_pipe_move(c->q, VY_PIPE_COPY, &c->places[from], &c->places[i], 0);
    } else if (!begins_as_output(c->l, i)) {
        vy_pipe_move(c->q, VY_PIPE_FILL, NULL, &c->places[i], 0);
    }
}

// ------------------------------------------------------------------------------------------- steps
static bool is_free(const inlining *c, const char *name)
{
    const vy_program *p = c->q->b->p;
    return !vy_program_find_buffer(p, name).id && vy_program_find_scalar(p, name) == UINT32_MAX;
}

// A name for an intermediate: PIPELINE_NAME, with a number where that is not free.
static const char *name_of(inlining *c, const char *name)
{
    const size_t n = strlen(c->l->name) + strlen(name) + 24;
    char *text = inline_room(c, n, 1);
    if (!text) return "";
    snprintf(text, n, "%s_%s", c->l->name, name);
    if (c->q->names) return c->q->names->buffer(c->q->names->user, text);
    for (uint32_t k = c->q->inlined; !is_free(c, text); k++)
        snprintf(text, n, "%s_%s_%u", c->l->name, name, k);
    return text;
}

// Is what is passed an entire buffer, with the same dimensions as buffer `id` here?
static bool is_same_shape(const inlining *c, const vy_pipe_arg *a, uint32_t id)
{
    const vy_program *p = c->q->b->p;
    const vy_buf *x = &p->buffers.data[a->buffer.id], *y = &p->buffers.data[id];
    bool same = a->rank == 0;
    for (uint32_t k = 0; same && k < y->rank; k++) same = vy_equal_dims(p, x->dims[k], y->dims[k]);
    return same;
}

// @init of an intermediate.  A slice, or what may have another shape, is copied by a program.
static void init_buffer(inlining *c, const vy_buf *b, const vy_pipe_arg *to)
{
    if (b->init == VY_INIT_ONES) vy_buffer_init(c->q->b, to->buffer, VY_INIT_ONES, NULL);
    if (b->init != VY_INIT_COPY || inline_stopped(c)) return;
    const vy_pipe_arg *from = &c->places[vy_program_find_buffer(c->sig, b->init_from).id];
    if (is_same_shape(c, from, to->buffer.id))
        vy_buffer_init(c->q->b, to->buffer, VY_INIT_COPY,
                       c->q->b->p->buffers.data[from->buffer.id].name);
    else
        vy_pipe_move(c->q, VY_PIPE_COPY, from, to, 0);
}

static void inline_buffer(inlining *c, const vy_pipe_step *s)
{
    const vy_buf *b = &c->sig->buffers.data[s->buffer.id];
    const vy_dim *dims = dims_of(c, b->rank, b->dims);
    const char *name = name_of(c, b->name);
    if (inline_stopped(c)) return;
    const vy_buffer made = vy_pipeline_buffer(c->q, name, b->type, b->rank, dims);
    if (made.id) c->q->b->p->buffers.data[made.id].made = b->made;
    c->places[s->buffer.id].buffer = made;
    init_buffer(c, b, &c->places[s->buffer.id]);
}

vy_pipe_arg inline_place(inlining *c, const vy_pipe_arg *a)
{
    const vy_pipe_arg p = c->places[a->buffer.id];
    vy_dim *index = inline_room(c, p.rank + a->rank, sizeof *index);
    if (!index) return p;
    if (p.rank) memcpy(index, p.index, p.rank * sizeof *index);
    for (uint32_t k = 0; k < a->rank; k++) index[p.rank + k] = inline_dim(c, a->index[k]);
    return (vy_pipe_arg){p.buffer, p.rank + a->rank, index, .flat = a->flat};
}

vy_pipe_scalar inline_scalar(inlining *c, const vy_pipe_scalar *s)
{
    vy_pipe_scalar made = s->kind == VY_PIPE_PARAM ? c->scalars[s->scalar] : *s;
    if (s->kind == VY_PIPE_DIM) made.dim = inline_dim(c, s->dim);
    made.name = s->name;
    return made;
}

void inline_dispatch(inlining *c, const vy_pipe_step *s, const vy_pipe_arg *args)
{
    const vy_program *p = c->l->module->programs.data[s->program];
    vy_pipe_scalar *scalars = inline_room(c, p->scalars.count, sizeof *scalars);
    for (uint32_t k = 0; scalars && k < p->scalars.count; k++)
        scalars[k] = inline_scalar(c, &s->scalars[k]);
    const vy_dim *groups = s->groups ? dims_of(c, 3, s->groups) : NULL;
    if (!inline_stopped(c))
        vy_pipeline_dispatch(c->q, p, s->arg_count, args, p->scalars.count, scalars, groups);
}

static void inline_arguments(inlining *c, const vy_pipe_step *s)
{
    vy_pipe_arg *args = inline_room(c, s->arg_count, sizeof *args);
    for (uint32_t k = 0; args && k < s->arg_count; k++) args[k] = inline_place(c, &s->args[k]);
    if (args) inline_dispatch(c, s, args);
}

static void inline_value(inlining *c, const vy_pipe_step *s, uint32_t at)
{
    const vy_pipe_arg of = {.buffer = s->buffer, .rank = s->index_count, .index = s->index};
    const vy_pipe_arg element = inline_place(c, &of);
    if (!inline_stopped(c)) c->steps[at] = vy_pipeline_value(c->q, element.buffer, element.index);
}

static void inline_repeat(inlining *c, const vy_pipe_step *s, uint32_t at)
{
    const bool counts = s->keep == VY_KEEP_EVERY || s->keep == VY_KEEP_REVOLVE;
    const vy_dim from = inline_dim(c, s->from), to = inline_dim(c, s->to);
    const vy_dim keep = counts ? inline_dim(c, s->keep_count) : (vy_dim){0};
    if (inline_stopped(c)) return;
    if (s->test)
        vy_pipeline_while(c->q, s->keep, keep);
    else
        c->steps[at] = vy_pipeline_repeat(c->q, s->counter, from, to, s->keep, keep);
}

void inline_step(inlining *c, uint32_t at)
{
    const vy_pipe_step *s = &c->l->steps.data[at];
    switch (s->kind) {
    case VY_PIPE_BUFFER: inline_buffer(c, s); break;
    case VY_PIPE_DISPATCH: inline_arguments(c, s); break;
    case VY_PIPE_VALUE: inline_value(c, s, at); break;
    case VY_PIPE_REPEAT: inline_repeat(c, s, at); break;
    case VY_PIPE_TEST: vy_pipeline_test(c->q, inline_dim(c, s->from)); break;
    case VY_PIPE_CHECKPOINT: vy_pipeline_checkpoint(c->q); break;
    case VY_PIPE_END: vy_pipeline_close(c->q); break;
    }
}

static void refuse_steps(vy_pipe *q)
{
    vy_fail(q->m, VY_E_LIMIT, q->b->line, q->b->column, "dispatch pipelines from a `repeat`",
            "inlining pipelines makes more than %u steps", VY_MAX_INLINED_STEPS);
    q->b->failed = true;
}

// What is passed flat is a copy, in the shape of the parameter.
static void begin_parameters(inlining *c, const vy_pipe_arg *args, reshaped *copies)
{
    const vy_program *p = c->sig;
    for (uint32_t i = 1; !inline_stopped(c) && i < p->buffers.count; i++) {
        const vy_buf *b = &p->buffers.data[i];
        if (!vy_pipe_binds(b)) continue;
        c->places[i] = *args;
        if (inline_reshapes(c->q->b->p, args, b)) {
            copies[i] = inline_reshaped(c, args, args->elements, p, b, c->scalars);
            if (copies[i].shape) c->places[i] = inline_reshape(c, name_of(c, b->name), &copies[i]);
        }
        c->places[i].flat = false;
        args++;
    }
    for (uint32_t i = 1; !inline_stopped(c) && i < p->buffers.count; i++)
        if (vy_pipe_binds(&p->buffers.data[i])) start_parameter(c, i);
}

static void end_parameters(inlining *c, const reshaped *copies)
{
    for (uint32_t i = 1; !inline_stopped(c) && i < c->sig->buffers.count; i++)
        if (copies[i].shape) inline_reshape_back(c, &c->places[i], &copies[i]);
}

void vy_pipe_inline(vy_pipe *q, const vy_pipeline *l, const vy_pipe_arg *args,
                    const vy_pipe_scalar *scalars, const vy_dim *groups)
{
    const vy_program *p = l->signature;
    inlining c = {.q = q, .l = l, .sig = p, .scalars = scalars, .groups = groups, .known = 1};
    if (vy_builder_failed(q->b)) return;
    if (q->steps.count + (uint64_t)l->steps.count > VY_MAX_INLINED_STEPS) refuse_steps(q);
    q->inlined++;
    c.places = inline_room(&c, p->buffers.count, sizeof *c.places);
    c.dims = inline_room(&c, p->dims.count, sizeof *c.dims);
    c.steps = inline_room(&c, l->steps.count, sizeof *c.steps);
    reshaped *copies = inline_room(&c, p->buffers.count, sizeof *copies);
    if (copies) begin_parameters(&c, args, copies);
    for (uint32_t i = 0; !inline_stopped(&c) && i < l->steps.count; i++) inline_step(&c, i);
    if (copies) end_parameters(&c, copies);
    vy_arena_free(&c.arena);
}

// -------------------------------------------------------------------------------- through the API
static bool find_pipeline(vy_pipe *q, const vy_pipeline *l, uint32_t *index)
{
    for (*index = q->m->pipelines.count; (*index)-- > 0;)
        if (q->m->pipelines.data[*index] == l) return true;
    vy_build_fail(q->b, VY_E_API, "vy_pipeline_call: the pipeline is not one of this module");
    return false;
}

static bool gives_groups(vy_pipe *q, const vy_pipeline *l, const vy_dim *groups)
{
    if (groups || !vy_pipeline_takes_groups(l)) return true;
    vy_fail(q->m, VY_E_PIPE_GROUPS, q->b->line, q->b->column, "write @groups(x, y, z) before it",
            "`%s` uses num_groups, and `%s` does not give them", l->name, q->b->p->name);
    q->b->failed = true;
    return false;
}

void vy_pipeline_call(vy_pipe *q, const vy_pipeline *l, uint32_t arg_count, const vy_pipe_arg *args,
                      uint32_t scalar_count, const vy_pipe_scalar *scalars, const vy_dim *groups)
{
    vy_pipe_step s = {.kind = VY_PIPE_CALL, .arg_count = arg_count};
    if (!q || vy_builder_failed(q->b) || !find_pipeline(q, l, &s.program) ||
        !vy_pipe_bind(q, l->signature, &s, args, scalar_count, scalars, groups) ||
        !gives_groups(q, l, groups))
        return;
    s.partner = q->steps.count;
    vy_pipe_inline(q, l, s.args, s.scalars, s.groups);
    s.test = q->steps.count;
    if (!vy_builder_failed(q->b) && !vy_vec_push(&q->calls, s)) vy_build_oom(q->b);
}
