// SPDX-License-Identifier: MIT
// lower_call.c: dispatches of a host program as dispatches of a pipeline.
//
// An operand that a program only reads is bound where it lives.  A result is written where it is
// stored, or to a temporary.  What is read and written (`inout`) is bound once: the operand is
// copied to the place of the result, unless it lives there already.
//
// A pipeline that is dispatched is inlined: its parameters are the places bound, its intermediates
// become intermediates of this one, its dimensions are rewritten over this one's.
#include "ir/host/lower.h"

#include <stdio.h>
#include <string.h>

// ------------------------------------------------------------------------------------------ places

static vy_pipe_arg arg_of(const lower_place *p)
{
    return (vy_pipe_arg){.buffer = {p->buffer}, .rank = p->rank, .index = p->index};
}

lower_place lower_slice(lowering *w, uint32_t access)
{
    const uint32_t buffer = w->h->insts.data[access].aux, n = vy_index_count(w->h, access);
    const vy_buf *b = &w->h->buffers.data[buffer];
    vy_dim *index = lower_room(w, n, sizeof *index);
    for (uint32_t k = 0; index && k < n; k++) index[k] = lower_number(w, vy_arg(w->h, access, k));
    const vy_tensor shape = {b->type, b->rank - n, b->dims + n};
    return (lower_place){.buffer = w->current[buffer],
                         .rank = n,
                         .index = index,
                         .shape = lower_shape(w, &shape)};
}

lower_place lower_temporary(lowering *w, const vy_tensor *shape)
{
    char text[320];
    if (lower_stopped(w)) return (lower_place){0};
    const vy_tensor own = lower_shape(w, shape);
    shape = &own;
    const char *name = vy_free_name(w->b->p, "t", vy_type_name(shape->type), text);
    const vy_buffer made = vy_pipeline_buffer(w->q, name, shape->type, shape->rank, shape->dims);
    if (made.id) w->b->p->buffers.data[made.id].role.kind = VY_IS_WORKSPACE;
    return (lower_place){.buffer = made.id, .shape = *shape};
}

bool lower_same_place(const lower_place *x, const lower_place *y)
{
    return x->buffer == y->buffer && x->rank == y->rank &&
           (x->rank == 0 || memcmp(x->index, y->index, x->rank * sizeof *x->index) == 0);
}

// ------------------------------------------------------------------------------------- our kernels
static void run(lowering *w, const vy_program *p, const lower_place *x, const lower_place *y)
{
    vy_pipe_arg args[2];
    uint32_t n = 0;
    if (!p) return;
    if (x) args[n++] = arg_of(x);
    args[n++] = arg_of(y);
    vy_pipeline_dispatch(w->q, p, n, args, 0, NULL, NULL);
}

void lower_copy(lowering *w, const lower_place *from, const lower_place *to)
{
    run(w, host_kernel_of(w, HOST_COPY, to->shape.type, to->shape.rank, 0), from, to);
}

void lower_fill(lowering *w, const lower_place *to, double value)
{
    run(w, host_kernel_of(w, HOST_FILL, to->shape.type, to->shape.rank, value), NULL, to);
}

lower_place lower_place_of(lowering *w, uint32_t id, const vy_tensor *shape)
{
    if (!VY_IS_LEAF(id)) return w->place[id];
    const vy_scalar *c = vy_id_const(w->h, id);
    const lower_place made = lower_temporary(w, shape);
    lower_fill(w, &made, c ? c->f : 0);
    return made;
}

// Where result `value` of that shape is to be written.
static lower_place result_place(lowering *w, uint32_t value, const vy_tensor *shape)
{
    const bool used = value && (w->last[value] || w->direct[value]);
    if (!used) return lower_temporary(w, shape);
    w->place[value] =
        w->direct[value] ? lower_slice(w, w->direct[value]) : lower_temporary(w, shape);
    return w->place[value];
}

// Has LOAD `v` been copied only for the sake of uses after `result` is written to the same slice?
// Then the slice itself still has these contents.
static bool is_there(const lowering *w, uint32_t v, uint32_t result)
{
    const uint32_t direct = result ? w->direct[result] : 0;
    return direct && !VY_IS_LEAF(v) && w->copied[v] == direct &&
           w->s.parent[v] == w->s.parent[direct] && vy_host_same_slice(w->h, v, direct);
}

void lower_add(lowering *w, uint32_t id)
{
    const uint32_t x = vy_arg(w->h, id, 0), y = vy_arg(w->h, id, 1);
    const uint32_t shaped = VY_IS_LEAF(x) ? y : x;
    if (VY_IS_LEAF(shaped)) {
        vy_build_fail(w->b, VY_E_INTERNAL, "a sum of constants in a host program");
        return;
    }
    const vy_tensor shape = w->place[shaped].shape;
    const lower_place from = lower_place_of(w, y, &shape), old = lower_place_of(w, x, &shape);
    const lower_place to = result_place(w, id, &shape);
    if (!lower_same_place(&old, &to) && !is_there(w, x, id)) lower_copy(w, &old, &to);
    run(w, host_kernel_of(w, HOST_ADD, shape.type, shape.rank, 0), &from, &to);
}

// ------------------------------------------------------------------------------ a call's arguments
typedef struct call_args {
    const vy_host_call *call;
    const vy_program *callee;
    lower_place *places;     // by bound parameter
    vy_pipe_scalar *scalars; // by scalar
    vy_dim groups[3];
} call_args;

// The PICK of result k, or 0.
static uint32_t pick_of(const lowering *w, uint32_t dispatch, uint32_t k)
{
    for (uint32_t id = dispatch + 1; id < w->h->insts.count; id++) {
        const vy_inst *i = &w->h->insts.data[id];
        if (i->op != VY_OP_PICK || vy_arg(w->h, id, 0) != dispatch) return 0;
        if (i->aux == k) return id;
    }
    return 0;
}

static void bind_scalars(lowering *w, call_args *a, uint32_t dispatch)
{
    const uint32_t first = a->call->tensors;
    for (uint32_t k = 0; a->scalars && k < a->call->scalars; k++) {
        const vy_scalar_param *s = &a->callee->scalars.data[k];
        const uint32_t v = vy_arg(w->h, dispatch, first + k);
        const vy_leaf *l = VY_IS_LEAF(v) ? &w->h->leaves.data[VY_LEAF_INDEX(v)] : NULL;
        a->scalars[k].name = s->name;
        if (vy_type_is_integer(s->type)) {
            a->scalars[k].kind = VY_PIPE_DIM;
            a->scalars[k].dim = lower_number(w, v);
        } else if (l && l->kind == VY_LEAF_SCALAR) {
            a->scalars[k].kind = VY_PIPE_PARAM;
            a->scalars[k].scalar = l->index;
        } else if (l && l->kind == VY_LEAF_CONST) {
            a->scalars[k].kind = VY_PIPE_CONST;
            a->scalars[k].value = l->value;
        } else {
            vy_build_fail(w->b, VY_E_INTERNAL, "scalar `%s` of a host program is computed",
                          s->name);
        }
    }
    for (uint32_t k = 0; a->call->groups && k < 3; k++)
        a->groups[k] = lower_number(w, vy_arg(w->h, dispatch, first + a->call->scalars + k));
}

static void bind_tensors(lowering *w, call_args *a, uint32_t dispatch)
{
    for (uint32_t i = 1, n = 0, taken = 0, given = 0; i < a->callee->buffers.count; i++) {
        const vy_buf *b = &a->callee->buffers.data[i];
        if (!vy_pipe_binds(b) || lower_stopped(w)) continue;
        const vy_tensor *shape = &a->call->shapes[n];
        lower_place from = {0}, to = {0};
        uint32_t v = 0;
        const uint32_t pick = vy_host_gives(b) ? pick_of(w, dispatch, given++) : 0;
        if (vy_host_takes(b)) {
            v = vy_arg(w->h, dispatch, taken++);
            const vy_scalar *c = vy_id_const(w->h, v);
            if (b->cls == VY_INOUT && c) {
                to = result_place(w, pick, shape);
                lower_fill(w, &to, c->f);
            } else {
                from = lower_place_of(w, v, shape);
            }
        }
        if (vy_host_gives(b) && !to.buffer) to = result_place(w, pick, shape);
        if (from.buffer && to.buffer && !lower_same_place(&from, &to) && !is_there(w, v, pick))
            lower_copy(w, &from, &to);
        a->places[n++] = to.buffer ? to : from;
    }
}

// -------------------------------------------------------------------------------------- a pipeline
typedef struct inlining {
    lowering *w;
    const vy_pipeline *l;
    const call_args *a;
    lower_place *places; // by buffer of its signature
    vy_dim *dims;        // by dimension of its signature
    vy_dim *steps;       // by step: the number that it gives
} inlining;

static vy_dim translate(inlining *c, vy_dim d)
{
    const vy_dim_node *n = &c->l->signature->dims.data[d.id];
    vy_builder *b = c->w->b;
    if (c->dims[d.id].id || lower_stopped(c->w)) return c->dims[d.id];
    vy_dim made = {0};
    switch (n->op) {
    case VY_DIM_CONST: made = vy_dim_const(b, n->value); break;
    case VY_DIM_SCALAR: made = c->a->scalars[n->value].dim; break;
    case VY_DIM_UNKNOWN: made = c->places[n->value].shape.dims[0]; break;
    case VY_DIM_GROUPS: made = c->a->groups[n->value]; break;
    case VY_DIM_STEP: made = c->steps[n->value]; break;
    default: {
        const vy_dim x = translate(c, (vy_dim){n->a}), y = translate(c, (vy_dim){n->b});
        made = vy_dim_binary(b, n->op, x, y);
    }
    }
    return c->dims[d.id] = made;
}

static vy_dim *translate_all(inlining *c, uint32_t n, const vy_dim *dims)
{
    vy_dim *all = lower_room(c->w, n, sizeof *all);
    for (uint32_t k = 0; all && k < n; k++) all[k] = translate(c, dims[k]);
    return all;
}

// Are these repeats `if c` and `else`: of 0..1 − x and 0..x?
static bool is_else(const vy_pipeline *l, const vy_pipe_step *x, const vy_pipe_step *y)
{
    const vy_dim_node *dims = l->signature->dims.data, *d = &dims[x->to.id];
    return d->op == VY_DIM_SUB && dims[d->a].op == VY_DIM_CONST && dims[d->a].value == 1 &&
           vy_equal_dims(l->signature, (vy_dim){d->b}, y->to);
}

// Does the dispatch take all of the buffer as `out`?  *used: it takes it.
static bool takes_as_output(const vy_pipeline *l, const vy_pipe_step *s, uint32_t buffer,
                            bool *used)
{
    *used = s->kind == VY_PIPE_VALUE && s->buffer.id == buffer;
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

// Does what uses the parameter first write to all of it as `out`?
static bool begins_as_output(const vy_pipeline *l, uint32_t buffer)
{
    const vy_pipe_step *steps = l->steps.data;
    bool used = false;
    for (uint32_t i = 0; i < l->steps.count; i++) {
        if (steps[i].kind == VY_PIPE_REPEAT && i + 5 < l->steps.count &&
            steps[i].partner == i + 2 && steps[i + 3].kind == VY_PIPE_REPEAT &&
            steps[i + 3].partner == i + 5 && is_else(l, &steps[i], &steps[i + 3])) {
            const bool then = takes_as_output(l, &steps[i + 1], buffer, &used);
            if (then && takes_as_output(l, &steps[i + 4], buffer, &used)) return true;
            if (used) return false;
            takes_as_output(l, &steps[i + 4], buffer, &used);
            if (used) return false;
            i += 5;
        } else if (steps[i].kind == VY_PIPE_REPEAT || steps[i].kind == VY_PIPE_CHECKPOINT) {
            return false; // it may run no iteration
        } else {
            const bool all = takes_as_output(l, &steps[i], buffer, &used);
            if (used) return all;
        }
    }
    return false;
}

// The contents with which an `out` parameter begins.
static void start_parameter(inlining *c, uint32_t i)
{
    const vy_buf *b = &c->l->signature->buffers.data[i];
    if (b->cls != VY_OUT) return;
    if (b->init == VY_INIT_ONES) {
        lower_fill(c->w, &c->places[i], 1);
    } else if (b->init == VY_INIT_COPY) {
        const uint32_t from = vy_program_find_buffer(c->l->signature, b->init_from).id;
        lower_copy(c->w, &c->places[from], &c->places[i]);
    } else if (!begins_as_output(c->l, i)) {
        lower_fill(c->w, &c->places[i], 0);
    }
}

static lower_place inner_place(inlining *c, const vy_pipe_arg *a)
{
    lower_place p = c->places[a->buffer.id];
    vy_dim *index = lower_room(c->w, p.rank + a->rank, sizeof *index);
    if (!index) return p;
    if (p.rank) memcpy(index, p.index, p.rank * sizeof *index);
    for (uint32_t k = 0; k < a->rank; k++) index[p.rank + k] = translate(c, a->index[k]);
    p.index = index;
    p.rank += a->rank;
    p.shape.rank -= a->rank;
    p.shape.dims += a->rank;
    return p;
}

static void inner_buffer(inlining *c, const vy_pipe_step *s)
{
    const vy_buf *b = &c->l->signature->buffers.data[s->buffer.id];
    char text[320];
    const vy_tensor shape = {b->type, b->rank, translate_all(c, b->rank, b->dims)};
    if (lower_stopped(c->w)) return;
    const char *name = vy_program_find_buffer(c->w->b->p, b->name).id
                           ? vy_free_name(c->w->b->p, c->l->name, b->name, text)
                           : b->name;
    const vy_buffer made = vy_pipeline_buffer(c->w->q, name, b->type, b->rank, shape.dims);
    if (lower_stopped(c->w)) return;
    c->w->b->p->buffers.data[made.id].role.kind = VY_IS_WORKSPACE;
    c->places[s->buffer.id] = (lower_place){.buffer = made.id, .shape = shape};
    if (b->init == VY_INIT_ONES) lower_fill(c->w, &c->places[s->buffer.id], 1);
    if (b->init != VY_INIT_COPY) return;
    const uint32_t from = vy_program_find_buffer(c->l->signature, b->init_from).id;
    lower_copy(c->w, &c->places[from], &c->places[s->buffer.id]);
}

static void inner_dispatch(inlining *c, const vy_pipe_step *s)
{
    const vy_program *p = c->l->module->programs.data[s->program];
    vy_pipe_arg *args = lower_room(c->w, s->arg_count, sizeof *args);
    vy_pipe_scalar *scalars = lower_room(c->w, p->scalars.count, sizeof *scalars);
    for (uint32_t k = 0; args && k < s->arg_count; k++) {
        const lower_place at = inner_place(c, &s->args[k]);
        args[k] = arg_of(&at);
    }
    for (uint32_t k = 0; scalars && k < p->scalars.count; k++) {
        scalars[k] = s->scalars[k];
        if (scalars[k].kind == VY_PIPE_DIM) scalars[k].dim = translate(c, scalars[k].dim);
        if (scalars[k].kind == VY_PIPE_PARAM) scalars[k] = c->a->scalars[scalars[k].scalar];
        scalars[k].name = p->scalars.data[k].name;
    }
    const vy_dim *groups = s->groups ? translate_all(c, 3, s->groups) : NULL;
    if (!lower_stopped(c->w))
        vy_pipeline_dispatch(c->w->q, p, s->arg_count, args, p->scalars.count, scalars, groups);
}

static void inner_value(inlining *c, const vy_pipe_step *s, uint32_t at)
{
    const lower_place element =
        inner_place(c,
                    &(vy_pipe_arg){.buffer = s->buffer, .rank = s->index_count, .index = s->index});
    if (!lower_stopped(c->w))
        c->steps[at] = vy_pipeline_value(c->w->q, (vy_buffer){element.buffer}, element.index);
}

static void inner_repeat(inlining *c, const vy_pipe_step *s, uint32_t at)
{
    const vy_dim from = translate(c, s->from), to = translate(c, s->to);
    if (!lower_stopped(c->w))
        c->steps[at] = vy_pipeline_repeat(c->w->q, s->counter, from, to, VY_KEEP_ALL, (vy_dim){0});
}

static void inner_step(inlining *c, uint32_t at)
{
    const vy_pipe_step *s = &c->l->steps.data[at];
    switch (s->kind) {
    case VY_PIPE_BUFFER: inner_buffer(c, s); break;
    case VY_PIPE_DISPATCH: inner_dispatch(c, s); break;
    case VY_PIPE_VALUE: inner_value(c, s, at); break;
    case VY_PIPE_REPEAT: inner_repeat(c, s, at); break;
    case VY_PIPE_CHECKPOINT: vy_pipeline_checkpoint(c->w->q); break;
    case VY_PIPE_END: vy_pipeline_close(c->w->q); break;
    }
}

static void inline_pipeline(lowering *w, const call_args *a)
{
    inlining c = {.w = w, .l = w->h->module->pipelines.data[a->call->callee], .a = a};
    const vy_program *p = c.l->signature;
    c.places = lower_room(w, p->buffers.count, sizeof *c.places);
    c.dims = lower_room(w, p->dims.count, sizeof *c.dims);
    c.steps = lower_room(w, c.l->steps.count, sizeof *c.steps);
    if (w->oom) return;
    for (uint32_t i = 1, n = 0; i < p->buffers.count; i++)
        if (vy_pipe_binds(&p->buffers.data[i])) c.places[i] = a->places[n++];
    for (uint32_t i = 1; i < p->buffers.count; i++)
        if (vy_pipe_binds(&p->buffers.data[i])) start_parameter(&c, i);
    for (uint32_t i = 0; i < c.l->steps.count && !lower_stopped(w); i++) inner_step(&c, i);
}

// ---------------------------------------------------------------------------------------- together
void lower_dispatch(lowering *w, uint32_t id)
{
    const vy_host_call *call = vy_host_call_of(w->h, id);
    call_args a = {.call = call, .callee = vy_host_callee(w->h->module, call)};
    a.places = lower_room(w, call->count, sizeof *a.places);
    a.scalars = lower_room(w, call->scalars, sizeof *a.scalars);
    if (w->oom) return;
    bind_scalars(w, &a, id);
    bind_tensors(w, &a, id);
    if (lower_stopped(w)) return;
    if (call->pipeline) {
        inline_pipeline(w, &a);
        return;
    }
    vy_pipe_arg *args = lower_room(w, call->count, sizeof *args);
    for (uint32_t k = 0; args && k < call->count; k++) args[k] = arg_of(&a.places[k]);
    if (!lower_stopped(w))
        vy_pipeline_dispatch(w->q, a.callee, call->count, args, call->scalars, a.scalars,
                             call->groups ? a.groups : NULL);
}
