// SPDX-License-Identifier: MIT
// activity.c: which values have an adjoint.
//
// A value is *varied* if it depends differentiably on an input, *useful* if an output depends
// differentiably on it; active = both.  Dependence goes through memory: a buffer is varied once
// something varied is stored in it.  Loops and memory make this a fixpoint; both flags only grow,
// so a worklist (dataflow.h) finds it in linear time: VARIED forwards along the uses, USEFUL
// backwards along the operands.
//
// Integers never have adjoints, but a `bitcast` of a varied float makes them VARIED, so that a
// float made from them again can be refused where the obvious way would silently give zero.
#include "autodiff/core/rules.h"
#include "autodiff/facts/facts.h"
#include "ir/core/dataflow.h"
#include "ir/core/host.h"

typedef struct activity {
    grad_facts *facts;
    vy_dataflow flow;
} activity;

static uint8_t get(const grad_facts *f, uint32_t id)
{
    return VY_IS_LEAF(id) ? f->leaf_activity[VY_LEAF_INDEX(id)] : f->activity[id];
}

// Adds a flag; true if it was not set before.
static bool mark(uint8_t *flags, uint8_t flag)
{
    if (*flags & flag) return false;
    *flags |= flag;
    return true;
}

static void vary(activity *a, uint32_t id)
{
    if (mark(&a->facts->activity[id], VARIED)) vy_dataflow_push_users(&a->flow, id);
}

static void use(activity *a, uint32_t id)
{
    grad_facts *f = a->facts;
    if (VY_IS_LEAF(id))
        f->leaf_activity[VY_LEAF_INDEX(id)] |= USEFUL;
    else if (mark(&f->activity[id], USEFUL))
        vy_dataflow_push(&a->flow, id);
}

static void mark_buffer(activity *a, uint32_t buffer, uint8_t flag)
{
    buffer_facts *f = &a->facts->buffers[buffer];
    if (!mark(&f->activity, flag)) return;
    vy_dataflow_push_accesses(&a->flow, buffer);
    if (flag == USEFUL && f->start) mark_buffer(a, f->start, USEFUL);
}

bool vy_derivative_passes(const vy_program *p, uint32_t id, uint32_t k)
{
    const vy_inst *i = &p->insts.data[id];
    vy_type from = vy_id_type(p, vy_arg(p, id, k)), to = (vy_type)i->type;
    bool float_from = vy_type_is_float(from), float_to = vy_type_is_float(to);
    switch (i->op) {
    case VY_OP_SELECT: return k > 0;
    case VY_OP_STRAIGHT_THROUGH:
    case VY_OP_DERIVE_AS: return k == 1;
    case VY_OP_CANDIDATE: return k == 0;
    case VY_OP_CAST: return float_from == float_to && from != VY_BOOL && to != VY_BOOL;
    case VY_OP_BITCAST: return true;
    case VY_OP_APPLY:
    case VY_OP_DISPATCH: return float_from;
    case VY_OP_PICK: return float_to;
    default: break;
    }
    if (vy_op_is_subgroup((vy_op)i->op)) return k == 0 && float_from && float_to;
    // The taint of integers survives whatever keeps their bits: everything but comparisons.
    if (!float_to) return !float_from && from != VY_BOOL && to != VY_BOOL;
    rule_kind kind = vy_rule_kind_of((vy_op)i->op);
    return kind == RULE_LINEAR || kind == RULE_PARTIAL || kind == RULE_PICK;
}

static uint32_t value_operands(const grad_facts *f, uint32_t id, uint32_t *first)
{
    const vy_inst *i = &f->p->insts.data[id];
    *first = vy_op_is_memory((vy_op)i->op) ? vy_index_count(f->p, id) : 0;
    return i->nargs;
}

// Does a source of CARRY or RESULT `id`, or a value that access `id` stores, vary?
static bool takes_varied(const grad_facts *f, uint32_t id)
{
    uint32_t from, n = value_operands(f, id, &from), s[3];
    bool slot = vy_is_slot((vy_op)f->p->insts.data[id].op), varied = false;
    if (slot) from = 0, n = vy_slot_sources(f->p, &f->s, id, s);
    for (uint32_t k = from; k < n; k++)
        varied |= get(f, slot ? s[k] : vy_arg(f->p, id, k)) & VARIED;
    return varied;
}

static void vary_access(activity *a, uint32_t id)
{
    const vy_inst *i = &a->facts->p->insts.data[id];
    if (i->op == VY_OP_ZERO) return;
    if (i->op != VY_OP_LOAD && takes_varied(a->facts, id)) mark_buffer(a, i->aux, VARIED);
    if (i->type != VY_VOID && a->facts->buffers[i->aux].activity & VARIED) vary(a, id);
}

static void visit_varied(activity *a, uint32_t id)
{
    const grad_facts *f = a->facts;
    const vy_inst *i = &f->p->insts.data[id];
    vy_op op = (vy_op)i->op;
    bool varied = false;
    if (vy_op_is_memory(op)) {
        vary_access(a, id);
    } else if (vy_is_slot(op)) {
        if (takes_varied(f, id)) vary(a, id);
    } else if (i->type != VY_VOID && op != VY_OP_LOOP) {
        for (uint32_t k = 0; k < i->nargs; k++)
            varied |= (get(f, vy_arg(f->p, id, k)) & VARIED) && vy_derivative_passes(f->p, id, k);
        if (varied) vary(a, id);
    }
}

static void use_access(activity *a, uint32_t id)
{
    const grad_facts *f = a->facts;
    const vy_inst *i = &f->p->insts.data[id];
    uint32_t from, n = value_operands(f, id, &from);
    if (i->op == VY_OP_ZERO) return;
    // the old value of an atomic is what was in the buffer
    if (f->activity[id] & USEFUL) mark_buffer(a, i->aux, USEFUL);
    if (i->op == VY_OP_LOAD || !(f->buffers[i->aux].activity & USEFUL)) return;
    for (uint32_t k = from; k < n; k++) use(a, vy_arg(f->p, id, k));
}

static void visit_useful(activity *a, uint32_t id)
{
    const grad_facts *f = a->facts;
    const vy_inst *i = &f->p->insts.data[id];
    vy_op op = (vy_op)i->op;
    uint32_t s[3];
    if (vy_op_is_memory(op)) {
        use_access(a, id);
    } else if (!(f->activity[id] & USEFUL) || op == VY_OP_LOOP) {
        return;
    } else if (vy_is_slot(op)) {
        for (uint32_t k = vy_slot_sources(f->p, &f->s, id, s); k-- > 0;) use(a, s[k]);
    } else {
        for (uint32_t k = 0; k < i->nargs; k++)
            if (vy_derivative_passes(f->p, id, k)) use(a, vy_arg(f->p, id, k));
    }
}

// The requested outputs and inputs, and what they begin as or what begins as they do.
static void seed(activity *a)
{
    grad_facts *f = a->facts;
    for (uint32_t i = 1; i < f->p->buffers.count; i++) {
        if (f->buffers[i].of) mark_buffer(a, i, USEFUL);
        if (f->buffers[i].wrt || f->buffers[f->buffers[i].start].wrt)
            f->buffers[i].activity |= VARIED;
    }
    for (uint32_t k = 0; k < f->p->leaves.count; k++)
        if (f->leaf_wrt[k]) f->leaf_activity[k] |= VARIED;
}

bool vy_activity(grad_facts *f)
{
    vy_arena arena = {0};
    activity a = {.facts = f};
    bool ok = vy_dataflow_make(&a.flow, f->p, &f->s, &arena);
    if (ok) {
        seed(&a);
        vy_dataflow_push_all(&a.flow);
        for (uint32_t id; (id = vy_dataflow_pop(&a.flow));) visit_varied(&a, id);
        vy_dataflow_push_all(&a.flow);
        for (uint32_t id; (id = vy_dataflow_pop(&a.flow));) visit_useful(&a, id);
    }
    vy_arena_free(&arena);
    return ok;
}
