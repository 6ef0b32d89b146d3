// SPDX-License-Identifier: MIT
// scan_names.c: the values of parameters and iterators in the program being built.
#include "autodiff/affine/scan.h"
#include "ir/build/edit.h"

// An i32; v: its bits.
static vy_signed signed_scalar(vy_lattice *l, const vy_affine_param *q, vy_value v)
{
    const uint8_t kind = l->a->calm ? l->a->calm[q->index] : VY_AFFINE_ANY;
    if (kind == VY_AFFINE_NATURAL || kind == VY_AFFINE_POSITIVE)
        return vy_signed_value(v, VY_AFFINE_CALM);
    vy_signed r = vy_signed_of_i32(l->b, vy_cast(l->b, VY_I32, v));
    if (kind == VY_AFFINE_IS_CALM) r.most_plus = r.most_minus = VY_AFFINE_CALM;
    return r;
}

// Where an extent of the domain is negative it is 0 (docs/language.md): there are no points then,
// whatever else holds, so all that is walked may take it for 0.
static vy_value scalar_extent(vy_lattice *l, uint32_t k)
{
    const vy_type t = l->a->p->scalars.data[k].type;
    const vy_value n = {vy_leaf_other(l->b, VY_LEAF_SCALAR, t, k, 0)};
    return vy_cast(l->b, VY_U32, vy_max(l->b, n, vy_zero(l->b, t)));
}

// The same of other dimensions: lengths of buffers are never negative.
static vy_value dim_extent(vy_lattice *l, uint32_t dim, vy_value v)
{
    const vy_affine *a = l->a;
    bool domain = false;
    for (uint32_t k = 0; k < a->p->overs.count; k++) {
        const vy_extent e = a->facts.form[a->p->overs.data[k].extent.id];
        domain |= e.base == dim && e.offset == 0;
    }
    for (uint32_t i = 1; i < a->p->buffers.count && domain; i++)
        for (uint32_t k = 0; k < a->p->buffers.data[i].rank; k++) {
            const vy_extent e = a->facts.form[a->p->buffers.data[i].dims[k].id];
            domain &= e.base != dim || e.offset > 0;
        }
    if (!domain) return v;
    const vy_dim zero = vy_dim_const(l->b, 0);
    return vy_dim_number(l->b, vy_dim_binary(l->b, VY_DIM_MAX, (vy_dim){dim}, zero));
}

static vy_signed parameter(vy_lattice *l, uint32_t index)
{
    const vy_affine *a = l->a;
    const vy_affine_param *q = &a->params.data[index];
    vy_value v = vy_affine_param_value(a, index, l->b);
    if (q->is_dim)
        return vy_signed_value(dim_extent(l, q->index, v), vy_affine_most_dim(a, q->index));
    if (q->as_i32) return vy_signed_of_i32(l->b, vy_cast(l->b, VY_I32, v));
    vy_type t = a->p->scalars.data[q->index].type;
    if (t == VY_I32) {
        if (!a->extent[q->index]) return signed_scalar(l, q, v);
    } else if (t != VY_U32 && !a->extent[q->index]) {
        return vy_signed_none; // 64 bits
    }
    if (a->extent[q->index] == VY_AFFINE_DOMAIN && vy_type_is_signed(t))
        v = scalar_extent(l, q->index);
    return vy_signed_value(v, a->most[q->index] < UINT32_MAX ? a->most[q->index]
                                                             : (int64_t)UINT32_MAX);
}

vy_signed vy_lattice_named(vy_lattice *l, isl_id *id)
{
    vy_signed r = vy_signed_none;
    bool found = false;
    for (uint32_t k = l->ids.count; k-- > 0 && !found;) {
        found = l->ids.data[k].id == id;
        if (found) r = l->ids.data[k].value;
    }
    for (uint32_t k = 0; k < l->a->params.count && !found; k++) {
        found = l->a->params.data[k].id == id;
        if (found) r = parameter(l, k);
    }
    return r;
}
