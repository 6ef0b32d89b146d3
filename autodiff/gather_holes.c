// SPDX-License-Identifier: MIT
// gather_holes.c: points left out of a walk by `if i != j` are walked over.
//
//   over(i: N) for j in 0..N if j != i { atomic_add(g[j], …); }
//
//   for i in 0..j { … }  for i in j + 1..N { … }        what isl makes of the points that reach g[j]
//   for i in 0..N { if i != j { … } }                   what is made here
//
// One loop with a cheap condition has half the code, turns that all invocations take together, and can be
// fused with the loop over the same bodies that computes what g[j] adds itself (ir/fuse_loops.c).
//
// The set M of the points lies in H, given by the constraints that all its pieces share.  H is walked if it is M and points
// with i = j, and the `if` is copied as those on data are.  It keeps H \ M out: i and j are counters, domain
// variables, scalars or constants, so at a point with i = j the program, too, finds them equal.
#include "gather_build.h"

// Something whose value at a point is the point's, whatever else holds there.
static bool is_plain(const vy_nest *n, uint32_t id)
{
    return VY_IS_LEAF(id) || vy_nest_dim(n, id) >= 0;
}

// The condition of `if` number `opener` around the site is x ≠ y of plain integers.
static bool is_hole(const vy_nest *n, uint32_t opener, uint32_t *x, uint32_t *y)
{
    const vy_program *p = n->a->p;
    if (p->insts.data[opener].op != VY_OP_IF) return false;
    uint32_t cond = vy_arg(p, opener, 0);
    if (VY_IS_LEAF(cond)) return false;
    vy_op apart = n->place < n->a->s->partner[opener] ? VY_OP_NE : VY_OP_EQ;
    if (p->insts.data[cond].op != apart) return false;
    *x = vy_arg(p, cond, 0);
    *y = vy_arg(p, cond, 1);
    return vy_type_is_integer(vy_id_type(p, *x)) && is_plain(n, *x) && is_plain(n, *y);
}

// The points of the nest at which x = y; NULL: isl gave up.
static isl_set *equal(vy_nest *n, uint32_t x, uint32_t y)
{
    vy_affine_why why;
    isl_pw_aff *a = vy_affine_value(n, x, &why), *b = a ? vy_affine_value(n, y, &why) : NULL;
    if (b) return isl_pw_aff_eq_set(a, b);
    isl_pw_aff_free(a);
    return NULL;
}

// Is the `if` listed already?
static bool is_loose(const vy_nest *n, uint32_t opener)
{
    for (uint32_t k = 0; k < n->loose_count; k++)
        if (n->loose[k] == opener) return true;
    return false;
}

// The points of the nest that `if`s around the site leave out; NULL: isl gave up.  holes[]: those `if`s, *count of them.
static isl_set *find_holes(gather *g, gather_site *site, uint32_t *holes, uint32_t *count)
{
    vy_nest *n = &site->access.nest;
    isl_set *all = isl_set_empty(isl_space_copy(n->space));
    uint32_t x, y;
    for (uint32_t up = g->s.parent[site->id]; up; up = g->s.parent[up]) {
        if (is_loose(n, up) || !is_hole(n, up, &x, &y)) continue;
        isl_set *set = equal(n, x, y);
        if (!set) continue;
        all = isl_set_union(all, set);
        holes[(*count)++] = up;
    }
    return all;
}

void gather_fill_holes(gather *g, gather_site *site)
{
    vy_nest *n = &site->access.nest;
    if (!site->single) return; // their conditions are copied as they are
    if (isl_map_n_basic_map(site->map) < 2) return;
    uint32_t *holes = n->loose + n->loose_count, count = 0; // it has room for all there are
    isl_map *hull = isl_map_from_basic_map(isl_map_simple_hull(isl_map_copy(site->map)));
    isl_set *set = find_holes(g, site, holes, &count);
    isl_map *most = isl_map_intersect_domain(isl_map_copy(hull), set);
    most = isl_map_union(most, isl_map_copy(site->map));
    bool fills = count && isl_map_is_subset(hull, most) == isl_bool_true;
    isl_map_free(most);
    n->loose_count += fills ? count : 0;
    if (fills && gather_need(g, site)) { // the conditions have to be computed where the points are
        isl_map_free(site->map);
        site->map = hull;
        return;
    }
    isl_map_free(hull);
    if (!fills) return;
    n->loose_count -= count;
    if (!g->failed && gather_need(g, site)) site->why = NULL;
}
