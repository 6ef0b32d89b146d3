// SPDX-License-Identifier: MIT
// queries.c: small queries about the primal, shared by several rooms.
#include "autodiff/core/facts.h"
#include "ir/core/pipe.h"
#include "autodiff/grad.h"

// Does a dispatch of the pipeline with these parameters write to the buffer?
static bool is_written_by_steps(const vy_program *signature, uint32_t buffer)
{
    const vy_module *m = signature->module;
    const vy_pipeline *l = NULL;
    for (uint32_t i = 0; i < m->pipelines.count; i++)
        if (m->pipelines.data[i]->signature == signature) l = m->pipelines.data[i];
    for (uint32_t i = 0; l && i < l->steps.count; i++) {
        const vy_pipe_step *s = &l->steps.data[i];
        if (s->kind != VY_PIPE_DISPATCH) continue;
        const vy_program *p = m->programs.data[s->program];
        for (uint32_t k = 1, n = 0; k < p->buffers.count; k++) {
            const vy_buf *b = &p->buffers.data[k];
            if (vy_pipe_binds(b) && s->args[n++].buffer.id == buffer && b->cls != VY_IN)
                return true;
        }
    }
    return false;
}

bool vy_is_written(const vy_program *p, uint32_t buffer)
{
    if (p->signature) return is_written_by_steps(p, buffer);
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

bool vy_subgroup_chooses(vy_op op)
{
    return op == VY_OP_SG_EXCLUSIVE_ADD || op == VY_OP_SG_BROADCAST || op == VY_OP_SG_SHUFFLE ||
           op == VY_OP_SG_SHUFFLE_XOR;
}
