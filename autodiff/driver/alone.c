// SPDX-License-Identifier: MIT
// alone.c: a program as the pipeline that dispatches it, once or in batches.
#include "autodiff/driver/alone.h"

#include "autodiff/driver/observed.h"
#include "autodiff/reverse/sweeps.h"
#include "ir/build/edit.h"
#include "ir/build/pipe_build.h"
#include "ir/core/pipe.h"

typedef struct wrapper {
    const vy_program *shown; // has the parameters of the pipeline; p, unless that is of batches
    vy_program *p;           // is dispatched: has these, then scalars of its own
    const uint8_t *given;
    uint32_t batches; // 0: it is dispatched once
    uint32_t axis;    // of the domain, along which it is cut
    vy_pipe *q;
    vy_builder *b;
    vy_arena arena;
    vy_value *scalars; // by scalar
    vy_dim *dims;      // by dimension of p
    vy_pipe_arg *args; // by buffer of p
} wrapper;

// What p is dispatched with.
typedef struct dispatched {
    uint32_t arg_count;
    vy_pipe_arg *args;
    vy_pipe_scalar *scalars;
    vy_dim groups[3]; // where p has no domain
} dispatched;

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
    const vy_dim_vec *dims = &w->shown->dims;
    for (uint32_t i = 1; i < dims->count; i++) w->dims[i] = copy_dim(w, &dims->data[i]);
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

// How long the axis is along which the domain is cut: a negative extent is none.
static vy_dim batched_extent(const wrapper *w)
{
    const vy_program *p = w->shown;
    const vy_dim extent = p->overs.data[w->axis].extent;
    const vy_dim_node *d = &p->dims.data[extent.id];
    const bool scalar = d->op == VY_DIM_SCALAR;
    if (scalar && p->scalars.data[d->value].type == VY_U32) return w->dims[extent.id];
    return vy_dim_binary(w->b, VY_DIM_MAX, w->dims[extent.id], vy_dim_const(w->b, 0));
}

// What each batch adds to begins as zeros, as it does for the entire domain.
static void clear_outputs(wrapper *w)
{
    for (uint32_t i = 1; i < w->p->buffers.count; i++)
        if (w->shown->buffers.data[i].cls == VY_OUT && w->p->buffers.data[i].cls == VY_INOUT)
            vy_pipe_move(w->q, VY_PIPE_FILL, NULL, &w->args[i], 0);
}

static vy_pipe_scalar number(const char *name, vy_dim dim)
{
    return (vy_pipe_scalar){.name = name, .kind = VY_PIPE_DIM, .dim = dim};
}

static void dispatch(wrapper *w, const dispatched *d)
{
    const bool free = !w->p->overs.count;
    vy_pipeline_dispatch(w->q, w->p, d->arg_count, d->args, w->p->scalars.count, d->scalars,
                         free ? d->groups : NULL);
}

// All batches are of one length, which no counter decides, so that they share tapes of that length;
// what is left is a shorter one.  p has scalars beyond those of the pipeline: where a batch begins
// on that axis, and how long it is.
static void dispatch_batches(wrapper *w, const dispatched *d)
{
    const uint32_t own = w->shown->scalars.count;
    const char *first = w->p->scalars.data[own].name, *rows = w->p->scalars.data[own + 1].name;
    const vy_dim none = vy_dim_const(w->b, 0), one = vy_dim_const(w->b, 1);
    const vy_dim extent = batched_extent(w), most = vy_dim_const(w->b, w->batches);
    const vy_dim up = vy_dim_binary(w->b, VY_DIM_ADD, extent, vy_dim_const(w->b, w->batches - 1));
    const vy_dim fair = vy_dim_binary(w->b, VY_DIM_DIV, up, most);
    const vy_dim length = vy_dim_binary(w->b, VY_DIM_MAX, fair, one);
    const vy_dim count = vy_dim_binary(w->b, VY_DIM_DIV, extent, length);
    const vy_dim at = vy_pipeline_repeat(w->q, "batch", none, count, VY_KEEP_ALL, none);
    d->scalars[own] = number(first, vy_dim_binary(w->b, VY_DIM_MUL, at, length));
    d->scalars[own + 1] = number(rows, length);
    dispatch(w, d);
    vy_pipeline_close(w->q);
    d->scalars[own] = number(first, vy_dim_binary(w->b, VY_DIM_MUL, count, length));
    d->scalars[own + 1] = number(rows, vy_dim_binary(w->b, VY_DIM_REM, extent, length));
    dispatch(w, d);
}

static void dispatch_all(wrapper *w, dispatched *d)
{
    for (uint32_t i = 1; i < w->p->buffers.count; i++)
        if (vy_pipe_binds(&w->p->buffers.data[i])) d->args[d->arg_count++] = w->args[i];
    for (uint32_t k = 0; k < w->shown->scalars.count; k++) d->scalars[k] = pass_scalar(w, k);
    for (uint32_t k = 0; k < 3 && !w->p->overs.count; k++) d->groups[k] = vy_dim_groups(w->b, k);
    if (w->batches)
        dispatch_batches(w, d);
    else
        dispatch(w, d);
}

static bool wrap(wrapper *w)
{
    const vy_program *p = w->shown;
    const uint32_t n = p->scalars.count, passed = w->p->scalars.count;
    w->scalars = vy_arena_alloc(&w->arena, (n + 1) * sizeof *w->scalars);
    w->dims = vy_arena_alloc(&w->arena, p->dims.count * sizeof *w->dims);
    w->args = vy_arena_alloc(&w->arena, p->buffers.count * sizeof *w->args);
    dispatched d = {.args = vy_arena_alloc(&w->arena, p->buffers.count * sizeof *d.args),
                    .scalars = vy_arena_alloc(&w->arena, (passed + 1) * sizeof *d.scalars)};
    if (!w->scalars || !w->dims || !w->args || !d.args || !d.scalars) return false;
    for (uint32_t k = 0; k < n; k++)
        w->scalars[k] = vy_param_scalar(w->b, p->scalars.data[k].name, p->scalars.data[k].type);
    copy_dims(w);
    for (uint32_t i = 1; i < p->buffers.count; i++)
        if (vy_pipe_binds(&p->buffers.data[i]))
            w->args[i].buffer = copy_buffer(w, &p->buffers.data[i]);
    if (vy_builder_failed(w->b)) return false;
    copy_dims(w); // now with the lengths of parameters
    begin_as_copies(w);
    clear_outputs(w);
    dispatch_all(w, &d);
    return true;
}

static vy_pipeline *wrap_as(wrapper *w, vy_module *m, const char *name, vy_diag *diag)
{
    vy_pipeline *l = NULL;
    w->q = vy_pipeline_begin(m, name);
    if (w->q) {
        w->b = vy_pipeline_params(w->q);
        vy_builder_program(w->b)->order = w->p->order;
        if (wrap(w))
            l = vy_pipeline_end(w->q);
        else
            vy_pipeline_abandon(w->q);
    }
    vy_arena_free(&w->arena);
    if (!l && !vy_module_ok(m)) *diag = m->diag;
    return l;
}

vy_pipeline *vy_alone(vy_module *m, vy_program *p, const char *name, const uint8_t *given,
                      vy_diag *diag)
{
    wrapper w = {.shown = p, .p = p, .given = given};
    return wrap_as(&w, m, name, diag);
}

vy_pipeline *vy_alone_in_batches(vy_module *m, const vy_program *shown, vy_program *p,
                                 uint32_t axis, uint32_t batches, vy_diag *diag)
{
    wrapper w = {.shown = shown, .p = p, .axis = axis, .batches = batches};
    return wrap_as(&w, m, shown->name, diag);
}

// ------------------------------------------------------------------------------ what was requested
// Roles name parameters of the pipeline, `wrapper`, by number: those of p have others.
static void alone_roles(const vy_program *p, const vy_program *wrapper, vy_program *made)
{
    for (uint32_t i = 1; i < made->buffers.count; i++) {
        vy_derivative_role *role = &made->buffers.data[i].role;
        if (role->kind == VY_IS_PARAMETER || role->kind == VY_IS_WORKSPACE ||
            role->kind == VY_IS_SCALAR_GRADIENT)
            continue;
        const char *name = wrapper->buffers.data[role->parameter].name;
        const bool own = role->root_parameter == role->parameter;
        role->parameter = vy_program_find_buffer(p, name).id;
        if (own) role->root_parameter = role->parameter;
    }
}

bool vy_alone_outputs(vy_module *work, const vy_program *p, vy_grad_options *o)
{
    const char **of = vy_arena_alloc(&work->arena, (p->buffers.count + 1) * sizeof *of);
    for (uint32_t i = 1; of && !o->of && i < p->buffers.count; i++)
        if (vy_grad_default_of(p, (vy_buffer){i})) of[o->of_count++] = p->buffers.data[i].name;
    if (!o->of) o->of = of;
    return of != NULL;
}

vy_module *vy_alone_module(const vy_program *p, vy_alone_make *make, vy_grad_options *o,
                           vy_diag *diag)
{
    vy_module *work = NULL;
    uint32_t at = 0;
    while (p->module->programs.data[at] != p) at++;
    if (!vy_module_extract(p->module, (vy_ref){at, false}, &work, diag)) return NULL;
    if (make(work, p, o, diag)) return work;
    vy_module_free(work);
    if (diag->severity != VY_ERROR) vy_diag_set(diag, VY_E_MEMORY, 0, 0, NULL, "out of memory");
    return NULL;
}

vy_module *vy_alone_derive(const vy_program *p, vy_alone_make *make, const vy_grad_options *o,
                           vy_derive_call *call, vy_diag *diag)
{
    vy_grad_options request = *o;
    vy_module *work = vy_alone_module(p, make, &request, diag);
    if (!work) return NULL;
    const vy_pipeline *l = work->pipelines.data[work->pipelines.count - 1];
    vy_module *out = vy_derive_pipeline(l, &request, call, NULL, diag);
    if (out) alone_roles(p, l->signature, out->pipelines.data[out->pipelines.count - 1]->signature);
    vy_module_free(work);
    return out;
}
