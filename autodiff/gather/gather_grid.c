// SPDX-License-Identifier: MIT
// gather_grid.c: programs without a domain, as if the workgroups that run them were one.
//
//   workgroup(64) { … wid.y * 64 + lid.x … }
//                       →   over(y: num_groups.y, x: num_groups.x * 64)     for the analysis alone
//
// How many workgroups run only the launch knows: their numbers are dimensions in conditions, as
// scalars are.  One of them is that an axis has no more than GATHER_GRID invocations, so that what
// is computed from its place need not wrap.  Along an axis that the program does not use, or
// only within a workgroup, all workgroups do the same: there is to be only one.
#include "autodiff/gather/gather_owning.h"

vy_dim gather_groups_along(gather *g, uint32_t axis)
{
    const vy_dim_node groups = {.op = VY_DIM_GROUPS, .value = axis};
    if (vy_vec_push(&g->r->dims, groups)) return (vy_dim){g->r->dims.count - 1};
    g->failed = true;
    return (vy_dim){0};
}

vy_dim gather_all_along(gather *g, uint32_t axis)
{
    const vy_dim n = gather_groups_along(g, axis);
    const uint32_t size = g->r->workgroup[axis];
    return size == 1 ? n : gather_node(g, VY_DIM_MUL, n, gather_number(g, size));
}

bool gather_begin_grid(gather *g)
{
    static const char *const names[3] = {"x", "y", "z"};
    if (g->r->overs.count) return true;
    for (uint32_t axis = 3; axis-- > 0 && !g->failed;) {
        const vy_dim n = gather_all_along(g, axis), most = gather_number(g, GATHER_GRID);
        const vy_over_var v = {names[axis], gather_node(g, VY_DIM_MIN, n, most)};
        g->failed |= g->failed || !vy_vec_push(&g->r->overs, v);
    }
    g->grid = true;
    return !g->failed;
}

void gather_narrow_grid(gather *g, uint32_t apart)
{
    for (uint32_t axis = 0; axis < 3 && !g->failed; axis++)
        if (!(apart >> (2 - axis) & 1))
            g->r->overs.data[2 - axis].extent = gather_number(g, g->r->workgroup[axis]);
}

void gather_require_grid(gather *g)
{
    for (uint32_t axis = 0; axis < 3 && g->grid && !g->failed; axis++) {
        const vy_dim_node *d = &g->r->dims.data[g->r->overs.data[2 - axis].extent.id];
        const bool one = d->op == VY_DIM_CONST;
        const int64_t most = one ? 1 : GATHER_GRID;
        const vy_dim n = one ? gather_groups_along(g, axis) : gather_all_along(g, axis);
        const vy_dim holds = n.id ? gather_less(g, n, gather_number(g, most + 1)) : n;
        if (!g->failed) gather_require(g, n, gather_number(g, most), holds);
    }
}

void gather_end_grid(gather *g)
{
    if (g->grid) g->r->overs.count = 0;
}
