// SPDX-License-Identifier: MIT
// undo_shape.c: the shapes of logs of what the reverse sweep undoes (autodiff/core/undo_plan.h).
//
// A log of a partial write has the extents that NAME_log_u declares, in the callee's scalars; here
// they are what the dispatch passes: extents of arguments, constants, scalars of the pipeline.
#include "autodiff/core/reverse.h"
#include "autodiff/storage/storage.h"
#include "ir/core/dims.h"
#include "ir/host/host_build.h"

const undo_log *vy_undo_log_of(const reverse *r, uint32_t id)
{
    const undo_plan *u = &r->plan.undo;
    return u->any && u->log[id] ? &u->logs.data[u->log[id] - 1] : NULL;
}

vy_type vy_undo_type(const reverse *r, const undo_log *log)
{
    return r->p->buffers.data[r->p->insts.data[log->store].aux].type;
}

const vy_buf *vy_undo_declared(const reverse *r, const undo_log *log)
{
    const undo_form *f = &r->plan.undo.forms.data[log->form - 1];
    return &r->out->programs.data[f->log]->buffers.data[2];
}

// What a log's extents are computed from.
typedef struct extents {
    reverse *r;
    const undo_log *log;
    const vy_program *declared; // whose dimensions they are
    bool probe;                 // nothing is built: is there a value?
} extents;

static vy_dim some(const extents *x, vy_dim (*make)(const extents *x, int64_t k), int64_t k)
{
    return x->probe ? (vy_dim){1} : make(x, k);
}
static vy_dim constant(const extents *x, int64_t k) { return vy_dim_const(x->r->b, k); }
static vy_dim own_scalar(const extents *x, int64_t k)
{
    return vy_dim_own_scalar(x->r->b, (uint32_t)k);
}
static vy_dim own_extent(const extents *x, int64_t k) { return x->r->build.dims[k]; }

// The extent of an argument that the callee declares as scalar `k`; id 0: none.
static vy_dim passed(const extents *x, const vy_host_call *call, const vy_program *callee,
                     uint32_t k)
{
    for (uint32_t i = 1, n = 0; i < callee->buffers.count; i++) {
        const vy_buf *b = &callee->buffers.data[i];
        if (!vy_pipe_binds(b)) continue;
        const vy_tensor *shape = &call->shapes[n++];
        for (uint32_t axis = 0; axis < b->rank && axis < shape->rank; axis++) {
            const vy_dim_node *d = &callee->dims.data[b->dims[axis].id];
            if (d->op == VY_DIM_SCALAR && d->value == k)
                return some(x, own_extent, shape->dims[axis].id);
        }
    }
    return (vy_dim){0};
}

static vy_dim scalar(const extents *x, const vy_dim_node *d)
{
    const vy_program *h = x->r->p;
    const vy_host_call *call = vy_host_call_of(h, x->log->dispatch);
    const vy_program *callee = vy_host_callee(x->r->out, call);
    const uint32_t k = vy_program_find_scalar(callee, x->declared->scalars.data[d->value].name);
    const vy_dim extent = passed(x, call, callee, k);
    if (extent.id) return extent;
    const uint32_t v = vy_arg(h, x->log->dispatch, call->tensors + k);
    int64_t c;
    if (vy_id_int(h, v, &c)) return some(x, constant, c);
    const vy_leaf *l = VY_IS_LEAF(v) ? &h->leaves.data[VY_LEAF_INDEX(v)] : NULL;
    return l && l->kind == VY_LEAF_SCALAR ? some(x, own_scalar, l->index) : (vy_dim){0};
}

static vy_dim extent(const extents *x, uint32_t dim, uint32_t depth)
{
    enum { DEEP = 64 };
    const vy_dim_node *d = &x->declared->dims.data[dim];
    if (depth > DEEP) return (vy_dim){0};
    if (d->op == VY_DIM_SCALAR) return scalar(x, d);
    if (d->op == VY_DIM_CONST) return some(x, constant, d->value);
    if (d->op == VY_DIM_UNKNOWN) { // of what is undone, the only other parameter
        const vy_inst *i = &x->r->p->insts.data[x->log->load];
        const vy_buf *b = &x->r->p->buffers.data[i->aux];
        return some(x, own_extent, b->dims[i->nargs].id);
    }
    if (d->op < VY_DIM_ADD) return (vy_dim){0};
    const vy_dim a = extent(x, d->a, depth + 1), b = extent(x, d->b, depth + 1);
    if (!a.id || !b.id) return (vy_dim){0};
    return x->probe ? a : vy_dim_binary(x->r->b, d->op, a, b);
}

static extents extents_of(reverse *r, const undo_log *log, bool probe)
{
    const undo_form *f = &r->plan.undo.forms.data[log->form - 1];
    return (extents){r, log, r->out->programs.data[f->log], probe};
}

bool vy_undo_has_shape(reverse *r, const undo_log *log)
{
    const extents x = extents_of(r, log, true);
    const vy_buf *b = vy_undo_declared(r, log);
    for (uint32_t k = 0; k < b->rank; k++)
        if (!extent(&x, b->dims[k].id, 0).id) return false;
    return true;
}

uint32_t vy_undo_dims(reverse *r, const undo_log *log, vy_dim *dims)
{
    const vy_inst *i = &r->p->insts.data[log->store];
    const vy_buf *b = log->form ? vy_undo_declared(r, log) : &r->p->buffers.data[i->aux];
    const uint32_t first = log->form ? 0 : i->nargs - 1;
    const extents x = log->form ? extents_of(r, log, false) : (extents){0};
    for (uint32_t k = first; k < b->rank; k++)
        dims[k - first] = log->form ? extent(&x, b->dims[k].id, 0) : r->build.dims[b->dims[k].id];
    return b->rank - first;
}
