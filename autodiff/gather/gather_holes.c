// SPDX-License-Identifier: MIT
// gather_holes.c: walks include the points that an `if i != j` excludes.
//
//   over(i: N) for j in 0..N if j != i { atomic_add(g[j], …); }
//
//   for i in 0..j { … }  for i in j + 1..N { … }       what isl makes of the points that reach g[j]
//   for i in 0..N { if i != j { … } }                  what is made here
//
// One loop with a cheap condition has half the code, runs uniformly in all invocations, and can be
// fused with the loop over the same bodies that computes what g[j] adds itself
// (ir/pass/scalar/fuse_loops.c).
//
// The access is analysed again with such conditions over-approximated, as those on data are
// (iteration_domain.c): the set of points grows, and the `if` is copied.  The result is used if the
// set then has fewer pieces.
#include "autodiff/gather/gather_build.h"

static bool same_nest(const vy_nest *n, const vy_nest *m)
{
    if (n->count != m->count || n->overs != m->overs || n->inner != m->inner) return false;
    for (uint32_t k = n->overs; k < n->count; k++)
        if (n->loop[k] != m->loop[k]) return false;
    return true;
}

static bool same_shape(const gather_site *site, const vy_affine_access *x)
{
    const vy_affine_access *y = &site->access;
    if (x->rank != y->rank || x->flat != y->flat || x->strided != y->strided ||
        !same_nest(&x->nest, &y->nest))
        return false;
    for (uint32_t k = 0; k < x->rank; k++)
        if (!x->index[k] != !y->index[k] || x->dim[k].id != y->dim[k].id) return false;
    return true;
}

void gather_fill_holes(gather *g, gather_site *site)
{
    const vy_nest *n = &site->access.nest;
    int pieces = (int)isl_map_n_basic_map(site->map);
    vy_affine_access x = {0};
    isl_map *map = NULL;
    if (!site->single || site->clamps || pieces < 2)
        return; // a loop that is copied whole has its conditions
    g->a.holes = true;
    bool made = vy_access_make(&x, &g->a, site->id, n->count - n->overs);
    g->a.holes = false;
    if (made && same_shape(site, &x)) map = vy_access_map(&x, site->axes);
    map = vy_isl_map_coalesce(map);
    vy_affine_access whole = site->access;
    if (map && (int)isl_map_n_basic_map(map) < pieces) {
        site->access = x;
        if (gather_need(g, site)) { // the conditions have to be computed where the points are
            isl_map_free(site->map);
            vy_access_free(&whole);
            site->map = map;
            return;
        }
        site->access = whole;
        if (!g->failed && gather_need(g, site)) site->why = NULL;
    }
    vy_access_free(&x);
    isl_map_free(map);
}
