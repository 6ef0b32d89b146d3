// SPDX-License-Identifier: MIT
// gather_divided.c: scalars that the program divides, and that it may not divide if they are
// negative.
//
//   (i + offset) / 4 - pad        offset; pad is not divided
//   channels / groups             channels; and groups, that it may be divided by
//
// A sum whose terms are not negative is not; of what is subtracted that would say nothing.  What is
// shifted to the right may be negative, but is the length of rows only where it is not: where rows
// are all that is wanted (gather_own.c), and where what is shifted is a factor, y * (w >> 2),
// scalars that are shifted are taken not to be.
#include "autodiff/affine/launch_numbers.h"
#include "autodiff/gather/gather_build.h"
#include "ir/core/flow.h"

enum { DEEPEST = 4 }; // of operations in a quotient

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

// Does the launch alone decide it?
static bool is_of_launch(const vy_program *p, uint32_t id, int depth)
{
    int64_t c;
    id = gather_plain(p, id);
    if (vy_id_int(p, id, &c)) return true;
    if (VY_IS_LEAF(id)) return is_scalar(p, id);
    const vy_inst *i = &p->insts.data[id];
    bool all = depth > 0 && i->nargs == 2 && vy_makes_number((vy_op)i->op);
    for (uint32_t k = 0; k < 2 && all; k++) all = is_of_launch(p, vy_arg(p, id, k), depth - 1);
    return all;
}

// The quotient of what the launch decides that the operand is; 0: it is none.
static uint32_t quotient_of_launch(const vy_program *p, uint32_t id)
{
    id = gather_plain(p, id);
    const vy_op op = VY_IS_LEAF(id) ? VY_OP_NONE : (vy_op)p->insts.data[id].op;
    const bool divides = op == VY_OP_DIV || op == VY_OP_REM || op == VY_OP_SHR;
    return divides && is_of_launch(p, vy_arg(p, id, 0), DEEPEST) ? id : 0;
}

// Marks quotients of what the launch decides that something is multiplied by, which is not affine
// but where they are numbers.  Are there any?
static bool find_factors(const vy_program *p, uint8_t *factor)
{
    bool any = false;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        for (uint32_t k = 0; i->op == VY_OP_MUL && k < 2; k++) {
            int64_t c;
            const uint32_t q = quotient_of_launch(p, vy_arg(p, id, k));
            if (!q || vy_id_int(p, vy_arg(p, id, 1 - k), &c)) continue;
            any = true;
            if (factor) factor[q] = 1;
        }
    }
    return any;
}

void gather_see_divided_factors(gather *g)
{
    if (g->owns || !find_factors(g->r, NULL)) return;
    for (uint32_t k = 0; k < g->site_count; k++)
        g->sites[k].divides |= !g->sites[k].gathered && g->sites[k].factors;
}

const uint8_t *gather_divided(gather *g)
{
    const vy_program *p = g->r;
    uint8_t *matters = vy_arena_alloc(&g->arena, p->insts.count);
    uint8_t *divided = vy_arena_alloc(&g->arena, p->scalars.count + 1);
    uint8_t *factor = vy_arena_alloc(&g->arena, p->insts.count);
    bool any = false;
    g->failed |= !matters || !divided || !factor;
    if (!g->failed) find_factors(p, factor);
    for (uint32_t id = p->insts.count; id-- > 1 && !g->failed;) {
        const vy_inst *i = &p->insts.data[id];
        if (!vy_type_is_integer((vy_type)i->type)) continue;
        if (i->op == VY_OP_DIV || i->op == VY_OP_REM) {
            see(p, vy_arg(p, id, 0), VY_AFFINE_NATURAL, matters, divided);
            if (is_scalar(p, vy_arg(p, id, 0)))
                see(p, vy_arg(p, id, 1), VY_AFFINE_POSITIVE, matters, divided);
        }
        if (i->op == VY_OP_SHR && (factor[id] || g->owns) && is_scalar(p, vy_arg(p, id, 0)))
            see(p, vy_arg(p, id, 0), VY_AFFINE_NATURAL, matters, divided);
        for (uint32_t k = 0; matters[id] && k < signed_operands(i); k++)
            see(p, vy_arg(p, id, k), VY_AFFINE_NATURAL, matters, divided);
    }
    for (uint32_t k = 0; k < p->scalars.count && !g->failed; k++) any |= divided[k];
    return any ? divided : NULL;
}
