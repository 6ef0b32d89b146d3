// SPDX-License-Identifier: MIT
// affine_param.c: the parameters of a program's sets: scalars, and dimensions that are no affine
// functions of these; each with its range, which the context has.
#include "autodiff/affine/affine.h"
#include "ir/build/edit.h"

#include <stdio.h>

enum { MAX_PARAMS = 32 };

bool vy_affine_add_to_context(vy_affine *a, isl_set *fits)
{
    isl_set *more = vy_isl_set_intersect(isl_set_copy(a->context), fits);
    if (!more) return false;
    isl_set_free(a->context);
    a->context = more;
    return true;
}

// Adds the range of a parameter to the context: two constraints, where comparing functions costs
// thirty times as much.
static bool constrain_param(vy_affine *a, isl_id *id, vy_interval r)
{
    isl_space *space = vy_isl_space_params_alloc(a->ctx, 1);
    space = vy_isl_space_set_dim_id(space, isl_dim_param, 0, isl_id_copy(id));
    isl_set *fits = vy_isl_set_universe(space);
    fits = vy_isl_set_lower_bound_val(fits, isl_dim_param, 0, r.lo);
    return vy_affine_add_to_context(a, vy_isl_set_upper_bound_val(fits, isl_dim_param, 0, r.hi));
}

vy_interval vy_affine_scalar_range(const vy_affine *a, uint32_t scalar)
{
    const vy_type t = a->p->scalars.data[scalar].type;
    const uint8_t kind = a->calm ? a->calm[scalar] : VY_AFFINE_ANY;
    vy_interval r = kind ? vy_affine_range_of_kind(t, kind) : vy_affine_type(t);
    if (r.hi > a->most[scalar]) r.hi = a->most[scalar];
    return r;
}

// Is this dimension exactly an axis of some buffer?  Then it is between 0 and VY_AFFINE_EXTENT.
static bool is_axis(const vy_affine *a, uint32_t base, char name[64])
{
    for (uint32_t i = 1; i < a->p->buffers.count; i++)
        for (uint32_t k = 0; k < a->p->buffers.data[i].rank; k++) {
            vy_extent e = a->facts.form[a->p->buffers.data[i].dims[k].id];
            if (e.base != base || e.offset) continue;
            if (k)
                snprintf(name, 64, "len_%.40s_%u", a->p->buffers.data[i].name, k);
            else
                snprintf(name, 64, "len_%.40s", a->p->buffers.data[i].name);
            return true;
        }
    snprintf(name, 64, "dim_%u", base);
    return false;
}

// The parameter as a function on `space`, which has no parameters yet.  Takes `space`.
static isl_pw_aff *param_on(isl_space *space, isl_id *id)
{
    space = vy_isl_space_insert_dims(space, isl_dim_param, 0, 1);
    space = vy_isl_space_set_dim_id(space, isl_dim_param, 0, isl_id_copy(id));
    return vy_isl_variable(space, isl_dim_param, 0);
}

// The range of a parameter, and its isl name.
static vy_interval param_range(const vy_affine *a, vy_affine_param q, char name[64])
{
    if (q.is_dim)
        return is_axis(a, q.index, name) ? (vy_interval){0, VY_AFFINE_EXTENT - 1}
               : vy_affine_is_calm_extent(a, q.index)
                   ? (vy_interval){-VY_AFFINE_CALM, VY_AFFINE_CALM}
               : a->number_range ? a->number_range[q.index]
                                 : vy_affine_type(VY_I64);
    snprintf(name, 64, "%s%.40s", q.as_i32 ? "i32_" : "", a->p->scalars.data[q.index].name);
    return q.as_i32 ? vy_affine_type(VY_I32) : vy_affine_scalar_range(a, q.index);
}

// Finds or creates the parameter of this kind and index; NULL: too many, or isl gave up.
static const vy_affine_param *param_of(vy_affine *a, vy_affine_param q, vy_interval *r)
{
    char name[64];
    *r = param_range(a, q, name);
    for (uint32_t k = 0; k < a->params.count; k++) {
        const vy_affine_param *have = &a->params.data[k];
        if (have->is_dim == q.is_dim && have->as_i32 == q.as_i32 && have->index == q.index)
            return have;
    }
    if (a->params.count == MAX_PARAMS) return NULL;
    q.natural = r->lo >= 0;
    // isl identifies ids by name and user pointer together: the parameter's number distinguishes
    // parameters of the same name.
    q.id = isl_id_alloc(a->ctx, name, (void *)(uintptr_t)(a->params.count + 1));
    const bool known = q.id && constrain_param(a, q.id, *r);
    const bool kept = known && vy_vec_push(&a->params, q);
    a->failed |= known && !kept;
    if (!kept) { // or isl gave up
        isl_id_free(q.id);
        return NULL;
    }
    return &a->params.data[a->params.count - 1];
}

static vy_number param_number(vy_affine *a, isl_space *space, vy_affine_param kind)
{
    vy_number n = {0};
    const vy_affine_param *q = param_of(a, kind, &n.range);
    if (q)
        n.pa = param_on(space, q->id);
    else
        isl_space_free(space);
    return n;
}

vy_number vy_affine_param_number(vy_affine *a, isl_space *space, bool is_dim, uint32_t index)
{
    return param_number(a, space, (vy_affine_param){.is_dim = is_dim, .index = index});
}

vy_number vy_affine_as_i32_number(vy_affine *a, isl_space *space, uint32_t scalar)
{
    return param_number(a, space, (vy_affine_param){.as_i32 = true, .index = scalar});
}

vy_value vy_affine_param_value(const vy_affine *a, uint32_t param, vy_builder *b)
{
    const vy_affine_param *q = &a->params.data[param];
    if (!q->is_dim) {
        vy_type t = a->p->scalars.data[q->index].type;
        return vy_cast(b, VY_U32, (vy_value){vy_leaf_other(b, VY_LEAF_SCALAR, t, q->index, 0)});
    }
    return vy_dim_number(b, (vy_dim){q->index});
}
