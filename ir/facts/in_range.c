// SPDX-License-Identifier: MIT
// in_range.c: which accesses are proved in range: their indices by range.c, with what constructs
// around them tell (context.c).
#include "ir/core/access.h"
#include "ir/facts/context.h"

// How many of its first indices are.
static uint32_t axes_in_range(vy_prover *q, uint32_t id, uint32_t place)
{
    const vy_buf *b = &q->p->buffers.data[q->p->insts.data[id].aux];
    uint32_t k = 0;
    vy_prover_enter(q, place);
    for (; k < b->rank; k++) {
        uint32_t index = vy_arg(q->p, id, k);
        if (vy_id_type(q->p, index) != VY_U32 && !vy_is_at_least(q, index, 0)) break;
        if (!vy_is_below(q, index, q->d.form[b->dims[k].id])) break;
    }
    return k;
}

bool vy_is_in_range_at(vy_prover *q, uint32_t id, uint32_t place)
{
    return axes_in_range(q, id, place) == vy_rank_of(q->p, id);
}

bool vy_prove_axes(const vy_program *p, const vy_structure *s, vy_arena *arena, uint8_t *axes)
{
    vy_prover q;
    if (!vy_prover_make(&q, p, s, arena)) return false;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (!vy_op_is_memory((vy_op)i->op) || i->op == VY_OP_ZERO) continue;
        const uint32_t known = vy_axes_known(p, id);
        const uint32_t proved = known < vy_rank_of(p, id) ? axes_in_range(&q, id, id) : known;
        axes[id] = (uint8_t)(known < proved ? proved : known);
    }
    return true;
}

bool vy_prove_ranges(const vy_program *p, const vy_structure *s, vy_arena *arena, uint8_t *proved)
{
    if (!vy_prove_axes(p, s, arena, proved)) return false;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_op op = (vy_op)p->insts.data[id].op;
        if (!vy_op_is_memory(op) || op == VY_OP_ZERO) continue;
        proved[id] = proved[id] == vy_rank_of(p, id);
    }
    return true;
}
