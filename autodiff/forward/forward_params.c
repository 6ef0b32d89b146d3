// SPDX-License-Identifier: MIT
// forward_params.c: the parameters of the forward derivative.
//
// What is declared for a buffer `x` of the primal; tangents follow the primal's own buffers, those
// of inputs first:
//   in              x: in
//   inout           x: inout           changed in place, as the primal does
//   out             x: out  with --with-value, or if the tangents need its values
//   in, requested   dot_x: in          the tangent of its contents
//   inout           dot_x: inout       the tangent of its initial contents, then of its final ones
//                                      (of an output that is not in wrt: zeros are given)
//   out, requested  dot_x: out         (inout, zeros, if it begins as what has no tangent)
//   scalar          dot_s: in [1]
//   @workspace, local, shared: x as it is, and dot_x like it, if it has a derivative
#include "autodiff/forward/forward.h"

#include "autodiff/reverse/sweeps.h"
#include "autodiff/storage/storage.h"
#include "ir/build/build.h"

#include <string.h>

// ----------------------------------------------------------------------------------- declarations
static vy_buf *buffer_of(forward *f, uint32_t b)
{
    return &vy_builder_program(f->w.b)->buffers.data[b];
}

static uint32_t declare_twin(forward *f, uint32_t i, const char *name, vy_buffer_class cls)
{
    const vy_buf *b = &f->w.p->buffers.data[i];
    if (vy_is_global(cls) && !vy_reverse_is_free(f->r, name)) return 0;
    if (f->w.p->host && cls == VY_LOCAL) // it may have lengths of parameters
        return vy_build_buffer(f->w.b, name, cls, b->type, b->rank, b->dims).id;
    const vy_buffer made = vy_param_buffer(f->w.b, name, cls, b->type, b->rank, b->dims);
    if (b->owned) vy_buffer_owned(f->w.b, made);
    vy_build_vector(f->w.b, made, b->vector);
    return made.id;
}

// The tangent of an input, of an output, or of both.
static void declare_dot(forward *f, uint32_t i)
{
    const buffer_facts *facts = &f->r->facts.buffers[i];
    const vy_buf *b = &f->w.p->buffers.data[i];
    const bool given = facts->wrt && b->cls != VY_OUT;
    const char *name = vy_derived_name(f->r, "dot", b->name);
    if (f->r->failed) return;
    const uint32_t dot = declare_twin(f, i, name, b->cls);
    if (!dot) return;
    vy_reverse_role(f->r, dot, given ? VY_IS_TANGENT : VY_IS_TANGENT_OUT, i);
    if (vy_forward_has_twin(f, i)) f->twin[i] = dot;
}

uint32_t vy_forward_workspace(const vy_rewrite *w, uint32_t like, const char *name, vy_type type)
{
    const vy_buf *b = &w->p->buffers.data[like];
    vy_dim dims[VY_MAX_RANK];
    memcpy(dims, b->dims, b->rank * sizeof *dims);
    if (w->p->dims.data[dims[0].id].op == VY_DIM_UNKNOWN)
        dims[0] = vy_dim_binary(w->b, VY_DIM_MAX, dims[0], vy_dim_const(w->b, 0));
    const vy_buffer made = vy_param_buffer(w->b, name, VY_INOUT, type, b->rank, dims);
    vy_buffer_workspace(w->b, made);
    if (b->owned) vy_buffer_owned(w->b, made);
    vy_build_vector(w->b, made, b->vector);
    return made.id;
}

// That of memory which the caller does not see.
static void declare_inner(forward *f, uint32_t i)
{
    const vy_buf *b = &f->w.p->buffers.data[i];
    char own[VY_FREE_NAME];
    if (!vy_forward_has_twin(f, i) || f->twin[i]) return;
    const char *name = vy_derived_name(f->r, "dot", b->name);
    if (f->r->failed) return;
    name = vy_reverse_free_name(f->r, name, 0, own);
    f->twin[i] = b->cls >= VY_SHARED ? declare_twin(f, i, name, b->cls)
                                     : vy_forward_workspace(&f->w, i, name, (vy_type)b->type);
}

static bool is_loaded(const vy_program *p, uint32_t buffer)
{
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (p->insts.data[id].op == VY_OP_LOAD && p->insts.data[id].aux == buffer) return true;
    return false;
}

// What begins as a copy of another buffer has its tangent, too.  If that has none it begins as
// zeros, which the caller gives where an output is read, as those of an inout.
static void copy_start(forward *f, uint32_t i)
{
    const vy_buf *b = &f->w.p->buffers.data[i];
    if (b->init != VY_INIT_COPY || !f->twin[i]) return;
    const uint32_t from = f->twin[vy_program_find_buffer(f->w.p, b->init_from).id];
    if (from)
        vy_buffer_init(f->w.b, (vy_buffer){f->twin[i]}, VY_INIT_COPY, buffer_of(f, from)->name);
    else if (b->cls == VY_OUT && is_loaded(f->w.p, i))
        buffer_of(f, f->twin[i])->cls = VY_INOUT;
}

static void declare_scalar(forward *f, uint32_t leaf)
{
    const vy_leaf *l = &f->w.p->leaves.data[leaf];
    const char *of = f->w.p->scalars.data[l->index].name;
    const char *name = vy_derived_name(f->r, "dot", of);
    const vy_dim one = vy_dim_const(f->w.b, 1);
    if (f->r->failed) return;
    const uint32_t b = vy_param_buffer(f->w.b, name, VY_IN, (vy_type)l->type, 1, &one).id;
    vy_reverse_scalar_role(f->r, b, VY_IS_SCALAR_TANGENT, l->index);
    const uint32_t at = vy_int(f->w.b, VY_U32, 0).id;
    // In a host program, all of the buffer: a tensor for dispatches.
    const uint32_t indices = f->w.p->host ? 0 : 1;
    f->leaf_dot[leaf] = vy_emit(f->w.b, VY_OP_LOAD, (vy_type)l->type, b, indices, &at);
}

// What of the primal's own values the caller gets.
static void keep_values(forward *f, uint32_t i)
{
    const vy_buf *old = &f->w.p->buffers.data[i];
    const bool values = f->r->options->with_value;
    if (old->workspace || !vy_is_global(old->cls)) return;
    vy_reverse_role(f->r, i, old->cls == VY_OUT ? VY_IS_VALUE : VY_IS_PRIMAL, i);
    if (values || old->cls == VY_IN) return;
    if (old->cls == VY_INOUT) { // changed in place, as its tangent is
        if (!vy_is_written(f->w.p, i)) buffer_of(f, i)->cls = VY_IN;
        return;
    }
    // One of open length is the caller's in any case.
    if (f->w.p->dims.data[old->dims[0].id].op == VY_DIM_UNKNOWN) return;
    buffer_of(f, i)->cls = VY_INOUT;
    buffer_of(f, i)->workspace = true; // removed, or the caller's after all (forward.c)
}

bool vy_forward_declare(forward *f)
{
    const uint32_t count = f->w.p->buffers.count;
    for (uint32_t inputs = 2; inputs-- > 0;)
        for (uint32_t i = 1; i < count && !f->r->failed; i++) {
            const buffer_facts *facts = &f->r->facts.buffers[i];
            const bool input = facts->wrt && f->w.p->buffers.data[i].cls != VY_OUT;
            if (input == inputs && (facts->of || facts->wrt)) declare_dot(f, i);
        }
    for (uint32_t k = 0; k < f->w.p->leaves.count && !f->r->failed; k++)
        if (f->r->facts.leaf_wrt[k]) declare_scalar(f, k);
    for (uint32_t i = 1; i < count && !f->r->failed; i++) declare_inner(f, i);
    for (uint32_t i = 1; i < count && !f->r->failed; i++) copy_start(f, i);
    for (uint32_t i = 1; i < count && !vy_builder_failed(f->w.b); i++) keep_values(f, i);
    return !f->r->failed && !vy_builder_failed(f->w.b);
}
