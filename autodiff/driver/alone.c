// SPDX-License-Identifier: MIT
// alone.c: a program as the pipeline that dispatches it once.
#include "autodiff/driver/alone.h"

#include "autodiff/reverse/sweeps.h"
#include "ir/build/edit.h"
#include "ir/build/pipe_build.h"
#include "ir/core/pipe.h"

typedef struct wrapper {
    vy_program *p;
    const uint8_t *given;
    vy_pipe *q;
    vy_builder *b;
    vy_arena arena;
    vy_value *scalars; // by scalar
    vy_dim *dims;      // by dimension of p
    vy_pipe_arg *args; // by buffer of p
} wrapper;

static bool is_given(const wrapper *w, uint32_t i) { return w->given && w->given[i]; }

static vy_dim copy_dim(const wrapper *w, const vy_dim_node *d)
{
    if (d->op == VY_DIM_SCALAR) return vy_dim_value(w->b, w->scalars[d->value]);
    if (d->op != VY_DIM_UNKNOWN) return vy_dim_copy(w->b, d, w->dims);
    const uint32_t made = w->args[d->value].buffer.id;
    return made ? w->b->p->buffers.data[made].dims[0] : vy_dim_unknown(w->b);
}

static void copy_dims(wrapper *w)
{
    for (uint32_t i = 1; i < w->p->dims.count; i++) w->dims[i] = copy_dim(w, &w->p->dims.data[i]);
}

static vy_buffer copy_buffer(const wrapper *w, const vy_buf *b)
{
    vy_dim dims[VY_MAX_RANK];
    for (uint32_t k = 0; k < b->rank; k++) dims[k] = w->dims[b->dims[k].id];
    if (b->workspace) return vy_pipeline_buffer(w->q, b->name, b->type, b->rank, dims);
    const vy_buffer made = vy_param_buffer(w->b, b->name, b->cls, b->type, b->rank, dims);
    vy_buffer_role(w->b, made, &b->role);
    return made;
}

// What the program had begin as a copy of another parameter, of as many elements.
static void begin_as_copies(wrapper *w)
{
    for (uint32_t i = 1; i < w->p->buffers.count; i++) {
        vy_buf *b = &w->p->buffers.data[i];
        if (!is_given(w, i)) continue;
        const uint32_t from = vy_program_find_buffer(w->p, b->init_from).id;
        if (b->workspace) w->args[i].buffer = copy_buffer(w, b);
        vy_pipe_arg x = w->args[from];
        x.flat = b->rank > 1 && !vy_starts_alike(w->p, b, &w->p->buffers.data[from]);
        vy_pipe_move(w->q, x.flat ? VY_PIPE_SHAPE : VY_PIPE_COPY, &x, &w->args[i], 0);
        if (b->workspace && !vy_share_workspace(w->p, i)) return;
        b = &w->p->buffers.data[i];
        b->cls = VY_INOUT;
        b->init = VY_INIT_NONE;
        b->init_from = NULL;
    }
}

static vy_pipe_scalar pass_scalar(const wrapper *w, uint32_t k)
{
    const vy_scalar_param *s = &w->p->scalars.data[k];
    vy_pipe_scalar passed = {.name = s->name, .kind = VY_PIPE_PARAM, .scalar = k};
    if (vy_type_is_integer(s->type))
        passed.kind = VY_PIPE_DIM, passed.dim = vy_dim_value(w->b, w->scalars[k]);
    return passed;
}

static void dispatch(wrapper *w, vy_pipe_arg *args, vy_pipe_scalar *scalars)
{
    uint32_t count = 0;
    vy_dim groups[3];
    for (uint32_t i = 1; i < w->p->buffers.count; i++)
        if (vy_pipe_binds(&w->p->buffers.data[i])) args[count++] = w->args[i];
    for (uint32_t k = 0; k < w->p->scalars.count; k++) scalars[k] = pass_scalar(w, k);
    for (uint32_t k = 0; k < 3 && !w->p->overs.count; k++) groups[k] = vy_dim_groups(w->b, k);
    vy_pipeline_dispatch(w->q, w->p, count, args, w->p->scalars.count, scalars,
                         w->p->overs.count ? NULL : groups);
}

static bool wrap(wrapper *w)
{
    const vy_program *p = w->p;
    const uint32_t n = p->scalars.count;
    w->scalars = vy_arena_alloc(&w->arena, (n + 1) * sizeof *w->scalars);
    w->dims = vy_arena_alloc(&w->arena, p->dims.count * sizeof *w->dims);
    w->args = vy_arena_alloc(&w->arena, p->buffers.count * sizeof *w->args);
    vy_pipe_arg *args = vy_arena_alloc(&w->arena, p->buffers.count * sizeof *args);
    vy_pipe_scalar *scalars = vy_arena_alloc(&w->arena, (n + 1) * sizeof *scalars);
    if (!w->scalars || !w->dims || !w->args || !args || !scalars) return false;
    for (uint32_t k = 0; k < n; k++)
        w->scalars[k] = vy_param_scalar(w->b, p->scalars.data[k].name, p->scalars.data[k].type);
    copy_dims(w);
    for (uint32_t i = 1; i < p->buffers.count; i++)
        if (vy_pipe_binds(&p->buffers.data[i]))
            w->args[i].buffer = copy_buffer(w, &p->buffers.data[i]);
    if (vy_builder_failed(w->b)) return false;
    copy_dims(w); // now with the lengths of parameters
    begin_as_copies(w);
    dispatch(w, args, scalars);
    return true;
}

vy_pipeline *vy_alone(vy_module *m, vy_program *p, const char *name, const uint8_t *given,
                      vy_diag *diag)
{
    wrapper w = {.p = p, .given = given, .q = vy_pipeline_begin(m, name)};
    vy_pipeline *l = NULL;
    if (w.q) {
        w.b = vy_pipeline_params(w.q);
        vy_builder_program(w.b)->order = p->order;
        if (wrap(&w))
            l = vy_pipeline_end(w.q);
        else
            vy_pipeline_abandon(w.q);
    }
    vy_arena_free(&w.arena);
    if (!l && !vy_module_ok(m)) *diag = m->diag;
    return l;
}
