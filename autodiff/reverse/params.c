// SPDX-License-Identifier: MIT
// params.c: the parameters of the derived program, and where every adjoint lives.
//
// Declared for a primal buffer `x`, in this order of parameters:
//   in              x: in
//   inout           x: in; if loads may see stores, also  @workspace @init(x) x_now: inout
//                   (with --with-value: x: inout)
//   out             nothing, or  @workspace x: inout  if loaded, or  x: out  with --with-value
//   local, shared   the same array again
// and for its adjoint
//   in              grad_x: out
//   inout           @init(ct_x | ones) grad_x: out, starting as the cotangent of the final contents
//                   (in a host program, if it is added to what the caller has: grad_x: inout, and
//                   @workspace @init(ct_x | ones) adj_x, which is added to it at the end)
//   out             if each element is stored at most once and never read: the cotangent itself
//                   (nothing at all if it is 1);
//                   else  @workspace @init(grad_x | ones) adj_x: inout
//   local, shared   adj_x, an array again
#include "autodiff/reverse/sweeps.h"
#include "autodiff/storage/storage.h"
#include "ir/core/access.h"
#include "ir/core/mem.h"

#include <stdio.h>

static void declare_primal_inputs(reverse *r)
{
    for (uint32_t i = 1; i < r->p->buffers.count; i++) {
        const vy_buf *buf = &r->p->buffers.data[i];
        built_buffer *info = &r->build.buffers[i];
        if (buf->workspace || (buf->cls != VY_IN && buf->cls != VY_INOUT)) continue;
        bool keeps =
            buf->cls == VY_INOUT && r->options->with_value && !vy_is_ahead(r->build.purpose);
        info->twin = info->copy = vy_reverse_declare_copy(r, keeps ? VY_INOUT : VY_IN, i);
        vy_reverse_role(r, info->copy, VY_IS_PRIMAL, i);
        info->stores = keeps;
    }
}

static bool is_active_buffer(const reverse *r, uint32_t i)
{
    return (r->facts.buffers[i].activity & ACTIVE) == ACTIVE && !vy_is_ahead(r->build.purpose) &&
           vy_type_is_float(r->p->buffers.data[i].type);
}

// Cotangents supplied by the caller.  The counting program has those that determine the length of
// an output: the reverse program takes it from them, as it does not have the output itself.
static void declare_cotangents(reverse *r)
{
    for (uint32_t i = 1; i < r->p->buffers.count; i++) {
        const vy_buf *buf = &r->p->buffers.data[i];
        const buffer_facts *facts = &r->facts.buffers[i];
        built_buffer *info = &r->build.buffers[i];
        if (!facts->of || !r->options->seed_buffer) continue;
        if (facts->kept && buf->cls == VY_INOUT) continue; // the gradient begins as the cotangent
        if (vy_is_ahead(r->build.purpose) && (buf->cls != VY_OUT || !vy_reverse_is_open(r, i)))
            continue;
        const char *name = vy_derived_name(r, buf->cls == VY_INOUT ? "ct" : "grad", buf->name);
        // Replaced later if it is only the initial value of the adjoint.
        info->adjoint = vy_reverse_declare(r, name, VY_IN, i);
        vy_reverse_role(r, info->adjoint, VY_IS_COTANGENT, i);
        vy_reverse_link(r, info->adjoint, LINK_COTANGENT, i);
        if (!info->twin) info->twin = info->adjoint;
    }
}

// The caller's cotangent of what buffer i holds at the end, or NULL.
static const char *cotangent_name(reverse *r, uint32_t i)
{
    const vy_buf *buf = &r->p->buffers.data[i];
    if (!r->build.buffers[i].adjoint) return NULL;
    return vy_derived_name(r, buf->cls == VY_INOUT ? "ct" : "grad", buf->name);
}

static void declare_outputs(reverse *r)
{
    for (uint32_t i = 1; i < r->p->buffers.count; i++) {
        const vy_buf *buf = &r->p->buffers.data[i];
        built_buffer *info = &r->build.buffers[i];
        if (buf->workspace || buf->cls != VY_OUT || !r->options->with_value) continue;
        info->copy = vy_reverse_declare_copy(r, VY_OUT, i);
        vy_buffer_init(r->b, (vy_buffer){info->copy}, buf->init, buf->init_from);
        info->stores = true;
        info->twin = info->copy;
    }
}

// Buffer i has the open length of buffer b of the result.
static void share_length(reverse *r, uint32_t i, uint32_t b)
{
    vy_dim *length = &r->build.dims[r->p->buffers.data[i].dims[0].id];
    if (vy_reverse_is_open(r, i) && !length->id && b && !vy_builder_failed(r->b))
        *length = vy_builder_program(r->b)->buffers.data[b].dims[0];
}

// The gradient of input i.  That of an inout begins as the cotangent of its final contents, and so
// does that of a buffer whose contents are those of an output at the beginning (starts.c).
static void declare_gradient(reverse *r, uint32_t i)
{
    const buffer_facts *facts = &r->facts.buffers[i];
    const uint32_t end = facts->heir ? facts->heir : i;
    built_buffer *info = &r->build.buffers[end];
    const char *seed = cotangent_name(r, end);
    const char *name = vy_derived_name(r, "grad", r->p->buffers.data[i].name);
    const uint32_t grad = vy_reverse_declare(r, name, VY_OUT, i);
    vy_reverse_role(r, grad, VY_IS_GRADIENT, i);
    bool cotangent = r->p->buffers.data[end].cls != VY_IN && r->facts.buffers[end].of;
    if (cotangent && !facts->behind)
        vy_buffer_init(r->b, (vy_buffer){grad}, seed ? VY_INIT_COPY : VY_INIT_ONES, seed);
    if (facts->kept || facts->behind) vy_buffer_init(r->b, (vy_buffer){grad}, VY_INIT_KEEP, NULL);
    info->kind = is_active_buffer(r, end) || cotangent ? ADJ_MEMORY : ADJ_NONE;
    if (facts->behind && info->kind == ADJ_MEMORY)
        info->sum = grad; // its adjoint is a workspace, declare_summand
    else
        info->adjoint = grad;
    if (!info->twin) info->twin = grad;
    share_length(r, end, grad);
}

// Programs that run ahead have none, but outputs of the lengths that these have in the reverse.
static void declare_gradients(reverse *r)
{
    const bool ahead = vy_is_ahead(r->build.purpose);
    for (uint32_t i = 1; i < r->p->buffers.count; i++) {
        const buffer_facts *facts = &r->facts.buffers[i];
        if (facts->wrt && !ahead) declare_gradient(r, i);
        if (facts->heir && ahead) share_length(r, facts->heir, r->build.buffers[i].copy);
    }
    vy_dim one = vy_dim_const(r->b, 1);
    for (uint32_t i = 0; i < r->p->leaves.count && !ahead; i++) {
        const vy_leaf *l = &r->p->leaves.data[i];
        if (!r->facts.leaf_wrt[i]) continue;
        const char *name = vy_derived_name(r, "grad", r->p->scalars.data[l->index].name);
        r->build.leaf_grad[i] = vy_param_buffer(r->b, name, VY_OUT, (vy_type)l->type, 1, &one).id;
        vy_reverse_scalar_role(r, r->build.leaf_grad[i], VY_IS_SCALAR_GRADIENT, l->index);
        if (r->facts.leaf_wrt[i] == 2)
            vy_buffer_init(r->b, (vy_buffer){r->build.leaf_grad[i]}, VY_INIT_KEEP, NULL);
    }
}

static void declare_adjoint_of_output(reverse *r, uint32_t i)
{
    const buffer_facts *facts = &r->facts.buffers[i];
    built_buffer *info = &r->build.buffers[i];
    const vy_buf *buf = &r->p->buffers.data[i];
    const char *from = cotangent_name(r, i);
    if (vy_reverse_is_simple(r, i)) {
        info->kind = !facts->of ? ADJ_ZERO : from ? ADJ_SEED : ADJ_ONES;
        return;
    }
    vy_init init = !facts->of ? VY_INIT_NONE : from ? VY_INIT_COPY : VY_INIT_ONES;
    info->adjoint =
        vy_reverse_declare_workspace(r, vy_derived_name(r, "adj", buf->name), i, init, from);
    if (info->adjoint && init != VY_INIT_COPY) // a copy has the caller's type
        vy_builder_program(r->b)->buffers.data[info->adjoint].type = vy_adjoint_type(r, buf->type);
    info->kind = ADJ_MEMORY;
    info->twin = info->twin ? info->twin : info->adjoint;
}

// The adjoint of an inout whose gradient is added to what the caller has.
static void declare_summand(reverse *r, uint32_t i)
{
    built_buffer *info = &r->build.buffers[i];
    const char *from = cotangent_name(r, i);
    const vy_init init = !r->facts.buffers[i].of ? VY_INIT_NONE
                         : from                  ? VY_INIT_COPY
                                                 : VY_INIT_ONES;
    info->adjoint = vy_reverse_workspace(r, "adj", i, init, from);
}

// The masks of the elements of an adjoint in memory: initially 1 if they have a cotangent, else 0.
static void declare_shadow(reverse *r, uint32_t i)
{
    const buffer_facts *facts = &r->facts.buffers[i];
    built_buffer *info = &r->build.buffers[i];
    const vy_buf *buf = &r->p->buffers.data[i];
    if (!facts->shadowed || info->kind != ADJ_MEMORY) return;
    char own[VY_FREE_NAME];
    const char *name = vy_reverse_free_name(r, vy_derived_name(r, "seen", buf->name), 0, own);
    info->shadow =
        r->plan.spilled[i] ? vy_spill_declare(r, name, VY_U32, i)
        : buf->cls >= VY_SHARED
            ? vy_reverse_declare(r, name, buf->cls, i)
            : vy_reverse_declare_workspace(r, name, i, facts->of ? VY_INIT_ONES : VY_INIT_NONE,
                                           NULL);
    if (info->shadow) vy_builder_program(r->b)->buffers.data[info->shadow].type = VY_U32;
}

static void declare_arrays(reverse *r, uint32_t i)
{
    const vy_buf *buf = &r->p->buffers.data[i];
    built_buffer *info = &r->build.buffers[i];
    info->copy = info->twin = vy_reverse_declare_copy(r, buf->cls, i);
    info->stores = true;
    if (is_active_buffer(r, i)) {
        char own[VY_FREE_NAME];
        const char *name = vy_reverse_free_name(r, vy_derived_name(r, "adj", buf->name), 0, own);
        const vy_type type = vy_adjoint_type(r, buf->type);
        info->adjoint = r->plan.spilled[i] ? vy_spill_declare(r, name, type, i)
                                           : vy_reverse_declare(r, name, buf->cls, i);
        if (info->adjoint) vy_builder_program(r->b)->buffers.data[info->adjoint].type = type;
        info->kind = ADJ_MEMORY;
        declare_shadow(r, i);
    }
}

static uint32_t declare_twin(reverse *r, uint32_t like)
{
    return vy_reverse_declare(r, vy_buffer_name(r, like), VY_SHARED, like);
}

// An `out` buffer or a workspace, of which loads may see more than zero.
static void declare_own_contents(reverse *r, uint32_t i)
{
    const vy_buf *buf = &r->p->buffers.data[i];
    const buffer_facts *facts = &r->facts.buffers[i];
    built_buffer *info = &r->build.buffers[i];
    if (!facts->loaded || !(facts->last_write || buf->init != VY_INIT_NONE)) return;
    // If no other parameter has the open length, the caller binds the output in any case.
    bool open = vy_reverse_is_open(r, i) && !r->build.dims[buf->dims[0].id].id;
    info->copy = open ? vy_reverse_declare_copy(r, VY_OUT, i)
                      : vy_reverse_declare_workspace(r, buf->name, i, buf->init, buf->init_from);
    if (open) vy_buffer_init(r->b, (vy_buffer){info->copy}, buf->init, buf->init_from);
    info->stores = true;
    info->twin = info->copy;
}

// Outputs of a host program whose open length nothing else has: its dispatches may write
// temporaries of that length.  They come before the workspaces, as parameters of pipelines do.
static void declare_open_outputs(reverse *r)
{
    for (uint32_t i = 1; i < r->p->buffers.count && r->p->host; i++) {
        const vy_buf *buf = &r->p->buffers.data[i];
        built_buffer *info = &r->build.buffers[i];
        if (buf->workspace || buf->cls != VY_OUT || !vy_reverse_is_open(r, i)) continue;
        if (r->build.dims[buf->dims[0].id].id) continue;
        declare_own_contents(r, i);
        if (!info->twin) info->twin = vy_reverse_declare_copy(r, VY_OUT, i);
    }
}

// The contents of a buffer in the forward sweep, if loads may see stores to it.
static void declare_contents(reverse *r, uint32_t i)
{
    const vy_buf *buf = &r->p->buffers.data[i];
    const buffer_facts *facts = &r->facts.buffers[i];
    built_buffer *info = &r->build.buffers[i];
    char name[300];
    if (buf->workspace || buf->cls == VY_OUT) {
        if (!info->copy) declare_own_contents(r, i);
        return;
    }
    if (buf->cls == VY_IN || !facts->last_write || !facts->loaded || facts->early || info->stores)
        return;
    snprintf(name, sizeof name, "%.280s_now", buf->name);
    info->copy = vy_reverse_declare_workspace(r, name, i, VY_INIT_COPY, buf->name);
    info->stores = true;
}

// Is its adjoint the gradient of what it begins as (starts.c)?
static bool has_gradient(const reverse *r, uint32_t i)
{
    return r->facts.buffers[r->facts.buffers[i].start].heir == i;
}

static void declare_workspaces_of(reverse *r, uint32_t i)
{
    const vy_buf *buf = &r->p->buffers.data[i];
    const buffer_facts *facts = &r->facts.buffers[i];
    built_buffer *info = &r->build.buffers[i];
    declare_contents(r, i);
    if (buf->cls != VY_IN && is_active_buffer(r, i) && !facts->wrt && !has_gradient(r, i))
        declare_adjoint_of_output(r, i);
    if (info->sum) declare_summand(r, i);
    if (buf->cls != VY_IN) declare_shadow(r, i);
    vy_extremum_declare(r, i);
    if (!info->twin) info->twin = info->adjoint; // for len() of the output
}

// Those of parameters first, as a text has them: a derivative's own workspaces may be behind its
// arrays, and what is derived from it and from its text must be the same.
static void declare_workspaces(reverse *r)
{
    for (uint32_t i = 1; i < r->p->buffers.count && !r->failed; i++)
        if (vy_is_global(r->p->buffers.data[i].cls)) declare_workspaces_of(r, i);
    for (uint32_t i = 1; i < r->p->buffers.count && !r->failed; i++)
        if (!vy_is_global(r->p->buffers.data[i].cls)) declare_arrays(r, i);
}

// Of each leaf: does an instruction use it?  Leaves that optimisations left behind say nothing.
static uint8_t *used_leaves(reverse *r)
{
    const vy_program *p = r->p;
    uint8_t *used = vy_reverse_zeroed(r, p->leaves.count + 1, 1);
    for (uint32_t id = 1; used && id < p->insts.count; id++)
        for (uint32_t k = 0; k < p->insts.data[id].nargs; k++)
            if (VY_IS_LEAF(vy_arg(p, id, k))) used[VY_LEAF_INDEX(vy_arg(p, id, k))] = 1;
    return used;
}

// Lengths that no buffer of the result has: declares the output after all, unread.
static void declare_for_lengths(reverse *r)
{
    uint8_t *used = used_leaves(r);
    for (uint32_t k = 0; used && k < r->p->leaves.count; k++) {
        const vy_leaf *l = &r->p->leaves.data[k];
        if (!used[k] || l->kind != VY_LEAF_LEN || r->build.buffers[l->index].twin) continue;
        // The reverse program may get it from an adjoint, and then has no buffer for the counting
        // program.
        bool own = r->p->buffers.data[l->index].workspace ||
                   (vy_is_ahead(r->build.purpose) && !vy_reverse_is_open(r, l->index));
        const char *name = vy_buffer_name(r, l->index);
        r->build.buffers[l->index].twin =
            own ? vy_reverse_declare_workspace(r, name, l->index, VY_INIT_NONE, NULL)
                : vy_reverse_declare_copy(r, VY_OUT, l->index);
    }
    vy_free(used);
    for (uint32_t i = 1; i < r->p->buffers.count; i++) {
        built_buffer *info = &r->build.buffers[i];
        if (info->kind != ADJ_ONES || info->twin || r->p->host) continue;
        // The range test of a constant cotangent needs a buffer of that shape; a workspace is
        // removed again if every index is proved to be in range.
        info->twin =
            vy_reverse_is_open(r, i)
                ? vy_reverse_declare_copy(r, VY_OUT, i)
                : vy_reverse_declare_workspace(r, vy_buffer_name(r, i), i, VY_INIT_NONE, NULL);
    }
}

bool vy_reverse_params(reverse *r)
{
    if (!vy_reverse_scalars(r) || !vy_reverse_copy_dims(r)) return false;
    declare_primal_inputs(r);
    declare_cotangents(r);
    if (!vy_is_ahead(r->build.purpose)) declare_outputs(r);
    declare_gradients(r);
    vy_reverse_domain(r);
    declare_open_outputs(r);
    declare_workspaces(r);
    vy_restage_declare(r, declare_twin);
    declare_for_lengths(r);
    return !r->failed && !vy_builder_failed(r->b) && vy_reverse_copy_dims(r);
}
