// SPDX-License-Identifier: MIT
// order_dependence.c: finds derivatives that depend on the order of invocations, which are refused.
//
//   let k = atomic_add(count[0], 1);  y[k] = x[i];
//
// The old value of an atomic may differ from run to run.  That the reverse needs it shows as poison
// only where the result does not perform the atomic; with_value, or a read of the buffer elsewhere,
// makes it do so, and the derivative would be that of one particular order.  So old values are
// traced through the primal, independent of what is built from it: through operations, memory, and
// control dependence.  None may be an operand of a product with an active value, an index of active
// memory, or decide whether something active is executed.
#include "autodiff/core/rules.h"
#include "autodiff/facts/facts.h"
#include "ir/core/dataflow.h"

typedef struct order {
    const grad_facts *facts;
    uint32_t *from;    // by instruction: the atomic whose old value this depends on, or 0
    uint32_t *control; // by opening marker: likewise for the decision whether its body runs
    uint32_t *buffer;  // by buffer: likewise for its contents
    vy_dataflow flow;
} order;

static uint32_t of(const order *o, uint32_t id) { return VY_IS_LEAF(id) ? 0 : o->from[id]; }

static uint32_t of_args(const order *o, uint32_t id, uint32_t first, uint32_t last)
{
    for (uint32_t k = first; k < last; k++) {
        uint32_t found = of(o, vy_arg(o->facts->p, id, k));
        if (found) return found;
    }
    return 0;
}

static void note_value(order *o, uint32_t id, uint32_t atomic)
{
    if (!atomic || o->from[id]) return;
    o->from[id] = atomic;
    vy_dataflow_push_users(&o->flow, id);
}

static void note_buffer(order *o, uint32_t buffer, uint32_t atomic)
{
    if (!atomic || o->buffer[buffer]) return;
    o->buffer[buffer] = atomic;
    vy_dataflow_push_accesses(&o->flow, buffer);
}

static void note_control(order *o, uint32_t opener, uint32_t atomic)
{
    if (!atomic || o->control[opener]) return;
    o->control[opener] = atomic;
    const uint32_t last = vy_last_result(o->facts->p, &o->facts->s, opener);
    for (uint32_t id = opener + 1; id <= last; id++) vy_dataflow_push(&o->flow, id);
}

// The atomic on which the execution of `id` depends, through the constructs control_of it; or 0.
static uint32_t control_of(const order *o, uint32_t id)
{
    for (uint32_t up = o->facts->s.parent[id]; up; up = o->facts->s.parent[up])
        if (o->control[up]) return o->control[up];
    return 0;
}

static void follow_marker(order *o, uint32_t id)
{
    const vy_program *p = o->facts->p;
    const vy_structure *s = &o->facts->s;
    vy_op op = (vy_op)p->insts.data[id].op;
    uint32_t ids[4], n = vy_op_opens(op) ? vy_deciders(p, s, id, ids) : 0;
    for (uint32_t k = 0; k < n; k++) note_control(o, id, of(o, ids[k]));
    if (op == VY_OP_LOOP) note_value(o, id, of_args(o, id, 0, vy_control_args(p, s, id)));
    if (!vy_is_slot(op)) return;
    n = vy_slot_sources(p, s, id, ids);
    note_value(o, id, o->control[vy_opener(p, s, id)]);
    for (uint32_t k = 0; k < n; k++) note_value(o, id, of(o, ids[k]));
}

static void follow(order *o, uint32_t id)
{
    const vy_inst *i = &o->facts->p->insts.data[id];
    vy_op op = (vy_op)i->op;
    if (vy_is_marker(op)) {
        follow_marker(o, id);
    } else if (op == VY_OP_LOAD) {
        note_value(o, id, of_args(o, id, 0, i->nargs));
        note_value(o, id, o->buffer[i->aux]);
    } else if (vy_op_is_memory(op)) {
        if (vy_op_is_atomic(op) && i->type != VY_VOID) note_value(o, id, id);
        note_buffer(o, i->aux, of_args(o, id, 0, i->nargs));
        note_buffer(o, i->aux, control_of(o, id));
    } else {
        note_value(o, id, of_args(o, id, 0, i->nargs));
    }
}

// The atomic whose old value the reverse of `id` would need, or 0.
static uint32_t needed_by(const order *o, uint32_t id)
{
    const grad_facts *f = o->facts;
    const vy_inst *i = &f->p->insts.data[id];
    vy_op op = (vy_op)i->op;
    if (vy_op_opens(op)) return f->busy[id] ? o->control[id] : 0;
    if (op == VY_OP_RESULT && vy_is_active(f, id)) return o->control[vy_opener(f->p, &f->s, id)];
    if (vy_is_marker(op)) return 0;
    if (vy_op_is_memory(op)) {
        bool active = (f->buffers[i->aux].activity & ACTIVE) == ACTIVE &&
                      (op != VY_OP_LOAD || vy_is_active(f, id));
        uint32_t rank = op == VY_OP_ZERO ? 0 : f->p->buffers.data[i->aux].rank;
        return active ? of_args(o, id, 0, rank) : 0;
    }
    bool plain = op == VY_OP_CAST || vy_rule_kind_of(op) == RULE_LINEAR;
    return vy_is_active(f, id) && !plain ? of_args(o, id, 0, i->nargs) : 0;
}

static bool has_old_values(const vy_program *p)
{
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (vy_op_is_atomic((vy_op)p->insts.data[id].op)) return true;
    return false;
}

bool vy_order(const grad_facts *f, uint32_t *atomic)
{
    uint32_t n = f->p->insts.count;
    *atomic = 0;
    if (!has_old_values(f->p)) return true;
    vy_arena arena = {0};
    order o = {.facts = f};
    o.from = vy_arena_alloc(&arena, n * sizeof *o.from);
    o.control = vy_arena_alloc(&arena, n * sizeof *o.control);
    o.buffer = vy_arena_alloc(&arena, f->p->buffers.count * sizeof *o.buffer);
    const bool ok =
        o.from && o.control && o.buffer && vy_dataflow_make(&o.flow, f->p, &f->s, &arena);
    if (ok) vy_dataflow_push_all(&o.flow);
    for (uint32_t id; ok && (id = vy_dataflow_pop(&o.flow));) follow(&o, id);
    for (uint32_t id = 1; ok && id < n && !*atomic; id++) *atomic = needed_by(&o, id);
    vy_arena_free(&arena);
    return ok;
}
