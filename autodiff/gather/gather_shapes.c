// SPDX-License-Identifier: MIT
// gather_shapes.c: walks that differ in constants alone.
//
//   x[i + 1], x[i + 2], …       { i : i + c = e, 0 <= i < N }       of element e, c = 1, 2, …
//
// isl takes a millisecond to make loops of each.  With t = e − c they are one set, { i : i = t,
// 0 <= i < N }, and one tree, whose parameter t each walk takes for its own element and constant.
// That the element exists says nothing of t, so a bound may be tested that a walk made for itself
// would know: the first walks of a shape, and all of a program with few, are made for themselves.
#include "autodiff/gather/gather_making.h"

enum { FEW = 16 }; // walks of one shape that are made for themselves

static isl_stat take_constant(isl_set *domain, isl_aff *aff, void *user)
{
    isl_val **constant = user;
    isl_val_free(*constant);
    *constant = isl_aff_get_constant_val(aff);
    isl_set_free(domain);
    isl_aff_free(aff);
    return isl_stat_ok;
}

// Takes the constant out of the index, a function in one piece.  NULL: it has several, or the
// constant is no integer of 32 bits.
static isl_pw_aff *without_constant(const isl_pw_aff *index, int64_t *constant)
{
    isl_pw_aff *x = isl_pw_aff_copy((isl_pw_aff *)index);
    isl_val *c = NULL;
    bool good = isl_pw_aff_n_piece(x) == 1 &&
                isl_pw_aff_foreach_piece(x, take_constant, &c) == isl_stat_ok &&
                isl_val_is_int(c) == isl_bool_true && isl_val_cmp_si(c, INT32_MAX) <= 0 &&
                isl_val_cmp_si(c, -INT32_MAX) >= 0;
    if (!good) {
        isl_val_free(c);
        isl_pw_aff_free(x);
        return NULL;
    }
    *constant = isl_val_get_num_si(c);
    isl_val_free(c);
    return vy_isl_pw_aff_add_constant_val(x, -*constant);
}

static void free_index(isl_pw_aff **index)
{
    for (uint32_t k = 0; k < VY_MAX_AXES; k++) isl_pw_aff_free(index[k]);
}

// The index along the axes that identify the element, less constants.  False: not of this form.
static bool normal_index(const gather_making *w, const gather_site *site, isl_pw_aff **index,
                         int64_t *constant)
{
    const vy_affine_access *x = &site->access;
    uint32_t n = 0;
    for (uint32_t axis = 0; axis < x->rank; axis++) {
        if (!(site->axes >> axis & 1)) continue;
        if (n == w->n || !x->index[axis]) return false;
        index[n] = without_constant(x->index[axis], &constant[n]);
        if (!index[n++]) return false;
    }
    return n == w->n && !x->flat;
}

static bool is_of(const gather_shape *s, const gather_making *w, const gather_site *site,
                  isl_pw_aff *const *index)
{
    bool same = s->domain == site->access.nest.domain; // kept, see nest_memo.h
    for (uint32_t k = 0; same && k < w->n; k++)
        same = isl_pw_aff_plain_is_equal(s->index[k], index[k]) == isl_bool_true;
    return same;
}

// Takes the index.  NULL: memory.
static gather_shape *shape_of(gather_making *w, const gather_site *site, isl_pw_aff **index)
{
    for (uint32_t k = 0; k < w->shapes.count; k++)
        if (is_of(w->shapes.data[k], w, site, index)) {
            free_index(index);
            return w->shapes.data[k];
        }
    gather_shape *s = vy_arena_alloc(&w->g->arena, sizeof *s);
    if (!s || !vy_vec_push(&w->shapes, s)) {
        free_index(index);
        w->g->failed = true;
        return NULL;
    }
    s->domain = isl_set_copy(site->access.nest.domain);
    for (uint32_t k = 0; k < w->n; k++) s->index[k] = index[k];
    return s;
}

// The points by t, and what is known of parameters.
static void make_points(gather_making *w, gather_shape *s)
{
    isl_map *map = vy_isl_map_from_domain(isl_set_copy(s->domain));
    for (uint32_t k = 0; k < w->n; k++)
        map = vy_isl_map_flat_range_product(map,
                                            vy_isl_map_from_pw_aff(isl_pw_aff_copy(s->index[k])));
    isl_set *points = gather_preimage(w, map);
    s->natural = gather_natural(w);
    s->points = vy_isl_set_gist_params(points, isl_set_copy(w->g->a.context));
}

gather_shape *gather_shape_of(gather_making *w, const gather_site *site, int64_t *constant)
{
    isl_pw_aff *index[VY_MAX_AXES] = {0};
    if (w->g->site_count <= FEW || site->clamps) return NULL;
    if (!normal_index(w, site, index, constant)) {
        free_index(index);
        return NULL;
    }
    gather_shape *s = shape_of(w, site, index);
    if (!s || s->seen++ < FEW) return NULL;
    if (!s->points) make_points(w, s);
    return s->points && s->natural ? s : NULL;
}

void gather_forget_shapes(gather_making *w)
{
    for (uint32_t k = 0; k < w->shapes.count; k++) {
        gather_shape *s = w->shapes.data[k];
        isl_set_free(s->domain);
        free_index(s->index);
        isl_set_free(s->points);
        isl_set_free(s->natural);
        vy_lattice_forget(&s->memo);
    }
    vy_vec_free(&w->shapes);
}
