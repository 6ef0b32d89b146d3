// SPDX-License-Identifier: MIT
// eval_pipeline.c: runs a pipeline in the reference interpreter, step by step.
//
// A machine whose program is the signature holds the scalars, the dimensions and the memory of the
// pipeline's buffers.  A dispatch is a run of the interpreter on views of that memory, which then
// checks shapes and overlaps and clears `out` buffers as for any caller.
#include "ir/core/pipe.h"
#include "ir/eval/eval.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct repeat { // one that is running
    uint32_t step;
    int64_t to;
} repeat;

typedef struct runner {
    vy_machine m; // of the signature
    const vy_pipeline *pipeline;
    const vy_eval_hooks *hooks;
    int64_t *values; // by step
    bool *known;
    repeat *repeats; // innermost last
    uint32_t depth;
    vy_eval_buffer *args;
    uint64_t *lengths; // of those that are passed flat
    uint8_t *cleared;  // by buffer of the signature: an intermediate that begins as zero
    vy_eval_scalar *scalars;
    vy_dual_buffer *dots; // in runs with tangents: for those of `args` that are floats
    vy_dual_scalar *scalar_dots;
    uint32_t dot_count, scalar_dot_count;
    uint64_t steps;           // taken
    uint64_t workspace_bytes; // of the intermediates, in their own types
    uint64_t workspace_left;  // for workspaces of the next dispatch
    vy_eval_report report;    // of all dispatches
} runner;

static const vy_program *dispatched(const runner *r, const vy_pipe_step *s)
{
    return r->pipeline->module->programs.data[s->program];
}

static bool fail(runner *r, vy_code code, const vy_pipe_step *s, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static bool fail(runner *r, vy_code code, const vy_pipe_step *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vy_eval_fail_args(&r->m, code, s->line, s->column, format, args);
    va_end(args);
    return false;
}

static bool dim_value(runner *r, const vy_pipe_step *s, vy_dim d, const char *what, int64_t *out)
{
    const char *trouble = vy_eval_dim_trouble(&r->m, d);
    *out = r->m.dim_values[d.id];
    return !trouble || fail(r, VY_E_EVAL_DIM, s, "%s %s", what, trouble);
}

static void set_value(runner *r, uint32_t step, bool known, int64_t value)
{
    r->values[step] = value;
    r->known[step] = known;
    vy_eval_dims(&r->m, NULL);
}

// ---------------------------------------------------------------------------------- intermediates
static bool within_limit(runner *r, const vy_pipe_step *s, uint64_t bytes)
{
    const uint64_t limit = r->m.options.max_workspace_bytes;
    if (__builtin_add_overflow(r->workspace_bytes, bytes, &r->workspace_bytes))
        r->workspace_bytes = UINT64_MAX;
    return !limit || r->workspace_bytes <= limit ||
           fail(r, VY_E_EVAL_LIMIT, s,
                "intermediates need %" PRIu64 " bytes; the limit is %" PRIu64, r->workspace_bytes,
                limit);
}

// Executes a `buffer` statement, which releases the buffer that it made in an earlier iteration.
static bool make_buffer(runner *r, const vy_pipe_step *s)
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

// Linear index of the element buffer[index…]; missing indices are 0.
static bool find_element(runner *r, const vy_pipe_step *s, vy_buffer buffer, uint32_t rank,
                         const vy_dim *index, uint64_t *element)
{
    const vy_bound *b = &r->m.bounds[buffer.id];
    const char *name = r->m.p->buffers.data[buffer.id].name;
    if (!b->dims || (b->count && !b->data))
        return fail(r, VY_E_EVAL_MISSING, s, "buffer %s has no memory yet", name);
    *element = 0;
    for (uint32_t k = 0; k < rank; k++) {
        char what[80];
        int64_t i;
        snprintf(what, sizeof what, "index %u of %.50s", k, name);
        if (!dim_value(r, s, index[k], what, &i)) return false;
        if (i < 0 || (uint64_t)i >= b->dims[k])
            return fail(r, VY_E_EVAL_SLICE, s, "%s is %" PRId64 ", but axis %u has extent %" PRIu64,
                        what, i, k, b->dims[k]);
        *element = *element * b->dims[k] + (uint64_t)i;
    }
    for (uint32_t k = rank; k < b->rank; k++) *element *= b->dims[k];
    return true;
}

static bool read_value(runner *r, const vy_pipe_step *s, uint32_t step)
{
    const vy_bound *b = &r->m.bounds[s->buffer.id];
    uint64_t element;
    if (!find_element(r, s, s->buffer, s->index_count, s->index, &element)) return false;
    if (!b->count) // another axis has extent 0
        return fail(r, VY_E_EVAL_SLICE, s, "buffer %s is empty",
                    r->m.p->buffers.data[s->buffer.id].name);
    const vy_scalar v = vy_scalar_read(b->type, b->data + element * b->size);
    if (b->type == VY_U64 && v.i < 0)
        return fail(r, VY_E_EVAL_DIM, s, "value(%s) is %" PRIu64 ", which does not fit 63 bits",
                    r->m.p->buffers.data[s->buffer.id].name, v.u);
    if (r->hooks->path_hash)
        *r->hooks->path_hash = (*r->hooks->path_hash ^ v.u) * 0x9e3779b97f4a7c15ull + step;
    set_value(r, step, true, v.i);
    return true;
}

// --------------------------------------------------------------------------------------- dispatch
// All elements of it as one axis, whose length goes to *length.
static void flatten(vy_eval_buffer *b, uint64_t *length)
{
    *length = 1;
    for (uint32_t k = 0; k < b->rank; k++) *length *= b->shape[k];
    b->shape = length;
    b->rank = 1;
}

static bool bind_buffers(runner *r, const vy_pipe_step *s, const vy_program *p)
{
    uint32_t n = 0;
    r->dot_count = 0;
    for (uint32_t id = 1; id < p->buffers.count; id++) {
        const vy_buf *param = &p->buffers.data[id];
        if (param->cls > VY_INOUT || param->workspace) continue;
        const vy_pipe_arg *a = &s->args[n];
        const vy_bound *b = &r->m.bounds[a->buffer.id];
        uint64_t element;
        if (!find_element(r, s, a->buffer, a->rank, a->index, &element)) return false;
        r->args[n++] = (vy_eval_buffer){.name = param->name,
                                        .data = b->count ? b->data + element * b->size : b->data,
                                        .shape = b->dims + a->rank,
                                        .rank = b->rank - a->rank};
        if (a->flat) flatten(&r->args[n - 1], &r->lengths[n - 1]);
        if (b->dot)
            r->dots[r->dot_count++] =
                (vy_dual_buffer){param->name, b->count ? b->dot + element : b->dot};
    }
    return true;
}

static bool scalar_value(runner *r, const vy_pipe_step *s, const vy_scalar_param *param,
                         const vy_pipe_scalar *from, vy_scalar *out)
{
    char what[80];
    int64_t v;
    if (from->kind == VY_PIPE_PARAM) {
        *out = r->m.scalars[from->scalar];
        return true;
    }
    *out = from->value;
    if (from->kind == VY_PIPE_CONST) return true;
    snprintf(what, sizeof what, "scalar %.60s", param->name);
    if (!dim_value(r, s, from->dim, what, &v)) return false;
    const vy_scalar wanted = {.i = v};
    *out = vy_wrap(param->type, wanted);
    const bool fits = out->i == v && !(param->type == VY_U64 && v < 0);
    return fits || fail(r, VY_E_EVAL_DIM, s, "%s of %s is %" PRId64 ", which does not fit %s", what,
                        dispatched(r, s)->name, v, vy_type_name(param->type));
}

// The dispatch's scalar `name` is the pipeline's scalar `from`.
static void add_scalar_dot(runner *r, const char *name, uint32_t from)
{
    const vy_dual *d = r->hooks->dual;
    for (uint32_t k = 0; k < d->scalar_count; k++)
        if (!strcmp(d->scalars[k].name, r->m.p->scalars.data[from].name))
            r->scalar_dots[r->scalar_dot_count++] = (vy_dual_scalar){name, d->scalars[k].tangent};
}

static bool bind_scalars(runner *r, const vy_pipe_step *s, const vy_program *p)
{
    r->scalar_dot_count = 0;
    for (uint32_t i = 0; i < p->scalars.count; i++) {
        const vy_scalar_param *param = &p->scalars.data[i];
        r->scalars[i].name = param->name;
        if (!scalar_value(r, s, param, &s->scalars[i], &r->scalars[i].value)) return false;
        if (r->hooks->dual && s->scalars[i].kind == VY_PIPE_PARAM)
            add_scalar_dot(r, param->name, s->scalars[i].scalar);
    }
    return true;
}

static bool group_counts(runner *r, const vy_pipe_step *s, uint32_t groups[3])
{
    for (uint32_t k = 0; k < 3 && s->groups; k++) {
        int64_t v;
        if (!dim_value(r, s, s->groups[k], "the number of workgroups", &v)) return false;
        if (v < 0 || v > UINT32_MAX)
            return fail(r, VY_E_EVAL_LAUNCH, s, "%s: %" PRId64 " workgroups along %c",
                        dispatched(r, s)->name, v, "xyz"[k]);
        groups[k] = (uint32_t)v;
    }
    return true;
}

static void add_report(runner *r, const vy_eval_report *one)
{
    vy_eval_report *all = &r->report;
    const bool wrong = one->races || one->uninitialised;
    if (!all->races && !all->uninitialised && (wrong || !all->out_of_range))
        all->first = one->first;
    if (!all->out_of_range) all->first_out_of_range = one->first_out_of_range;
    all->races += one->races;
    all->out_of_range += one->out_of_range;
    all->uninitialised += one->uninitialised;
}

// The number of instructions of the module's programs before this one.
static uint32_t instructions_before(const runner *r, uint32_t program)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < program; k++) n += r->pipeline->module->programs.data[k]->insts.count;
    return n;
}

// Rewrites the error of a dispatched program into one at the pipeline's step.
static bool blame_program(runner *r, const vy_pipe_step *s, const vy_program *p)
{
    vy_diag *d = r->m.diag;
    char text[sizeof d->text];
    memcpy(text, d->text, sizeof text);
    snprintf(d->text, sizeof d->text, "%.60s: %.330s", p->name, text);
    if (s->line) d->line = s->line, d->column = s->column;
    r->m.failed = true;
    return false;
}

static bool dispatch(runner *r, const vy_pipe_step *s)
{
    const vy_program *p = dispatched(r, s);
    const vy_eval_hooks *h = r->hooks;
    vy_eval_options options = r->m.options;
    uint32_t args = 0;
    if (!bind_buffers(r, s, p) || !bind_scalars(r, s, p) || !group_counts(r, s, options.groups))
        return false;
    for (uint32_t id = 1; id < p->buffers.count; id++)
        args += p->buffers.data[id].cls <= VY_INOUT && !p->buffers.data[id].workspace;
    r->workspace_left = options.max_workspace_bytes - r->workspace_bytes;
    if (h->trace) h->trace->base = instructions_before(r, s->program);
    const vy_dual dual = {.mode = h->dual ? h->dual->mode : VY_DUAL_TANGENT,
                          .buffers = r->dots,
                          .buffer_count = r->dot_count,
                          .scalars = r->scalar_dots,
                          .scalar_count = r->scalar_dot_count,
                          .in_place = true};
    vy_eval_hooks hooks = *h; // of the program
    hooks.dual = h->dual ? &dual : NULL;
    hooks.steps = &r->steps;
    hooks.workspace_left = options.max_workspace_bytes ? &r->workspace_left : NULL;
    hooks.exact_groups = true;
    hooks.flat = true;
    vy_eval_report one = {0};
    const bool ok = vy_eval_hooked(p, r->args, args, r->scalars, p->scalars.count, &options, &hooks,
                                   r->m.report ? &one : NULL, r->m.diag);
    add_report(r, &one);
    return ok || blame_program(r, s, p);
}

// ------------------------------------------------------------------------------------------ steps
// The step that follows step `at`.
static uint32_t begin_repeat(runner *r, const vy_pipe_step *s, uint32_t at)
{
    int64_t from, to;
    if (!dim_value(r, s, s->from, "the start of repeat", &from) ||
        !dim_value(r, s, s->to, "the end of repeat", &to) || from >= to)
        return s->partner + 1;
    r->repeats[r->depth++] = (repeat){at, to};
    set_value(r, at, true, from);
    return at + 1;
}

static uint32_t end_repeat(runner *r, uint32_t at)
{
    const repeat *now = r->depth ? &r->repeats[r->depth - 1] : NULL;
    const uint32_t opener = r->pipeline->steps.data[at].partner;
    if (!now || now->step != opener) return at + 1; // of a checkpoint
    const int64_t next = r->values[opener] + 1;     // below `to`, so nothing overflows
    set_value(r, opener, next < now->to, next);
    if (next < now->to) return opener + 1;
    r->depth--;
    return at + 1;
}

static uint32_t test(runner *r, const vy_pipe_step *s, uint32_t at)
{
    int64_t goes_on;
    if (!dim_value(r, s, s->from, "the condition", &goes_on) || goes_on) return at + 1;
    set_value(r, s->partner, false, 0);
    r->depth--;
    return r->pipeline->steps.data[s->partner].partner + 1;
}

static void run_steps(runner *r)
{
    const vy_pipe_step_vec *steps = &r->pipeline->steps;
    const uint64_t most = r->m.options.max_steps;
    for (uint32_t at = 0; at < steps->count && !r->m.failed;) {
        const vy_pipe_step *s = &steps->data[at];
        uint32_t next = at + 1;
        switch (s->kind) {
        case VY_PIPE_BUFFER: make_buffer(r, s); break;
        case VY_PIPE_DISPATCH: dispatch(r, s); break;
        case VY_PIPE_VALUE: read_value(r, s, at); break;
        case VY_PIPE_REPEAT: next = begin_repeat(r, s, at); break;
        case VY_PIPE_TEST: next = test(r, s, at); break;
        case VY_PIPE_END: next = end_repeat(r, at); break;
        case VY_PIPE_CHECKPOINT: break;
        }
        at = next;
        if (++r->steps > most && most && !r->m.failed)
            fail(r, VY_E_EVAL_STEPS, s, "gave up after %" PRIu64 " steps", most);
    }
}

// Room for the largest dispatch and the deepest nesting.
static bool find_cleared(runner *r)
{
    vy_arena arena = {0};
    const bool ok = vy_pipe_cleared(r->pipeline, &arena, r->cleared);
    vy_arena_free(&arena);
    if (!ok) vy_eval_fail(&r->m, VY_E_MEMORY, 0, 0, "out of memory");
    return ok;
}

static bool make_room(runner *r)
{
    const vy_pipe_step_vec *steps = &r->pipeline->steps;
    uint32_t buffers = 0, scalars = 0, repeats = 0;
    for (uint32_t i = 0; i < steps->count; i++) {
        const vy_pipe_step *s = &steps->data[i];
        repeats += s->kind == VY_PIPE_REPEAT;
        if (s->kind != VY_PIPE_DISPATCH) continue;
        const vy_program *p = dispatched(r, s);
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
    runner r = {.pipeline = p, .hooks = hooks ? hooks : &no_hooks};
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
    return vy_eval_pipeline_hooked(p, buffers, buffer_count, scalars, scalar_count, options, NULL,
                                   report, diag);
}
