// SPDX-License-Identifier: MIT
// fully_written.c: outputs every element of which is stored to, so that they need no clearing.
#include "spirv/facts/facts.h"

#include <string.h>

bool vy_dim_equal(const vy_program *p, vy_dim a, vy_dim b)
{
    if (a.id == b.id) return true;
    const vy_dim_node *x = &p->dims.data[a.id], *y = &p->dims.data[b.id];
    return x->op == y->op && x->op < VY_DIM_ADD && x->value == y->value;
}

// A top-level store indexed by all over variables, each on an axis of the variable's extent.
static bool covers(const vy_program *p, uint32_t i)
{
    const vy_inst *in = &p->insts.data[i];
    const vy_buf *b = &p->buffers.data[in->aux];
    bool seen[VY_MAX_RANK + 1] = {0};
    if (b->rank != p->overs.count || b->rank > VY_MAX_RANK) return false;
    for (uint32_t k = 0; k < b->rank; k++) {
        uint32_t arg = vy_arg(p, i, k);
        if (!VY_IS_LEAF(arg)) return false;
        const vy_leaf *l = &p->leaves.data[VY_LEAF_INDEX(arg)];
        if (l->kind != VY_LEAF_OVER || l->index >= VY_MAX_RANK || seen[l->index]) return false;
        if (!vy_dim_equal(p, b->dims[k], p->overs.data[l->index].extent)) return false;
        seen[l->index] = true;
    }
    return true;
}

void vy_first_uses(const vy_program *p, uint8_t *uses)
{
    uint32_t depth = 0;
    memset(uses, VY_UNTOUCHED, p->buffers.count);
    for (uint32_t i = 1; p->overs.count && i < p->insts.count; i++) {
        const vy_inst *in = &p->insts.data[i];
        depth += vy_op_opens((vy_op)in->op);
        depth -= vy_op_closes((vy_op)in->op);
        if (!vy_op_is_memory((vy_op)in->op) || uses[in->aux] != VY_UNTOUCHED) continue;
        const bool all = in->op == VY_OP_STORE && depth == 0 && covers(p, i);
        uses[in->aux] = all ? VY_WRITES_ALL : VY_TOUCHES;
    }
}

bool vy_fully_written(const vy_program *p, uint32_t buffer)
{
    uint8_t *uses = vy_realloc(NULL, p->buffers.count);
    if (p->buffers.data[buffer].stored_first) return vy_free(uses), true;
    if (!uses) return false;
    vy_first_uses(p, uses);
    const bool all = uses[buffer] == VY_WRITES_ALL;
    vy_free(uses);
    return all;
}
