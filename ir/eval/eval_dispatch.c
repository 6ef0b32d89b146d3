// SPDX-License-Identifier: MIT
// eval_dispatch.c: a dispatch of a pipeline, as a run of the interpreter on views of the pipeline's
// memory.
#include "ir/eval/eval_pipeline.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const vy_program *vy_eval_step_callee(const pipe_runner *r, const vy_pipe_step *s)
{
    return r->pipeline->module->programs.data[s->program];
}

bool vy_eval_step_fail(pipe_runner *r, vy_code code, const vy_pipe_step *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vy_eval_fail_args(&r->m, code, s->line, s->column, format, args);
    va_end(args);
    return false;
}

bool vy_eval_step_dim(pipe_runner *r, const vy_pipe_step *s, vy_dim d, const char *what,
                      int64_t *out)
{
    const char *trouble = vy_eval_dim_trouble(&r->m, d);
    *out = r->m.dim_values[d.id];
    return !trouble || vy_eval_step_fail(r, VY_E_EVAL_DIM, s, "%s %s", what, trouble);
}

bool vy_eval_step_element(pipe_runner *r, const vy_pipe_step *s, vy_buffer buffer, uint32_t rank,
                          const vy_dim *index, uint64_t *element)
{
    const vy_bound *b = &r->m.bounds[buffer.id];
    const char *name = r->m.p->buffers.data[buffer.id].name;
    if (!b->dims || (b->count && !b->data))
        return vy_eval_step_fail(r, VY_E_EVAL_MISSING, s, "buffer %s has no memory yet", name);
    *element = 0;
    for (uint32_t k = 0; k < rank; k++) {
        char what[80];
        int64_t i;
        snprintf(what, sizeof what, "index %u of %.50s", k, name);
        if (!vy_eval_step_dim(r, s, index[k], what, &i)) return false;
        if (i < 0 || (uint64_t)i >= b->dims[k])
            return vy_eval_step_fail(r, VY_E_EVAL_SLICE, s,
                                     "%s is %" PRId64 ", but axis %u has extent %" PRIu64, what, i,
                                     k, b->dims[k]);
        *element = *element * b->dims[k] + (uint64_t)i;
    }
    for (uint32_t k = rank; k < b->rank; k++) *element *= b->dims[k];
    return true;
}

// All elements of it as one axis, whose length goes to *length.
static void flatten(vy_eval_buffer *b, uint64_t *length)
{
    *length = 1;
    for (uint32_t k = 0; k < b->rank; k++) *length *= b->shape[k];
    b->shape = length;
    b->rank = 1;
}

static bool bind_buffers(pipe_runner *r, const vy_pipe_step *s, const vy_program *p)
{
    uint32_t n = 0;
    r->dot_count = 0;
    for (uint32_t id = 1; id < p->buffers.count; id++) {
        const vy_buf *param = &p->buffers.data[id];
        if (!vy_is_global(param->cls) || param->workspace) continue;
        const vy_pipe_arg *a = &s->args[n];
        const vy_bound *b = &r->m.bounds[a->buffer.id];
        uint64_t element;
        if (!vy_eval_step_element(r, s, a->buffer, a->rank, a->index, &element)) return false;
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

static bool scalar_value(pipe_runner *r, const vy_pipe_step *s, const vy_scalar_param *param,
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
    if (!vy_eval_step_dim(r, s, from->dim, what, &v)) return false;
    const vy_scalar wanted = {.i = v};
    *out = vy_wrap(param->type, wanted);
    const bool fits = out->i == v && !(param->type == VY_U64 && v < 0);
    return fits ||
           vy_eval_step_fail(r, VY_E_EVAL_DIM, s, "%s of %s is %" PRId64 ", which does not fit %s",
                             what, vy_eval_step_callee(r, s)->name, v, vy_type_name(param->type));
}

// The dispatch's scalar `name` is the pipeline's scalar `from`.
static void add_scalar_dot(pipe_runner *r, const char *name, uint32_t from)
{
    const vy_dual *d = r->hooks->dual;
    for (uint32_t k = 0; k < d->scalar_count; k++)
        if (!strcmp(d->scalars[k].name, r->m.p->scalars.data[from].name))
            r->scalar_dots[r->scalar_dot_count++] = (vy_dual_scalar){name, d->scalars[k].tangent};
}

static bool bind_scalars(pipe_runner *r, const vy_pipe_step *s, const vy_program *p)
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

static bool group_counts(pipe_runner *r, const vy_pipe_step *s, uint32_t groups[3])
{
    for (uint32_t k = 0; k < 3 && s->groups; k++) {
        int64_t v;
        if (!vy_eval_step_dim(r, s, s->groups[k], "the number of workgroups", &v)) return false;
        if (v < 0 || v > UINT32_MAX)
            return vy_eval_step_fail(r, VY_E_EVAL_LAUNCH, s, "%s: %" PRId64 " workgroups along %c",
                                     vy_eval_step_callee(r, s)->name, v, "xyz"[k]);
        groups[k] = (uint32_t)v;
    }
    return true;
}

static void add_report(pipe_runner *r, const vy_eval_report *one)
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
static uint32_t instructions_before(const pipe_runner *r, uint32_t program)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < program; k++) n += r->pipeline->module->programs.data[k]->insts.count;
    return n;
}

// Rewrites the error of a dispatched program into one at the pipeline's step.
static bool blame_program(pipe_runner *r, const vy_pipe_step *s, const vy_program *p)
{
    vy_diag *d = r->m.diag;
    char text[sizeof d->text];
    memcpy(text, d->text, sizeof text);
    snprintf(d->text, sizeof d->text, "%.60s: %.330s", p->name, text);
    if (s->line) d->line = s->line, d->column = s->column;
    r->m.failed = true;
    return false;
}

bool vy_eval_step_dispatch(pipe_runner *r, const vy_pipe_step *s)
{
    const vy_program *p = vy_eval_step_callee(r, s);
    const vy_eval_hooks *h = r->hooks;
    vy_eval_options options = r->m.options;
    uint32_t args = 0;
    if (!bind_buffers(r, s, p) || !bind_scalars(r, s, p) || !group_counts(r, s, options.groups))
        return false;
    for (uint32_t id = 1; id < p->buffers.count; id++)
        args += vy_is_global(p->buffers.data[id].cls) && !p->buffers.data[id].workspace;
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
