// SPDX-License-Identifier: MIT
// gather_points.c: the points that reach an element, as a set whose parameters are the element's
// coordinates, and what is known of parameters where the element exists.
#include "autodiff/gather/gather_making.h"

isl_set *gather_preimage(const gather_making *w, isl_map *map)
{
    unsigned params = (unsigned)isl_map_dim(map, isl_dim_param);
    map = vy_isl_map_move_dims(map, isl_dim_param, params, isl_dim_out, 0, w->n);
    for (uint32_t k = 0; k < w->n; k++)
        map = vy_isl_map_set_dim_id(map, isl_dim_param, params + k, isl_id_copy(w->ids[k]));
    return vy_isl_map_domain(map);
}

isl_set *gather_natural(const gather_making *w)
{
    const vy_affine *a = &w->g->a;
    isl_space *space = vy_isl_space_params_alloc(a->ctx, 0);
    for (uint32_t k = 0; k < a->params.count; k++) {
        unsigned at = (unsigned)isl_space_dim(space, isl_dim_param);
        space = vy_isl_space_insert_dims(space, isl_dim_param, at, 1);
        space =
            vy_isl_space_set_dim_id(space, isl_dim_param, at, isl_id_copy(a->params.data[k].id));
    }
    isl_set *set = vy_isl_set_universe(space);
    for (uint32_t k = 0; k < a->params.count; k++)
        if (a->params.data[k].natural) set = vy_isl_set_lower_bound_si(set, isl_dim_param, k, 0);
    return set;
}

// `context` (consumed), and that the element exists.
static isl_set *existing(const gather_making *w, const gather_site *site, isl_set *context)
{
    vy_affine *a = &w->g->a;
    for (uint32_t k = 0; k < w->n; k++) {
        isl_space *space = vy_isl_space_set_alloc(a->ctx, 1, 0);
        space = vy_isl_space_set_dim_id(space, isl_dim_param, 0, isl_id_copy(w->ids[k]));
        isl_pw_aff *e = vy_isl_variable(space, isl_dim_param, 0);
        space = vy_isl_space_set_alloc(a->ctx, 0, 0);
        isl_pw_aff *zero = vy_isl_number(isl_space_copy(space), 0);
        isl_pw_aff *end = vy_affine_dim(a, space, site->access.dim[gather_axis(site, k)]);
        isl_set *fits = vy_isl_pw_aff_ge_set(isl_pw_aff_copy(e), zero);
        fits = vy_isl_set_intersect(fits, vy_isl_pw_aff_lt_set(e, end));
        context = vy_isl_set_intersect(context, vy_isl_set_params(fits));
    }
    return context;
}

void gather_forget_points(gather_making *w)
{
    isl_set_free(w->known.base);
    isl_set_free(w->known.all);
    isl_set_free(w->known.natural);
    w->known = (gather_known){0};
}

// Most walks are over elements of the same extents: 500 taps of a stencil.
static const gather_known *known(gather_making *w, const gather_site *site)
{
    const vy_affine *a = &w->g->a;
    gather_known *x = &w->known;
    bool same = x->base == a->context && x->params == a->params.count && x->all && x->natural;
    for (uint32_t k = 0; same && k < w->n; k++)
        same = x->dim[k] == site->access.dim[gather_axis(site, k)].id;
    if (same) return x;
    gather_forget_points(w);
    for (uint32_t k = 0; k < w->n; k++) x->dim[k] = site->access.dim[gather_axis(site, k)].id;
    x->all = existing(w, site, isl_set_copy(a->context));
    x->natural = existing(w, site, gather_natural(w));
    x->base = isl_set_copy(a->context);
    x->params = a->params.count;
    return x;
}

isl_set *gather_points(gather_making *w, const gather_site *site, isl_set **context)
{
    // gist removes the bounds of lengths by memory: without them isl's loops are found sooner.
    const gather_known *params = known(w, site);
    isl_set *points = gather_preimage(w, isl_map_copy(site->map));
    points = gather_clamp_points(w, site, points);
    vy_affine_weigh(&w->g->a, points);
    *context = params->natural;
    return vy_isl_set_gist_params(points, isl_set_copy(params->all));
}
