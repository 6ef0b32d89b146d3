// SPDX-License-Identifier: MIT
// pipeline.c: pipelines: building and reflection.
//
// Steps are a flat list with paired markers, as a program's code is.  What they point to
// (arguments, indices, scalars) is copied into the module's arena.  The signature is built by an
// ordinary builder, whose code is discarded.
#include "ir/build/pipe_build.h"
#include "ir/build/edit.h"
#include "ir/core/pipe.h"

#include <stdio.h>
#include <string.h>

// ------------------------------------------------------------------------------------- reflection
uint32_t vy_module_pipeline_count(const vy_module *m) { return m->pipelines.count; }

vy_pipeline *vy_module_pipeline(const vy_module *m, uint32_t index)
{
    return index < m->pipelines.count ? m->pipelines.data[index] : NULL;
}

vy_pipeline *vy_module_find_pipeline(const vy_module *m, const char *name)
{
    for (uint32_t i = 0; i < m->pipelines.count; i++)
        if (strcmp(m->pipelines.data[i]->name, name) == 0) return m->pipelines.data[i];
    return NULL;
}

const char *vy_pipeline_name(const vy_pipeline *p) { return p->name; }
vy_module *vy_pipeline_module(const vy_pipeline *p) { return p->module; }
const vy_program *vy_pipeline_signature(const vy_pipeline *p) { return p->signature; }

uint32_t vy_pipeline_step_count(const vy_pipeline *p) { return p->steps.count; }

const vy_pipe_step *vy_pipeline_step(const vy_pipeline *p, uint32_t index)
{
    return index < p->steps.count ? &p->steps.data[index] : NULL;
}

// -------------------------------------------------------------------------------------- copying
static bool stopped(const vy_pipe *q) { return !q || vy_builder_failed(q->b); }

static void *keep(vy_pipe *q, const void *data, size_t size)
{
    void *copy = vy_arena_alloc(&q->m->arena, size ? size : 1);
    if (!copy)
        vy_build_oom(q->b);
    else if (size)
        memcpy(copy, data, size);
    return copy;
}

// Copies dimensions of the signature into the module's arena; NULL after an error.
static const vy_dim *keep_dims(vy_pipe *q, uint32_t n, const vy_dim *dims)
{
    for (uint32_t i = 0; i < n; i++) {
        if (dims[i].id && dims[i].id < q->b->p->dims.count) continue;
        vy_build_fail(q->b, VY_E_API, "a step of `%s`: bad dimension %u", q->b->p->name, i);
        return NULL;
    }
    return keep(q, dims, n * sizeof *dims);
}

static uint32_t push(vy_pipe *q, vy_pipe_step s)
{
    s.line = q->b->line;
    s.column = q->b->column;
    if (!vy_builder_failed(q->b) && !vy_vec_push(&q->steps, s)) vy_build_oom(q->b);
    return q->steps.count - 1;
}

static void push_open(vy_pipe *q, vy_pipe_step s)
{
    if (q->open.count >= VY_MAX_NESTING)
        vy_build_fail(q->b, VY_E_LIMIT, "repeats and checkpoints are nested more than %u deep",
                      VY_MAX_NESTING);
    uint32_t at = push(q, s);
    if (!vy_builder_failed(q->b) && !vy_vec_push(&q->open, at)) vy_build_oom(q->b);
}

// -------------------------------------------------------------------------------------- building
vy_pipe *vy_pipeline_begin(vy_module *m, const char *name)
{
    vy_builder *b = vy_program_begin(m, name);
    if (!b) return NULL;
    vy_pipe *q = vy_realloc(NULL, sizeof *q);
    if (!q) {
        vy_fail_oom(m);
        vy_program_abandon(b);
        return NULL;
    }
    *q = (vy_pipe){.m = m, .b = b};
    b->p->signature = true;
    b->p->has_workgroup = false;
    for (int k = 0; k < 3; k++) b->p->workgroup[k] = 1;
    return q;
}

vy_builder *vy_pipeline_params(vy_pipe *q) { return q ? q->b : NULL; }

void vy_pipeline_derive_as(vy_pipe *q, const char *other)
{
    if (stopped(q)) return;
    if (!vy_name_printable(other)) {
        vy_build_fail(q->b, VY_E_API, "vy_pipeline_derive_as: a pipeline has a name");
        return;
    }
    const char *kept = vy_arena_strdup(&q->m->arena, other, strlen(other));
    if (!kept) vy_build_oom(q->b);
    q->b->p->rules[VY_DERIVE_AS] = kept;
}

vy_buffer vy_pipeline_buffer(vy_pipe *q, const char *name, vy_type type, uint32_t rank,
                             const vy_dim *dims)
{
    if (stopped(q)) return (vy_buffer){0};
    vy_buffer buf = vy_build_buffer(q->b, name, VY_INOUT, type, rank, dims);
    vy_buffer_workspace(q->b, buf);
    push(q, (vy_pipe_step){.kind = VY_PIPE_BUFFER, .buffer = buf});
    return stopped(q) ? (vy_buffer){0} : buf;
}

vy_dim vy_pipeline_value(vy_pipe *q, vy_buffer buffer, const vy_dim *index)
{
    if (stopped(q)) return (vy_dim){0};
    if (!buffer.id || buffer.id >= q->b->p->buffers.count) {
        vy_build_fail(q->b, VY_E_API, "vy_pipeline_value: no such buffer");
        return (vy_dim){0};
    }
    vy_pipe_step s = {.kind = VY_PIPE_VALUE, .buffer = buffer};
    s.index_count = q->b->p->buffers.data[buffer.id].rank;
    s.index = keep_dims(q, s.index_count, index);
    uint32_t at = push(q, s);
    return vy_dim_step(q->b, at);
}

static void open_repeat(vy_pipe *q, const char *counter, vy_dim from, vy_dim to,
                        vy_keep_states states, vy_dim keep_count)
{
    vy_pipe_step s = {.kind = VY_PIPE_REPEAT, .from = from, .to = to, .keep = states};
    bool counts = states == VY_KEEP_EVERY || states == VY_KEEP_REVOLVE;
    if (counts) s.keep_count = keep_count;
    s.counter = keep(q, counter, strlen(counter) + 1);
    keep_dims(q, counts ? 3 : 2, (vy_dim[]){from, to, keep_count});
    push_open(q, s);
}

vy_dim vy_pipeline_repeat(vy_pipe *q, const char *counter, vy_dim from, vy_dim to,
                          vy_keep_states states, vy_dim keep_count)
{
    if (stopped(q)) return (vy_dim){0};
    open_repeat(q, counter, from, to, states, keep_count);
    return vy_dim_step(q->b, q->steps.count - 1);
}

void vy_pipeline_while(vy_pipe *q, vy_keep_states states, vy_dim keep_count)
{
    if (stopped(q)) return;
    const vy_dim most = vy_dim_const(q->b, VY_WHILE_MOST);
    open_repeat(q, VY_WHILE_COUNTER, vy_dim_const(q->b, 0), most, states, keep_count);
}

void vy_pipeline_test(vy_pipe *q, vy_dim condition)
{
    if (stopped(q)) return;
    vy_pipe_step s = {.kind = VY_PIPE_TEST, .from = condition};
    keep_dims(q, 1, &condition);
    s.partner = q->open.count ? q->open.data[q->open.count - 1] : 0;
    const vy_pipe_step *opener = q->open.count ? &q->steps.data[s.partner] : NULL;
    if (!opener || opener->kind != VY_PIPE_REPEAT || opener->test)
        vy_build_fail(q->b, VY_E_API, "vy_pipeline_test: no `while` without a test is open");
    const uint32_t at = push(q, s);
    if (!stopped(q)) q->steps.data[s.partner].test = at;
}

void vy_pipeline_checkpoint(vy_pipe *q)
{
    if (!stopped(q)) push_open(q, (vy_pipe_step){.kind = VY_PIPE_CHECKPOINT});
}

void vy_pipeline_close(vy_pipe *q)
{
    if (stopped(q)) return;
    if (q->open.count == 0) {
        vy_build_fail(q->b, VY_E_API, "vy_pipeline_close: nothing is open");
        return;
    }
    uint32_t opener = q->open.data[--q->open.count];
    const vy_pipe_step *s = &q->steps.data[opener];
    if (s->kind == VY_PIPE_REPEAT && !s->test &&
        q->b->p->dims.data[s->to.id].value == VY_WHILE_MOST)
        vy_build_fail(q->b, VY_E_API, "vy_pipeline_close: the `while` has no test");
    uint32_t at = push(q, (vy_pipe_step){.kind = VY_PIPE_END, .partner = opener});
    if (!stopped(q)) q->steps.data[opener].partner = at;
}

// ------------------------------------------------------------------------------------- dispatches
static bool find_program(vy_pipe *q, const vy_program *p, uint32_t *index)
{
    uint32_t n = q->m->programs.count;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t i = (q->last + k) % n;
        if (q->m->programs.data[i] != p) continue;
        *index = q->last = i;
        return true;
    }
    vy_build_fail(q->b, VY_E_API, "vy_pipeline_dispatch: the program is not one of this module");
    return false;
}

// How many elements a slice has; an argument that names no buffer is reported later.
static vy_dim elements(vy_pipe *q, const vy_pipe_arg *a)
{
    const vy_buf_vec *all = &q->b->p->buffers;
    vy_dim n = {0};
    if (!a->buffer.id || a->buffer.id >= all->count) return n;
    for (uint32_t k = a->rank; k < all->data[a->buffer.id].rank && !stopped(q); k++) {
        const vy_dim next = all->data[a->buffer.id].dims[k];
        n = n.id ? vy_dim_binary(q->b, VY_DIM_MUL, n, next) : next;
    }
    return n;
}

static const vy_pipe_arg *keep_args(vy_pipe *q, uint32_t n, const vy_pipe_arg *args)
{
    vy_pipe_arg *copy = keep(q, args, n * sizeof *args);
    for (uint32_t i = 0; i < n && !stopped(q); i++) {
        copy[i].index = args[i].rank ? keep_dims(q, args[i].rank, args[i].index) : NULL;
        copy[i].elements = args[i].flat ? elements(q, &args[i]) : (vy_dim){0};
    }
    return copy;
}

bool vy_pipe_bind(vy_pipe *q, const vy_program *p, vy_pipe_step *s, const vy_pipe_arg *args,
                  uint32_t scalar_count, const vy_pipe_scalar *scalars, const vy_dim *groups)
{
    const uint32_t n = p->scalars.count;
    s->line = q->b->line, s->column = q->b->column;
    s->args = keep_args(q, s->arg_count, args);
    if (groups) s->groups = keep_dims(q, 3, groups);
    vy_pipe_scalar *all = vy_arena_alloc(&q->m->arena, n * sizeof *all + 1);
    if (!all) vy_build_oom(q->b);
    if (stopped(q) || !vy_check_arguments(q->m, q->b->p, p, s)) return false;
    for (uint32_t i = 0; i < n; i++) all[i].name = p->scalars.data[i].name;
    s->scalars = all;
    return vy_pipe_scalars(q, p, s->args, all, scalar_count, scalars);
}

void vy_pipeline_dispatch(vy_pipe *q, const vy_program *p, uint32_t arg_count,
                          const vy_pipe_arg *args, uint32_t scalar_count,
                          const vy_pipe_scalar *scalars, const vy_dim *groups)
{
    if (stopped(q)) return;
    vy_pipe_step s = {.kind = VY_PIPE_DISPATCH, .arg_count = arg_count};
    if (find_program(q, p, &s.program) &&
        vy_pipe_bind(q, p, &s, args, scalar_count, scalars, groups))
        push(q, s);
}

// ----------------------------------------------------------------------------------------- ending
void vy_pipe_free(vy_pipe *q)
{
    vy_vec_free(&q->steps);
    vy_vec_free(&q->calls);
    vy_vec_free(&q->kernels);
    vy_vec_free(&q->open);
    vy_free(q);
}

void vy_pipeline_abandon(vy_pipe *q)
{
    if (!q) return;
    vy_program_abandon(q->b);
    vy_pipe_free(q);
}

// Takes the signature from its builder and frees that.
static vy_program *take_signature(vy_builder *b)
{
    vy_control_end(b);
    if (!vy_builder_failed(b) &&
        (b->p->insts.count > 1 || b->p->overs.count || b->p->has_workgroup))
        vy_build_fail(b, VY_E_API, "vy_pipeline_end: a pipeline has parameters and steps only");
    vy_program *p = vy_rebuild_end(b);
    if (p) p->leaves.count = 0; // handles of scalars while it was built
    return p;
}

vy_pipeline *vy_pipe_end(vy_pipe *q, bool (*also)(const vy_pipe *q, vy_pipeline *l))
{
    if (!q) return NULL;
    vy_module *m = q->m;
    if (!stopped(q) && q->open.count)
        vy_build_fail(q->b, VY_E_API, "vy_pipeline_end: a repeat or checkpoint is still open");
    vy_program *signature = take_signature(q->b);
    vy_pipeline *l = signature ? vy_realloc(NULL, sizeof *l) : NULL;
    if (!l) {
        if (signature) vy_fail_oom(m);
        vy_program_free(signature);
        vy_pipe_free(q);
        return NULL;
    }
    *l = (vy_pipeline){.module = m,
                       .name = signature->name,
                       .signature = signature,
                       .steps = q->steps,
                       .line = signature->line};
    q->steps = (vy_pipe_step_vec){0};
    const bool good = vy_check_calls(l, q->calls.count, q->calls.data) && vy_check_pipeline(l) &&
                      (!also || also(q, l));
    vy_pipe_free(q);
    if (good && vy_vec_push(&m->pipelines, l)) return l;
    if (vy_module_ok(m)) vy_fail_oom(m);
    vy_pipeline_free(l);
    return NULL;
}
