// SPDX-License-Identifier: MIT
// access.c: see access.h.  Indices with products: flat.c.
#include "autodiff/affine/flat.h"
#include "autodiff/affine/nest_memo.h"
#include "autodiff/affine/single.h"

#include <stdlib.h>
#include <string.h>

bool vy_access_make(vy_affine_access *x, vy_affine *a, uint32_t id, uint32_t levels)
{
    *x = (vy_affine_access){.id = id, .buffer = a->p->insts.data[id].aux};
    const vy_buf *buf = &a->p->buffers.data[x->buffer];
    if (!vy_nest_make(&x->nest, a, id, levels)) return false;
    x->rank = buf->rank;
    for (uint32_t k = 0; k < x->rank; k++) {
        x->value[k] = vy_arg(a->p, id, k);
        x->dim[k] = buf->dims[k];
        x->extent[k] = a->facts.form[buf->dims[k].id];
        x->index[k] = vy_affine_value(&x->nest, x->value[k], &x->why[k]);
    }
    // A product with a constant may wrap as well: k · (M · 4).
    const vy_affine_why why = x->rank ? x->why[0] : VY_AFFINE_FINE;
    if (why == VY_AFFINE_PRODUCT || (a->multiples && why == VY_AFFINE_WRAP)) vy_unflatten(x);
    return vy_affine_ok(a);
}

bool vy_access_make_like(vy_affine_access *x, const vy_affine_access *like, uint32_t id)
{
    vy_affine *a = like->nest.a;
    *x = *like;
    x->id = id;
    x->nest.place = id;
    x->nest.space = isl_space_copy(like->nest.space);
    x->nest.domain = isl_set_copy(like->nest.domain);
    vy_affine_limit(a, x->nest.count);
    vy_affine_weigh(a, x->nest.domain);
    for (uint32_t k = 0; k < x->rank; k++) {
        const uint32_t axis = vy_buffer_axis(x, k), operand = vy_arg(a->p, id, axis);
        const bool same = operand == vy_arg(a->p, like->id, axis);
        if (!same) x->value[k] = operand;
        x->index[k] =
            same ? isl_pw_aff_copy(like->index[k]) : vy_affine_value(&x->nest, operand, &x->why[k]);
    }
    return vy_affine_ok(a);
}

void vy_access_free(vy_affine_access *x)
{
    vy_access_clear(x);
    vy_nest_free(&x->nest);
}

bool vy_access_exact(const vy_affine_access *x)
{
    for (uint32_t k = 0; k < x->rank; k++)
        if (!x->index[k]) return false;
    return x->nest.domain && !x->nest.inexact_count && !x->nest.inner;
}

isl_map *vy_access_map(const vy_affine_access *x, uint32_t axes)
{
    const vy_nest *n = &x->nest;
    isl_map *known = vy_access_recall(x, axes);
    if (known) return known;
    isl_set *domain = isl_set_copy(n->domain);
    isl_pw_aff *of[VY_MAX_AXES];
    int count = 0;
    for (uint32_t k = 0; k < x->rank; k++) {
        if (k < 32 && !(axes >> k & 1)) continue;
        if (!x->index[k]) {
            isl_set_free(domain);
            return NULL;
        }
        of[count++] = x->index[k];
        if (x->unclamped >> k & 1) continue;
        isl_pw_aff *end = vy_affine_dim(n->a, isl_space_copy(n->space), x->dim[k]);
        isl_set *exists = vy_affine_at_least(isl_pw_aff_copy(x->index[k]), vy_nest_number(n, 0));
        domain = vy_isl_set_intersect(domain, exists);
        domain = vy_isl_set_intersect(domain, vy_affine_less(isl_pw_aff_copy(x->index[k]), end));
    }
    isl_map *map = vy_affine_relation(domain, of, count);
    if (!vy_access_in_context(x)) // parameters were given bounds since
        map = vy_isl_map_intersect_params(map, isl_set_copy(n->a->context));
    map = vy_isl_map_coalesce(map);
    vy_access_remember(x, axes, map);
    return map;
}

const char *vy_access_text(const vy_affine_access *x, vy_arena *arena)
{
    isl_map *map = vy_access_map(x, UINT32_MAX);
    map = isl_map_gist_params(map, isl_set_copy(x->nest.a->context));
    map = isl_map_drop_unused_params(map);
    char *text = isl_map_to_str(map);
    isl_map_free(map);
    const char *copy = text ? vy_arena_strdup(arena, text, strlen(text)) : NULL;
    free(text);
    return copy;
}
