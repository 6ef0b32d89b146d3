// SPDX-License-Identifier: MIT
// fuse_access.c: what programs access, for those that become part of another one (fuse_stages.c).
#include "ir/core/flow.h"
#include "ir/host/fuse.h"

static bool allows_code(const vy_program *p)
{
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_op op = (vy_op)p->insts.data[id].op;
        if (vy_op_infos[op].effect == VY_CONV || vy_is_loop(op) || op == VY_OP_CHECKPOINT)
            return false;
    }
    return true;
}

static bool allows_parameters(const vy_program *p)
{
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        const vy_buf *b = &p->buffers.data[i];
        // What begins as something else is begun by the dispatch, and a part has none of its own.
        if (b->workspace || b->cls == VY_SHARED || b->view_of || b->init != VY_INIT_NONE)
            return false;
    }
    for (uint32_t d = 1; d < p->dims.count; d++) {
        const vy_dim_op op = p->dims.data[d].op;
        if (op != VY_DIM_CONST && op != VY_DIM_SCALAR && op < VY_DIM_ADD) return false;
    }
    return p->overs.count && !p->rules[VY_VJP] && !p->rules[VY_JVP];
}

bool vy_fuse_is_own(const vy_program *p, uint32_t buffer)
{
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (!vy_op_is_memory((vy_op)i->op) || i->aux != buffer) continue;
        if (i->op == VY_OP_ZERO || p->buffers.data[buffer].rank != p->overs.count) return false;
        for (uint32_t k = 0; k < p->overs.count; k++) {
            const uint32_t a = vy_arg(p, id, k);
            const vy_leaf *l = VY_IS_LEAF(a) ? &p->leaves.data[VY_LEAF_INDEX(a)] : NULL;
            if (!l || l->kind != VY_LEAF_OVER || l->index != k) return false;
        }
    }
    return true;
}

bool vy_fuse_covers(const vy_program *p, uint32_t buffer)
{
    const vy_buf *b = &p->buffers.data[buffer];
    if (b->rank != p->overs.count) return false;
    for (uint32_t k = 0; k < b->rank; k++)
        if (!vy_equal_dims(p, b->dims[k], p->overs.data[k].extent)) return false;
    return true;
}

bool vy_fuse_overwrites(const vy_program *p, uint32_t buffer)
{
    uint32_t depth = 0;
    if (!vy_fuse_covers(p, buffer)) return false;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (i->aux == buffer && vy_op_is_memory((vy_op)i->op))
            return i->op == VY_OP_STORE && !depth; // the first access
        depth += vy_op_opens((vy_op)i->op);
        depth -= vy_op_closes((vy_op)i->op);
    }
    return false;
}

bool vy_fuse_allows(const vy_program *p) { return allows_parameters(p) && allows_code(p); }

bool vy_fuse_writes(const vy_program *p, uint32_t buffer)
{
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (vy_op_is_memory((vy_op)i->op) && i->op != VY_OP_LOAD && i->aux == buffer) return true;
    }
    return false;
}

bool vy_fuse_asks_length(const vy_program *p, uint32_t buffer)
{
    for (uint32_t k = 0; k < p->leaves.count; k++)
        if (p->leaves.data[k].kind == VY_LEAF_LEN && p->leaves.data[k].index == buffer) return true;
    return false;
}
