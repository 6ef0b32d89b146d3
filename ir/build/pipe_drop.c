// SPDX-License-Identifier: MIT
// pipe_drop.c: takes buffers out of the signature of a pipeline.
#include "ir/build/edit.h"
#include "ir/build/pipe_build.h"
#include "ir/core/pipe.h"

#include <string.h>

static bool renumber_step(vy_module *m, vy_pipe_step *s, const uint32_t *to)
{
    s->buffer.id = to[s->buffer.id];
    if (!s->arg_count) return true;
    vy_pipe_arg *args = vy_arena_alloc(&m->arena, s->arg_count * sizeof *args);
    for (uint32_t k = 0; args && k < s->arg_count; k++) {
        args[k] = s->args[k];
        args[k].buffer.id = to[args[k].buffer.id];
    }
    s->args = args;
    return args != NULL;
}

bool vy_pipe_keep_buffers(vy_program *signature, vy_pipe_step_vec *steps, uint32_t *keep)
{
    uint32_t kept = 1, binding = 0;
    bool ok = true;
    for (uint32_t i = 1; i < signature->buffers.count; i++) {
        if (!keep[i]) continue;
        vy_buf *b = &signature->buffers.data[kept];
        *b = signature->buffers.data[i];
        if (vy_is_global(b->cls)) b->binding = binding++;
        keep[i] = kept++;
    }
    if (kept == signature->buffers.count) return true;
    signature->buffers.count = kept;
    vy_renumber_buffers(signature, keep);
    for (uint32_t i = 0; i < steps->count; i++)
        ok = ok && renumber_step(signature->module, &steps->data[i], keep);
    return ok;
}

bool vy_pipe_order_buffers(vy_pipeline *l)
{
    vy_program *p = l->signature;
    const uint32_t count = p->buffers.count;
    vy_arena arena = {0};
    uint32_t *to = vy_arena_alloc(&arena, count * sizeof *to), next = 1;
    vy_buf *old = vy_arena_alloc(&arena, count * sizeof *old);
    bool ok = to && old;
    for (uint32_t i = 1; ok && i < count; i++)
        if (!p->buffers.data[i].workspace) to[i] = next++;
    for (uint32_t i = 0; ok && i < l->steps.count; i++) {
        const vy_pipe_step *s = &l->steps.data[i];
        if (s->kind == VY_PIPE_BUFFER && !to[s->buffer.id]) to[s->buffer.id] = next++;
    }
    if (ok && next == count) { // each has its step
        memcpy(old, p->buffers.data, count * sizeof *old);
        for (uint32_t i = 1; i < count; i++) p->buffers.data[to[i]] = old[i];
        for (uint32_t i = 1, binding = 0; i < count; i++)
            if (vy_is_global(p->buffers.data[i].cls)) p->buffers.data[i].binding = binding++;
        vy_renumber_buffers(p, to);
        for (uint32_t i = 0; ok && i < l->steps.count; i++)
            ok = renumber_step(l->module, &l->steps.data[i], to);
    }
    vy_arena_free(&arena);
    return ok;
}

void vy_pipe_drop_buffers(vy_pipe *q)
{
    const vy_program *p = q->b->p;
    vy_arena arena = {0};
    uint32_t *keep = vy_arena_alloc(&arena, p->buffers.count * sizeof *keep);
    for (uint32_t i = 0; keep && i < q->steps.count; i++)
        if (q->steps.data[i].kind == VY_PIPE_BUFFER) keep[q->steps.data[i].buffer.id] = 1;
    for (uint32_t i = 1; keep && i < p->buffers.count; i++)
        if (!p->buffers.data[i].workspace) keep[i] = 1;
    if (!keep || !vy_pipe_keep_buffers(q->b->p, &q->steps, keep)) vy_build_oom(q->b);
    vy_arena_free(&arena);
}
