// SPDX-License-Identifier: MIT
// forward_live.c: which instructions the forward run needs for their values.
//
// The second operand of online_softmax.c's straight_through gives a derivative only.  What is computed for it alone runs in
// reverse, and forward only as far as the reverse asks; so keeping one of its values on a tape costs the
// computation that it was to save.  The plan asks here.
#include "autodiff/core/reverse.h"
#include "autodiff/facts/facts.h"

typedef struct valued {
    const reverse *r;
    uint8_t *live;   // by instruction
    uint8_t *arrays; // by buffer: something loads from it
    bool changed;
} valued;

static void mark(valued *v, uint32_t id)
{
    if (VY_IS_LEAF(id) || v->live[id]) return;
    v->live[id] = 1;
    v->changed = true;
}

// Operands of an instruction that runs.
static void mark_operands(valued *v, uint32_t id)
{
    const vy_program *p = v->r->p;
    const vy_inst *i = &p->insts.data[id];
    vy_op op = (vy_op)i->op;
    uint32_t first = 0, last = i->nargs;
    if (vy_is_equal_pair(p, id) || op == VY_OP_IF || op == VY_OP_TEST) last = 1;
    if (op == VY_OP_LOOP) last = 3;
    if (op == VY_OP_WHILE || op == VY_OP_ELSE || op == VY_OP_ENDIF || op == VY_OP_ENDCHECKPOINT)
        last = 0;
    if (op == VY_OP_ENDLOOP) last = (p->insts.data[v->r->s.partner[id]].flags & VY_FLAG_EXIT) != 0;
    for (uint32_t k = first; k < last; k++) mark(v, vy_arg(p, id, k));
    if (op == VY_OP_LOAD && !v->arrays[i->aux]) v->arrays[i->aux] = 1, v->changed = true;
}

// What a CARRY or RESULT takes over.
static void mark_sources(valued *v, uint32_t id)
{
    const vy_program *p = v->r->p;
    uint32_t marker = vy_arg(p, id, 0), k = p->insts.data[id].aux, s = v->r->s.partner[marker];
    vy_op op = (vy_op)p->insts.data[marker].op;
    if (op == VY_OP_ENDIF || op == VY_OP_ENDCHECKPOINT) {
        mark(v, vy_arg(p, marker, k));
        if (op == VY_OP_ENDIF) mark(v, vy_arg(p, v->r->s.partner[s], k));
        return;
    }
    uint32_t opener = op == VY_OP_ENDLOOP ? s : marker, end = v->r->s.partner[opener];
    bool counted = p->insts.data[opener].op == VY_OP_LOOP;
    mark(v, vy_arg(p, opener, (counted ? 3 : 0) + k));
    mark(v, vy_arg(p, end, ((p->insts.data[opener].flags & VY_FLAG_EXIT) != 0) + k));
}

static void visit(valued *v, uint32_t id)
{
    const vy_inst *i = &v->r->p->insts.data[id];
    vy_effect effect = vy_op_infos[i->op].effect;
    bool local = effect == VY_WRITE && v->r->p->buffers.data[i->aux].cls == VY_LOCAL;
    if (effect == VY_CONV || (effect == VY_WRITE && (!local || v->arrays[i->aux]))) mark(v, id);
    if (i->op == VY_OP_TEST && v->live[v->r->s.partner[id]]) mark(v, id);
    if (!v->live[id]) return;
    if (i->op == VY_OP_CARRY || i->op == VY_OP_RESULT)
        mark_sources(v, id);
    else
        mark_operands(v, id);
    uint32_t up = v->r->s.parent[id];
    if (vy_op_opens((vy_op)i->op)) mark(v, v->r->s.partner[id]);
    if (i->op == VY_OP_RESULT) mark(v, v->r->s.partner[vy_arg(v->r->p, id, 0)]);
    if (up) mark(v, up);
}

void vy_valued(const reverse *r, uint8_t *live, uint8_t *arrays)
{
    valued v = {.r = r, .live = live, .arrays = arrays, .changed = true};
    while (v.changed) {
        v.changed = false;
        for (uint32_t id = r->p->insts.count; id-- > 1;) visit(&v, id);
    }
}
