// SPDX-License-Identifier: MIT
// scan_taps.c: a set whose points are given by a small number of constant taps is walked tap by
// tap.
//
//   { [i_2, u] : i_2 = P + i − u, 0 <= u < 3, 0 <= i_2 < M }           of element i
//
// in the order of the set:
//   for i_2 in max(2, P + i) − 2..min(M − 1, P + i) + 1 { u = P + i − i_2; … }
// emitted here:
//   for u in 0..3 { i_2 = P + i − u; if 0 <= i_2 < M { … } }
//
// The points are almost the same, but the trip count is constant: all invocations run the loop in
// step, values that depend on taps alone are uniform (a filter's weights), loops can be unrolled,
// and one invocation can compute several neighbours (ir/pass/device/coarsen.c, which does not touch
// variables that a trip count depends on).
//
// A tap is a dimension with a small range; it is used where an equality determines one other,
// longer dimension with coefficient ±1: with others (stride 2) most of the points walked would not
// be in the set.  The superset that is walked has these equalities, the constant bounds of the taps
// and the set's constraints on the remaining dimensions; the other constraints of the set become
// the guard.  isl computes both: whatever is chosen here, superset and guard together are the set.
#include "autodiff/affine/scan.h"
#include "autodiff/affine/single.h"

#include <isl/constraint.h>

enum { TAPS = 64, DIMS = 64 };

typedef struct taps {
    vy_lattice *l;
    uint64_t taps, found; // dimensions, as bits
    isl_basic_set *equal; // the equalities
    bool refused;
} taps;

void vy_taps_free(vy_taps *t)
{
    isl_set_free(t->all);
    isl_set_free(t->left);
    *t = (vy_taps){0};
}

static bool is_small(const vy_nest *n, uint32_t k)
{
    const vy_interval r = n->range[k];
    return r.lo >= 0 && r.hi >= r.lo && r.hi < TAPS;
}

// The coefficient of a variable in a constraint; one of more than 32 bits: 0, and *far is set.
static int64_t coefficient(isl_constraint *c, enum isl_dim_type type, uint32_t k, bool *far)
{
    isl_val *v = type == isl_dim_cst ? isl_constraint_get_constant_val(c)
                                     : isl_constraint_get_coefficient_val(c, type, (int)k);
    bool small = isl_val_is_int(v) == isl_bool_true && isl_val_cmp_si(v, INT32_MAX) <= 0 &&
                 isl_val_cmp_si(v, -INT32_MAX) >= 0;
    int64_t r = small ? isl_val_get_num_si(v) : 0;
    *far |= !small;
    isl_val_free(v);
    return r;
}

static bool has_divisions(isl_constraint *c)
{
    bool far = false;
    for (int k = 0; k < (int)isl_constraint_dim(c, isl_dim_div); k++)
        if (coefficient(c, isl_dim_div, (uint32_t)k, &far)) return true;
    return far;
}

// Does the equality determine exactly one long dimension in terms of taps?
static isl_stat visit_equality(isl_constraint *c, void *user)
{
    taps *t = user;
    const vy_nest *n = t->l->nest;
    uint64_t small = 0, one = 0;
    bool far = false, good = isl_constraint_is_equality(c) == isl_bool_true && !has_divisions(c);
    for (uint32_t k = 0; good && k < n->count; k++) {
        int64_t by = coefficient(c, isl_dim_set, k, &far);
        if (!by) continue;
        if (is_small(n, k)) {
            small |= UINT64_C(1) << k;
        } else {
            good = !one && (by == 1 || by == -1);
            one = UINT64_C(1) << k;
        }
    }
    if (good && !far && small && one) {
        t->refused |= (t->found & one) != 0;
        t->taps |= small;
        t->found |= one;
        t->equal = isl_basic_set_add_constraint(t->equal, isl_constraint_copy(c));
    }
    isl_constraint_free(c);
    return isl_stat_ok;
}

static bool within_limit(const taps *t)
{
    int64_t product = 1;
    for (uint32_t k = 0; k < t->l->nest->count; k++)
        if (t->taps >> k & 1 && product <= TAPS)
            product *= t->l->nest->range[k].hi - t->l->nest->range[k].lo + 1;
    return t->taps && product <= TAPS;
}

// The superset that is walked.
static isl_set *superset_of(const taps *t, isl_set *set)
{
    const vy_nest *n = t->l->nest;
    isl_set *all = isl_set_copy(set);
    for (uint32_t k = 0; k < n->count; k++)
        if ((t->taps | t->found) >> k & 1)
            all = vy_isl_set_drop_constraints_involving_dims(all, isl_dim_set, k, 1);
    isl_set *equal = vy_isl_set_from_basic_set(isl_basic_set_copy(t->equal));
    all = vy_isl_set_intersect(all, vy_isl_set_reset_tuple_id(equal));
    for (uint32_t k = 0; k < n->count; k++)
        if (t->taps >> k & 1) {
            all = vy_isl_set_lower_bound_si(all, isl_dim_set, k, (int)n->range[k].lo);
            all = vy_isl_set_upper_bound_si(all, isl_dim_set, k, (int)n->range[k].hi);
        }
    return all;
}

static void order_dimensions(const taps *t, vy_taps *r)
{
    uint32_t at = 0;
    const uint64_t order[] = {~(t->taps | t->found), t->taps, t->found};
    for (uint32_t pass = 0; pass < 3; pass++)
        for (uint32_t k = 0; k < t->l->nest->count; k++)
            if (order[pass] >> k & 1) r->order[at++] = k;
}

static bool without_divisions(isl_set *set)
{
    return isl_set_n_basic_set(set) == 1 && isl_set_involves_locals(set) == isl_bool_false;
}

bool vy_taps_find(vy_lattice *l, isl_set *set, isl_set *context)
{
    taps t = {.l = l};
    vy_taps *r = &l->taps;
    if (!l->wants_taps || l->nest->count > DIMS || isl_set_n_basic_set(set) != 1) return false;
    isl_set *plain = vy_isl_set_reset_tuple_id(isl_set_copy(set));
    isl_basic_set *hull = vy_isl_set_affine_hull(isl_set_copy(plain));
    t.equal = isl_basic_set_universe(isl_basic_set_get_space(hull));
    isl_basic_set_foreach_constraint(hull, visit_equality, &t);
    isl_basic_set_free(hull);
    bool good = !t.refused && within_limit(&t);
    if (good) {
        r->all = superset_of(&t, plain);
        isl_set *known = vy_isl_set_intersect_params(isl_set_copy(r->all), isl_set_copy(context));
        isl_set *here = vy_isl_set_intersect_params(isl_set_copy(plain), isl_set_copy(context));
        r->left = vy_isl_set_gist(isl_set_copy(plain), known);
        good = vy_isl_set_is_subset(here, r->all) == isl_bool_true && without_divisions(r->left);
        isl_set_free(here);
        order_dimensions(&t, r);
        r->found = t.found;
    }
    isl_set_free(plain);
    isl_basic_set_free(t.equal);
    if (!good) vy_taps_free(r);
    return good;
}

isl_map *vy_taps_schedule(const vy_lattice *l, isl_set *set)
{
    isl_space *space = vy_isl_space_map_from_set(isl_set_get_space(set));
    isl_map *map = vy_isl_map_reset_tuple_id(vy_isl_map_universe(space), isl_dim_out);
    for (uint32_t k = 0; k < l->nest->count; k++)
        map = vy_isl_map_equate(map, isl_dim_in, (int)l->taps.order[k], isl_dim_out, (int)k);
    return vy_isl_map_intersect_domain(map, set);
}

// --------------------------------------------------------------------------------------- the guard
typedef struct guard {
    vy_lattice *l;
    const vy_signed *index;
    // Add constraints whose last dimension in walking order is this; count: those without any.
    uint32_t last;
    uint32_t seen; // constraints added
    vy_value all;
    bool refused;
} guard;

// Position in walking order of the last dimension in c.
static uint32_t last_of(const vy_lattice *l, isl_constraint *c)
{
    bool far = false;
    uint32_t last = l->nest->count;
    for (uint32_t k = 0; k < l->nest->count; k++)
        if (coefficient(c, isl_dim_set, l->taps.order[k], &far)) last = k;
    return last;
}

static void add_term(guard *g, vy_signed *sum, vy_signed x, int64_t by)
{
    if (by) *sum = vy_signed_add(g->l->b, *sum, vy_signed_scale(g->l->b, x, by));
}

static isl_stat add_constraint(isl_constraint *c, void *user)
{
    guard *g = user;
    vy_builder *b = g->l->b;
    if (!g->refused && last_of(g->l, c) == g->last) {
        g->seen++;
        bool far = has_divisions(c);
        vy_signed sum = vy_signed_constant(coefficient(c, isl_dim_cst, 0, &far));
        for (uint32_t k = 0; k < g->l->nest->count; k++)
            add_term(g, &sum, g->index[k], coefficient(c, isl_dim_set, k, &far));
        for (int k = 0; k < (int)isl_constraint_dim(c, isl_dim_param); k++) {
            int64_t by = coefficient(c, isl_dim_param, (uint32_t)k, &far);
            isl_id *id = isl_set_get_dim_id(g->l->taps.left, isl_dim_param, (unsigned)k);
            if (by) add_term(g, &sum, vy_lattice_named(g->l, id), by);
            isl_id_free(id);
        }
        vy_op op = isl_constraint_is_equality(c) == isl_bool_true ? VY_OP_EQ : VY_OP_LE;
        vy_value holds = vy_signed_compare(b, op, vy_signed_constant(0), sum);
        g->refused = far || !holds.id;
        if (!g->refused) g->all = g->all.id ? vy_and(b, g->all, holds) : holds;
    }
    isl_constraint_free(c);
    return isl_stat_ok;
}

static isl_stat add_constraints(isl_basic_set *s, void *user)
{
    guard *g = user;
    const uint32_t count = g->l->nest->count;
    for (uint32_t k = 0; k <= count; k++) {
        g->last = k ? k - 1 : count; // outer ones first: invariant in the inner loops
        g->refused |= isl_basic_set_foreach_constraint(s, add_constraint, g) != isl_stat_ok;
    }
    g->refused |= (int)g->seen != (int)isl_basic_set_n_constraint(s);
    isl_basic_set_free(s);
    return isl_stat_ok;
}

vy_value vy_taps_guard(vy_lattice *l, const vy_signed *index)
{
    guard g = {.l = l, .index = index};
    g.refused |= isl_set_foreach_basic_set(l->taps.left, add_constraints, &g) != isl_stat_ok;
    l->refused |= g.refused;
    return g.refused ? (vy_value){0} : g.all;
}

bool vy_taps_inside(const vy_lattice *l, uint32_t k, vy_dim extent)
{
    const vy_nest *n = l->nest;
    if (l->taps.found >> k & 1) return false;
    isl_pw_aff *x = vy_nest_axis(n, k);
    isl_pw_aff *end = vy_affine_dim(l->a, isl_space_copy(n->space), extent);
    isl_set *all = vy_isl_set_reset_tuple_id(isl_set_copy(l->taps.all));
    all = vy_isl_set_intersect_params(all, isl_set_copy(l->context));
    bool inside = vy_affine_always_at_least(all, x, vy_nest_number(n, 0));
    inside = vy_affine_always_less(all, x, end) && inside;
    isl_pw_aff_free(x);
    isl_set_free(all);
    return inside;
}
