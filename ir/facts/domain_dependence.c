// SPDX-License-Identifier: MIT
// domain_dependence.c: along which domain variables values differ.
//
//   over(i: M, k: K)   b[k, j]: differs along k        s = s + a[i, j] * b[k, j]: along both
//
// A value differs along a variable if one of its operands does, or if the variable decides which
// invocations reach it; a local array if any access to it does.  Computed as a fixpoint of growing
// bit masks (dataflow.h).
#include "ir/facts/domain_dependence.h"
#include "ir/core/access.h"
#include "ir/core/dataflow.h"

uint8_t vy_along_leaf(const vy_along *a, uint32_t id)
{
    const vy_leaf *l = &a->p->leaves.data[VY_LEAF_INDEX(id)];
    if (l->kind != VY_LEAF_OVER || l->index < a->first) return 0;
    return (uint8_t)(1u << (l->index - a->first));
}

static uint8_t get(const vy_along *a, uint32_t id)
{
    return VY_IS_LEAF(id) ? vy_along_leaf(a, id) : a->of[id];
}

static uint8_t any_of(const vy_along *a, const uint32_t *ids, uint32_t n)
{
    uint8_t bits = 0;
    for (uint32_t k = 0; k < n; k++) bits |= get(a, ids[k]);
    return bits;
}

// The variables that decide which invocations reach `id`; an ELSE or closing marker belongs to its
// opener.
static uint8_t route(const vy_along *a, uint32_t id)
{
    const vy_op op = (vy_op)a->p->insts.data[id].op;
    const bool later = op == VY_OP_ELSE || vy_op_closes(op);
    const uint32_t up = later ? vy_opener(a->p, a->s, id) : a->s->parent[id];
    return up ? a->route[up] : 0;
}

uint8_t vy_along_element(const vy_along *a, uint32_t access)
{
    return route(a, access) | any_of(a, vy_args(a->p, access), vy_rank_of(a->p, access));
}

static bool in_local_array(const vy_program *p, uint32_t id)
{
    const vy_inst *i = &p->insts.data[id];
    return vy_op_is_memory((vy_op)i->op) && p->buffers.data[i->aux].cls == VY_LOCAL;
}

static uint8_t value(const vy_along *a, uint32_t id)
{
    const vy_inst *i = &a->p->insts.data[id];
    const vy_op op = (vy_op)i->op;
    const uint8_t bits = route(a, id);
    uint32_t ids[4];
    if (vy_op_opens(op)) return bits | any_of(a, ids, vy_deciders(a->p, a->s, id, ids));
    if (vy_is_slot(op)) {
        const uint8_t way = op == VY_OP_RESULT ? a->route[vy_opener(a->p, a->s, id)] : 0;
        return bits | way | any_of(a, ids, vy_slot_sources(a->p, a->s, id, ids));
    }
    if (in_local_array(a->p, id))
        return bits | a->array[i->aux] | any_of(a, vy_args(a->p, id), i->nargs);
    if (vy_op_infos[op].effect == VY_WRITE) return UINT8_MAX;
    return vy_is_marker(op) ? bits : bits | any_of(a, vy_args(a->p, id), i->nargs);
}

// Control flow through a construct differs along more variables: so do its markers, its results,
// and what is directly inside.
static void push_inside(vy_dataflow *d, uint32_t opener)
{
    const uint32_t last = vy_last_result(d->p, d->s, opener);
    for (uint32_t id = opener + 1; id <= last; id++) {
        vy_dataflow_push(d, id);
        if (vy_op_opens((vy_op)d->p->insts.data[id].op)) id = vy_closer(d->p, d->s, id);
    }
}

bool vy_along_make(vy_along *a, const vy_program *p, const vy_structure *s, vy_arena *arena)
{
    const uint32_t overs = p->overs.count;
    vy_dataflow d;
    *a = (vy_along){.p = p, .s = s, .first = overs > VY_ALONG_AXES ? overs - VY_ALONG_AXES : 0};
    a->of = vy_arena_alloc(arena, p->insts.count);
    a->route = vy_arena_alloc(arena, p->insts.count);
    a->array = vy_arena_alloc(arena, p->buffers.count);
    if (!a->of || !a->route || !a->array || !vy_dataflow_make(&d, p, s, arena)) return false;
    vy_dataflow_push_all(&d);
    for (uint32_t id; (id = vy_dataflow_pop(&d));) {
        const uint8_t bits = a->of[id] | value(a, id);
        if (bits == a->of[id]) continue;
        a->of[id] = bits;
        vy_dataflow_push_users(&d, id);
        if (in_local_array(p, id) && bits & ~a->array[p->insts.data[id].aux]) {
            a->array[p->insts.data[id].aux] |= bits;
            vy_dataflow_push_accesses(&d, p->insts.data[id].aux);
        }
        if (!vy_op_opens((vy_op)p->insts.data[id].op)) continue;
        a->route[id] = bits;
        push_inside(&d, id);
    }
    return true;
}

uint32_t vy_axis_constant(const vy_program *p, uint32_t axis)
{
    const vy_dim_node *d = &p->dims.data[p->overs.data[axis].extent.id];
    return d->op == VY_DIM_CONST && d->value >= 1 && d->value <= UINT32_MAX ? (uint32_t)d->value
                                                                            : 0;
}
