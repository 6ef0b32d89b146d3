// SPDX-License-Identifier: MIT
// gather_clamped.c: walks over what is clamped to an element, see affine/clamped.h.
//
//   for i in max(0, least + left)..min(n, most + left + 1) { … }
//
// The ends are parameters of isl's sets as coordinates are, and their values are computed once for
// each element.
#include "autodiff/affine/single.h"
#include "autodiff/gather/gather_making.h"

#include <stdio.h>
#include <string.h>

uint32_t gather_axis(const gather_site *site, uint32_t k)
{
    uint32_t axis = 0;
    for (;; axis++)
        if (site->axes >> axis & 1 && k-- == 0) return axis;
}

static const vy_clamped *clamp_of(const gather_site *site, uint32_t k)
{
    const vy_clamped *c = site->clamps ? &site->clamps->axis[gather_axis(site, k)] : NULL;
    return c && c->of ? c : NULL;
}

// Its address tells these parameters from all others, in all programs alike.
static const char end;

static void make_ids(gather_making *w, uint32_t k)
{
    char text[80];
    if (w->least[k]) return;
    snprintf(text, sizeof text, "%.60s_least", isl_id_get_name(w->ids[k]));
    w->least[k] = isl_id_alloc(w->g->a.ctx, text, (void *)(uintptr_t)&end);
    snprintf(text, sizeof text, "%.60s_most", isl_id_get_name(w->ids[k]));
    w->most[k] = isl_id_alloc(w->g->a.ctx, text, (void *)(uintptr_t)&end);
}

// { : low ≤ high }, of parameters.
static isl_set *in_order(const gather_making *w, isl_id *low, isl_id *high)
{
    isl_space *space = vy_isl_space_set_alloc(w->g->a.ctx, 2, 0);
    space = vy_isl_space_set_dim_id(space, isl_dim_param, 0, isl_id_copy(low));
    space = vy_isl_space_set_dim_id(space, isl_dim_param, 1, isl_id_copy(high));
    isl_pw_aff *x = vy_isl_variable(isl_space_copy(space), isl_dim_param, 0);
    return vy_isl_set_params(vy_affine_at_least(vy_isl_variable(space, isl_dim_param, 1), x));
}

isl_set *gather_clamp_points(gather_making *w, const gather_site *site, isl_set *points)
{
    for (uint32_t k = 0; k < w->n; k++) {
        if (!clamp_of(site, k)) continue;
        make_ids(w, k);
        points = vy_isl_set_intersect_params(points, in_order(w, w->least[k], w->ids[k]));
        points = vy_isl_set_intersect_params(points, in_order(w, w->ids[k], w->most[k]));
        const int at = isl_set_find_dim_by_id(points, isl_dim_param, w->ids[k]);
        if (at >= 0) points = vy_isl_set_project_out(points, isl_dim_param, (unsigned)at, 1);
    }
    return points;
}

bool gather_name_ends(gather_making *w, vy_lattice *l, const gather_site *site)
{
    for (uint32_t k = 0; k < w->n && !l->refused; k++) {
        const vy_clamped *c = clamp_of(site, k);
        if (!c) continue;
        vy_bound_id least = {w->least[k], vy_signed_none}, most = {w->most[k], vy_signed_none};
        vy_clamped_ends(l, c, vy_signed_value(w->element[k], w->last[k]), &least.value,
                        &most.value);
        l->refused |= !vy_signed_fits(least.value) || !vy_signed_fits(most.value);
        w->g->failed |= !vy_vec_push(&l->ids, least) || !vy_vec_push(&l->ids, most);
    }
    return !l->refused && !w->g->failed;
}

void gather_forget_ends(gather_making *w)
{
    for (uint32_t k = 0; k < w->n; k++) {
        isl_id_free(w->least[k]);
        isl_id_free(w->most[k]);
        w->least[k] = w->most[k] = NULL;
    }
}

const char *gather_text(const gather_site *site, vy_arena *arena)
{
    if (!site->clamps) return vy_access_text(&site->access, arena);
    const char *before = vy_unclamped_text(&site->access, site->clamps, arena);
    const size_t size = before ? strlen(before) + 32 : 0;
    char *text = before ? vy_arena_alloc(arena, size) : NULL;
    if (text) snprintf(text, size, "%s before it is clamped", before);
    return text;
}
