// SPDX-License-Identifier: MIT
// workgroup_elements.c: elements that one workgroup alone touches, because an index is its place.
//
//   best[wid.x]   best[i / 8]      in workgroups of eight
//
// Barriers order accesses to such elements, and nothing else does.
#include "autodiff/facts/facts.h"
#include "ir/core/access.h"
#include "ir/core/flow.h"

// The workgroups of the launch along axis 0 … 2: are there ever more than one?
static bool has_groups(const vy_program *p, uint32_t axis)
{
    const uint32_t n = p->overs.count;
    uint32_t shape[3];
    vy_program_workgroup(p, shape);
    if (!n) return true;
    if (axis >= n) return false;
    const vy_dim_node *d = &p->dims.data[p->overs.data[n - 1 - axis].extent.id];
    if (axis == 2 && n > 3) return true; // several variables are folded into it
    return d->op != VY_DIM_CONST || d->value > shape[axis];
}

// Is the index the workgroup's own place along the axis: wid, or the variable divided by the size?
static bool is_group(const vy_program *p, uint32_t id, uint32_t axis)
{
    const vy_leaf *l = VY_IS_LEAF(id) ? &p->leaves.data[VY_LEAF_INDEX(id)] : NULL;
    uint32_t shape[3];
    if (l) return l->kind == VY_LEAF_BUILTIN && l->index == VY_WID && l->axis == axis;
    const vy_inst *i = &p->insts.data[id];
    if (i->op != VY_OP_DIV || (axis == 2 && p->overs.count > 3)) return false;
    const uint32_t of = vy_arg(p, id, 0);
    const vy_scalar *by = vy_id_const(p, vy_arg(p, id, 1));
    l = VY_IS_LEAF(of) ? &p->leaves.data[VY_LEAF_INDEX(of)] : NULL;
    vy_program_workgroup(p, shape);
    return by && by->u == shape[axis] && l && l->kind == VY_LEAF_OVER &&
           l->index + 1 + axis == p->overs.count;
}

// Operand k of an access.  Where one arm has computed it, `if c { … i / 8 … }`, and the access is
// in another of the same condition, it is what that arm yields.
static uint32_t index_of(const vy_program *p, const vy_structure *s, uint32_t access, uint32_t k)
{
    const uint32_t id = vy_arg(p, access, k);
    uint32_t then, other;
    const uint32_t choice = vy_choice(p, s, id, &then, &other);
    for (uint32_t up = s->parent[access]; choice && up; up = s->parent[up])
        if (p->insts.data[up].op == VY_OP_IF && vy_arg(p, up, 0) == vy_arg(p, choice, 0))
            return vy_in_then(s, up, access) ? then : other;
    return id;
}

uint32_t vy_workgroup_axis(const vy_program *p, const vy_structure *s, uint32_t access, uint32_t k)
{
    const uint32_t id = index_of(p, s, access, k);
    for (uint32_t axis = 0; axis < 3; axis++)
        if (is_group(p, id, axis)) return axis + 1;
    return 0;
}

// The axes of the index that are the workgroup's place along an axis of the launch, as bits.
static uint32_t group_axes(const vy_program *p, const vy_structure *s, uint32_t id, uint32_t axis)
{
    const uint32_t rank = vy_rank_of(p, id);
    uint32_t bits = 0;
    for (uint32_t k = 0; k < rank; k++)
        if (is_group(p, index_of(p, s, id, k), axis)) bits |= 1u << k;
    return bits;
}

bool vy_one_workgroup(const vy_program *p, const vy_structure *s, const uint32_t *groups,
                      uint32_t group)
{
    for (uint32_t axis = 0; axis < 3; axis++) {
        uint32_t common = UINT32_MAX;
        if (!has_groups(p, axis)) continue;
        for (uint32_t id = 1; id < p->insts.count && common; id++)
            if (groups[id] == group) common &= group_axes(p, s, id, axis);
        if (!common) return false;
    }
    return true;
}
