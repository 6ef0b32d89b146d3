// SPDX-License-Identifier: MIT
// reads.c: what a program or pipeline reads of its parameters, so that nothing is kept for a
// dispatch that only needs to bind it.
#include "ir/host/host_build.h"

#include <string.h>

static bool starts_from(const vy_program *p, uint32_t buffer)
{
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        const vy_buf *b = &p->buffers.data[i];
        if (b->init == VY_INIT_COPY && strcmp(b->init_from, p->buffers.data[buffer].name) == 0)
            return true;
    }
    return false;
}

static bool program_reads(const vy_program *p, uint32_t buffer)
{
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (vy_op_is_memory((vy_op)p->insts.data[id].op) && p->insts.data[id].aux == buffer)
            return true;
    return starts_from(p, buffer);
}

static bool step_reads(const vy_pipeline *l, const vy_pipe_step *s, uint32_t buffer)
{
    if (s->kind == VY_PIPE_VALUE) return s->buffer.id == buffer;
    if (s->kind != VY_PIPE_DISPATCH) return false;
    const vy_program *p = l->module->programs.data[s->program];
    for (uint32_t i = 1, n = 0; i < p->buffers.count; i++) {
        if (!vy_pipe_binds(&p->buffers.data[i])) continue;
        if (s->args[n++].buffer.id == buffer && program_reads(p, i)) return true;
    }
    return false;
}

bool vy_host_reads(const vy_module *m, const vy_host_call *c, uint32_t buffer)
{
    if (!c->pipeline) return program_reads(m->programs.data[c->callee], buffer);
    const vy_pipeline *l = m->pipelines.data[c->callee];
    for (uint32_t i = 0; i < l->steps.count; i++)
        if (step_reads(l, &l->steps.data[i], buffer)) return true;
    return starts_from(l->signature, buffer);
}
