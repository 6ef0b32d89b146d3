// SPDX-License-Identifier: MIT
// forward_dispatch.c: the tangents of what a host program dispatches (ir/core/host.h).
//
//   d = DISPATCH f x, w;  y = PICK 0 d     →     d = DISPATCH f_jvp x, w, dot_x, dot_w
//                                                y = PICK 0 d;  dot_y = PICK 1 d
//
// The forward derivative of the callee, with its values, takes the place of the callee; where the
// callee states its derivative (ir/core/program_rule.h), this follows it, and has no values.
// Between dispatches a tangent that is exactly 0 may mean that nothing reaches the value.
#include "autodiff/core/dispatched.h"
#include "autodiff/forward/forward.h"
#include "ir/core/program_rule.h"
#include "ir/host/host_build.h"

// A parameter of the callee; by its buffer id.
typedef struct bound_param {
    const vy_tensor *shape;
    uint32_t operand, pick; // of the old program, or 0
} bound_param;

typedef struct dispatch {
    forward *f;
    uint32_t id, last; // the last PICK
    const vy_host_call *call;
    const vy_program *callee;
    bound_param *params;
    const vy_derived *made;
    const vy_program *derived; // its parameters
    bool follows;              // it takes the values of the callee, which is dispatched before it
} dispatch;

static bool find_params(dispatch *d)
{
    const vy_program *p = d->f->w.p;
    d->params = vy_rewrite_table(&d->f->w, d->callee->buffers.count * sizeof *d->params);
    d->last = d->id;
    for (uint32_t i = 1, n = 0, taken = 0; d->params && i < d->callee->buffers.count; i++) {
        const vy_buf *b = &d->callee->buffers.data[i];
        if (!vy_pipe_binds(b)) continue;
        d->params[i].shape = &d->call->shapes[n++];
        if (vy_host_takes(b)) d->params[i].operand = vy_arg(p, d->id, taken++);
        if (vy_host_gives(b)) d->params[i].pick = ++d->last;
    }
    return d->params != NULL;
}

// The tangent of scalar k of the callee, a tensor of one element, or 0.
static uint32_t scalar_dot(const dispatch *d, uint32_t k)
{
    const uint32_t v = vy_arg(d->f->w.p, d->id, d->call->tensors + k);
    return VY_IS_LEAF(v) ? vy_forward_dot(d->f, v) : 0;
}

static bool derive(dispatch *d)
{
    const uint32_t buffers = d->callee->buffers.count, n = buffers + d->call->scalars;
    const char **names = vy_rewrite_table(&d->f->w, 2 * (size_t)n * sizeof *names);
    reverse *r = d->f->r;
    if (!names) return false;
    vy_grad_options request = {.of = names,
                               .wrt = names + n,
                               .forward = true,
                               .with_value = true,
                               .structural_zeros = true,
                               .deterministic = r->options->deterministic,
                               .lean_sums = r->options->lean_sums};
    for (uint32_t i = 1; i < buffers; i++) {
        const bound_param *p = &d->params[i];
        const char *name = d->callee->buffers.data[i].name;
        if (p->pick && vy_forward_is_active(d->f, p->pick)) names[request.of_count++] = name;
        if (p->operand && vy_forward_dot(d->f, p->operand)) names[n + request.wrt_count++] = name;
    }
    for (uint32_t k = 0; k < d->call->scalars; k++)
        if (scalar_dot(d, k)) names[n + request.wrt_count++] = d->callee->scalars.data[k].name;
    if (!request.of_count || !request.wrt_count) return false;
    d->made = vy_derive_dispatched(r, d->id, d->call, &request, &d->derived);
    return d->made != NULL;
}

// The buffer of the callee that one of the derivative belongs to.
static const bound_param *param_of(const dispatch *d, uint32_t buffer)
{
    return &d->params[d->made->roles[buffer].parameter];
}

// A rule may read what the callee wrote; a cotangent is what a transposed rule has no use for
// (driver/program_rule.c).
static uint32_t operand_for(const dispatch *d, uint32_t buffer)
{
    const vy_derivative_role *role = &d->made->roles[buffer];
    if (role->kind == VY_IS_SCALAR_TANGENT) return scalar_dot(d, role->parameter);
    const bound_param *p = param_of(d, buffer);
    const vy_type type = d->derived->buffers.data[buffer].type;
    const uint32_t dot = p->operand ? vy_forward_dot(d->f, p->operand) : 0;
    if (p->operand && !vy_is_tangent(role->kind)) return vy_new(&d->f->w, p->operand);
    if (!p->operand && role->kind == VY_IS_PRIMAL) return vy_new(&d->f->w, p->pick);
    return dot ? dot : vy_zero(d->f->w.b, type).id;
}

static vy_tensor shape_for(const dispatch *d, uint32_t buffer)
{
    if (d->made->roles[buffer].kind != VY_IS_SCALAR_TANGENT) return *param_of(d, buffer)->shape;
    vy_dim *one = vy_arena_alloc(&d->f->r->out->arena, sizeof *one);
    if (!one) d->f->w.oom = true;
    if (one) *one = vy_dim_const(d->f->w.b, 1);
    return (vy_tensor){.rank = one ? 1 : 0, .dims = one};
}

static void take_result(dispatch *d, uint32_t buffer, uint32_t pick)
{
    const bound_param *p = param_of(d, buffer);
    if (!p->pick) return;
    if (!vy_is_tangent(d->made->roles[buffer].kind)) {
        if (!d->follows) d->f->w.map[p->pick] = pick;
    } else if (vy_forward_is_active(d->f, p->pick)) { // a rule gives them all
        d->f->dot[p->pick] = pick;
    }
}

static void emit(dispatch *d)
{
    const vy_program *p = d->derived;
    vy_rewrite *w = &d->f->w;
    const uint32_t nargs = w->p->insts.data[d->id].nargs, rest = nargs - d->call->tensors;
    uint32_t *args = vy_rewrite_table(w, (p->buffers.count + rest + 1) * sizeof *args);
    uint32_t *picks = vy_rewrite_table(w, p->buffers.count * sizeof *picks);
    vy_tensor *shapes = vy_arena_alloc(&d->f->r->out->arena, p->buffers.count * sizeof *shapes);
    if (!shapes) w->oom = true;
    if (w->oom) return;
    vy_host_call call = {.callee = d->made->result.index,
                         .pipeline = d->made->result.pipeline,
                         .groups = d->call->groups,
                         .scalars = d->call->scalars,
                         .shapes = shapes,
                         .extents = d->call->extents,
                         .keys = d->call->keys};
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        const vy_buf *b = &p->buffers.data[i];
        if (!vy_pipe_binds(b)) continue;
        shapes[call.count] = shape_for(d, i);
        shapes[call.count++].type = b->type;
        if (vy_host_takes(b)) args[call.tensors++] = operand_for(d, i);
    }
    for (uint32_t k = 0; k < rest; k++)
        args[call.tensors + k] = vy_new_arg(w, d->id, d->call->tensors + k);
    const uint32_t made = vy_host_dispatch(w->b, &call, args, picks);
    if (!d->follows) w->map[d->id] = made;
    for (uint32_t i = 1, k = 0; made && i < p->buffers.count; i++)
        if (vy_pipe_binds(&p->buffers.data[i]) && vy_host_gives(&p->buffers.data[i]))
            take_result(d, i, picks[k++]);
}

uint32_t vy_forward_dispatch(forward *f, uint32_t id)
{
    dispatch d = {.f = f, .id = id, .call = vy_host_call_of(f->w.p, id)};
    d.callee = vy_host_callee(f->r->out, d.call);
    vy_rewrite_at(&f->w, id);
    if (!find_params(&d)) return id;
    if (!derive(&d)) return f->r->failed ? id : 0; // without a tangent: as it is
    d.follows = !d.call->pipeline && vy_program_has_rule(d.callee);
    for (uint32_t k = id; d.follows && k <= d.last; k++) vy_rewrite_copy(&f->w, k);
    emit(&d);
    return d.last;
}
