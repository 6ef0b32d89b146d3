// SPDX-License-Identifier: MIT
// lower_call.c: dispatches of a host program as dispatches of a pipeline.
//
// An operand that a program only reads is bound where it lives.  A result is written where it is
// stored, or to a temporary.  What is read and written (`inout`) is bound once: the operand is
// copied to the place of the result, unless it lives there already.
//
// A pipeline that is dispatched is inlined (ir/build/pipe_inline.c) with the places bound.
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
    const char *name = vy_next_free_name(w->b->p, "t", vy_type_name(shape->type),
                                         &w->temporaries[shape->type], text);
    const vy_buffer made = vy_pipeline_buffer(w->q, name, shape->type, shape->rank, shape->dims);
    if (made.id) w->b->p->buffers.data[made.id].role.kind = VY_IS_WORKSPACE;
    return (lower_place){.buffer = made.id, .shape = *shape};
}

bool lower_same_place(const lower_place *x, const lower_place *y)
{
    return x->buffer == y->buffer && x->rank == y->rank &&
           (x->rank == 0 || memcmp(x->index, y->index, x->rank * sizeof *x->index) == 0);
}

// ------------------------------------------------------------------------------------ moving data
static void move(lowering *w, vy_pipe_kernel_kind kind, const lower_place *x, const lower_place *y)
{
    const vy_pipe_arg from = arg_of(x), to = arg_of(y);
    if (!lower_stopped(w)) vy_pipe_move(w->q, kind, &from, &to, 0);
}

void lower_copy(lowering *w, const lower_place *from, const lower_place *to)
{
    move(w, VY_PIPE_COPY, from, to);
}

void lower_fill(lowering *w, const lower_place *to, double value)
{
    const vy_pipe_arg all = arg_of(to);
    if (!lower_stopped(w)) vy_pipe_move(w->q, VY_PIPE_FILL, NULL, &all, value);
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
    if (w->into[value]) return w->place[value] = w->place[w->into[value]];
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
    const uint32_t k = lower_updated_by(w, id);
    const uint32_t x = vy_arg(w->h, id, k), y = vy_arg(w->h, id, 1 - k);
    const uint32_t shaped = VY_IS_LEAF(x) ? y : x;
    if (VY_IS_LEAF(shaped)) {
        vy_build_fail(w->b, VY_E_INTERNAL, "a sum of constants in a host program");
        return;
    }
    const vy_tensor shape = w->place[shaped].shape;
    const lower_place from = lower_place_of(w, y, &shape), old = lower_place_of(w, x, &shape);
    const lower_place to = result_place(w, id, &shape);
    if (!lower_same_place(&old, &to) && !is_there(w, x, id)) lower_copy(w, &old, &to);
    move(w, VY_PIPE_ADD, &from, &to);
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

static bool same_extent(const vy_program *callee, vy_dim x, vy_dim y)
{
    const vy_dim_node *a = &callee->dims.data[x.id], *b = &callee->dims.data[y.id];
    return x.id == y.id || (a->op == VY_DIM_SCALAR && b->op == a->op && a->value == b->value);
}

// The extent that the callee declares as `dim`, as far as another argument is known to have it.
static vy_dim extent_of_another(lowering *w, const call_args *a, vy_dim dim)
{
    for (uint32_t i = 1, n = 0; i < a->callee->buffers.count; i++) {
        const vy_buf *b = &a->callee->buffers.data[i];
        if (!vy_pipe_binds(b)) continue;
        const vy_tensor shape = lower_shape(w, &a->call->shapes[n++]);
        for (uint32_t k = 0; k < shape.rank && k < b->rank; k++)
            if (shape.dims[k].id && same_extent(a->callee, b->dims[k], dim)) return shape.dims[k];
    }
    return (vy_dim){0};
}

// The extent that the callee declares as `dim`, of the scalars that the dispatch gives it.
static vy_dim extent_of_scalars(lowering *w, const call_args *a, vy_dim dim)
{
    const vy_dim_node *d = &a->callee->dims.data[dim.id];
    const vy_pipe_scalar *s = d->op == VY_DIM_SCALAR && a->scalars ? &a->scalars[d->value] : NULL;
    if (d->op == VY_DIM_CONST) return vy_dim_const(w->b, d->value);
    if (d->op == VY_DIM_GROUPS) return a->groups[d->value];
    if (s && s->kind == VY_PIPE_DIM) return s->dim;
    if (d->op < VY_DIM_ADD) return (vy_dim){0};
    const vy_dim x = extent_of_scalars(w, a, (vy_dim){d->a});
    const vy_dim y = d->op == VY_DIM_SQRT ? x : extent_of_scalars(w, a, (vy_dim){d->b});
    return x.id && y.id ? vy_dim_binary(w->b, (vy_dim_op)d->op, x, y) : (vy_dim){0};
}

// The shape of the callee's parameter.  What nothing uses has no buffer any more that would decide
// an extent during the run; other arguments tell, or scalars.
static vy_tensor argument_shape(lowering *w, const call_args *a, const vy_buf *b,
                                const vy_tensor *shape)
{
    vy_dim *dims = lower_is_known(w, shape) ? NULL : lower_room(w, shape->rank, sizeof *dims);
    if (!dims) return *shape;
    const vy_tensor own = lower_shape(w, shape);
    for (uint32_t k = 0; k < own.rank && k < b->rank; k++) {
        dims[k] = own.dims[k].id ? own.dims[k] : extent_of_another(w, a, b->dims[k]);
        if (!dims[k].id) dims[k] = extent_of_scalars(w, a, b->dims[k]);
    }
    return (vy_tensor){shape->type, shape->rank, dims};
}

static void bind_tensors(lowering *w, call_args *a, uint32_t dispatch)
{
    for (uint32_t i = 1, n = 0, taken = 0, given = 0; i < a->callee->buffers.count; i++) {
        const vy_buf *b = &a->callee->buffers.data[i];
        if (!vy_pipe_binds(b) || lower_stopped(w)) continue;
        const vy_tensor own = argument_shape(w, a, b, &a->call->shapes[n]), *shape = &own;
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

// ---------------------------------------------------------------------------------------- together
static void inline_pipeline(lowering *w, const call_args *a, const vy_pipe_arg *args)
{
    const uint32_t before = w->b->p->buffers.count;
    vy_pipe_inline(w->q, w->h->module->pipelines.data[a->call->callee], args, a->scalars,
                   a->groups);
    for (uint32_t i = before; i < w->b->p->buffers.count; i++)
        w->b->p->buffers.data[i].role.kind = VY_IS_WORKSPACE;
}

void lower_dispatch(lowering *w, uint32_t id)
{
    const vy_host_call *call = vy_host_call_of(w->h, id);
    call_args a = {.call = call, .callee = vy_host_callee(w->h->module, call)};
    a.places = lower_room(w, call->count, sizeof *a.places);
    a.scalars = lower_room(w, call->scalars, sizeof *a.scalars);
    vy_pipe_arg *args = lower_room(w, call->count, sizeof *args);
    if (w->oom) return;
    bind_scalars(w, &a, id);
    lower_know_results(w, id);
    bind_tensors(w, &a, id);
    for (uint32_t k = 0; k < call->count; k++) args[k] = arg_of(&a.places[k]);
    if (lower_stopped(w)) return;
    if (call->pipeline)
        inline_pipeline(w, &a, args);
    else
        vy_pipeline_dispatch(w->q, a.callee, call->count, args, call->scalars, a.scalars,
                             call->groups ? a.groups : NULL);
}
