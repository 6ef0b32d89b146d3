// SPDX-License-Identifier: MIT
// gather_signs.c: offsets in flat indices whose sign only the launch knows.
//
//   a[z * cstep + (y + top) * w + x + left]     rows of w, if 0 ≤ top and 0 ≤ left
//
// An index along an axis counts rows: that it is never negative has to be known (gather_assume.c).
// Where it is so if scalars in it are not negative, that is one more condition at launch.  Of
// clamped indices, min(max(x, 0), w - 1), it is so if they are at least 1.
#include "autodiff/affine/flat_terms.h"
#include "autodiff/gather/gather_build.h"
#include "ir/text/print.h"

#include <string.h>

// Adds the condition that the scalar is at least `least`.
static bool add_sign(gather *g, vy_affine_rows *r, uint32_t scalar, uint32_t least)
{
    const vy_dim_node n = {.op = VY_DIM_SCALAR, .value = scalar};
    vy_affine_sign *s = &r->sign[r->signs];
    if (r->signs == VY_ROW_AXES) return false;
    s->scalar = scalar;
    s->least = least;
    s->natural.least = gather_number(g, least);
    s->natural.most = vy_vec_push(&g->r->dims, n) ? (vy_dim){g->r->dims.count - 1} : (vy_dim){0};
    char *text = s->natural.most.id ? vy_assumption_text(g->r, &s->natural) : NULL;
    s->condition = text ? vy_arena_strdup(&g->arena, text, strlen(text)) : NULL;
    vy_free(text);
    g->failed |= !s->condition;
    r->signs += s->condition != NULL;
    return s->condition != NULL;
}

// ----------------------------------------------------------------------------------- which scalars
enum { MOST_SCALARS = 32, ANY = -1 };

typedef struct signing {
    const vy_nest *n;
    isl_set *bad;                        // launches in which an index is negative
    uint32_t param[MOST_SCALARS], count; // scalars in it
    int least[MOST_SCALARS];             // what they are assumed to be at least, or ANY
} signing;

// Scalars that one of its cases is a sum of.
static isl_stat see_case(isl_set *where, isl_aff *sum, void *user)
{
    signing *s = user;
    const vy_affine *a = s->n->a;
    isl_space *space = isl_aff_get_domain_space(sum);
    for (uint32_t i = 0; i < a->params.count && s->count < MOST_SCALARS; i++) {
        const vy_affine_param *q = &a->params.data[i];
        const int at = isl_space_find_dim_by_id(space, isl_dim_param, q->id);
        bool seen = at < 0 || q->is_dim || q->as_i32 ||
                    isl_aff_involves_dims(sum, isl_dim_param, (unsigned)at, 1) != isl_bool_true;
        for (uint32_t k = 0; k < s->count && !seen; k++) seen = s->param[k] == i;
        if (!seen) s->param[s->count++] = i;
    }
    isl_space_free(space);
    isl_set_free(where);
    isl_aff_free(sum);
    return isl_stat_ok;
}

// Is the index never negative if the scalars are as assumed?
static bool suffices(const signing *s)
{
    isl_set *bad = isl_set_copy(s->bad);
    for (uint32_t k = 0; k < s->count; k++) {
        const vy_affine_param *q = &s->n->a->params.data[s->param[k]];
        const int at = isl_set_find_dim_by_id(bad, isl_dim_param, q->id);
        if (at >= 0 && s->least[k] != ANY)
            bad = vy_isl_set_lower_bound_si(bad, isl_dim_param, (unsigned)at, s->least[k]);
    }
    const bool never = vy_isl_set_is_empty(bad) == isl_bool_true;
    isl_set_free(bad);
    return never;
}

// Adds conditions with which it is never negative, and of which none may be weaker.
static bool find_signs(gather *g, vy_affine_rows *r, signing *s)
{
    const uint32_t before = r->signs;
    for (uint32_t k = 0; k < s->count; k++) s->least[k] = 1;
    bool ok = suffices(s);
    for (uint32_t k = 0; k < s->count && ok; k++)
        for (s->least[k] = ANY; s->least[k] < 1 && !suffices(s);) s->least[k]++;
    for (uint32_t k = 0; k < s->count && ok; k++)
        if (s->least[k] != ANY)
            ok = add_sign(g, r, s->n->a->params.data[s->param[k]].index, (uint32_t)s->least[k]);
    if (!ok) r->signs = before;
    return ok;
}

bool gather_sign(gather *g, vy_affine_rows *r, const vy_nest *n, isl_pw_aff *v)
{
    signing s = {.n = n};
    isl_set *negative = vy_isl_pw_aff_lt_set(isl_pw_aff_copy(v), vy_nest_number((vy_nest *)n, 0));
    s.bad = vy_isl_set_params(vy_isl_set_intersect(vy_nest_reached(n), negative));
    s.bad = vy_rows_signed(n->a, r, s.bad);
    bool ok = isl_pw_aff_foreach_piece(v, see_case, &s) == isl_stat_ok;
    ok = ok && find_signs(g, r, &s);
    isl_set_free(s.bad);
    return ok && !g->failed;
}

// 1 where all signs that nobody has promised are as assumed, else 0; id 0: there are none.
vy_dim gather_signs_hold(gather *g, const vy_affine_rows *r)
{
    vy_dim all = {0};
    for (uint32_t k = 0; k < r->signs && !g->failed; k++) {
        if (gather_is_given(g, r->sign[k].condition)) continue;
        const vy_dim less = gather_number(g, (int64_t)r->sign[k].least - 1);
        const vy_dim holds = gather_less(g, less, r->sign[k].natural.most);
        all = all.id ? gather_node(g, VY_DIM_MIN, all, holds) : holds;
    }
    return all;
}
