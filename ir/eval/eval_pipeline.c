// SPDX-License-Identifier: MIT
// eval_pipeline.c: runs a pipeline in the reference interpreter, step by step.
//
// A machine whose program is the signature holds the scalars, the dimensions and the memory of the
// pipeline's buffers.  A dispatch is a run of the interpreter on views of that memory, which then
// checks shapes and overlaps and clears `out` buffers as for any caller.
#include "ir/core/pipe.h"
#include "ir/eval/eval_pipeline.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void set_value(pipe_runner *r, uint32_t step, bool known, int64_t value)
{
    r->values[step] = value;
    r->known[step] = known;
    vy_eval_dims(&r->m, NULL);
}

// ---------------------------------------------------------------------------------- intermediates
static bool within_limit(pipe_runner *r, const vy_pipe_step *s, uint64_t bytes)
{
    const uint64_t limit = r->m.options.max_workspace_bytes;
    if (__builtin_add_overflow(r->workspace_bytes, bytes, &r->workspace_bytes))
        r->workspace_bytes = UINT64_MAX;
    return !limit || r->workspace_bytes <= limit ||
           vy_eval_step_fail(r, VY_E_EVAL_LIMIT, s,
                             "intermediates need %" PRIu64 " bytes; the limit is %" PRIu64,
                             r->workspace_bytes, limit);
}

// Executes a `buffer` statement, which releases the buffer that it made in an earlier iteration.
static bool make_buffer(pipe_runner *r, const vy_pipe_step *s)
{
    vy_machine *m = &r->m;
    vy_bound *b = &m->bounds[s->buffer.id];
    const vy_buf *info = &m->p->buffers.data[s->buffer.id];
    const uint32_t size = vy_type_size(info->type);
    if (b->owned) {
        vy_free(b->data);
        b->data = NULL;
        b->owned = false;
        r->workspace_bytes -= b->count * size;
    }
    if (!vy_eval_shape(m, s->buffer.id, NULL)) {
        m->diag->line = s->line;
        m->diag->column = s->column;
        return false;
    }
    if (!within_limit(r, s, b->count * size)) return false;
    b->data = vy_eval_alloc(m, b->count, b->size);
    b->owned = b->data != NULL;
    // What a device need not clear holds anything there, and nan here: then reading it shows.
    if (b->owned && !r->cleared[s->buffer.id]) memset(b->data, 0xFF, b->count * b->size);
    if (b->owned) vy_eval_start(m, s->buffer.id);
    return b->owned && (!r->hooks->dual || vy_dual_make_one(m, s->buffer.id));
}

static bool read_value(pipe_runner *r, const vy_pipe_step *s, uint32_t step)
{
    const vy_bound *b = &r->m.bounds[s->buffer.id];
    uint64_t element;
    if (!vy_eval_step_element(r, s, s->buffer, s->index_count, s->index, &element)) return false;
    if (!b->count) // another axis has extent 0
        return vy_eval_step_fail(r, VY_E_EVAL_SLICE, s, "buffer %s is empty",
                                 r->m.p->buffers.data[s->buffer.id].name);
    const vy_scalar v = vy_scalar_read(b->type, b->data + element * b->size);
    if (b->type == VY_U64 && v.i < 0)
        return vy_eval_step_fail(r, VY_E_EVAL_DIM, s,
                                 "value(%s) is %" PRIu64 ", which does not fit 63 bits",
                                 r->m.p->buffers.data[s->buffer.id].name, v.u);
    if (r->hooks->path_hash)
        *r->hooks->path_hash = (*r->hooks->path_hash ^ v.u) * 0x9e3779b97f4a7c15ull + step;
    set_value(r, step, true, v.i);
    return true;
}

// ------------------------------------------------------------------------------------------ steps
// The step that follows step `at`.
static uint32_t begin_repeat(pipe_runner *r, const vy_pipe_step *s, uint32_t at)
{
    int64_t from, to;
    if (!vy_eval_step_dim(r, s, s->from, "the start of repeat", &from) ||
        !vy_eval_step_dim(r, s, s->to, "the end of repeat", &to) || from >= to)
        return s->partner + 1;
    r->repeats[r->depth++] = (pipe_repeat){at, to};
    set_value(r, at, true, from);
    return at + 1;
}

static uint32_t end_repeat(pipe_runner *r, uint32_t at)
{
    const pipe_repeat *now = r->depth ? &r->repeats[r->depth - 1] : NULL;
    const uint32_t opener = r->pipeline->steps.data[at].partner;
    if (!now || now->step != opener) return at + 1; // of a checkpoint
    const int64_t next = r->values[opener] + 1;     // below `to`, so nothing overflows
    set_value(r, opener, next < now->to, next);
    if (next < now->to) return opener + 1;
    r->depth--;
    return at + 1;
}

static uint32_t test(pipe_runner *r, const vy_pipe_step *s, uint32_t at)
{
    int64_t goes_on;
    if (!vy_eval_step_dim(r, s, s->from, "the condition", &goes_on) || goes_on) return at + 1;
    set_value(r, s->partner, false, 0);
    r->depth--;
    return r->pipeline->steps.data[s->partner].partner + 1;
}

static void run_steps(pipe_runner *r)
{
    const vy_pipe_step_vec *steps = &r->pipeline->steps;
    const uint64_t most = r->m.options.max_steps;
    for (uint32_t at = 0; at < steps->count && !r->m.failed;) {
        const vy_pipe_step *s = &steps->data[at];
        uint32_t next = at + 1;
        switch (s->kind) {
        case VY_PIPE_BUFFER: make_buffer(r, s); break;
        case VY_PIPE_DISPATCH: vy_eval_step_dispatch(r, s); break;
        case VY_PIPE_VALUE: read_value(r, s, at); break;
        case VY_PIPE_REPEAT: next = begin_repeat(r, s, at); break;
        case VY_PIPE_TEST: next = test(r, s, at); break;
        case VY_PIPE_END: next = end_repeat(r, at); break;
        case VY_PIPE_CHECKPOINT: break;
        }
        at = next;
        if (++r->steps > most && most && !r->m.failed)
            vy_eval_step_fail(r, VY_E_EVAL_STEPS, s, "gave up after %" PRIu64 " steps", most);
    }
}

static bool find_cleared(pipe_runner *r)
{
    vy_arena arena = {0};
    const bool ok = vy_pipe_cleared(r->pipeline, &arena, r->cleared);
    vy_arena_free(&arena);
    if (!ok) vy_eval_fail(&r->m, VY_E_MEMORY, 0, 0, "out of memory");
    return ok;
}

// Room for the largest dispatch and the deepest nesting.
static bool make_room(pipe_runner *r)
{
    const vy_pipe_step_vec *steps = &r->pipeline->steps;
    uint32_t buffers = 0, scalars = 0, repeats = 0;
    for (uint32_t i = 0; i < steps->count; i++) {
        const vy_pipe_step *s = &steps->data[i];
        repeats += s->kind == VY_PIPE_REPEAT;
        if (s->kind != VY_PIPE_DISPATCH) continue;
        const vy_program *p = vy_eval_step_callee(r, s);
        if (p->buffers.count > buffers) buffers = p->buffers.count;
        if (p->scalars.count > scalars) scalars = p->scalars.count;
    }
    r->values = vy_eval_alloc(&r->m, steps->count, sizeof *r->values);
    r->known = vy_eval_alloc(&r->m, steps->count, sizeof *r->known);
    r->repeats = vy_eval_alloc(&r->m, repeats, sizeof *r->repeats);
    r->args = vy_eval_alloc(&r->m, buffers, sizeof *r->args);
    r->lengths = vy_eval_alloc(&r->m, buffers, sizeof *r->lengths);
    r->scalars = vy_eval_alloc(&r->m, scalars, sizeof *r->scalars);
    r->dots = vy_eval_alloc(&r->m, buffers, sizeof *r->dots);
    r->scalar_dots = vy_eval_alloc(&r->m, scalars, sizeof *r->scalar_dots);
    r->m.step_values = r->values;
    r->m.step_known = r->known;
    r->cleared = vy_eval_alloc(&r->m, r->m.p->buffers.count, 1);
    return !r->m.failed && find_cleared(r);
}

bool vy_eval_pipeline_hooked(const vy_pipeline *p, const vy_eval_buffer *buffers,
                             uint32_t buffer_count, const vy_eval_scalar *scalars,
                             uint32_t scalar_count, const vy_eval_options *options,
                             const vy_eval_hooks *hooks, vy_eval_report *report, vy_diag *diag)
{
    static const vy_eval_hooks no_hooks = {0};
    vy_diag unwanted;
    pipe_runner r = {.pipeline = p, .hooks = hooks ? hooks : &no_hooks};
    r.m = (vy_machine){.hooks = &no_hooks, .pipeline = true, .report = report};
    r.m.diag = diag ? diag : &unwanted;
    *r.m.diag = (vy_diag){0};
    if (options) r.m.options = *options;
    if (report) *report = (vy_eval_report){0};
    if (!p) {
        vy_eval_fail(&r.m, VY_E_API, 0, 0, "there is no pipeline to run");
        return false;
    }
    r.m.p = p->signature;
    const vy_eval_hooks of_signature = {.dual = r.hooks->dual};
    r.m.hooks = &of_signature;
    if (r.hooks->steps) r.steps = *r.hooks->steps;
    if (make_room(&r) && vy_eval_bind(&r.m, buffers, buffer_count, scalars, scalar_count) &&
        vy_dual_make(&r.m))
        run_steps(&r);
    if (of_signature.dual && !r.m.failed) vy_dual_finish(&r.m);
    if (report) *report = r.report;
    if (r.hooks->steps) *r.hooks->steps = r.steps;
    vy_eval_release(&r.m);
    vy_free(r.values);
    vy_free(r.known);
    vy_free(r.repeats);
    vy_free(r.args);
    vy_free(r.lengths);
    vy_free(r.scalars);
    vy_free(r.dots);
    vy_free(r.scalar_dots);
    vy_free(r.cleared);
    return !r.m.failed;
}

bool vy_eval_pipeline(const vy_pipeline *p, const vy_eval_buffer *buffers, uint32_t buffer_count,
                      const vy_eval_scalar *scalars, uint32_t scalar_count,
                      const vy_eval_options *options, vy_eval_report *report, vy_diag *diag)
{
    vy_eval_options o;
    return vy_take_options(&o, sizeof o, sizeof o, options, "vy_eval_options", diag) &&
           vy_eval_pipeline_hooked(p, buffers, buffer_count, scalars, scalar_count, &o, NULL,
                                   report, diag);
}
