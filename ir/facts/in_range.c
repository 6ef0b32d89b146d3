// SPDX-License-Identifier: MIT
// in_range.c: which accesses are proved in range: their indices by range.c, with what constructs
// around them tell (context.c).
#include "ir/facts/context.h"

bool vy_is_in_range_at(vy_prover *q, uint32_t id, uint32_t place)
{
    const vy_buf *b = &q->p->buffers.data[q->p->insts.data[id].aux];
    vy_prover_enter(q, place);
    for (uint32_t k = 0; k < b->rank; k++) {
        uint32_t index = vy_arg(q->p, id, k);
        if (vy_id_type(q->p, index) != VY_U32 && !vy_is_at_least(q, index, 0)) return false;
        if (!vy_is_below(q, index, q->d.form[b->dims[k].id])) return false;
    }
    return true;
}

bool vy_prove_ranges(const vy_program *p, const vy_structure *s, vy_arena *arena, uint8_t *proved)
{
    vy_prover q;
    if (!vy_prover_make(&q, p, s, arena)) return false;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        vy_op op = (vy_op)p->insts.data[id].op;
        if (!vy_op_is_memory(op) || op == VY_OP_ZERO) continue;
        proved[id] = (p->insts.data[id].flags & VY_FLAG_INRANGE) || vy_is_in_range_at(&q, id, id);
    }
    return true;
}
