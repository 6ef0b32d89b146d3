// SPDX-License-Identifier: MIT
// queries.c: small queries about the primal, shared by several rooms.
#include "autodiff/core/facts.h"
#include "autodiff/grad.h"

bool vy_is_written(const vy_program *p, uint32_t buffer)
{
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (vy_op_infos[p->insts.data[id].op].effect == VY_WRITE && p->insts.data[id].aux == buffer)
            return true;
    return false;
}

bool vy_grad_default_of(const vy_program *p, vy_buffer b)
{
    const vy_buf *buf = &p->buffers.data[b.id];
    if (!vy_type_is_float(buf->type) || buf->workspace) return false;
    return buf->cls == VY_OUT || (buf->cls == VY_INOUT && vy_is_written(p, b.id));
}

bool vy_grad_default_wrt(const vy_program *p, vy_buffer b)
{
    const vy_buf *buf = &p->buffers.data[b.id];
    return vy_type_is_float(buf->type) && !buf->workspace &&
           (buf->cls == VY_IN || buf->cls == VY_INOUT);
}

bool vy_stores_once(const grad_facts *f, uint32_t id)
{
    uint32_t rank = f->p->buffers.data[f->p->insts.data[id].aux].rank;
    for (uint32_t loop = f->home[id]; loop; loop = f->home[loop]) {
        bool found = false;
        for (uint32_t k = 0; k < rank; k++) found |= vy_arg(f->p, id, k) == loop;
        if (!found) return false;
    }
    return true;
}

bool vy_subgroup_chooses(vy_op op)
{
    return op == VY_OP_SG_EXCLUSIVE_ADD || op == VY_OP_SG_BROADCAST || op == VY_OP_SG_SHUFFLE ||
           op == VY_OP_SG_SHUFFLE_XOR;
}
