// SPDX-License-Identifier: MIT
// gather_domain.c: the domain of a program over the elements of buffers: the axes of an element,
// each named like the loop or domain variable that runs along it in the reverse program.
#include "autodiff/gather/gather_making.h"

#include "ir/build/build.h"

#include <stdio.h>

// The first of the nest's dimensions in an index that has not named another axis; -1: none.
static int variable_in(const vy_nest *n, uint32_t id, uint32_t used, int depth)
{
    int k = vy_nest_dim(n, id);
    if (k >= 0 && k < 32 && !(used >> k & 1)) return k;
    if (VY_IS_LEAF(id) || depth == 0 || vy_op_infos[n->a->p->insts.data[id].op].effect != VY_PURE)
        return -1;
    for (uint32_t j = 0; j < n->a->p->insts.data[id].nargs; j++) {
        k = variable_in(n, vy_arg(n->a->p, id, j), used, depth - 1);
        if (k >= 0) return k;
    }
    return -1;
}

static int variable_of(gather_making *w, const gather_site *site, uint32_t axis)
{
    const vy_nest *n = &site->access.nest;
    int k = -1;
    if (site->access.value[axis]) k = variable_in(n, site->access.value[axis], w->used, 8);
    for (uint32_t j = 0; j < n->count && j < 32 && !site->access.value[axis] && k < 0; j++)
        if (!(w->used >> j & 1) &&
            isl_pw_aff_involves_dims(site->access.index[axis], isl_dim_in, j, 1) == isl_bool_true)
            k = (int)j;
    if (k >= 0) w->used |= 1u << k;
    return k;
}

// isl tells names apart by their pointers, too: that of coordinates is the same in all programs, so
// that what isl has answered of one is known of another that has the same.
static const char coordinate;

static void name_axis(gather_making *w, const gather_site *site, uint32_t axis, char text[64])
{
    static const char *const plain[] = {"e", "f", "g", "h"};
    int k = variable_of(w, site, axis);
    const char *name =
        k >= 0 ? isl_space_get_dim_name(site->access.nest.space, isl_dim_set, (unsigned)k)
               : plain[axis % 4];
    const vy_program *p = vy_builder_program(w->b);
    snprintf(text, 64, "%.40s", name ? name : "e");
    for (uint32_t number = 2; !gather_is_free(p, text, p->overs.count); number++)
        snprintf(text, 64, "%.40s_%u", name ? name : "e", number);
}

static void add_shares(gather_making *w, const gather_site *site)
{
    char text[32] = "s";
    for (uint32_t k = 2; !gather_name_is_free(w->b, text); k++)
        snprintf(text, sizeof text, "s%u", k);
    w->lane = vy_over(w->b, text, vy_dim_const(w->b, gather_shares(site)));
}

static void add_lanes(gather_making *w)
{
    char text[32] = "t";
    for (uint32_t k = 2; !gather_name_is_free(w->b, text); k++)
        snprintf(text, sizeof text, "t%u", k);
    w->lane = vy_over(w->b, text, vy_dim_const(w->b, GATHER_LANES));
    vy_workgroup(w->b, GATHER_LANES, 1, 1);
}

static vy_dim at_least(vy_builder *b, vy_dim d, int64_t least)
{
    return vy_dim_binary(b, VY_DIM_MAX, d, vy_dim_const(b, least));
}

// The extent of an axis in the domain.  Strides that are not factors of the number n of elements
// make ⌈n / s⌉ rows of s elements, of which the last one may not be full, and so on inwards.  Of a
// stride that is longer than all elements there is one row.
static vy_dim extent_of(const gather_making *w, const vy_affine_access *x, uint32_t axis)
{
    vy_builder *b = w->b;
    vy_dim n = x->dim[0], one = vy_dim_const(b, 1);
    const bool plain = w->g->r->dims.data[x->dim[axis].id].op == VY_DIM_SCALAR;
    if (axis >= x->flat) return x->dim[axis];
    if (x->rows) return plain ? x->dim[axis] : at_least(b, x->dim[axis], 0);
    if (!x->strided) return x->dim[axis];
    for (uint32_t k = x->flat - 1; k > axis; k--) {
        vy_dim stride = at_least(b, x->dim[k], 1);
        vy_dim most = vy_dim_binary(b, VY_DIM_SUB, stride, one);
        n = vy_dim_binary(b, VY_DIM_DIV, vy_dim_binary(b, VY_DIM_ADD, n, most), stride);
    }
    return axis ? at_least(b, vy_dim_binary(b, VY_DIM_MIN, x->dim[axis], n), 0) : n;
}

// More than the first axis of a buffer can have: of less than 2³² bytes constant axes take some.
static int64_t above_first(const vy_program *p, const vy_buf *b)
{
    int64_t bytes = vy_type_size(b->type) > 4 ? vy_type_size(b->type) : 4;
    for (uint32_t k = 1; k < b->rank; k++) {
        const vy_dim_node *d = &p->dims.data[b->dims[k].id];
        if (d->op == VY_DIM_CONST && d->value > 0 && d->value < 256 && bytes < 256)
            bytes *= d->value;
    }
    return VY_AFFINE_EXTENT * 4 / bytes + 1;
}

// The greatest coordinate along the axis that an element may have.
static int64_t last_of(gather_making *w, const vy_affine_access *x, uint32_t axis)
{
    vy_affine *a = &w->g->a;
    if (x->strided && axis < x->flat) return VY_AFFINE_EXTENT - 1; // another extent, see above
    vy_number n = vy_affine_dim_number(a, vy_isl_space_set_alloc(a->ctx, 0, 0), x->dim[axis].id);
    const bool first = !axis && x->flat < 2;
    int64_t most = first ? above_first(w->g->r, &w->g->r->buffers.data[x->buffer]) : INT64_MAX;
    if (most > VY_AFFINE_EXTENT) most = VY_AFFINE_EXTENT;
    if (n.pa && n.range.hi > 0 && n.range.hi < most) most = n.range.hi;
    isl_pw_aff_free(n.pa);
    return most - 1;
}

void gather_make_domain(gather_making *w, const gather_site *site)
{
    vy_program *p = vy_builder_program(w->b);
    char text[64];
    p->overs.count = 0;
    if (w->form == GATHER_PARTIAL) add_shares(w, site);
    for (uint32_t k = 1; k < p->buffers.count; k++)
        p->buffers.data[k].owned = false; // another domain
    for (uint32_t k = 0; k < site->access.rank; k++) {
        if (!(site->axes >> k & 1)) continue;
        name_axis(w, site, k, text);
        w->ids[w->n] = isl_id_alloc(w->g->a.ctx, text, (void *)(uintptr_t)&coordinate);
        w->extent[w->n] = extent_of(w, &site->access, k);
        w->last[w->n] = last_of(w, &site->access, k);
        w->element[w->n] = vy_over(w->b, text, w->extent[w->n]);
        w->n++;
    }
    for (uint32_t k = 0; k < p->leaves.count; k++) {
        vy_leaf *l = &p->leaves.data[k];
        if (l->kind == VY_LEAF_OVER && l->index >= p->overs.count) vy_leaf_drop(l);
    }
    if (gather_has_lanes(w)) {
        add_lanes(w);
    } else {
        p->has_workgroup &= p->overs.count == w->g->r->overs.count;
        vy_default_workgroup(p);
    }
}
