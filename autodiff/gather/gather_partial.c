// SPDX-License-Identifier: MIT
// gather_partial.c: some hundred or thousand elements to which very many points add, as the weights
// of a layer: partial sums, and a sum of these.
//
//   program f_gather_w(…) over(o: 32, k: 32) {
//       var v = 0.0;
//       for n in 0..N { v += d[n, o] * h[n, k]; }
//       grad_w[o, k] = v;
//   }
//
//   program f_gather_w_partial(…) over(s: 64, o: 32, k: 32) {
//       var v = 0.0;
//       for n in s..N step 64 { v += d[n, o] * h[n, k]; }
//       part[s, o, k] = v;
//   }
//   program f_gather_w(…) over(o: 32, k: 32) {
//       var v = 0.0;
//       for s in 0..64 { v += part[s, o, k]; }
//       grad_w[o, k] = v;
//   }
//
// An invocation for each element would leave a large device idle, and atomic additions of all
// points wait for each other.  Neighbouring invocations have neighbouring elements, so that they
// load neighbours.  Which points a partial sum has depends on sizes alone, and so do results.
//
// Only where the number of elements is known to be of this size: both forms side by side, as of
// few elements (gather_tree.c), would make three programs of every gather.
//
// A shader's coefficients, `g[0]` and `g[1]` that all invocations add to, are elements that no axis
// names: the domain is the shares alone, many of them, and a workgroup adds these up.
//
//   program f_gather_g_partial(…) over(s: 4096)    program f_gather_g(…) workgroup(64) over(t: 64)
//       …                                              for s in t..4096 step 64 {
//       part_g[s] = v;                                     v += part_g[s]; w += part2_g[s];
//       part2_g[s] = w;                                }
//                                                      …
//                                                      if t == 0 { g[0] = …; g[1] = …; }
//
// A program of the text leaves them to atomic additions, which subgroups sum up first
// (ir/pass/sums/subgroup_reduce.c); who launches a shader's gradient may have no subgroups.
#include "autodiff/gather/gather_making.h"

#include "ir/core/flow.h"

#include <stdio.h>
#include <string.h>

enum { FEWEST = 32, MOST = 16384, POINTS = 1024, UNKNOWN = 4096 };

// ---------------------------------------------------------------------------------------- which
static bool has_form(const gather *g, const gather_site *site)
{
    const vy_affine_access *x = &site->access;
    const vy_type t = g->r->buffers.data[x->buffer].type;
    return site->single && !x->flat && !x->strided && !x->rows && x->rank < VY_MAX_RANK &&
           (t == VY_F32 || t == VY_F64);
}

// The product of the extents along the site's axes; 0: it is no constant.
static double count_elements(const gather *g, const gather_site *site)
{
    double n = 1;
    for (uint32_t k = 0; k < site->access.rank; k++) {
        if (!(site->axes >> k & 1)) continue;
        const vy_dim_node *d = &g->r->dims.data[site->access.dim[k].id];
        n *= d->op == VY_DIM_CONST ? (double)d->value : 0;
    }
    return n;
}

// Are the constant indices of both additions the same?
static bool same_index(const vy_program *p, uint32_t x, uint32_t y, uint32_t rank)
{
    bool same = true;
    for (uint32_t k = 0; k < rank && same; k++)
        same = vy_id_const(p, vy_arg(p, x, k))->i == vy_id_const(p, vy_arg(p, y, k))->i;
    return same;
}

// What it is expected to be.
static double count_points(const gather *g, const gather_site *site)
{
    const vy_nest *nest = &site->access.nest;
    double n = 1;
    for (uint32_t k = 0; k < nest->count; k++) {
        if (k >= nest->overs) {
            n *= vy_expected_trips(g->r, nest->loop[k]);
            continue;
        }
        const vy_dim_node *d = &g->r->dims.data[g->r->overs.data[k].extent.id];
        n *= d->op == VY_DIM_CONST ? (double)d->value : UNKNOWN;
    }
    return n;
}

bool gather_has_cells(const gather *g, uint32_t buffer)
{
    const vy_buf *b = &g->r->buffers.data[buffer];
    uint32_t cells[GATHER_CELLS], n = 0;
    if (!g->r->shader || (b->type != VY_F32 && b->type != VY_F64)) return false;
    for (uint32_t k = 0; k < g->site_count; k++) {
        const gather_site *site = &g->sites[k];
        uint32_t at = 0;
        if (site->access.buffer != buffer) continue;
        while (at < n && !same_index(g->r, site->id, g->sites[cells[at]].id, b->rank)) at++;
        if (at < n) continue;
        if (n == GATHER_CELLS) return false;
        cells[n++] = k;
    }
    return n > 0;
}

uint32_t gather_shares(const gather_site *site)
{
    return site->axes ? GATHER_SHARES : GATHER_SHARES_OF_ONE;
}

bool gather_is_partial(const gather *g, const gather_site *site)
{
    const double elements = has_form(g, site) ? count_elements(g, site) : 0;
    if (!site->axes) return elements > 0 && count_points(g, site) >= POINTS;
    return elements >= FEWEST && elements <= MOST && count_points(g, site) >= POINTS * elements;
}

// ------------------------------------------------------------------------------------- the buffers
static const char *name_buffer(gather *g, vy_builder *b, const gather_site *site)
{
    const vy_buf *of = &g->r->buffers.data[site->access.buffer];
    char text[80];
    for (uint32_t number = 1;; number++) {
        if (number == 1)
            snprintf(text, sizeof text, "part_%.60s", of->name);
        else
            snprintf(text, sizeof text, "part%u_%.60s", number, of->name);
        if (gather_name_is_free(b, text)) break;
    }
    return vy_arena_strdup(&g->m->arena, text, strlen(text));
}

// The buffer of the partial sums of the site's element, [shares, axes…]; declared in the program
// being built.  0: memory.
static vy_buffer declare(gather_making *w, gather_site *site)
{
    gather *g = w->g;
    const vy_type t = g->r->buffers.data[site->access.buffer].type;
    vy_dim dims[VY_MAX_RANK];
    dims[0] = vy_dim_const(w->b, gather_shares(site));
    for (uint32_t k = 0; k < w->n; k++) dims[k + 1] = w->extent[k];
    const char *name = name_buffer(g, w->b, site);
    const vy_buffer made =
        name ? vy_param_buffer(w->b, name, VY_INOUT, t, w->n + 1, dims) : (vy_buffer){0};
    if (!made.id) {
        g->failed = true;
        return made;
    }
    uint32_t *link = &vy_builder_program(w->b)->buffers.data[made.id].link;
    if (site->part) *link = site->part;
    site->part = *link;
    return made;
}

static void place(const gather_making *w, vy_value share, vy_value *index)
{
    index[0] = share;
    for (uint32_t k = 0; k < w->n; k++) index[k + 1] = w->element[k];
}

void gather_store_partial(gather_making *w)
{
    vy_value index[VY_MAX_RANK];
    place(w, w->lane, index);
    vy_at(w->b, 0, 0);
    for (uint32_t k = 0; k < w->g->site_count; k++) {
        if (!gather_makes_sum(w, k)) continue;
        const vy_buffer part = declare(w, &w->g->sites[k]);
        if (part.id) vy_store(w->b, part, index, vy_get(w->b, w->sum[k]));
    }
}

bool gather_add_partial(gather_making *w)
{
    gather *g = w->g;
    vy_buffer *parts = vy_arena_alloc(&g->arena, (g->site_count + 1) * sizeof *parts);
    vy_value index[VY_MAX_RANK];
    if (!parts) {
        g->failed = true;
        return false;
    }
    for (uint32_t k = 0; k < g->site_count; k++)
        if (gather_makes_sum(w, k)) parts[k] = declare(w, &g->sites[k]);
    if (g->failed) return false;
    vy_at(w->b, 0, 0);
    const bool lanes = gather_has_lanes(w);
    const gather_site *first = &g->sites[g->programs[w->index].first];
    const vy_value from = lanes ? w->lane : vy_zero(w->b, VY_U32);
    const vy_value shares = vy_int(w->b, VY_U32, gather_shares(first));
    const vy_value step = vy_int(w->b, VY_U32, lanes ? GATHER_LANES : 1);
    place(w, vy_for_step(w->b, "s", from, shares, step, false), index);
    for (uint32_t k = 0; k < g->site_count; k++) {
        if (!gather_makes_sum(w, k)) continue;
        const vy_value have = vy_get(w->b, w->sum[k]), part = vy_load(w->b, parts[k], index);
        vy_set(w->b, w->sum[k], vy_add(w->b, have, part));
    }
    vy_end(w->b);
    return true;
}
