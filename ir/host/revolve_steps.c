// SPDX-License-Identifier: MIT
// revolve_steps.c: steps of the old pipeline once more in the new one, on the buffers and at the
// iteration that the schedule is at.
#include "ir/host/host_build.h"
#include "ir/host/revolve_build.h"

#include <string.h>

void *revolve_room(revolving *r, vy_arena *arena, size_t count, size_t size)
{
    void *p = vy_arena_alloc(arena, (count + 1) * size);
    if (!p && r->b) vy_build_oom(r->b);
    return p;
}

void revolve_set_step(revolving *r, uint32_t step, vy_dim value)
{
    r->steps[step] = value;
    r->context++; // what was translated is out of date
}

vy_dim revolve_dim(revolving *r, vy_dim d)
{
    const vy_dim_node *n = &r->x.l->signature->dims.data[d.id];
    if (!r->x.varies[d.id]) return d;
    if (n->op == VY_DIM_STEP) return r->steps[n->value];
    if (r->made_in[d.id] == r->context) return r->made[d.id];
    const vy_dim second = revolve_dim(r, (vy_dim){n->b});
    r->made[d.id] = vy_dim_binary(r->b, n->op, revolve_dim(r, (vy_dim){n->a}), second);
    r->made_in[d.id] = r->context;
    return r->made[d.id];
}

// A dimension of the pipeline that was differentiated, of scalars and numbers alone.
vy_dim revolve_copy(revolving *r, const vy_program *source, const vy_dim_node *n)
{
    const vy_dim_node *all = source->dims.data;
    if (n->op == VY_DIM_CONST) return vy_dim_const(r->b, n->value);
    if (n->op == VY_DIM_SCALAR)
        for (uint32_t k = 0; k < r->b->p->scalars.count; k++)
            if (!strcmp(r->b->p->scalars.data[k].name, source->scalars.data[n->value].name))
                return vy_dim_own_scalar(r->b, k);
    if (n->op < VY_DIM_ADD) return vy_dim_const(r->b, 1); // there is none: revolve_request.c
    const vy_dim second = revolve_copy(r, source, &all[n->b]);
    return vy_dim_binary(r->b, n->op, revolve_copy(r, source, &all[n->a]), second);
}

static vy_pipe_arg arg_of(revolving *r, const vy_pipe_arg *a)
{
    const vy_pipe_arg *place = &r->places[a->buffer.id];
    const uint32_t left = r->forgotten[a->buffer.id], n = place->rank + a->rank - left;
    vy_dim *index = revolve_room(r, &r->x.l->module->arena, n, sizeof *index);
    for (uint32_t k = 0; index && k < n; k++)
        index[k] =
            k < place->rank ? place->index[k] : revolve_dim(r, a->index[k - place->rank + left]);
    return (vy_pipe_arg){.buffer = place->buffer, .rank = n, .index = index, .flat = a->flat};
}

void revolve_push(revolving *r, vy_pipe_step s)
{
    if (!vy_builder_failed(r->b) && !vy_vec_push(&r->q->steps, s)) vy_build_oom(r->b);
}

static void dispatch(revolving *r, const vy_pipe_step *old)
{
    vy_arena *arena = &r->x.l->module->arena;
    const uint32_t scalars = r->x.l->module->programs.data[old->program]->scalars.count;
    vy_pipe_step s = *old;
    vy_pipe_arg *args = revolve_room(r, arena, s.arg_count, sizeof *args);
    vy_pipe_scalar *given = revolve_room(r, arena, scalars, sizeof *given);
    vy_dim *groups = revolve_room(r, arena, 3, sizeof *groups);
    if (!args || !given || !groups) return;
    for (uint32_t i = 0; i < s.arg_count; i++) args[i] = arg_of(r, &old->args[i]);
    for (uint32_t i = 0; i < scalars; i++) {
        given[i] = old->scalars[i];
        if (given[i].kind == VY_PIPE_DIM) given[i].dim = revolve_dim(r, given[i].dim);
    }
    for (uint32_t i = 0; s.groups && i < 3; i++) groups[i] = revolve_dim(r, s.groups[i]);
    s.args = args, s.scalars = given, s.groups = s.groups ? groups : NULL;
    revolve_push(r, s);
}

// An array of dimensions, translated.
static vy_dim *dims_of(revolving *r, uint32_t count, const vy_dim *old)
{
    vy_dim *made = revolve_room(r, &r->x.l->module->arena, count, sizeof *made);
    for (uint32_t k = 0; made && k < count; k++) made[k] = revolve_dim(r, old[k]);
    return made;
}

// Begins a buffer, whose extents may be values that are read in another step now.
static void buffer(revolving *r, const vy_pipe_step *s)
{
    vy_buf *b = &r->b->p->buffers.data[s->buffer.id];
    bool same = true;
    for (uint32_t k = 0; k < b->rank; k++) same &= !r->x.varies[b->dims[k].id];
    vy_dim *dims = same ? NULL : dims_of(r, b->rank, b->dims);
    if (dims) r->b->p->buffers.data[s->buffer.id].dims = dims;
    revolve_push(r, *s);
}

static void value(revolving *r, const vy_pipe_step *s, uint32_t at)
{
    const vy_pipe_arg from = {.buffer = s->buffer, .rank = s->index_count, .index = s->index};
    const vy_pipe_arg now = arg_of(r, &from);
    if (now.index) revolve_set_step(r, at, vy_pipeline_value(r->q, now.buffer, now.index));
}

// Of a `while`, too: its bounds are constants.
static void open_repeat(revolving *r, const vy_pipe_step *s, uint32_t at)
{
    const vy_dim to = revolve_dim(r, s->to), from = revolve_dim(r, s->from);
    revolve_set_step(r, at,
                     vy_pipeline_repeat(r->q, s->counter, from, to, VY_KEEP_ALL, (vy_dim){0}));
}

void revolve_step(revolving *r, uint32_t at)
{
    const vy_pipe_step *s = &r->x.l->steps.data[at];
    vy_at(r->b, s->line, s->column);
    switch (s->kind) {
    case VY_PIPE_REPEAT: open_repeat(r, s, at); break;
    case VY_PIPE_TEST: vy_pipeline_test(r->q, revolve_dim(r, s->from)); break;
    case VY_PIPE_CHECKPOINT: vy_pipeline_checkpoint(r->q); break;
    case VY_PIPE_END: vy_pipeline_close(r->q); break;
    case VY_PIPE_DISPATCH: dispatch(r, s); break;
    case VY_PIPE_BUFFER: buffer(r, s); break;
    case VY_PIPE_VALUE: value(r, s, at); break;
    default: break;
    }
}

void revolve_steps(revolving *r, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to && !vy_builder_failed(r->b); i++) revolve_step(r, i);
}
