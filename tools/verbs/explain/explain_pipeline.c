// SPDX-License-Identifier: MIT
// explain_pipeline.c: `vyre-grad explain` of a pipeline, as text for people.
#include "tools/verbs/explain/explain.h"

#include <string.h>

// -------------------------------------------------------------------------------------- adjoints
static void put_adjoint(const vy_explain_buffer *b, text *out)
{
    static const char *const words[] = {
        [VY_ADJOINT_NONE] = "none in memory: what is computed is used at once",
        [VY_ADJOINT_GRADIENT] = "the gradient ",
        [VY_ADJOINT_WORKSPACE] = "in the intermediate ",
        [VY_ADJOINT_ARRAY] = "in ",
        [VY_ADJOINT_SEED] = "the caller's cotangent, read where it is needed: ",
        [VY_ADJOINT_ONES] = "1 for every element: takes no memory",
        [VY_ADJOINT_ZERO] = "0 for every element: the output was not requested",
    };
    text_puts(out, words[b->adjoint]);
    if (b->adjoint_name) text_puts(out, b->adjoint_name);
}

static void put_adjoints(const vy_pipeline_explanation *e, text *out)
{
    size_t name = 0, type = 0;
    text t = {0};
    for (uint32_t i = 0; i < e->buffer_count; i++) {
        explain_widen(&name, e->buffers[i].name);
        t.size = 0;
        explain_type(e->buffers[i].type, e->buffers[i].shape, &t);
        if (!t.failed && t.size > type && t.size <= 32) type = t.size;
    }
    out->failed |= t.failed;
    text_free(&t);
    text_puts(out, "\nadjoints\n");
    for (uint32_t i = 0; i < e->buffer_count; i++) {
        const vy_explain_buffer *b = &e->buffers[i];
        if (!vy_type_is_float(b->type)) continue;
        text_puts(out, "  ");
        explain_cell(b->name, name, out);
        const size_t start = out->size;
        explain_type(b->type, b->shape, out);
        explain_pad(out, start, type);
        put_adjoint(b, out);
        text_puts(out, "\n");
    }
}

// ----------------------------------------------------------------------------------------- tapes
static const char *unit_of(vy_type type, bool one)
{
    if (vy_type_is_float(type)) return one ? "float" : "floats";
    return one ? "integer" : "integers";
}

static void put_kept(const vy_explain_kept *k, const vy_module *m, text *out)
{
    const char *what = vy_type_is_float(k->type) ? "a tensor" : "an integer";
    const char *name = *k->name ? k->name : what;
    if (k->why == VY_KEPT_LOG)
        text_printf(out, "  logs what `%s` overwrites of %s", k->before ? k->before : "", name);
    else
        text_printf(out, "  keeps %s", name);
    if (k->before && k->why != VY_KEPT_LOG) text_printf(out, " before `%s`", k->before);
    if (k->line) text_puts(out, " ("), explain_line(m, k->line, out), text_puts(out, ")");
    if (k->loop_line)
        text_printf(out, ", per iteration of %s", *k->loop ? k->loop : "a repeat around it");
    if (k->loop_line && k->loop_line != k->line)
        text_puts(out, " ("), explain_line(m, k->loop_line, out), text_puts(out, ")");
    text_puts(out, ": ");
    explain_amount(&k->each, " ", out);
    text_puts(out, unit_of(k->type, strcmp(k->each.text, "1") == 0));
    text_printf(out, "\n      in %s, ", k->tape);
    explain_amount(&k->all, " bytes in all\n", out);
}

static void put_tapes(const vy_pipeline_explanation *e, const vy_module *m, text *out)
{
    text_puts(out, "\ntaped\n");
    if (!e->kept_count) text_puts(out, "  nothing\n");
    for (uint32_t i = 0; i < e->kept_count; i++) put_kept(&e->kept[i], m, out);
}

// -------------------------------------------------------------------------------------- requests
static void put_sum(const vy_explain_result *g, text *out)
{
    static const char *const words[] = {
        [VY_SUM_ZERO] = "nothing reaches it",
        [VY_SUM_STORE] = "each element by the invocation it belongs to",
        [VY_SUM_ADD] = "each element by the invocation it belongs to",
        [VY_SUM_ATOMIC] = "by atomic additions",
        [VY_SUM_GATHER] = "gathered by ",
        [VY_SUM_BOTH] = "by atomic additions, and gathered by ",
        [VY_SUM_TERMS] = "deterministic: terms of each invocation, added up in order",
        [VY_SUM_EXACT] = "deterministic: exact sums of integers, rounded once",
        [VY_SUM_WIDE] = "by atomic additions of f32, rounded once",
    };
    if (g->sum == VY_SUM_ZERO && g->mode == VY_IN_PLACE)
        text_puts(out, "left as it is");
    else
        text_puts(out, words[g->sum]);
    if (g->program && (g->sum == VY_SUM_GATHER || g->sum == VY_SUM_BOTH))
        text_puts(out, g->program);
}

static void put_results(const vy_explain_request *r, text *out)
{
    static const char *const modes[] = {"read", "overwritten", "in place", "added to"};
    size_t name = 0;
    for (uint32_t i = 0; i < r->result_count; i++) explain_widen(&name, r->results[i].name);
    for (uint32_t i = 0; i < r->result_count; i++) {
        const vy_explain_result *g = &r->results[i];
        text_puts(out, "      ");
        explain_cell(g->name, name, out);
        text_printf(out, "%s: ", modes[g->mode]);
        put_sum(g, out);
        text_puts(out, "\n");
    }
}

static void put_requests(const vy_pipeline_explanation *e, const vy_module *m, text *out)
{
    text_puts(out, "\ngradients of what it dispatches\n");
    for (uint32_t i = 0; i < e->request_count; i++) {
        const vy_explain_request *r = &e->requests[i];
        text_printf(out, "  %s", r->of);
        if (r->line) text_puts(out, ", "), explain_line(m, r->line, out);
        text_puts(out, ":");
        for (uint32_t k = 0; k < r->program_count; k++)
            text_printf(out, "%s %s", k ? "," : "", r->programs[k]);
        text_puts(out, "\n");
        put_results(r, out);
    }
    for (uint32_t k = 0; k < e->condition_count; k++)
        text_printf(out, "%s%s", k ? ", " : "  gathered if ", e->conditions[k]);
    if (e->condition_count) text_puts(out, "; --assume promises it\n");
}

// ---------------------------------------------------------------------------------------- memory
static void put_workspace(const vy_explain_workspace *w, text *out)
{
    text_printf(out, "  %s: ", w->name);
    switch (w->kind) {
    case VY_WORK_TAPE: text_puts(out, "a tape"); break;
    case VY_WORK_ADJOINT: text_printf(out, "the adjoint of %s", w->of); break;
    case VY_WORK_COPY: text_printf(out, "a copy of %s, which is overwritten", w->of); break;
    case VY_WORK_CONTENTS: text_puts(out, "as in the forward run"); break;
    default: text_puts(out, "a workspace");
    }
    text_puts(out, ", ");
    explain_amount(&w->all, " bytes\n", out);
}

static void put_memory(const vy_pipeline_explanation *e, const command *c, text *out)
{
    text_puts(out, "\nworkspaces\n");
    for (uint32_t i = 0; i < e->workspace_count; i++) put_workspace(&e->workspaces[i], out);
    text_puts(out, "  forward ");
    explain_amount(&e->forward.bytes, " bytes; gradient ", out);
    explain_amount(&e->gradient.bytes, " bytes, tapes ", out);
    explain_amount(&e->tape, "\n", out);
    for (uint32_t k = 0; k < e->schedule_count; k++) text_printf(out, "  %s\n", e->schedules[k]);
    explain_keep_text(c, &e->gradient.bytes, out);
}

// ----------------------------------------------------------------------------------------- steps
static void put_value(const vy_amount *a, size_t width, text *out)
{
    text t = {0};
    explain_amount(a, "", &t);
    out->failed |= t.failed;
    if (!t.failed) explain_cell(t.data, width, out);
    text_free(&t);
}

static size_t width_of(const vy_pipeline_explanation *e)
{
    size_t width = 8;
    for (int k = 0; k < VY_PIPE_WORK_COUNT; k++) {
        text t = {0};
        explain_amount(&e->forward.work[k], "", &t);
        if (!t.failed) explain_widen(&width, t.data);
        text_free(&t);
    }
    return width;
}

static void put_steps(const vy_pipeline_explanation *e, text *out)
{
    const size_t width = width_of(e);
    text_puts(out, "\n");
    explain_cell("steps", 12, out);
    explain_cell("forward", width, out);
    text_puts(out, "gradient\n");
    for (int k = 0; k < VY_PIPE_WORK_COUNT; k++) {
        const vy_amount *f = &e->forward.work[k], *g = &e->gradient.work[k];
        if (k && strcmp(f->text, "0") == 0 && strcmp(g->text, "0") == 0) continue;
        text_puts(out, "  ");
        explain_cell(vy_pipe_work_name((vy_pipe_work)k), 10, out);
        put_value(f, width, out);
        explain_amount(g, "\n", out);
    }
}

void explain_pipeline_text(const vy_pipeline_explanation *e, const command *c, text *out)
{
    const vy_module *m = c->module;
    text_printf(out, "%s, reverse mode of a pipeline: %s\n", e->forward.name, e->gradient.name);
    put_adjoints(e, out);
    put_tapes(e, m, out);
    put_requests(e, m, out);
    put_memory(e, c, out);
    put_steps(e, out);
}
