// SPDX-License-Identifier: MIT
// affine_number.c: constants and dimensions as functions; arithmetic on two functions and their
// bounds.
#include "autodiff/affine/affine.h"

isl_pw_aff *vy_nest_axis(const vy_nest *n, uint32_t k)
{
    return vy_isl_variable(isl_space_copy(n->space), isl_dim_set, k);
}

isl_pw_aff *vy_nest_number(const vy_nest *n, int64_t value)
{
    return vy_isl_number(isl_space_copy(n->space), value);
}

vy_number vy_affine_combine(vy_op op, vy_number x, vy_number y)
{
    vy_number r = {.range = vy_interval_of_type(VY_VOID)};
    vy_interval bounds;
    if (vy_interval_exactly(op, x.range, y.range, &bounds)) r.range = bounds;
    if (!x.pa || !y.pa) {
        vy_affine_drop(x, y);
        return (vy_number){0};
    }
    switch (op) {
    case VY_OP_ADD: r.pa = vy_isl_pw_aff_add(x.pa, y.pa); return r;
    case VY_OP_SUB: r.pa = vy_isl_pw_aff_sub(x.pa, y.pa); return r;
    case VY_OP_MUL: r.pa = vy_isl_pw_aff_mul(x.pa, y.pa); return r;
    case VY_OP_MIN: r.pa = vy_isl_pw_aff_min(x.pa, y.pa); return r;
    case VY_OP_MAX: r.pa = vy_isl_pw_aff_max(x.pa, y.pa); return r;
    case VY_OP_DIV:
        r.pa = vy_isl_pw_aff_floor(vy_isl_pw_aff_scale_down_val(x.pa, y.range.lo));
        break;
    default: r.pa = vy_isl_pw_aff_mod_val(x.pa, y.range.lo); break;
    }
    isl_pw_aff_free(y.pa);
    return r;
}

// x is the last domain variable, y the one before; z combines all others.
int vy_nest_over(const vy_nest *n, uint32_t axis)
{
    return axis < n->overs && (axis < 2 || n->overs == 3) ? (int)(n->overs - 1 - axis) : -1;
}

vy_number vy_affine_place(const vy_nest *n, const vy_leaf *l)
{
    const vy_program *p = n->a->p;
    const bool flat = l->index == VY_LINDEX && p->workgroup[1] == 1 && p->workgroup[2] == 1;
    const int k = vy_nest_over(n, flat ? 0 : l->axis);
    if (k < 0 || (l->index != VY_WID && l->index != VY_LID && !flat)) return (vy_number){0};
    const int64_t size = p->workgroup[flat ? 0 : l->axis];
    const vy_number all = {vy_nest_axis(n, (uint32_t)k), n->range[k]};
    const vy_number by = {vy_nest_number(n, size), {size, size}};
    return vy_affine_combine(l->index == VY_WID ? VY_OP_DIV : VY_OP_REM, all, by);
}

int vy_nest_dim(const vy_nest *n, uint32_t id)
{
    const vy_program *p = n->a->p;
    if (VY_IS_LEAF(id)) {
        const vy_leaf *l = &p->leaves.data[VY_LEAF_INDEX(id)];
        if (l->kind == VY_LEAF_BUILTIN && l->index == VY_GID) return vy_nest_over(n, l->axis);
        return l->kind == VY_LEAF_OVER && l->index < n->overs ? (int)l->index : -1;
    }
    for (uint32_t k = n->overs; k < n->count; k++)
        if (n->loop[k] == id) return (int)k;
    return -1;
}

// ----------------------------------------------------------------------------- greatest extents
int64_t vy_affine_most_extent(const vy_affine *a, uint32_t k)
{
    const bool product = a->p->dims.data[a->p->overs.data[k].extent.id].op == VY_DIM_MUL;
    return a->calm_extents && product ? VY_AFFINE_CALM : VY_AFFINE_EXTENT - 1;
}

bool vy_affine_is_calm_extent(const vy_affine *a, uint32_t base)
{
    bool calm = false;
    for (uint32_t k = 0; k < a->p->overs.count; k++) {
        const vy_extent e = a->facts.form[a->p->overs.data[k].extent.id];
        calm |= e.base == base && !e.offset && vy_affine_most_extent(a, k) == VY_AFFINE_CALM;
    }
    return calm;
}

int64_t vy_affine_most_dim(const vy_affine *a, uint32_t base)
{
    return vy_affine_is_calm_extent(a, base) ? VY_AFFINE_CALM : VY_AFFINE_EXTENT - 1;
}
