// SPDX-License-Identifier: MIT
// race_dependence.c: on which domain variables a value depends, and so between which invocations it
// may differ.
#include "ir/check/race.h"

static uint32_t leaf_on(const vy_leaf *l)
{
    if (l->kind == VY_LEAF_OVER) return l->index < 29 ? 1u << l->index : VY_RACE_UNKNOWN;
    if (l->kind != VY_LEAF_BUILTIN) return 0;
    if (l->index == VY_NUM_GROUPS || l->index == VY_SUBGROUP_SIZE) return 0;
    return l->index == VY_WID ? VY_RACE_UNKNOWN : VY_RACE_UNKNOWN | VY_RACE_IDS;
}

uint32_t vy_race_on(const vy_races *r, uint32_t id)
{
    return VY_IS_LEAF(id) ? leaf_on(&r->p->leaves.data[VY_LEAF_INDEX(id)]) : r->on[id];
}

uint32_t vy_race_on_args(const vy_races *r, uint32_t id, uint32_t n)
{
    uint32_t mask = 0;
    for (uint32_t k = 0; k < n; k++) mask |= vy_race_on(r, vy_arg(r->p, id, k));
    return mask;
}

// The last variable runs along x, the one before along y, the one before that along z.  With more
// than three variables, those before the last two share z.
static void find_lanes(vy_races *r)
{
    uint32_t shape[3];
    const uint32_t n = r->p->overs.count;
    vy_program_workgroup(r->p, shape);
    for (uint32_t v = 0; v < n && n <= 3; v++)
        if (shape[n - 1 - v] > 1) r->lanes |= r->all & 1u << v;
    if (n == 0 && shape[0] * shape[1] * shape[2] > 1) r->all = r->lanes = VY_RACE_LANES;
}

void vy_race_find_dependences(vy_races *r)
{
    for (uint32_t id = 1; id < r->p->insts.count; id++) {
        const vy_inst *i = &r->p->insts.data[id];
        const bool steady = i->op == VY_OP_LOAD && r->p->buffers.data[i->aux].cls == VY_IN;
        const bool known = vy_op_infos[i->op].effect == VY_PURE || steady || i->op == VY_OP_LOOP;
        r->on[id] = known ? vy_race_on_args(r, id, vy_value_args(r->p, id)) : VY_RACE_UNKNOWN;
    }
    for (uint32_t v = 0; v < r->p->overs.count && v < 29; v++) {
        const vy_dim_node *d = &r->p->dims.data[r->p->overs.data[v].extent.id];
        if (d->op != VY_DIM_CONST || d->value > 1) r->all |= 1u << v;
    }
    find_lanes(r);
}
