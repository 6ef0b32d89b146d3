// SPDX-License-Identifier: MIT
// forward_live.c: forward liveness: which instructions the forward sweep needs for their values.
//
// The second operand of online_softmax.c's derive_as contributes a derivative only.  Values that
// are computed for it alone are computed in the reverse sweep, and in the forward sweep only if
// they are taped; so taping one costs the very computation that a tape is meant to save.  The
// storage plan uses this analysis.
#include "autodiff/facts/facts.h"
#include "ir/core/dataflow.h"

typedef struct liveness {
    const grad_facts *facts;
    vy_dataflow flow;
    uint8_t *live;   // by instruction
    uint8_t *arrays; // by buffer: something loads from it
} liveness;

static void mark(liveness *v, uint32_t id)
{
    if (VY_IS_LEAF(id) || v->live[id]) return;
    v->live[id] = 1;
    vy_dataflow_push(&v->flow, id);
}

// A local array that is loaded from: all writes to it are live.
static void mark_array(liveness *v, uint32_t buffer)
{
    if (v->arrays[buffer]) return;
    v->arrays[buffer] = 1;
    vy_dataflow_push_accesses(&v->flow, buffer);
}

// Operands of a live instruction.
static void mark_operands(liveness *v, uint32_t id)
{
    const vy_program *p = v->facts->p;
    const vy_inst *i = &p->insts.data[id];
    uint32_t n = vy_computed_args(p, id);
    if (vy_is_marker((vy_op)i->op)) n = vy_control_args(p, &v->facts->s, id);
    for (uint32_t k = 0; k < n; k++) mark(v, vy_arg(p, id, k));
    if (i->op == VY_OP_LOAD) mark_array(v, i->aux);
}

// The other markers of a live construct.
static void mark_markers(liveness *v, uint32_t opener)
{
    mark(v, v->facts->s.partner[opener]);
    if (v->facts->s.test[opener]) mark(v, v->facts->s.test[opener]);
}

static void mark_slot(liveness *v, uint32_t id)
{
    uint32_t sources[3], n = vy_slot_sources(v->facts->p, &v->facts->s, id, sources);
    for (uint32_t k = 0; k < n; k++) mark(v, sources[k]);
    if (v->facts->p->insts.data[id].op == VY_OP_RESULT)
        mark(v, vy_opener(v->facts->p, &v->facts->s, id));
}

static void visit(liveness *v, uint32_t id)
{
    const vy_inst *i = &v->facts->p->insts.data[id];
    vy_effect effect = vy_op_infos[i->op].effect;
    bool local = effect == VY_WRITE && v->facts->p->buffers.data[i->aux].cls == VY_LOCAL;
    if (effect == VY_CONV || (effect == VY_WRITE && (!local || v->arrays[i->aux]))) mark(v, id);
    if (!v->live[id]) return;
    if (vy_is_slot((vy_op)i->op))
        mark_slot(v, id);
    else
        mark_operands(v, id);
    if (vy_op_opens((vy_op)i->op)) mark_markers(v, id);
    if (v->facts->s.parent[id]) mark(v, v->facts->s.parent[id]);
}

bool vy_forward_live(const grad_facts *f, vy_arena *arena, uint8_t *live, uint8_t *arrays)
{
    liveness v = {.facts = f, .live = live, .arrays = arrays};
    if (!vy_dataflow_make(&v.flow, f->p, &f->s, arena)) return false;
    vy_dataflow_push_all(&v.flow);
    for (uint32_t id; (id = vy_dataflow_pop(&v.flow));) visit(&v, id);
    return true;
}
