// SPDX-License-Identifier: MIT
// undo_pinned.c: domain variables of which only one value gets to a store.
//
//   program rim(u: inout f32[N, M], N: u32, M: u32) over(i: N, j: M)
//   {
//       if i == 0 { u[i, j] = 0.5 * u[i + 1, j]; }      log: [M], not [N, M]
//   }
//
// What is overwritten needs no axis of the log for such a variable: of all invocations that differ
// in it alone one stores.  Looked for are equalities with what is the same for all invocations, in
// the conditions of the first arms around the store.
#include "autodiff/reverse/undo.h"
#include "ir/core/flow.h"

enum { DEEP = 8 }; // of expressions

static bool is_over(const vy_program *p, uint32_t v, uint32_t over)
{
    if (!VY_IS_LEAF(v)) return false;
    const vy_leaf *l = &p->leaves.data[VY_LEAF_INDEX(v)];
    return l->kind == VY_LEAF_OVER && l->index == over;
}

// Is it the same number in all invocations, at all times?
static bool is_fixed(const vy_program *p, uint32_t v, uint32_t depth)
{
    if (VY_IS_LEAF(v)) {
        const vy_leaf_kind kind = p->leaves.data[VY_LEAF_INDEX(v)].kind;
        return kind == VY_LEAF_CONST || kind == VY_LEAF_SCALAR || kind == VY_LEAF_LEN;
    }
    const vy_inst *i = &p->insts.data[v];
    bool fixed = depth < DEEP && vy_op_infos[i->op].effect == VY_PURE;
    for (uint32_t k = 0; fixed && k < i->nargs; k++)
        fixed = is_fixed(p, vy_arg(p, v, k), depth + 1);
    return fixed;
}

static bool pins(const vy_program *p, uint32_t condition, uint32_t over, uint32_t depth)
{
    if (VY_IS_LEAF(condition) || depth > DEEP) return false;
    const vy_op op = (vy_op)p->insts.data[condition].op;
    if (op != VY_OP_AND && op != VY_OP_EQ) return false;
    const uint32_t a = vy_arg(p, condition, 0), b = vy_arg(p, condition, 1);
    if (op == VY_OP_AND) return pins(p, a, over, depth + 1) || pins(p, b, over, depth + 1);
    return (is_over(p, a, over) && is_fixed(p, b, 0)) || (is_over(p, b, over) && is_fixed(p, a, 0));
}

bool vy_undo_is_pinned(const vy_program *p, const vy_structure *s, uint32_t store, uint32_t over)
{
    for (uint32_t up = s->parent[store]; up; up = s->parent[up])
        if (p->insts.data[up].op == VY_OP_IF && store < s->partner[up] &&
            pins(p, vy_arg(p, up, 0), over, 0))
            return true;
    return false;
}
