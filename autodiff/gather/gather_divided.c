// SPDX-License-Identifier: MIT
// gather_divided.c: scalars that the program divides, and that it may not divide if they are
// negative.
//
//   (i + offset) / 4 - pad        offset; pad is not divided
//   channels / groups             channels; and groups, that it may be divided by
//
// A sum whose terms are not negative is not; of what is subtracted that would say nothing.  What is
// shifted to the right may be negative, but is the length of rows only where it is not: where rows
// are all that is wanted (gather_own.c), scalars that are shifted are taken not to be.
#include "autodiff/gather/gather_build.h"

// The operands whose sign is that of the result, if all of them have it.
static uint32_t signed_operands(const vy_inst *i)
{
    switch ((vy_op)i->op) {
    case VY_OP_ADD:
    case VY_OP_MUL:
    case VY_OP_MIN:
    case VY_OP_MAX:
    case VY_OP_DIV: return 2;
    case VY_OP_SUB:
    case VY_OP_CAST:
    case VY_OP_BITCAST:
    case VY_OP_REM:
    case VY_OP_SHL: return 1;
    default: return 0;
    }
}

// Notes an operand: whether it is negative matters.
static void see(const vy_program *p, uint32_t id, uint8_t kind, uint8_t *matters, uint8_t *divided)
{
    const vy_leaf *l = VY_IS_LEAF(id) ? &p->leaves.data[VY_LEAF_INDEX(id)] : NULL;
    if (!l)
        matters[id] = 1;
    else if (l->kind == VY_LEAF_SCALAR && l->type == VY_I32)
        divided[l->index] = divided[l->index] > kind ? divided[l->index] : kind;
}

static bool is_scalar(const vy_program *p, uint32_t id)
{
    return VY_IS_LEAF(id) && p->leaves.data[VY_LEAF_INDEX(id)].kind == VY_LEAF_SCALAR;
}

const uint8_t *gather_divided(gather *g)
{
    const vy_program *p = g->r;
    uint8_t *matters = vy_arena_alloc(&g->arena, p->insts.count);
    uint8_t *divided = vy_arena_alloc(&g->arena, p->scalars.count + 1);
    bool any = false;
    g->failed |= !matters || !divided;
    for (uint32_t id = p->insts.count; id-- > 1 && !g->failed;) {
        const vy_inst *i = &p->insts.data[id];
        if (!vy_type_is_integer((vy_type)i->type)) continue;
        if (i->op == VY_OP_DIV || i->op == VY_OP_REM) {
            see(p, vy_arg(p, id, 0), VY_AFFINE_NATURAL, matters, divided);
            if (is_scalar(p, vy_arg(p, id, 0)))
                see(p, vy_arg(p, id, 1), VY_AFFINE_POSITIVE, matters, divided);
        }
        if (i->op == VY_OP_SHR && g->owns && is_scalar(p, vy_arg(p, id, 0)))
            see(p, vy_arg(p, id, 0), VY_AFFINE_NATURAL, matters, divided);
        for (uint32_t k = 0; matters[id] && k < signed_operands(i); k++)
            see(p, vy_arg(p, id, k), VY_AFFINE_NATURAL, matters, divided);
    }
    for (uint32_t k = 0; k < p->scalars.count && !g->failed; k++) any |= divided[k];
    return any ? divided : NULL;
}
