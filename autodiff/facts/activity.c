// SPDX-License-Identifier: MIT
// activity.c: which values have an adjoint.
//
// A value is *varied* if it depends differentiably on an input, *useful* if an output depends
// differentiably on it; active = both.  Dependence goes through memory: a buffer is varied once
// something varied is stored in it.  Loops and memory make this a fixpoint; both flags only grow, so
// a worklist (dataflow.h) finds it in linear time: VARIED forwards along the uses, USEFUL backwards
// along the operands.
//
// Integers never have adjoints, but they carry VARIED from a `bitcast` of a varied float on, so that a
// float made from them can be refused where the obvious way would silently give zero.
#include "autodiff/core/reverse.h"
#include "autodiff/core/rules.h"
#include "autodiff/facts/facts.h"
#include "ir/core/dataflow.h"

typedef struct activity {
    reverse *r;
    vy_dataflow flow;
} activity;

static uint8_t get(const reverse *r, uint32_t id)
{
    return VY_IS_LEAF(id) ? r->facts.leaf_activity[VY_LEAF_INDEX(id)] : r->facts.activity[id];
}

// Adds a flag; true if that is news.
static bool mark(uint8_t *flags, uint8_t flag)
{
    if (*flags & flag) return false;
    *flags |= flag;
    return true;
}

static void vary(activity *a, uint32_t id)
{
    if (mark(&a->r->facts.activity[id], VARIED)) vy_dataflow_push_users(&a->flow, id);
}

static void use(activity *a, uint32_t id)
{
    reverse *r = a->r;
    if (VY_IS_LEAF(id))
        r->facts.leaf_activity[VY_LEAF_INDEX(id)] |= USEFUL;
    else if (mark(&r->facts.activity[id], USEFUL))
        vy_dataflow_push(&a->flow, id);
}

static void mark_buffer(activity *a, uint32_t buffer, uint8_t flag)
{
    if (mark(&a->r->facts.buffers[buffer].activity, flag))
        vy_dataflow_push_accesses(&a->flow, buffer);
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

// Does anything that CARRY or RESULT `id` takes over, or a value that access `id` stores, vary?
static bool takes_varied(const reverse *r, uint32_t id)
{
    uint32_t from, n = value_operands(r, id, &from), s[3];
    bool slot = vy_is_slot((vy_op)r->p->insts.data[id].op), varied = false;
    if (slot) from = 0, n = vy_slot_sources(r->p, &r->facts.s, id, s);
    for (uint32_t k = from; k < n; k++)
        varied |= get(r, slot ? s[k] : vy_arg(r->p, id, k)) & VARIED;
    return varied;
}

static void vary_access(activity *a, uint32_t id)
{
    const vy_inst *i = &a->r->p->insts.data[id];
    if (i->op == VY_OP_ZERO) return;
    if (i->op != VY_OP_LOAD && takes_varied(a->r, id)) mark_buffer(a, i->aux, VARIED);
    if (i->type != VY_VOID && a->r->facts.buffers[i->aux].activity & VARIED) vary(a, id);
}

static void visit_varied(activity *a, uint32_t id)
{
    const reverse *r = a->r;
    const vy_inst *i = &r->p->insts.data[id];
    vy_op op = (vy_op)i->op;
    bool varied = false;
    if (vy_op_is_memory(op)) {
        vary_access(a, id);
    } else if (vy_is_slot(op)) {
        if (takes_varied(r, id)) vary(a, id);
    } else if (i->type != VY_VOID && op != VY_OP_LOOP) {
        for (uint32_t k = 0; k < i->nargs; k++)
            varied |= (get(r, vy_arg(r->p, id, k)) & VARIED) && vy_derivative_passes(r->p, id, k);
        if (varied) vary(a, id);
    }
}

static void use_access(activity *a, uint32_t id)
{
    const reverse *r = a->r;
    const vy_inst *i = &r->p->insts.data[id];
    uint32_t from, n = value_operands(r, id, &from);
    if (i->op == VY_OP_ZERO) return;
    // the old value of an atomic is what was in the buffer
    if (r->facts.activity[id] & USEFUL) mark_buffer(a, i->aux, USEFUL);
    if (i->op == VY_OP_LOAD || !(r->facts.buffers[i->aux].activity & USEFUL)) return;
    for (uint32_t k = from; k < n; k++) use(a, vy_arg(r->p, id, k));
}

static void visit_useful(activity *a, uint32_t id)
{
    const reverse *r = a->r;
    const vy_inst *i = &r->p->insts.data[id];
    vy_op op = (vy_op)i->op;
    uint32_t s[3];
    if (vy_op_is_memory(op)) {
        use_access(a, id);
    } else if (!(r->facts.activity[id] & USEFUL) || op == VY_OP_LOOP) {
        return;
    } else if (vy_is_slot(op)) {
        for (uint32_t k = vy_slot_sources(r->p, &r->facts.s, id, s); k-- > 0;) use(a, s[k]);
    } else {
        for (uint32_t k = 0; k < i->nargs; k++)
            if (vy_derivative_passes(r->p, id, k)) use(a, vy_arg(r->p, id, k));
    }
}

bool vy_activity(reverse *r)
{
    vy_arena arena = {0};
    activity a = {.r = r};
    bool ok = vy_dataflow_make(&a.flow, r->p, &r->facts.s, &arena);
    if (ok) {
        vy_dataflow_push_all(&a.flow);
        for (uint32_t id; (id = vy_dataflow_pop(&a.flow));) visit_varied(&a, id);
        vy_dataflow_push_all(&a.flow);
        for (uint32_t id; (id = vy_dataflow_pop(&a.flow));) visit_useful(&a, id);
    } else {
        vy_fail_oom(r->out);
        r->failed = true;
    }
    vy_arena_free(&arena);
    return ok;
}
