// SPDX-License-Identifier: MIT
// gather_taps.c: values where a walk over taps leaves the points (scan_taps.c).
//
//   for u in 0..3 { if i + P − u < M { sum += w[u] · g[i + P − u] } }
//   for u in 0..3 { c = i + P − u < M; sum += select(c, w[u] · g[select(c, i + P − u, 0)], 0) }
//
// A divergent branch costs more than the multiplication that it saves, and separates loads that
// neighbours share.  So values that consist of arithmetic and loads of buffers are computed in
// every iteration.  Loads stay in range where there is no point: an index that is a coordinate and
// in range anyhow stays as it is (a filter's weights: the same for all invocations), others become
// 0.
#include "autodiff/gather/gather_build.h"
#include "autodiff/gather/gather_slice.h"
#include "ir/core/flow.h"

static bool is_flat(const gather *g, uint32_t id)
{
    const vy_inst *i = &g->r->insts.data[id];
    const vy_op op = (vy_op)i->op;
    if (g->keep[id] || vy_is_marker(op)) return false;
    if (op == VY_OP_LOAD) return vy_is_global(g->r->buffers.data[i->aux].cls);
    return vy_op_infos[op].effect == VY_PURE;
}

// Is `id` the counter of a loop of the nest?
static bool is_counter(const gather_site *site, uint32_t id)
{
    return vy_nest_dim(&site->access.nest, id) >= 0;
}

bool gather_flat(const gather *g, gather_site *const *sites, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++) {
        const gather_site *site = sites[k];
        if (!site->single || site->access.nest.inexact_count || site->access.nest.inner)
            return false;
        for (uint32_t id = 0;
             (id = gather_slice_after(site->need, id, g->r->insts.count)) < g->r->insts.count;)
            if (!is_counter(site, id) && !is_flat(g, id)) return false;
    }
    return true;
}

uint32_t gather_tap_index(const gather_clone *c, uint32_t load, uint32_t k, uint32_t index)
{
    const gather *g = c->g;
    const vy_value guard = c->walk->guard;
    const vy_buf *buf = &g->r->buffers.data[g->r->insts.data[load].aux];
    if (!guard.id) return index;
    int dim = vy_nest_dim(&c->sites[0]->access.nest, vy_arg(g->r, load, k));
    if (dim >= 0 && vy_taps_inside(c->walk, (uint32_t)dim, buf->dims[k])) return index;
    vy_type t = vy_id_type(vy_builder_program(c->b), index);
    return vy_select(c->b, guard, (vy_value){index}, vy_zero(c->b, t)).id;
}
