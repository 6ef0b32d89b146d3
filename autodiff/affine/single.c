// SPDX-License-Identifier: MIT
// single.c: see single.h.
#include "autodiff/affine/single.h"

typedef struct only_piece {
    isl_aff *aff;
    int pieces;
} only_piece;

static isl_stat take_piece(isl_set *domain, isl_aff *aff, void *user)
{
    only_piece *found = user;
    const bool everywhere = isl_set_plain_is_universe(domain) == isl_bool_true;
    isl_set_free(domain);
    if (++found->pieces == 1 && everywhere)
        found->aff = aff;
    else
        isl_aff_free(aff);
    return isl_stat_ok;
}

isl_aff *vy_affine_single(isl_pw_aff *f)
{
    only_piece found = {0};
    const isl_stat done = isl_pw_aff_foreach_piece(f, take_piece, &found);
    if (done == isl_stat_ok && found.pieces == 1) return found.aff;
    isl_aff_free(found.aff);
    return NULL;
}

// Two expressions with the same parameters; false: one of them is none.
static bool singles(isl_pw_aff *x, isl_pw_aff *y, isl_aff **a, isl_aff **b)
{
    *a = vy_affine_single(x);
    *b = *a ? vy_affine_single(y) : NULL;
    if (!*b) {
        *a = isl_aff_free(*a);
        return false;
    }
    *a = vy_isl_aff_align_params(*a, isl_aff_get_domain_space(*b));
    *b = vy_isl_aff_align_params(*b, isl_aff_get_domain_space(*a));
    isl_pw_aff_free(x);
    isl_pw_aff_free(y);
    return true;
}

isl_set *vy_affine_less(isl_pw_aff *x, isl_pw_aff *y)
{
    isl_aff *a, *b;
    if (!singles(x, y, &a, &b)) return vy_isl_pw_aff_lt_set(x, y);
    return vy_isl_set_from_basic_set(vy_isl_aff_lt_basic_set(a, b));
}

isl_set *vy_affine_at_least(isl_pw_aff *x, isl_pw_aff *y)
{
    isl_aff *a, *b;
    if (!singles(x, y, &a, &b)) return vy_isl_pw_aff_ge_set(x, y);
    return vy_isl_set_from_basic_set(vy_isl_aff_ge_basic_set(a, b));
}

// --------------------------------------------------------------------------------- on all of a set
typedef struct each_piece {
    isl_set *here;
    isl_pw_aff *y;
    bool less;
} each_piece; // is x < y, or x >= y?

static bool is_all(isl_set *here, isl_set *good) // takes good
{
    const bool all = vy_isl_set_is_subset(here, good) == isl_bool_true;
    isl_set_free(good);
    return all;
}

static isl_set *compared(bool less, isl_pw_aff *x, isl_pw_aff *y)
{
    return less ? vy_affine_less(x, y) : vy_affine_at_least(x, y);
}

static isl_stat ask_piece(isl_set *domain, isl_aff *aff, void *user)
{
    const each_piece *e = user;
    isl_set *part = vy_isl_set_intersect(isl_set_copy(e->here), domain);
    isl_pw_aff *x = vy_isl_pw_aff_from_aff(aff);
    const bool all = is_all(part, compared(e->less, x, isl_pw_aff_copy(e->y)));
    isl_set_free(part);
    return all ? isl_stat_ok : isl_stat_error;
}

// Takes y.
static bool all_pieces(isl_set *here, isl_pw_aff *x, isl_pw_aff *y, bool less)
{
    each_piece e = {here, y, less};
    const bool all = here && x && y && isl_pw_aff_foreach_piece(x, ask_piece, &e) == isl_stat_ok;
    isl_pw_aff_free(y);
    return all;
}

static bool always(isl_set *here, isl_pw_aff *x, isl_pw_aff *y, bool less)
{
    if (here && x && isl_pw_aff_n_piece(x) < 2)
        return is_all(here, compared(less, isl_pw_aff_copy(x), y));
    return all_pieces(here, x, y, less) && is_all(here, vy_isl_pw_aff_domain(isl_pw_aff_copy(x)));
}

bool vy_affine_always_less(isl_set *here, isl_pw_aff *x, isl_pw_aff *y)
{
    return always(here, x, y, true);
}

bool vy_affine_always_at_least(isl_set *here, isl_pw_aff *x, isl_pw_aff *y)
{
    return always(here, x, y, false);
}

// The expressions; NULL: a function is not one.
static isl_aff_list *list_of(isl_pw_aff *const *of, int count)
{
    if (!count) return NULL;
    isl_aff_list *list = vy_isl_aff_list_alloc(isl_pw_aff_get_ctx(of[0]), count);
    for (int k = 0; k < count; k++) {
        isl_aff *a = vy_affine_single(of[k]);
        if (!a) return isl_aff_list_free(list);
        list = vy_isl_aff_list_add(list, a);
    }
    return list;
}

isl_map *vy_affine_relation(isl_set *domain, isl_pw_aff *const *of, int count)
{
    isl_aff_list *list = list_of(of, count);
    if (list) {
        isl_space *space = vy_isl_space_from_domain(isl_set_get_space(domain));
        space = vy_isl_space_add_dims(space, isl_dim_out, (unsigned)count);
        isl_map *map = vy_isl_map_from_multi_aff(vy_isl_multi_aff_from_aff_list(space, list));
        return vy_isl_map_intersect_domain(map, domain);
    }
    isl_map *map = vy_isl_map_from_domain(domain);
    for (int k = 0; k < count; k++)
        map = vy_isl_map_flat_range_product(map, vy_isl_map_from_pw_aff(isl_pw_aff_copy(of[k])));
    return map;
}

// The conjunction that the set is; NULL: it is several, or none.
static isl_basic_set *conjunction(isl_set *set)
{
    if (isl_set_n_basic_set(set) != 1) return NULL;
    isl_basic_set_list *list = isl_set_get_basic_set_list(set);
    isl_basic_set *one = isl_basic_set_list_get_at(list, 0);
    isl_basic_set_list_free(list);
    return one;
}

isl_set *vy_affine_within(isl_set *set, isl_set *params)
{
    set = vy_isl_set_align_params(set, isl_set_get_space(params));
    params = vy_isl_set_align_params(params, isl_set_get_space(set));
    isl_basic_set *a = conjunction(set), *b = a ? conjunction(params) : NULL;
    if (!b) {
        isl_basic_set_free(a);
        return vy_isl_set_intersect_params(set, params);
    }
    isl_set_free(set);
    isl_set_free(params);
    return vy_isl_set_from_basic_set(vy_isl_basic_set_intersect_params(a, b));
}
