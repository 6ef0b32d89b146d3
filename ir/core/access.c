// SPDX-License-Identifier: MIT
// access.c: elements and updates of memory.
#include "ir/core/access.h"

bool vy_same_index(const vy_program *p, uint32_t x, uint32_t y, uint32_t but)
{
    const uint32_t rank = vy_rank_of(p, x);
    if (rank != vy_rank_of(p, y)) return false;
    for (uint32_t k = 0; k < rank; k++)
        if (k != but && vy_arg(p, x, k) != vy_arg(p, y, k)) return false;
    return true;
}

bool vy_different_elements(const vy_program *p, uint32_t x, uint32_t y)
{
    for (uint32_t k = 0; k < vy_rank_of(p, x); k++) {
        const vy_scalar *a = vy_id_const(p, vy_arg(p, x, k)), *b = vy_id_const(p, vy_arg(p, y, k));
        if (a && b && a->i != b->i) return true;
    }
    return false;
}

vy_strength vy_strength_of(const vy_program *p, uint32_t id)
{
    const vy_inst *i = &p->insts.data[id];
    if (!vy_op_is_atomic((vy_op)i->op)) return VY_STRENGTH_NONE;
    if (i->flags & VY_FLAG_ONCE) return VY_STRENGTH_ONLY;
    const bool owned = i->flags & VY_FLAG_OWNED || p->buffers.data[i->aux].cls == VY_LOCAL;
    return owned ? VY_STRENGTH_OWNED : VY_STRENGTH_ATOMIC;
}

uint8_t vy_strength_flags(vy_strength s)
{
    return s == VY_STRENGTH_ONLY    ? VY_FLAG_OWNED | VY_FLAG_ONCE
           : s == VY_STRENGTH_OWNED ? VY_FLAG_OWNED
                                    : 0;
}

bool vy_set_strength(vy_program *p, uint32_t id, vy_strength proved)
{
    vy_inst *i = &p->insts.data[id];
    const uint8_t flags = vy_strength_flags(proved), had = i->flags;
    i->flags |= flags;
    return (had & flags) != flags;
}
