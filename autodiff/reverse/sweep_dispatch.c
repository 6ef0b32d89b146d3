// SPDX-License-Identifier: MIT
// sweep_dispatch.c: the reverse of a dispatch in a host program (ir/core/host.h).
//
//   d = DISPATCH f x, w;  y = PICK 0 d     →     x̄, w̄ += DISPATCH f_grad x, w, ȳ
//
// The derivative of the callee is made for what is needed here: the outputs that have an adjoint,
// the operands that are active.  It is made once for each such request (r->derive), however often
// the callee is dispatched.  Of the primal's operands it takes those that it still reads after its
// own dead code has been removed; only these have to be taped or recomputed.
//
// Gradients of float scalars are tensors of one element, added up in grad_NAME of the scalar.
#include "autodiff/core/adjoint.h"
#include "autodiff/core/dispatched.h"
#include "autodiff/reverse/keep.h"
#include "autodiff/reverse/sweep_dispatch.h"
#include "autodiff/transform.h"
#include "ir/core/program_rule.h"
#include "ir/host/host_build.h"

#include <string.h>

static void *room(dispatch *d, size_t count, size_t size)
{
    void *p = vy_arena_alloc(&d->arena, (count + 1) * size);
    if (!p) oom(d->r);
    return p;
}

// ----------------------------------------------------------------------------------- the arguments
static bool find_params(dispatch *d)
{
    const reverse *r = d->r;
    bool any = false;
    d->params = room(d, d->callee->buffers.count, sizeof *d->params);
    for (uint32_t i = 1, n = 0, taken = 0, given = 0; d->params && i < d->callee->buffers.count;
         i++) {
        const vy_buf *b = &d->callee->buffers.data[i];
        bound_param *p = &d->params[i];
        if (!vy_pipe_binds(b)) continue;
        p->shape = &d->call->shapes[n++];
        if (vy_host_takes(b)) p->operand = vy_arg(r->p, d->id, taken++);
        if (vy_host_gives(b)) p->pick = d->id + 1 + given++;
        if (p->pick) p->adjoint = r->build.adjoint[p->pick];
        p->wrt = p->operand && vy_is_active(&r->facts, p->operand);
        any |= p->adjoint != 0;
    }
    return any && !r->failed;
}

// The scalar of the pipeline that scalar k of the callee is, if its gradient is requested; else 0.
static uint32_t active_scalar(const dispatch *d, uint32_t k)
{
    const uint32_t v = vy_arg(d->r->p, d->id, d->call->tensors + k);
    return VY_IS_LEAF(v) && vy_is_active(&d->r->facts, v) ? v : 0;
}

// Does the callee state its own derivative (ir/core/program_rule.h)?  It overwrites all gradients.
static bool states_gradient(const dispatch *d)
{
    return !d->call->pipeline && vy_program_has_rule(d->callee);
}

// ------------------------------------------------------------------------------------- the request
static bool is_one(const reverse *r, uint32_t adjoint)
{
    const vy_scalar *c = vy_id_const(vy_builder_program(r->b), adjoint);
    return c && c->f == 1;
}

// Is it a cotangent as the caller of the pipeline gives it?
static bool is_given(const reverse *r, uint32_t adjoint)
{
    const vy_program *p = vy_builder_program(r->b);
    if (VY_IS_LEAF(adjoint) || p->insts.data[adjoint].op != VY_OP_LOAD) return false;
    return p->buffers.data[p->insts.data[adjoint].aux].role.kind == VY_IS_COTANGENT;
}

// Is the cotangent of parameter `name` the caller's, of which a 0 is a number as others are?  That
// of a batch is what other batches left of it; their parameters are those of the pipeline.
static bool is_outer(const dispatch *d, const bound_param *p, const char *name)
{
    const reverse *r = d->r;
    if (r->options->batches < 2) return is_given(r, p->adjoint);
    const uint32_t own = vy_program_find_buffer(r->p, name).id;
    return own && r->facts.buffers[own].of;
}

// Does only the run know an extent of what is passed?  Then what is passed also says what it is.
static bool has_open_shapes(const dispatch *d)
{
    for (uint32_t k = 0; k < d->call->count; k++)
        for (uint32_t n = 0; n < d->call->shapes[k].rank; n++) {
            const vy_dim extent = d->call->shapes[k].dims[n];
            if (d->r->p->dims.data[extent.id].op == VY_DIM_STEP) return true;
        }
    return false;
}

// What is kept in place of states is read, where the primal has it written (core/keep_plan.h).
static void read_kept(dispatch *d)
{
    keep_plan *k = d->r->keep;
    if (!k || !d->made) return;
    if (k->made) k->made[d->id] = d->made;
    const keep_form *form = vy_keep_before(d->r, d->id, d->made, &d->keeper);
    if (!form) return;
    d->made = &form->rest;
    const vy_host_call call = vy_made_call(d->made);
    d->derived = vy_host_callee(d->r->out, &call);
}

static bool derive(dispatch *d)
{
    const uint32_t buffers = d->callee->buffers.count, n = buffers + d->call->scalars;
    const vy_grad_options *o = d->r->options;
    const char **names = room(d, 3 * (size_t)n, sizeof *names);
    if (!names) return false;
    const char **of = names, **wrt = names + n, **add = names + 2 * (size_t)n;
    vy_grad_options request = {.of = of,
                               .wrt = wrt,
                               .add = add,
                               .deterministic = o->deterministic,
                               .lean_sums = o->lean_sums,
                               .lean_inputs = !has_open_shapes(d),
                               .frugal = o->frugal,
                               .checkpoint = o->checkpoint,
                               .split_tapes = o->split_tapes,
                               .structural_zeros = o->batches > 1 && o->structural_zeros,
                               .accumulate = o->accumulate,
                               .assume = o->assume,
                               .assume_count = o->assume_count};
    for (uint32_t i = 1; i < buffers; i++) {
        const bound_param *p = &d->params[i];
        const char *name = d->callee->buffers.data[i].name;
        if (p->adjoint) of[request.of_count++] = name;
        if (p->adjoint && !is_one(d->r, p->adjoint)) {
            request.seed_buffer = true;
            request.structural_zeros |= !is_outer(d, p, name);
        }
        if (p->wrt) wrt[request.wrt_count++] = name;
        if (p->add == ADD_TO_SLICE) add[request.add_count++] = name;
    }
    for (uint32_t k = 0; k < d->call->scalars; k++)
        if (active_scalar(d, k)) wrt[request.wrt_count++] = d->callee->scalars.data[k].name;
    request.in_place = request.seed_buffer;
    if (!request.wrt_count) return false;
    d->made = vy_derive_dispatched(d->r, d->id, d->call, &request, &d->derived);
    read_kept(d);
    return d->made != NULL;
}

// -------------------------------------------------------------------------------------- the result
// The index of the slice that LOAD `id` names, in the result; returns how many.
static uint32_t map_slice(reverse *r, uint32_t id, uint32_t *index)
{
    const uint32_t n = vy_index_count(r->p, id);
    for (uint32_t k = 0; k < n; k++) index[k] = vy_primal(r, vy_arg(r->p, id, k));
    return n;
}

static uint32_t load_slice(reverse *r, uint32_t buffer, uint32_t like)
{
    uint32_t index[VY_MAX_RANK];
    const uint32_t n = map_slice(r, like, index);
    const vy_type type = vy_builder_program(r->b)->buffers.data[buffer].type;
    return vy_host_append(r->b, VY_OP_LOAD, type, buffer, n, index);
}

// An operand that the derivative takes but does not read: any contents of that shape will do.
static uint32_t unread_operand(reverse *r, uint32_t operand)
{
    const vy_inst *i = VY_IS_LEAF(operand) ? NULL : &r->p->insts.data[operand];
    const uint32_t copy = i && i->op == VY_OP_LOAD ? r->build.buffers[i->aux].copy : 0;
    return copy ? load_slice(r, copy, operand) : vy_primal(r, operand);
}

static bool is_read(const dispatch *d, uint32_t buffer)
{
    const vy_host_call made = vy_made_call(d->made);
    return vy_host_reads(d->r->out, &made, buffer);
}

// The result of the keeper that a parameter of the derivative is: they have one order.
static uint32_t kept_operand(dispatch *d, uint32_t buffer)
{
    uint32_t pick = d->keeper + 1;
    for (uint32_t i = 1; i < buffer; i++)
        pick += d->made->roles[i].kind == VY_IS_PARAMETER &&
                vy_pipe_binds(&d->derived->buffers.data[i]);
    return vy_primal(d->r, pick);
}

static uint32_t operand_for(dispatch *d, uint32_t buffer)
{
    const vy_derivative_role *role = &d->made->roles[buffer];
    const bound_param *p = &d->params[role->parameter];
    reverse *r = d->r;
    switch (role->kind) {
    case VY_IS_PRIMAL:
        if (!p->operand) return vy_primal(r, p->pick); // an output, for a rule
        return is_read(d, buffer) ? vy_primal(r, p->operand) : unread_operand(r, p->operand);
    case VY_IS_COTANGENT: // a rule takes them all
        return p->adjoint ? p->adjoint : vy_zero(r->b, vy_id_type(r->p, p->pick)).id;
    case VY_IS_TANGENT: return vy_zero(r->b, vy_id_type(r->p, p->operand)).id; // program_rule.c
    case VY_IS_GRADIENT:
        if (d->callee->buffers.data[role->parameter].cls == VY_INOUT) return p->adjoint;
        if (p->add == ADD_TO_SLICE) {
            const uint32_t b = r->p->insts.data[p->operand].aux;
            return load_slice(r, r->build.buffers[b].adjoint, p->operand);
        }
        break;
    case VY_IS_PARAMETER:
        if (d->keeper) return kept_operand(d, buffer);
        break;
    default: break;
    }
    vy_reverse_fail(r, VY_E_INTERNAL, d->id, NULL, "a derivative takes `%s`, which has no role",
                    d->derived->buffers.data[buffer].name);
    return 0;
}

static vy_tensor map_shape(dispatch *d, const vy_tensor *shape)
{
    vy_dim *dims = vy_arena_alloc(&d->r->out->arena, shape->rank * sizeof *dims + 1);
    if (!dims) oom(d->r);
    for (uint32_t k = 0; dims && k < shape->rank; k++)
        dims[k] = d->r->build.dims[shape->dims[k].id];
    return (vy_tensor){shape->type, shape->rank, dims};
}

static vy_tensor one_element(dispatch *d)
{
    vy_dim *one = vy_arena_alloc(&d->r->out->arena, sizeof *one);
    if (!one) oom(d->r);
    if (one) *one = vy_dim_const(d->r->b, 1);
    return (vy_tensor){.rank = one ? 1 : 0, .dims = one};
}

// The shape of an argument of the derivative: that of the parameter that it belongs to.
static vy_tensor shape_for(dispatch *d, uint32_t buffer)
{
    const bool scalar = d->made->roles[buffer].kind == VY_IS_SCALAR_GRADIENT;
    const uint32_t of = d->made->roles[buffer].parameter;
    vy_tensor shape = {0};
    if (scalar)
        shape = one_element(d);
    else if (of && d->params[of].shape)
        shape = map_shape(d, d->params[of].shape);
    else
        vy_reverse_fail(d->r, VY_E_INTERNAL, d->id, NULL, "a derivative has `%s`, of no shape",
                        d->derived->buffers.data[buffer].name);
    shape.type = d->derived->buffers.data[buffer].type;
    return shape;
}

// Scalars and workgroups are those of the primal's dispatch.
static uint32_t map_rest(dispatch *d, uint32_t *args)
{
    const uint32_t first = d->call->tensors, n = d->r->p->insts.data[d->id].nargs;
    for (uint32_t k = first; k < n; k++) *args++ = vy_primal(d->r, vy_arg(d->r->p, d->id, k));
    return n - first;
}

static void take_gradient(dispatch *d, uint32_t buffer, uint32_t pick)
{
    const vy_derivative_role *role = &d->made->roles[buffer];
    reverse *r = d->r;
    uint32_t args[VY_MAX_RANK + 1] = {pick};
    if (role->kind == VY_IS_SCALAR_GRADIENT) {
        const uint32_t leaf = VY_LEAF_INDEX(active_scalar(d, role->parameter));
        vy_emit_update(r->b, VY_OP_ATOMIC_ADD, VY_STRENGTH_PLAIN, r->build.leaf_grad[leaf], 1,
                       args);
    }
    if (role->kind != VY_IS_GRADIENT) return;
    const bound_param *p = &d->params[role->parameter];
    if (!p->wrt) return;
    switch (p->add) {
    case ADD_NOTHING: vy_contribute(r, p->operand, pick, 0); break;
    case SET_SLICE:
    case ADD_TO_SLICE: {
        const uint32_t n = map_slice(r, p->operand, args);
        built_buffer *info = &r->build.buffers[r->p->insts.data[p->operand].aux];
        args[n] = pick;
        info->added = d->id;
        vy_emit(r->b, VY_OP_STORE, VY_VOID, info->adjoint, n + 1, args);
    }
    }
}

static void emit(dispatch *d)
{
    const vy_program *p = d->derived;
    const uint32_t rest = d->r->p->insts.data[d->id].nargs - d->call->tensors;
    uint32_t *args = room(d, p->buffers.count + rest, sizeof *args);
    uint32_t *picks = room(d, p->buffers.count, sizeof *picks);
    vy_tensor *shapes = vy_arena_alloc(&d->r->out->arena, p->buffers.count * sizeof *shapes);
    if (!args || !picks || !shapes) {
        oom(d->r);
        return;
    }
    vy_host_call call = vy_made_call(d->made);
    call.groups = d->call->groups, call.scalars = d->call->scalars, call.shapes = shapes;
    call.extents = d->call->extents, call.keys = d->call->keys;
    for (uint32_t i = 1; i < p->buffers.count && !d->r->failed; i++) {
        if (!vy_pipe_binds(&p->buffers.data[i])) continue;
        shapes[call.count++] = shape_for(d, i);
        if (vy_host_takes(&p->buffers.data[i])) args[call.tensors++] = operand_for(d, i);
    }
    if (d->r->failed) return;
    map_rest(d, args + call.tensors);
    if (!vy_host_dispatch(d->r->b, &call, args, picks)) return;
    for (uint32_t i = 1, k = 0; i < p->buffers.count; i++)
        if (vy_pipe_binds(&p->buffers.data[i]) && vy_host_gives(&p->buffers.data[i]))
            take_gradient(d, i, picks[k++]);
}

void vy_reverse_dispatch(reverse *r, uint32_t id)
{
    dispatch d = {.r = r, .id = id, .call = vy_host_call_of(r->p, id)};
    d.callee = vy_host_callee(r->out, d.call);
    if (find_params(&d)) {
        if (!states_gradient(&d)) vy_dispatch_modes(&d);
        if (derive(&d)) emit(&d);
    }
    vy_arena_free(&d.arena);
}

// The dispatch again, with shapes of the result.
void vy_replay_dispatch(reverse *r, uint32_t id)
{
    const vy_host_call *was = vy_host_call_of(r->p, id);
    dispatch d = {.r = r, .id = id, .call = was};
    const uint32_t n = r->p->insts.data[id].nargs;
    vy_tensor *shapes = vy_arena_alloc(&r->out->arena, (was->count + 1) * sizeof *shapes);
    uint32_t *args = room(&d, n, sizeof *args), *picks = room(&d, was->count, sizeof *picks);
    vy_host_call call = *was;
    call.shapes = shapes;
    if (!shapes) oom(r);
    for (uint32_t k = 0; !r->failed && k < was->count; k++)
        shapes[k] = map_shape(&d, &was->shapes[k]);
    for (uint32_t k = 0; !r->failed && k < n; k++) args[k] = vy_primal(r, vy_arg(r->p, id, k));
    if (!r->failed) r->build.map[id] = vy_host_dispatch(r->b, &call, args, picks);
    for (uint32_t k = id + 1; k < r->p->insts.count && r->p->insts.data[k].op == VY_OP_PICK &&
                              !r->failed && !vy_builder_failed(r->b);
         k++)
        r->build.map[k] = picks[r->p->insts.data[k].aux];
    vy_arena_free(&d.arena);
}
