// SPDX-License-Identifier: MIT
// gather_signs.c: offsets in flat indices whose sign only the launch knows.
//
//   a[z * cstep + (y + top) * w + x + left]     rows of w, if 0 ≤ top and 0 ≤ left
//
// An index along an axis counts rows: that it is never negative has to be known (gather_assume.c).
// Where it is so if scalars in it are not negative, that is one more condition at launch.
#include "autodiff/affine/flat_terms.h"
#include "autodiff/gather/gather_build.h"
#include "ir/text/print.h"

#include <string.h>

// Adds the condition that the scalar is not negative.
static bool add_sign(gather *g, vy_affine_rows *r, uint32_t scalar)
{
    const vy_dim_node n = {.op = VY_DIM_SCALAR, .value = scalar};
    vy_affine_sign *s = &r->sign[r->signs];
    if (r->signs == VY_ROW_AXES) return false;
    s->scalar = scalar;
    s->natural.least = gather_number(g, 0);
    s->natural.most = vy_vec_push(&g->r->dims, n) ? (vy_dim){g->r->dims.count - 1} : (vy_dim){0};
    char *text = s->natural.most.id ? vy_assumption_text(g->r, &s->natural) : NULL;
    s->condition = text ? vy_arena_strdup(&g->arena, text, strlen(text)) : NULL;
    vy_free(text);
    g->failed |= !s->condition;
    r->signs += s->condition != NULL;
    return s->condition != NULL;
}

// Does it leave fewer launches of `bad` (taken) that the scalar is not negative?  Then that is
// assumed.
static isl_set *without_negative(gather *g, vy_affine_rows *r, isl_set *bad, isl_pw_aff *v,
                                 const vy_affine_param *q)
{
    isl_space *space = isl_pw_aff_get_domain_space(v);
    const int in = isl_space_find_dim_by_id(space, isl_dim_param, q->id);
    const int at = isl_set_find_dim_by_id(bad, isl_dim_param, q->id);
    isl_space_free(space);
    if (at < 0 || in < 0 ||
        isl_pw_aff_involves_dims(v, isl_dim_param, (unsigned)in, 1) != isl_bool_true)
        return bad;
    isl_set *good = isl_set_lower_bound_si(isl_set_copy(bad), isl_dim_param, (unsigned)at, 0);
    const bool needed = isl_set_is_subset(bad, good) == isl_bool_false;
    if (!needed || !add_sign(g, r, q->index)) {
        isl_set_free(good);
        return bad;
    }
    isl_set_free(bad);
    return good;
}

bool gather_sign(gather *g, vy_affine_rows *r, const vy_nest *n, isl_pw_aff *v)
{
    const uint32_t before = r->signs;
    isl_set *negative = isl_pw_aff_lt_set(isl_pw_aff_copy(v), vy_nest_number((vy_nest *)n, 0));
    isl_set *bad = isl_set_params(isl_set_intersect(vy_nest_reached(n), negative));
    bad = vy_rows_signed(n->a, r, bad);
    for (uint32_t i = 0; i < n->a->params.count && bad && !g->failed; i++) {
        const vy_affine_param *q = &n->a->params.data[i];
        if (!q->is_dim && !q->as_i32 && !q->natural) bad = without_negative(g, r, bad, v, q);
    }
    const bool never = isl_set_is_empty(bad) == isl_bool_true;
    isl_set_free(bad);
    if (!never) r->signs = before;
    return never;
}

// 1 where all signs that nobody has promised are as assumed, else 0; id 0: there are none.
vy_dim gather_signs_hold(gather *g, const vy_affine_rows *r)
{
    vy_dim all = {0};
    for (uint32_t k = 0; k < r->signs && !g->failed; k++) {
        if (gather_is_given(g, r->sign[k].condition)) continue;
        const vy_dim holds = gather_less(g, gather_number(g, -1), r->sign[k].natural.most);
        all = all.id ? gather_node(g, VY_DIM_MIN, all, holds) : holds;
    }
    return all;
}
