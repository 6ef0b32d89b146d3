// SPDX-License-Identifier: MIT
// explain_gradients.c: how each gradient is added up, and why: what `vyre-grad explain` prints
// about the memory that derivatives reach.
#include "tools/verbs/explain/explain.h"

#include <string.h>

// --------------------------------------------------------------------------------------- gradients
// The form in which a workgroup computes an element.
static void put_tree(const vy_explain_gradient *g, text *out)
{
    if (!g->tree) return;
    if (strcmp(g->tree, g->program) == 0)
        text_puts(out, ", by a workgroup each");
    else
        text_printf(out, ", by a workgroup each if the elements are few (%s)", g->tree);
}

static void put_atomic(const vy_explain_gradient *g, const vy_module *m, text *out)
{
    text_puts(out, "atomic adds: ");
    if (!g->variable)
        text_puts(out, "the program has no domain that elements could belong to");
    else
        text_printf(out, "no axis is `%s` in every access", g->variable);
    if (g->line) text_puts(out, ", see "), explain_line(m, g->line, out);
}

static void put_in_order(const vy_explain_gradient *g, text *out)
{
    text_puts(out, g->sum == VY_SUM_TERMS
                       ? "a term from each invocation, added up in a fixed order by other programs"
                   : g->sum == VY_SUM_EXACT
                       ? "exact accumulators of integers, rounded once by another program"
                       : "atomic adds of f32, rounded once by another program");
    if (g->program) text_printf(out, ", then %s sums what else reaches each element", g->program);
}

static void put_otherwise(const vy_explain_gradient *g, text *out)
{
    if (g->assumes && !g->otherwise) text_printf(out, ", as %s (--assume)", g->assumes);
    if (g->otherwise)
        text_printf(out, ", if %s; else %s adds atomically", g->assumes, g->otherwise);
}

static void put_sum(const vy_explain_gradient *g, const vy_module *m, text *out)
{
    switch (g->sum) {
    case VY_SUM_ZERO: text_puts(out, "nothing reaches it"); break;
    case VY_SUM_STORE:
        text_puts(out, "stored: each element once, by the invocation it belongs to");
        break;
    case VY_SUM_ADD:
        text_puts(out, "read, added to, written: each element belongs to one invocation");
        break;
    case VY_SUM_ATOMIC: put_atomic(g, m, out); break;
    case VY_SUM_TERMS:
    case VY_SUM_EXACT:
    case VY_SUM_WIDE: put_in_order(g, out); break;
    case VY_SUM_GATHER:
        text_printf(out, "gathered: %s sums what reaches each element", g->program);
        put_tree(g, out);
        break;
    case VY_SUM_BOTH:
        text_puts(out, "atomic adds");
        if (g->program)
            text_printf(out, ", then %s sums what else reaches each element", g->program);
        put_tree(g, out);
        break;
    }
    if (g->map) text_printf(out, ", of %s", g->map);
    put_otherwise(g, out);
    if (g->why) {
        text_printf(out, "; not gathered: the access %s", g->why);
        if (g->why_line)
            text_puts(out, " ("), explain_line(m, g->why_line, out), text_puts(out, ")");
    }
    if (strcmp(g->start, "zero") != 0) text_printf(out, "; starts as %s", g->start);
    text_puts(out, "\n");
}

void explain_gradients(const vy_explanation *e, const vy_module *m, text *out)
{
    size_t name = 0, type = 0;
    text t = {0};
    for (uint32_t i = 0; i < e->gradient_count; i++) {
        explain_widen(&name, e->gradients[i].name);
        t.size = 0;
        explain_type(e->gradients[i].type, e->gradients[i].shape, &t);
        if (!t.failed && t.size > type && t.size <= 32) type = t.size;
    }
    out->failed |= t.failed;
    text_free(&t);
    text_puts(out, "\ngradients\n");
    for (uint32_t i = 0; i < e->gradient_count; i++) {
        const vy_explain_gradient *g = &e->gradients[i];
        text_puts(out, "  ");
        explain_cell(g->name, name, out);
        const size_t start = out->size;
        explain_type(g->type, g->shape, out);
        explain_pad(out, start, type);
        put_sum(g, m, out);
    }
}

void explain_shapes(const vy_explanation *e, const names *shaped, text *out)
{
    size_t width = 0;
    if (!shaped->count) return;
    for (uint32_t i = 0; i < shaped->count; i++) explain_widen(&width, shaped->data[i]);
    text_puts(out, "\nshapes of flat indices\n");
    for (uint32_t i = 0; i < e->buffer_count; i++) {
        const vy_explain_buffer *b = &e->buffers[i];
        if (!names_have(shaped, b->name)) continue;
        text_puts(out, "  ");
        explain_cell(b->name, width, out);
        explain_type(b->type, b->shape, out);
        text_puts(out, "\n");
    }
}

void explain_adjoints(const vy_explanation *e, text *out)
{
    static const char *const words[] = {
        [VY_ADJOINT_WORKSPACE] = "in the workspace ",
        [VY_ADJOINT_ARRAY] = "in the local array ",
        [VY_ADJOINT_SEED] = "the caller's cotangent, read where it is needed: ",
        [VY_ADJOINT_ONES] = "1 for every element: takes no memory",
        [VY_ADJOINT_ZERO] = "0 for every element: the output was not requested",
    };
    size_t width = 0;
    bool any = false;
    for (uint32_t i = 0; i < e->buffer_count; i++) explain_widen(&width, e->buffers[i].name);
    for (uint32_t i = 0; i < e->buffer_count; i++) {
        const vy_explain_buffer *b = &e->buffers[i];
        if (b->adjoint == VY_ADJOINT_NONE || b->adjoint == VY_ADJOINT_GRADIENT) continue;
        if (!any) text_puts(out, "\nadjoints of other buffers\n");
        any = true;
        text_puts(out, "  ");
        explain_cell(b->name, width, out);
        if (b->adjoint == VY_ADJOINT_ARRAY && !b->adjoint_name)
            text_puts(out, "in values, element by element");
        else if (b->adjoint == VY_ADJOINT_ARRAY && b->cls == VY_SHARED)
            text_puts(out, "in the shared array ");
        else
            text_puts(out, words[b->adjoint]);
        if (b->adjoint_name) text_puts(out, b->adjoint_name);
        text_puts(out, "\n");
    }
}

// ---------------------------------------------------------------------------------------- accesses
void explain_accesses(const vy_explanation *e, const vy_module *m, text *out)
{
    size_t width = 0;
    for (uint32_t i = 0; i < e->access_count; i++) explain_widen(&width, e->accesses[i].buffer);
    if (e->access_count) text_puts(out, "\naccesses of the forward program\n");
    for (uint32_t i = 0; i < e->access_count; i++) {
        const vy_explain_access *a = &e->accesses[i];
        const size_t start = out->size;
        text_puts(out, "  ");
        explain_line(m, a->line, out);
        explain_pad(out, start, 10);
        explain_cell(vy_access_kind_name(a->kind), 6, out);
        explain_cell(a->buffer, width, out);
        if (a->relation)
            text_printf(out, "%s%s", a->relation, a->exact ? "" : "  or fewer");
        else
            text_printf(out, "axis %u %s", a->axis, a->why);
        text_puts(out, "\n");
    }
    if (e->accesses_left_out) text_printf(out, "  … and %u more\n", e->accesses_left_out);
}
