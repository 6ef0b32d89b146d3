// SPDX-License-Identifier: MIT
// gather_sums.c: the sums of a program that gathers: one variable for each element of an
// invocation, from its initial value before the walks to the store after them.
//
//   var v = 0.0;        // or ga[i, k], where an earlier stage or @init left something
//   …                   // the walks add to it: gather_make.c
//   ga[i, k] = v;       // where lanes share an element: their total, by one of them
//
// Sites that add to the same elements share a variable.  Additions to memory that the invocation
// owns (sites that are not single) have none.
#include "autodiff/gather/gather_making.h"

// Do two single sites of a program add to the same elements?
static bool same_cell(const gather *g, const gather_site *x, const gather_site *y)
{
    if (x->access.buffer != y->access.buffer || x->program != y->program) return false;
    for (uint32_t k = 0; x->cells && k < x->access.rank; k++) {
        const uint32_t axis = vy_buffer_axis(&x->access, k);
        const vy_scalar *a = vy_id_const(g->r, vy_arg(g->r, x->id, axis));
        const vy_scalar *b = vy_id_const(g->r, vy_arg(g->r, y->id, axis));
        if (a && b && !(x->axes >> k & 1) && a->i != b->i) return false;
    }
    return true;
}

uint32_t gather_first_of(const gather *g, const gather_site *site)
{
    uint32_t k = 0;
    while (!g->sites[k].single || !same_cell(g, &g->sites[k], site)) k++;
    return k;
}

// Is site k the one of this program whose sum has a variable?
bool gather_makes_sum(const gather_making *w, uint32_t k)
{
    const gather_site *site = &w->g->sites[k];
    return site->program == w->index + 1 && site->single && gather_first_of(w->g, site) == k;
}

// The flat index, from those along the axes that were recovered from it.
static vy_value flat_index(gather_making *w, const vy_affine_access *x)
{
    vy_value at = x->rows ? vy_zero(w->b, VY_U32) : w->element[0];
    for (uint32_t k = 0; x->rows && k < x->flat; k++) {
        const vy_value stride = vy_dim_number(w->b, x->rows->axis[k].stride);
        at = vy_add(w->b, at, vy_mul(w->b, w->element[k], stride));
    }
    for (uint32_t k = 1; !x->rows && k < x->flat; k++)
        at = vy_add(w->b, vy_mul(w->b, at, vy_dim_number(w->b, w->extent[k])), w->element[k]);
    return at;
}

// By axis of the buffer.
static void element_index(gather_making *w, const gather_site *site, vy_value *index)
{
    const vy_affine_access *x = &site->access;
    for (uint32_t k = 0, n = 0; k < x->rank; k++) {
        const uint32_t axis = vy_buffer_axis(x, k);
        const bool named = site->axes >> k & 1;
        index[axis] = named ? w->element[n++] : (vy_value){vy_arg(w->g->r, site->id, axis)};
    }
    if (x->flat) index[0] = flat_index(w, x);
}

// Of the axis whose index is flat; those recovered have extents of their own.
static vy_dim length_of(const gather_making *w, const gather_site *site)
{
    return w->g->r->buffers.data[site->access.buffer].dims[0];
}

// Opens an `if` that an element fails which there is not.
static void begin_element(gather_making *w, const gather_site *site)
{
    vy_value index[VY_MAX_RANK];
    element_index(w, site, index);
    vy_at(w->b, 0, 0);
    vy_if(w->b, vy_lt(w->b, index[0], vy_dim_number(w->b, length_of(w, site))));
}

// May rows be more than the buffer has?  The launch relates their strides to each other alone; a
// buffer of open length has what the program reaches, which may be less.
static bool may_be_more(const gather_making *w, const gather_site *site)
{
    const vy_affine_rows *r = site->access.rows;
    return r && (r->partly || !gather_is_open(w->g->r, length_of(w, site).id));
}

bool gather_begin_rows(gather_making *w, const gather_site *site)
{
    if (!site->access.strided && (w->form == GATHER_TREE || !may_be_more(w, site))) return false;
    begin_element(w, site);
    return true;
}

bool gather_has_lanes(const gather_making *w)
{
    return w->form == GATHER_TREE || (w->form == GATHER_TOTAL && !w->n);
}

// May an element have an initial value other than zero?
static bool begins(const gather_making *w, const vy_buf *buf)
{
    return w->g->programs[w->index].adds || buf->init != VY_INIT_NONE;
}

// Half floats are added up as f32 and rounded once.
static vy_type type_of_sum(vy_type t) { return t == VY_F16 ? VY_F32 : t; }

// Sums begin as the element: zero, what @init says, or what an earlier stage left.  (Where lanes
// share an element it is added at the end.)
void gather_begin_sums(gather_making *w)
{
    gather *g = w->g;
    for (uint32_t k = 0; k < g->site_count; k++) {
        const gather_site *site = &g->sites[k];
        uint32_t buffer = site->access.buffer;
        if (!gather_makes_sum(w, k)) continue;
        vy_buf *buf = &vy_builder_program(w->b)->buffers.data[buffer];
        vy_type t = type_of_sum(buf->type);
        vy_value start = vy_zero(w->b, t), index[VY_MAX_RANK];
        if (!gather_has_lanes(w) && w->form != GATHER_PARTIAL && begins(w, buf)) {
            element_index(w, site, index);
            start = vy_cast(w->b, t, vy_load(w->b, (vy_buffer){buffer}, index));
        }
        w->sum[k] = vy_var_new(w->b, NULL, start);
    }
}

// The sums of all lanes, in an `if` that one lane enters.
static void fold_lanes(gather_making *w)
{
    gather *g = w->g;
    vy_value *sums = vy_arena_alloc(&g->arena, (g->site_count + 1) * sizeof *sums);
    uint32_t n = 0;
    if (!sums) {
        g->failed = true;
        return;
    }
    for (uint32_t k = 0; k < g->site_count; k++)
        if (gather_makes_sum(w, k)) sums[n++] = vy_get(w->b, w->sum[k]);
    gather_fold(w->b, w->lane, sums, n);
    n = 0;
    for (uint32_t k = 0; k < g->site_count; k++)
        if (gather_makes_sum(w, k)) w->sum[k] = vy_var_new(w->b, NULL, sums[n++]);
}

// Opens an `if` that a constant element fails which the buffer does not have; false: it has it.
static bool begin_cell(gather_making *w, const gather_site *site, const vy_value *index)
{
    const vy_buf *buf = &w->g->r->buffers.data[site->access.buffer];
    vy_value all = {0};
    vy_at(w->b, 0, 0);
    for (uint32_t k = 0; k < buf->rank && !w->n; k++) {
        const vy_value length = vy_dim_number(w->b, buf->dims[k]);
        const vy_value in = vy_lt(w->b, vy_cast(w->b, VY_U32, index[k]), length);
        all = all.id ? vy_and(w->b, all, in) : in;
    }
    if (all.id) vy_if(w->b, all);
    return all.id != 0;
}

static void end_sum(gather_making *w, uint32_t k)
{
    const gather_site *site = &w->g->sites[k];
    const vy_buffer buffer = {site->access.buffer};
    const bool more = w->form == GATHER_TREE && may_be_more(w, site);
    vy_value index[VY_MAX_RANK], v = vy_get(w->b, w->sum[k]);
    if (more) begin_element(w, site);
    element_index(w, site, index);
    const bool cell = begin_cell(w, site, index);
    vy_at(w->b, 0, 0);
    const vy_buf *buf = &vy_builder_program(w->b)->buffers.data[buffer.id];
    const vy_type t = buf->type;
    if (gather_has_lanes(w) && begins(w, buf)) v = vy_add(w->b, vy_load(w->b, buffer, index), v);
    vy_store(w->b, buffer, index, vy_cast(w->b, t, v));
    if (cell) vy_end(w->b);
    if (more) vy_end(w->b);
}

void gather_end_sums(gather_making *w)
{
    if (gather_has_lanes(w)) fold_lanes(w);
    for (uint32_t k = 0; k < w->g->site_count; k++)
        if (gather_makes_sum(w, k)) end_sum(w, k);
    if (gather_has_lanes(w)) vy_end(w->b);
}
