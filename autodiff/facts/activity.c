// SPDX-License-Identifier: MIT
// activity.c: which values have an adjoint.
//
// A value is *varied* if it depends differentiably on an input, *useful* if an output depends
// differentiably on it; active = both.  Dependence goes through memory: a buffer is varied once
// something varied is stored in it.  Loops and memory make this a fixpoint; both flags only grow, so
// sweeping until nothing changes ends after few rounds.
//
// Integers never have adjoints, but they carry VARIED from a `bitcast` of a varied float on, so that a
// float made from them can be refused where the obvious way would silently give zero.
#include "autodiff/core/reverse.h"
#include "autodiff/core/rules.h"
#include "autodiff/facts/facts.h"

static uint8_t get(const reverse *r, uint32_t id)
{
    return VY_IS_LEAF(id) ? r->leaf_activity[VY_LEAF_INDEX(id)] : r->activity[id];
}

// Adds a flag; true if that is news.
static bool mark(uint8_t *flags, uint8_t flag)
{
    if (*flags & flag) return false;
    *flags |= flag;
    return true;
}

static bool mark_id(reverse *r, uint32_t id, uint8_t flag)
{
    return mark(VY_IS_LEAF(id) ? &r->leaf_activity[VY_LEAF_INDEX(id)] : &r->activity[id], flag);
}

bool vy_derivative_passes(const vy_program *p, uint32_t id, uint32_t k)
{
    const vy_inst *i = &p->insts.data[id];
    vy_type from = vy_id_type(p, vy_arg(p, id, k)), to = (vy_type)i->type;
    bool float_from = vy_type_is_float(from), float_to = vy_type_is_float(to);
    switch (i->op) {
    case VY_OP_SELECT: return k > 0;
    case VY_OP_STRAIGHT_THROUGH: return k == 1;
    case VY_OP_CAST: return float_from == float_to && from != VY_BOOL && to != VY_BOOL;
    case VY_OP_BITCAST: return true;
    default: break;
    }
    if (vy_op_is_subgroup((vy_op)i->op)) return k == 0 && float_from && float_to;
    // The taint of integers survives whatever keeps their bits: everything but comparisons.
    if (!float_to) return !float_from && from != VY_BOOL && to != VY_BOOL;
    rule_kind kind = vy_rule_kind_of((vy_op)i->op);
    return kind == RULE_LINEAR || kind == RULE_PARTIAL || kind == RULE_PICK;
}

static uint32_t value_operands(const reverse *r, uint32_t id, uint32_t *first)
{
    const vy_inst *i = &r->p->insts.data[id];
    *first =
        vy_op_is_memory((vy_op)i->op) && i->op != VY_OP_ZERO ? r->p->buffers.data[i->aux].rank : 0;
    return i->nargs;
}

static bool varied_inst(reverse *r, uint32_t id)
{
    const vy_inst *i = &r->p->insts.data[id];
    vy_op op = (vy_op)i->op;
    bool varied = false, changed = false;
    uint32_t from, n = value_operands(r, id, &from), s[3];
    if (op == VY_OP_CARRY || op == VY_OP_RESULT) {
        for (uint32_t k = vy_slot_sources(r->p, &r->s, id, s); k-- > 0;)
            varied |= get(r, s[k]) & VARIED;
    } else if (op == VY_OP_LOAD) {
        varied = r->buffers[i->aux].activity & VARIED;
    } else if (vy_op_is_memory(op) && op != VY_OP_ZERO) {
        for (uint32_t k = from; k < n; k++) varied |= get(r, vy_arg(r->p, id, k)) & VARIED;
        if (varied) changed = mark(&r->buffers[i->aux].activity, VARIED);
        varied = i->type != VY_VOID && (r->buffers[i->aux].activity & VARIED);
    } else if (i->type != VY_VOID && op != VY_OP_LOOP) {
        for (uint32_t k = 0; k < n; k++)
            varied |= (get(r, vy_arg(r->p, id, k)) & VARIED) && vy_derivative_passes(r->p, id, k);
    }
    return (varied && mark_id(r, id, VARIED)) || changed;
}

static bool useful_inst(reverse *r, uint32_t id)
{
    const vy_inst *i = &r->p->insts.data[id];
    vy_op op = (vy_op)i->op;
    bool useful = r->activity[id] & USEFUL, changed = false;
    uint32_t from, n = value_operands(r, id, &from), s[3];
    if (op == VY_OP_CARRY || op == VY_OP_RESULT) {
        for (uint32_t k = useful ? vy_slot_sources(r->p, &r->s, id, s) : 0; k-- > 0;)
            changed |= mark_id(r, s[k], USEFUL);
    } else if (op == VY_OP_LOAD) {
        if (useful) changed = mark(&r->buffers[i->aux].activity, USEFUL);
    } else if (vy_op_is_memory(op) && op != VY_OP_ZERO) {
        // the old value of an atomic is what was in the buffer
        if (useful) changed = mark(&r->buffers[i->aux].activity, USEFUL);
        for (uint32_t k = from; k < n && (r->buffers[i->aux].activity & USEFUL); k++)
            changed |= mark_id(r, vy_arg(r->p, id, k), USEFUL);
    } else if (useful && op != VY_OP_LOOP) {
        for (uint32_t k = 0; k < n; k++)
            if (vy_derivative_passes(r->p, id, k))
                changed |= mark_id(r, vy_arg(r->p, id, k), USEFUL);
    }
    return changed;
}

bool vy_activity(reverse *r)
{
    uint32_t n = r->p->insts.count;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t id = 1; id < n; id++) changed |= varied_inst(r, id);
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t id = n; id-- > 1;) changed |= useful_inst(r, id);
    }
    return true;
}
