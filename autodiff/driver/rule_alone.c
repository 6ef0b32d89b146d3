// SPDX-License-Identifier: MIT
// rule_alone.c: the derivative of a program that states its own, by itself.
//
// It is differentiated as the pipeline that dispatches it once, so that seeds, requested inputs and
// values that the rule reads are the pipeline's business (reverse/sweep_dispatch.c):
//
//   program mm with @vjp(mm_back)      →      pipeline mm_grad(a, b, grad_c, grad_a, grad_b, …) {
//                                                 mm_back(a, b, grad_c, grad_a, grad_b, …); }
#include "autodiff/driver/observed.h"
#include "autodiff/driver/program_rule.h"
#include "ir/build/edit.h"
#include "ir/core/pipe.h"

typedef struct wrapper {
    const vy_program *p;
    vy_pipe *q;
    vy_builder *b;
    vy_arena arena;
    vy_value *scalars; // by scalar
    vy_dim *dims;      // by dimension of p
} wrapper;

static vy_dim copy_dim(wrapper *w, const vy_dim_node *d)
{
    switch (d->op) {
    case VY_DIM_CONST: return vy_dim_const(w->b, d->value);
    case VY_DIM_SCALAR: return vy_dim_value(w->b, w->scalars[d->value]);
    case VY_DIM_UNKNOWN: return vy_dim_unknown(w->b);
    default: return vy_dim_binary(w->b, d->op, w->dims[d->a], w->dims[d->b]);
    }
}

static vy_pipe_arg copy_buffer(wrapper *w, const vy_buf *b)
{
    vy_dim dims[VY_MAX_RANK];
    for (uint32_t k = 0; k < b->rank; k++) dims[k] = w->dims[b->dims[k].id];
    return (vy_pipe_arg){.buffer = vy_param_buffer(w->b, b->name, b->cls, b->type, b->rank, dims)};
}

static vy_pipe_scalar pass_scalar(wrapper *w, uint32_t k)
{
    const vy_scalar_param *s = &w->p->scalars.data[k];
    vy_pipe_scalar given = {.name = s->name, .kind = VY_PIPE_PARAM, .scalar = k};
    if (vy_type_is_integer(s->type))
        given.kind = VY_PIPE_DIM, given.dim = vy_dim_value(w->b, w->scalars[k]);
    return given;
}

static bool wrap(wrapper *w)
{
    const vy_program *p = w->p;
    const uint32_t n = p->scalars.count;
    w->scalars = vy_arena_alloc(&w->arena, (n + 1) * sizeof *w->scalars);
    w->dims = vy_arena_alloc(&w->arena, p->dims.count * sizeof *w->dims);
    vy_pipe_arg *args = vy_arena_alloc(&w->arena, p->buffers.count * sizeof *args);
    vy_pipe_scalar *given = vy_arena_alloc(&w->arena, (n + 1) * sizeof *given);
    if (!w->scalars || !w->dims || !args || !given) return false;
    for (uint32_t k = 0; k < n; k++)
        w->scalars[k] = vy_param_scalar(w->b, p->scalars.data[k].name, p->scalars.data[k].type);
    for (uint32_t i = 1; i < p->dims.count; i++) w->dims[i] = copy_dim(w, &p->dims.data[i]);
    uint32_t count = 0;
    for (uint32_t i = 1; i < p->buffers.count; i++)
        if (vy_pipe_binds(&p->buffers.data[i])) args[count++] = copy_buffer(w, &p->buffers.data[i]);
    for (uint32_t k = 0; k < n; k++) given[k] = pass_scalar(w, k);
    vy_pipeline_dispatch(w->q, p, count, args, n, given, NULL);
    return true;
}

// A module with p, its rule, and a pipeline of p's name that dispatches it.
static vy_pipeline *make_wrapper(vy_module *m, const char *name, vy_diag *diag)
{
    wrapper w = {.p = vy_module_find(m, name), .q = vy_pipeline_begin(m, name)};
    vy_pipeline *l = NULL;
    if (w.q) {
        w.b = vy_pipeline_params(w.q);
        vy_builder_program(w.b)->order = w.p->order;
        if (wrap(&w))
            l = vy_pipeline_end(w.q);
        else
            vy_pipeline_abandon(w.q);
    }
    vy_arena_free(&w.arena);
    if (!l && !vy_module_ok(m)) *diag = m->diag;
    return l;
}

vy_module *vy_derive_by_rule(const vy_program *p, const vy_grad_options *o, bool explain,
                             vy_diag *diag)
{
    vy_module *work = NULL, *out = NULL;
    uint32_t at = 0;
    if ((explain && !vy_rule_explains(p, diag)) || !vy_rule_has_names(p, o, diag)) return NULL;
    while (p->module->programs.data[at] != p) at++;
    if (!vy_module_extract(p->module, (vy_ref){at, false}, &work, diag)) return NULL;
    const vy_pipeline *l = make_wrapper(work, p->name, diag);
    if (l) out = vy_derive_pipeline(l, o, vy_transform, NULL, diag);
    vy_module_free(work);
    if (!l && diag->severity != VY_ERROR)
        vy_diag_set(diag, VY_E_MEMORY, 0, 0, NULL, "out of memory");
    return out;
}
