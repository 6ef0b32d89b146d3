// SPDX-License-Identifier: MIT
// gather_make.c: a program over the elements of buffers, out of additions to them.
//
//   atomic_add(ga[i, k], g[i, j] · b[k, j])  over(i: M, j: N), for k in 0..K
//
//   program f_gather_a(…) over(i: M, k: K) {
//       var v = 0.0;
//       for j in 0..N { v += g[i, j] · b[k, j]; }           // the points whose element is [i, k]
//       ga[i, k] = v;
//   }
//
// The points are those of the inverse of the access relation, as isl's AST builder walks them.
// Additions to one buffer have walks one after the other; those that happen at the same points to
// elements identified by the same axes (of other buffers, too) share a walk.  A walk with loops has
// a sum of its own, so that it may be fused with another (ir/pass/scalar/fuse_loops.c).
#include "autodiff/gather/gather_making.h"

#include "ir/check/check.h"
#include "ir/pass/pass.h"

#include <stdio.h>
#include <string.h>

// ------------------------------------------------------------------------------------------ points
typedef struct at_point {
    gather_making *w;
    gather_clone *clone;
} at_point;

// An addition to memory that the invocation owns.
static void add_in_memory(at_point *at, gather_site *site, vy_value value)
{
    gather_making *w = at->w;
    uint32_t args[VY_MAX_RANK + 1], buffer = site->access.buffer;
    const vy_buf *buf = &w->g->r->buffers.data[buffer];
    for (uint32_t k = 0; k < buf->rank; k++)
        args[k] = gather_map(at->clone, vy_arg(w->g->r, site->id, k));
    uint32_t have = vy_emit(w->b, VY_OP_LOAD, buf->type, buffer, buf->rank, args);
    args[buf->rank] = vy_add(w->b, (vy_value){have}, value).id;
    vy_emit(w->b, VY_OP_STORE, VY_VOID, buffer, buf->rank + 1, args);
}

static void add_at(void *user, gather_site *site, vy_value value)
{
    at_point *at = user;
    gather_making *w = at->w;
    if (!site->single) {
        add_in_memory(at, site, value);
        return;
    }
    vy_var sum = w->sum[gather_first_of(w->g, site)];
    vy_value have = vy_get(w->b, sum), guard = w->walk->guard;
    value = vy_cast(w->b, vy_value_type(w->b, have), value);
    if (guard.id)
        value = vy_select(w->b, guard, value,
                          vy_zero(w->b, vy_id_type(vy_builder_program(w->b), value.id)));
    const vy_scalar *k = vy_id_const(vy_builder_program(w->b), have.id);
    // The first term is not added to 0: 0 + x would be x but for −0.
    vy_set(w->b, sum, k && k->f == 0 ? value : vy_add(w->b, have, value));
}

static void point(void *user, const vy_value *index)
{
    gather_making *w = user;
    at_point at = {.w = w};
    gather_clone c = {.g = w->g,
                      .b = w->b,
                      .sites = w->group,
                      .count = w->count,
                      .index = index,
                      .map = w->map,
                      .walk = w->walk,
                      .add = add_at,
                      .user = &at};
    at.clone = &c;
    gather_copy(&c);
}

// ------------------------------------------------------------------------------------------ groups
// Sets the sums of the group to zero for its own walk, and saves their previous values in had[].
static void begin_subtotal(gather_making *w, vy_value *had)
{
    for (uint32_t k = 0; k < w->count; k++) {
        vy_var sum = w->sum[gather_first_of(w->g, w->group[k])];
        vy_value have = vy_get(w->b, sum);
        const vy_scalar *c = vy_id_const(vy_builder_program(w->b), have.id);
        had[k] = (vy_value){0};
        if (c && c->f == 0) continue; // also where a site of the group before it has set it
        had[k] = have;
        vy_set(w->b, sum, vy_zero(w->b, vy_id_type(vy_builder_program(w->b), have.id)));
    }
}

static void end_subtotal(gather_making *w, const vy_value *had)
{
    for (uint32_t k = 0; k < w->count; k++) {
        vy_var sum = w->sum[gather_first_of(w->g, w->group[k])];
        if (had[k].id) vy_set(w->b, sum, vy_add(w->b, had[k], vy_get(w->b, sum)));
    }
}

static bool has_loops(const gather_site *site)
{
    uint32_t axes = 0;
    for (uint32_t k = 0; k < site->access.rank; k++) axes += site->axes >> k & 1;
    return site->access.nest.count > axes;
}

// The element's coordinates, as the set names them.
static bool name_element(gather_making *w, vy_lattice *l, const gather_shape *shape,
                         const int64_t *constant)
{
    for (uint32_t k = 0; k < w->n; k++) {
        vy_bound_id e = {w->ids[k], vy_signed_value(w->element[k], w->last[k])};
        if (shape) e.value = vy_signed_sub(w->b, e.value, vy_signed_constant(constant[k]));
        if (!vy_vec_push(&l->ids, e)) return false;
    }
    return true;
}

static bool walk(gather_making *w, const gather_site *first)
{
    int64_t constant[VY_MAX_AXES] = {0};
    gather_shape *shape = gather_shape_of(w, first, constant);
    vy_lattice l = {.a = &w->g->a,
                    .b = w->b,
                    .nest = &first->access.nest,
                    .point = point,
                    .user = w,
                    .memo = shape ? &shape->memo : &w->memo,
                    .wants_taps = w->form == GATHER_WHOLE && gather_flat(w->g, w->group, w->count)};
    w->walk = &l;
    if (w->form == GATHER_TREE) l.lanes = (vy_lanes){w->lane, GATHER_LANES};
    if (w->form == GATHER_PARTIAL) l.lanes = (vy_lanes){w->lane, gather_shares(first)};
    bool ok = !w->g->failed && name_element(w, &l, shape, constant);
    if (!ok) w->g->failed = true;
    vy_affine_limit(&w->g->a, first->access.nest.count);
    isl_set *context = shape ? shape->natural : NULL;
    isl_set *set = shape ? isl_set_copy(shape->points) : gather_points(w, first, &context);
    vy_affine_weigh(&w->g->a, set);
    ok = ok && gather_name_ends(w, &l, first);
    if (ok)
        ok = vy_lattice_emit(&l, set, context);
    else
        isl_set_free(set);
    vy_lattice_free(&l);
    return ok && !w->g->failed;
}

// All sites of the program, group by group.
static bool make_walks(gather_making *w)
{
    gather *g = w->g;
    uint8_t *done = vy_arena_alloc(&g->arena, g->site_count + 1);
    vy_value *had = vy_arena_alloc(&g->arena, (g->site_count + 1) * sizeof *had);
    bool ok = done && had, later = false;
    for (uint32_t k = 0; ok && k < g->site_count; k++) {
        gather_site *first = &g->sites[k];
        if (first->program != w->index + 1 || done[k]) continue;
        w->count = 0;
        for (uint32_t j = k; j < g->site_count; j++) {
            gather_site *site = &g->sites[j];
            if (done[j] || !gather_shares_walk(g, first, site)) continue;
            done[j] = 1;
            w->group[w->count++] = site;
        }
        bool subtotal = later && first->single && has_loops(first);
        if (subtotal) begin_subtotal(w, had);
        ok = walk(w, first);
        later = true;
        if (ok && subtotal) end_subtotal(w, had);
    }
    return ok;
}

// ------------------------------------------------------------------------------------- the program
// A later stage adds to what an earlier one wrote.
static void take_as_inout(gather_making *w)
{
    gather *g = w->g;
    vy_program *p = vy_builder_program(w->b);
    if (!g->programs[w->index].adds) return;
    for (uint32_t k = 0; k < g->site_count; k++) {
        if (g->sites[k].program != w->index + 1) continue;
        vy_buf *buf = &p->buffers.data[g->sites[k].access.buffer];
        buf->cls = VY_INOUT;
        buf->init = VY_INIT_NONE;
        buf->init_from = NULL;
    }
}

static vy_program *finish(gather_making *w, bool ok)
{
    if (!ok || vy_builder_failed(w->b)) {
        w->g->failed |= w->g->a.failed || !vy_module_ok(w->g->m);
        vy_program_abandon(w->b);
        return NULL;
    }
    vy_program *p = vy_rebuild_end(w->b);
    vy_pass_context c = {0};
    if (p && vy_check_program(p) && vy_pass_cleanup(p, &c) && vy_pass_dce(p, &c)) return p;
    vy_program_free(p);
    w->g->failed = true;
    return NULL;
}

// Copies the new dimensions of the program being built to the reverse program, whose copy it began
// as.
static void copy_back_dims(gather_making *w)
{
    const vy_program *p = vy_builder_program(w->b);
    vy_dim_vec *to = &w->g->r->dims;
    while (to->count < p->dims.count && !w->g->failed) {
        const vy_dim_node n = p->dims.data[to->count];
        w->g->failed = !vy_vec_push(to, n);
    }
}

vy_program *gather_make(gather *g, uint32_t k, gather_form form, vy_dim *small)
{
    gather_making w = {.g = g, .index = k, .form = form};
    vy_affine_reset(&g->a);
    if (vy_affine_spent(&g->a)) return NULL;
    w.sum = vy_arena_alloc(&g->arena, (g->site_count + 1) * sizeof *w.sum);
    w.group = vy_arena_alloc(&g->arena, (g->site_count + 1) * sizeof *w.group);
    if (!g->map) g->map = vy_arena_alloc(&g->arena, (size_t)g->r->insts.count * sizeof *g->map);
    w.map = g->map;
    w.b = w.sum && w.group && w.map ? vy_rebuild_begin(g->r) : NULL;
    if (!w.b) {
        g->failed = true;
        return NULL;
    }
    memset(w.map, 0, (size_t)g->r->insts.count * sizeof *w.map);
    take_as_inout(&w);
    gather_make_domain(&w, &g->sites[g->programs[k].first]);
    for (uint32_t j = 0; j < g->site_count; j++)
        if (g->sites[j].program == k + 1) gather_assume_rows(g, &g->sites[j], w.b);
    const bool rows = gather_begin_rows(&w, &g->sites[g->programs[k].first]);
    gather_begin_sums(&w);
    bool ok = form == GATHER_TOTAL ? gather_add_partial(&w) : make_walks(&w);
    if (form == GATHER_PARTIAL)
        gather_store_partial(&w);
    else
        gather_end_sums(&w);
    if (rows) vy_end(w.b);
    vy_lattice_forget(&w.memo);
    gather_forget_points(&w);
    gather_forget_shapes(&w);
    gather_forget_ends(&w);
    for (uint32_t j = 0; j < w.n; j++) isl_id_free(w.ids[j]);
    if (small) {
        *small = gather_is_small(g, &g->sites[g->programs[k].first], w.b);
        copy_back_dims(&w);
    }
    return finish(&w, ok);
}
