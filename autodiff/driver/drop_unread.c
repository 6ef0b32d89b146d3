// SPDX-License-Identifier: MIT
// drop_unread.c: takes out of a derivative the `in` parameters that it does not read.
//
//   program step_grad(x: in f32[N], grad_y: in f32[N], grad_x: out f32[N], …)     y[i] = 3 * x[i]
//
// does not read x.  Whoever differentiates a program by name gets all of its parameters.  Where a
// pipeline dispatches it, whoever passes x would have to keep or recompute it.
#include "autodiff/driver/drop_unread.h"
#include "autodiff/reverse/sweeps.h"
#include "ir/core/host.h"
#include "ir/core/pipe.h"

#include <string.h>

// The parameters that a dispatch binds, by name.  Returns how many.
static uint32_t list_bound(const vy_program *p, const char **names)
{
    uint32_t n = 0;
    for (uint32_t i = 1; i < p->buffers.count; i++)
        if (vy_pipe_binds(&p->buffers.data[i])) names[n++] = p->buffers.data[i].name;
    return n;
}

// Passes what is left of `count` parameters.
static void drop_arguments(const vy_program *p, vy_pipe_step *s, const char *const *names,
                           vy_pipe_arg *args)
{
    uint32_t n = 0;
    for (uint32_t i = 1, k = 0; i < p->buffers.count; i++) {
        const vy_buf *b = &p->buffers.data[i];
        if (!vy_pipe_binds(b)) continue;
        while (strcmp(names[k], b->name) != 0) k++;
        args[n++] = s->args[k++];
    }
    s->args = args;
    s->arg_count = n;
}

static bool drop_of_program(vy_module *m, uint32_t number, vy_arena *arena)
{
    vy_program *p = m->programs.data[number];
    const char **names = vy_arena_alloc(arena, p->buffers.count * sizeof *names);
    if (!names) return false;
    const uint32_t before = list_bound(p, names);
    // The result itself has all gradients; a stage of it need not have those that others write.
    const bool stage = m->pipelines.count > 0;
    if (!vy_drop_unused(p, stage ? VY_DROP_UNTOUCHED : VY_DROP_UNREAD)) return false;
    uint32_t after = 0;
    for (uint32_t i = 1; i < p->buffers.count; i++) after += vy_pipe_binds(&p->buffers.data[i]);
    for (uint32_t k = 0; before != after && k < m->pipelines.count; k++)
        for (uint32_t i = 0; i < m->pipelines.data[k]->steps.count; i++) {
            vy_pipe_step *s = &m->pipelines.data[k]->steps.data[i];
            if (s->kind != VY_PIPE_DISPATCH || s->program != number) continue;
            vy_pipe_arg *args = vy_arena_alloc(&m->arena, (after + 1) * sizeof *args);
            if (!args) return false;
            drop_arguments(p, s, names, args);
        }
    return true;
}

static void mark(const vy_program *signature, const char *name, uint32_t *keep)
{
    keep[vy_program_find_buffer(signature, name).id] = 1;
}

static bool drop_of_pipeline(vy_pipeline *l, vy_arena *arena)
{
    const vy_program *p = l->signature;
    uint32_t *keep = vy_arena_alloc(arena, p->buffers.count * sizeof *keep);
    if (!keep) return false;
    for (uint32_t i = 0; i < l->steps.count; i++) {
        const vy_pipe_step *s = &l->steps.data[i];
        keep[s->buffer.id] = 1;
        for (uint32_t k = 0; k < s->arg_count; k++) keep[s->args[k].buffer.id] = 1;
    }
    keep[0] = 0; // of steps that name none: it stays 0
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        const vy_buf *b = &p->buffers.data[i];
        if (b->cls != VY_IN || b->workspace) keep[i] = 1;
        if (b->init == VY_INIT_COPY) mark(p, b->init_from, keep);
    }
    for (uint32_t i = 1; i < p->dims.count; i++) // whose open length something may use
        if (p->dims.data[i].op == VY_DIM_UNKNOWN) keep[p->dims.data[i].value] = 1;
    return vy_pipe_keep_buffers(l->signature, &l->steps, keep);
}

bool vy_drop_unread_of(vy_pipeline *l)
{
    vy_arena arena = {0};
    const bool ok = drop_of_pipeline(l, &arena);
    vy_arena_free(&arena);
    if (!ok) vy_fail_oom(l->module);
    return ok;
}

bool vy_drop_unread(vy_module *m)
{
    vy_arena arena = {0};
    bool ok = true;
    for (uint32_t k = 0; ok && k < m->programs.count; k++) ok = drop_of_program(m, k, &arena);
    for (uint32_t k = 0; ok && k < m->pipelines.count; k++)
        ok = drop_of_pipeline(m->pipelines.data[k], &arena);
    vy_arena_free(&arena);
    if (!ok) vy_fail_oom(m);
    return ok;
}
