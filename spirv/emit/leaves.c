// SPDX-License-Identifier: MIT
// leaves.c: leaves (constants, parameters, built-ins, lengths) and the domain.  Made on first use,
// in the prologue, which dominates all code.
#include "spirv/emit/emit.h"

uint32_t vy_extent_id(vy_fn *f, vy_emit_extent *e, vy_extent_form form)
{
    const uint32_t limit = 0x80000000u; // no i32 index reaches it; negative ones do, as u32
    if (e->constant) {
        if (form == VY_EXTENT_U64) return vy_spv_int(f->m, VY_U64, e->value);
        return vy_spv_u32(f->m, form == VY_EXTENT_31 && e->value > limit ? limit : e->value);
    }
    if (!e->id && e->length_of) e->id = vy_length_id(f, e->length_of);
    if (!e->id && e->groups) e->id = vy_num_groups(f, e->groups - 1);
    if (!e->id) {
        uint32_t field = e->field - 1;
        e->id = vy_param_id(f, field);
        // i32 scalars: the host refuses negative shapes, so the bits are the value.
        if (field < f->p->scalars.count && f->p->scalars.data[field].type == VY_I32) {
            vy_words *out = f->out;
            f->out = &f->prologue;
            e->id = VY_DO(f, SpvOpBitcast, vy_spv_type(f->m, VY_U32), e->id);
            f->out = out;
        }
    }
    uint32_t *slot = form == VY_EXTENT_31 ? &e->id31 : form == VY_EXTENT_U64 ? &e->id64 : &e->id;
    if (*slot) return *slot;
    vy_words *out = f->out;
    f->out = &f->prologue;
    if (form == VY_EXTENT_31)
        *slot =
            VY_EXT(f, GLSLstd450UMin, vy_spv_type(f->m, VY_U32), e->id, vy_spv_u32(f->m, limit));
    else
        *slot = VY_DO(f, SpvOpUConvert, vy_spv_type(f->m, VY_U64), e->id);
    f->out = out;
    return *slot;
}

// --------------------------------------------------------------------------------------- built-ins
static uint32_t input_value(vy_fn *f, vy_input input, uint32_t axis)
{
    uint32_t *slot = &f->input_values[input * 3 + axis];
    if (*slot) return *slot;
    uint32_t var = vy_spv_input(f->m, input), u32 = vy_spv_type(f->m, VY_U32);
    vy_interface(f, var);
    if (input > VY_INPUT_GROUP_ID) return *slot = VY_DO(f, SpvOpLoad, u32, var);
    uint32_t whole = f->input_vectors[input];
    if (!whole) whole = f->input_vectors[input] = VY_DO(f, SpvOpLoad, f->m->uint3_type, var);
    return *slot = VY_DO(f, SpvOpCompositeExtract, u32, whole, axis);
}

static uint32_t scalar_input(vy_fn *f, vy_input input)
{
    vy_words *out = f->out;
    f->out = &f->prologue;
    uint32_t id = input_value(f, input, 0);
    f->out = out;
    return id;
}

// Logical: as if the runtime had not split the dispatch.
static uint32_t based(vy_fn *f, uint32_t value, uint32_t axis, uint32_t scale)
{
    if (!f->base_field[axis]) return value;
    uint32_t base = vy_param_id(f, f->base_field[axis] - 1);
    return vy_u32_op(f, SpvOpIAdd, value, vy_u32_op(f, SpvOpIMul, base, vy_spv_u32(f->m, scale)));
}

static uint32_t global_id(vy_fn *f, uint32_t axis)
{
    if (f->global_ids[axis]) return f->global_ids[axis];
    uint32_t id = input_value(f, VY_INPUT_GLOBAL_ID, axis);
    return f->global_ids[axis] = based(f, id, axis, f->p->workgroup[axis]);
}

uint32_t vy_subgroup_size(vy_fn *f)
{
    uint32_t known = f->m->options->subgroup_size;
    return known ? vy_spv_u32(f->m, known) : scalar_input(f, VY_INPUT_SUBGROUP_SIZE);
}

uint32_t vy_lane(vy_fn *f) { return scalar_input(f, VY_INPUT_LANE); }

uint32_t vy_lindex(vy_fn *f) { return scalar_input(f, VY_INPUT_LINDEX); }

uint32_t vy_local_x(vy_fn *f) { return scalar_input(f, VY_INPUT_LOCAL_ID); }

uint32_t vy_group_x(vy_fn *f) { return scalar_input(f, VY_INPUT_GROUP_ID); }

uint32_t vy_num_groups(vy_fn *f, uint32_t axis)
{
    if (!f->d->hosted) return vy_param_id(f, f->count_field[axis] - 1);
    vy_words *out = f->out;
    f->out = &f->prologue;
    const uint32_t id = input_value(f, VY_INPUT_NUM_GROUPS, axis);
    f->out = out;
    return id;
}

static uint32_t builtin(vy_fn *f, const vy_leaf *l)
{
    switch ((vy_builtin)l->index) {
    case VY_GID: return global_id(f, l->axis);
    case VY_LID: return input_value(f, VY_INPUT_LOCAL_ID, l->axis);
    case VY_WID: return based(f, input_value(f, VY_INPUT_GROUP_ID, l->axis), l->axis, 1);
    case VY_NUM_GROUPS: return vy_num_groups(f, l->axis);
    case VY_LINDEX: return vy_lindex(f);
    case VY_LANE: return vy_lane(f);
    case VY_SUBGROUP_SIZE: return vy_subgroup_size(f);
    }
    return 0;
}

uint32_t vy_leaf_id(vy_fn *f, uint32_t leaf)
{
    if (f->leaf_ids[leaf]) return f->leaf_ids[leaf];
    const vy_leaf *l = &f->p->leaves.data[leaf];
    vy_words *out = f->out;
    f->out = &f->prologue;
    uint32_t id = 0;
    switch ((vy_leaf_kind)l->kind) {
    case VY_LEAF_CONST: id = vy_spv_const(f->m, (vy_type)l->type, l->value); break;
    case VY_LEAF_SCALAR: id = vy_param_id(f, l->index); break;
    case VY_LEAF_OVER: id = f->over_ids[l->index]; break;
    case VY_LEAF_BUILTIN: id = builtin(f, l); break;
    case VY_LEAF_LEN:
        id = vy_extent_id(f, &f->arrays[l->index].extents[l->axis], VY_EXTENT_U32);
        break;
    case VY_LEAF_POISON: break; // never in a finished program
    }
    f->out = out;
    return f->leaf_ids[leaf] = id;
}

// ----------------------------------------------------------------------------------------- domain
// `over` variables beyond the third share the z axis; the last of them varies fastest.
static void unfold_z(vy_fn *f)
{
    uint32_t rest = global_id(f, 2), u32 = vy_spv_type(f->m, VY_U32), one = vy_spv_u32(f->m, 1);
    for (uint32_t v = f->p->overs.count - 3; v > 0; v--) {
        uint32_t e = vy_extent_id(f, &f->over_extents[v], VY_EXTENT_U32);
        // An empty axis dispatches nothing, but the division must still be defined.
        if (!f->over_extents[v].constant || !f->over_extents[v].value)
            e = VY_EXT(f, GLSLstd450UMax, u32, e, one);
        f->over_ids[v] = VY_DO(f, SpvOpUMod, u32, rest, e);
        rest = VY_DO(f, SpvOpUDiv, u32, rest, e);
    }
    f->over_ids[0] = rest;
}

// Padding lanes that run the body use the position of their nearest neighbour inside, so that their
// loops run no longer: the bound `n − 1 − i` of a loop must not wrap.
static void clamp_over(vy_fn *f, uint32_t v)
{
    uint32_t u32 = vy_spv_type(f->m, VY_U32);
    uint32_t extent = vy_extent_id(f, &f->over_extents[v], VY_EXTENT_U32);
    uint32_t most = VY_DO(f, SpvOpISub, u32, extent, vy_spv_u32(f->m, 1));
    f->over_ids[v] = VY_EXT(f, GLSLstd450UMin, u32, f->over_ids[v], most);
}

// Axes of the workgroup that the domain lacks are one invocation wide: the others are padding.
static uint32_t inside_spare_axes(vy_fn *f, uint32_t n)
{
    uint32_t inside = 0, zero = vy_spv_u32(f->m, 0);
    for (uint32_t axis = n; axis < 3; axis++)
        if (f->p->workgroup[axis] > 1)
            inside = vy_and_bool(f, inside,
                                 VY_DO(f, SpvOpIEqual, vy_bool_type(f),
                                       input_value(f, VY_INPUT_LOCAL_ID, axis), zero));
    return inside;
}

uint32_t vy_domain_check(vy_fn *f, uint32_t *group)
{
    uint32_t n = f->p->overs.count;
    *group = 0;
    if (!n || f->m->oom) return 0;
    f->out = &f->prologue;
    uint32_t inside = inside_spare_axes(f, n);
    f->over_ids[n - 1] = global_id(f, 0);
    if (n > 1) f->over_ids[n - 2] = global_id(f, 1);
    if (n == 3) f->over_ids[0] = global_id(f, 2);
    if (n > 3) unfold_z(f);
    for (uint32_t v = 0; v < n; v++) {
        vy_emit_extent *e = &f->over_extents[v];
        uint32_t axis = n - 1 - v;
        vy_spv_name(f->m, f->over_ids[v], f->p->overs.data[v].name);
        if (axis > 2) axis = 2;
        if (axis == 2 && v > 0) continue; // a remainder is always inside
        // Full workgroups: no padding.
        bool whole = n <= 3 && e->constant && e->value && e->value % f->p->workgroup[axis] == 0;
        if (whole) continue;
        uint32_t in = VY_DO(f, SpvOpULessThan, vy_bool_type(f), f->over_ids[v],
                            vy_extent_id(f, e, VY_EXTENT_U32));
        if (n <= 3 && f->p->workgroup[axis] == 1) {
            *group = vy_and_bool(f, *group, in);
            continue;
        }
        inside = vy_and_bool(f, inside, in);
        if (f->facts->barrier || f->facts->subgroup) clamp_over(f, v);
    }
    f->out = &f->code;
    return inside;
}

uint32_t vy_val(vy_fn *f, uint32_t id)
{
    return VY_IS_LEAF(id) ? vy_leaf_id(f, VY_LEAF_INDEX(id)) : f->ids[id];
}

uint32_t vy_factor(vy_fn *f, uint32_t i, uint32_t k)
{
    const vy_type t = vy_id_type(f->p, vy_arg(f->p, i, k));
    const uint32_t x = vy_val(f, vy_arg(f->p, i, k));
    return f->m->hooks->factor && vy_type_is_float(t) ? f->m->hooks->factor(f, t, x) : x;
}
