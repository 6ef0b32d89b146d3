// SPDX-License-Identifier: MIT
// manifest.c: a plan as JSON.  The fields are described at vy_manifest in spirv.h.
#include "spirv/spirv.h"
#include "spirv/write/text.h"

#include <string.h>

typedef struct writer {
    vy_text t;
    const vy_plan *plan;
} writer;

static const char *comma(uint32_t i) { return i ? ", " : ""; }

// An expression as a JSON string.  Names are identifiers, so nothing needs escaping.
static void put_expr(vy_text *t, const vy_expr *exprs, uint32_t index, const vy_symbol *symbols)
{
    vy_text_add(t, "\"");
    vy_text_expr(t, exprs, index, symbols);
    vy_text_add(t, "\"");
}

// A field with what was written as `$index` since the last one.
static void put_definitions(vy_text *t, const char *begin, const char *end, const vy_expr *exprs,
                            const vy_symbol *symbols)
{
    const vy_definition_marks marks = {begin, "\n      \"", "\": \"", "\"", ",", end};
    vy_text_definitions(t, exprs, symbols, &marks);
}

static void put_shape(vy_text *t, const uint32_t *dims, uint32_t rank, const vy_expr *exprs,
                      const vy_symbol *symbols)
{
    vy_text_add(t, "[");
    for (uint32_t i = 0; i < rank; i++) {
        vy_text_add(t, "%s", comma(i));
        put_expr(t, exprs, dims[i], symbols);
    }
    vy_text_add(t, "]");
}

static void put_field(vy_text *t, const char *name, const char *value)
{
    vy_text_add(t, "\"%s\": ", name);
    vy_text_json(t, value);
    vy_text_add(t, ", ");
}

// ----------------------------------------------------------------------------------------- kernels
// Where the shader has a parameter; null: only the kernel has it.
static void put_from(vy_text *t, const vy_kernel_from *from)
{
    if (!from) {
        vy_text_add(t, "null");
        return;
    }
    const bool pushed = from->set == VY_NO_BINDING;
    vy_text_add(t, "{\"block\": \"%s\", ",
                pushed          ? "push_constants"
                : from->uniform ? "uniform"
                                : "storage");
    if (!pushed) vy_text_add(t, "\"set\": %u, \"binding\": %u, ", from->set, from->binding);
    vy_text_add(t, "\"offset\": %u", from->offset);
    for (uint32_t i = 0; i < from->rank; i++)
        vy_text_add(t, i ? ", %u" : ", \"strides\": [%u", from->strides[i]);
    vy_text_add(t, from->rank ? "]}" : "}");
}

static void put_constants(vy_text *t, const vy_kernel *k)
{
    if (!k->hosted) return;
    vy_text_add(t, "      \"constants\": [");
    for (uint32_t i = 0; i < k->constant_count; i++) {
        const vy_kernel_constant *c = &k->constants[i];
        vy_text_add(t, i ? ",\n        {" : "\n        {");
        put_field(t, "name", c->param.name);
        put_field(t, "type", c->param.type);
        vy_text_add(t, "\"size\": %u, \"from\": ", c->param.size);
        put_from(t, c->from);
        vy_text_add(t, "}");
    }
    vy_text_add(t, "],\n");
}

static void put_binding(vy_text *t, const vy_kernel *k, const vy_kernel_binding *b)
{
    static const char *const access[] = {"in", "out", "inout"};
    vy_text_add(t, "        {");
    put_field(t, "name", b->name);
    vy_text_add(t, "\"set\": %u, \"binding\": %u, ", b->set, b->binding);
    put_field(t, "access", access[b->access]);
    vy_text_add(t, "\"clear\": %s, \"workspace\": %s, ", b->clear ? "true" : "false",
                b->workspace ? "true" : "false");
    put_field(t, "init", b->init);
    put_field(t, "type", b->type);
    vy_text_add(t, "\"element_size\": %u, \"shape\": ", b->elem_size);
    put_shape(t, b->dims, b->rank, k->exprs, k->symbols);
    if (k->hosted) vy_text_add(t, ", \"from\": ");
    if (k->hosted) put_from(t, b->from);
    vy_text_add(t, "}");
}

static void put_param(vy_text *t, const vy_kernel *k, const vy_kernel_param *p)
{
    static const char *const kinds[] = {"scalar", "expression", "group_base", "num_groups",
                                        "offset"};
    vy_text_add(t, "          {");
    put_field(t, "name", p->name);
    put_field(t, "kind", kinds[p->kind]);
    put_field(t, "type", p->type);
    vy_text_add(t, "\"offset\": %u, \"size\": %u, \"value\": ", p->offset, p->size);
    if (p->kind == VY_PARAM_EXPR)
        put_expr(t, k->exprs, p->index, k->symbols);
    else if (p->kind == VY_PARAM_SCALAR)
        vy_text_json(t, k->symbols[p->index].name);
    else if (p->kind == VY_PARAM_OFFSET)
        vy_text_json(t, k->bindings[p->index].name);
    else
        vy_text_add(t, "\"%s.%c\"", kinds[p->kind], "xyz"[p->index]);
    vy_text_add(t, "}");
}

static void put_params(vy_text *t, const vy_kernel *k)
{
    vy_text_add(t, "      \"params\": {\"in\": ");
    if (k->param_set == VY_NO_BINDING)
        vy_text_add(t, "\"push_constants\"");
    else
        vy_text_add(t, "{\"set\": %u, \"binding\": %u}", k->param_set, k->param_binding);
    vy_text_add(t, ", \"bytes\": %u, \"fields\": [", k->param_bytes);
    for (uint32_t i = 0; i < k->param_count; i++) {
        vy_text_add(t, i ? ",\n" : "\n");
        put_param(t, k, &k->params[i]);
    }
    vy_text_add(t, "]},\n");
}

// One axis of the group counts: x, y and the product of all further variables in z.
static void put_group_axis(vy_text *t, const vy_kernel *k, uint32_t axis)
{
    uint32_t last = axis == 2 ? k->domain_rank - 2 : 1; // how many variables share the axis
    if (axis >= k->domain_rank) {
        vy_text_add(t, "\"1\"");
        return;
    }
    vy_text_add(t, "\"");
    if (k->local_size[axis] != 1) vy_text_add(t, "ceil(");
    for (uint32_t i = 0; i < last; i++) {
        uint32_t v = axis == 2 ? i : k->domain_rank - 1 - axis;
        const vy_expr *e = &k->exprs[k->domain[v]];
        bool bare = (last == 1 && k->local_size[axis] == 1) || e->op == VY_EXPR_CONST ||
                    e->op == VY_EXPR_SYMBOL || e->op >= VY_EXPR_MIN;
        vy_text_add(t, "%s%s", i ? "*" : "", bare ? "" : "(");
        vy_text_expr(t, k->exprs, k->domain[v], k->symbols);
        vy_text_add(t, "%s", bare ? "" : ")");
    }
    if (k->local_size[axis] != 1) vy_text_add(t, "/%u)", k->local_size[axis]);
    vy_text_add(t, "\"");
}

static void put_features(vy_text *t, const vy_kernel *k)
{
    uint32_t n = 0;
    vy_text_add(t, "      \"features\": [");
    for (uint32_t i = 0; i < VY_FEATURE_COUNT; i++)
        if (k->features >> i & 1) vy_text_add(t, "%s\"%s\"", comma(n++), vy_feature_name(i));
    vy_text_add(t, "],\n");
}

// Upper bounds on nesting and iterations; see kernel.h.
static void put_bounds(vy_text *t, const vy_kernel *k)
{
    vy_text_add(t, "      \"nesting\": %u, \"loop_iterations\": ", k->nesting);
    if (k->iteration_count) {
        vy_text_add(t, "\"");
        vy_text_expr(t, k->iterations, k->iteration_count - 1, k->symbols);
        vy_text_add(t, "\"");
    } else {
        vy_text_add(t, "\"0\"");
    }
    vy_text_add(t, ", \"loop_iterations_open\": %s", k->iterations_open ? "true" : "false");
    if (k->subgroup_size) vy_text_add(t, ", \"subgroup_size\": %u", k->subgroup_size);
    vy_text_add(t, ",\n");
    put_definitions(t, "      \"loop_expressions\": {", "},\n", k->iterations, k->symbols);
}

// What a launch has to keep: the conditions of `assume` clauses, on the kernel's scalars.
static void put_assumptions(vy_text *t, const vy_kernel *k)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < k->need_count; i++) {
        if (!k->needs[i].assumed) continue;
        vy_text_add(t, n++ ? ", " : "      \"assumptions\": [");
        vy_text_json(t, k->needs[i].assumed);
    }
    if (n) vy_text_add(t, "],\n");
}

static void put_kernel(vy_text *t, const vy_kernel *k)
{
    vy_text_add(t, "    {");
    put_field(t, "name", k->name);
    put_field(t, "entry", k->entry);
    vy_text_add(
        t,
        "\"spirv\": \"%u.%u\", \"vulkan\": \"%u.%u\",\n      \"local_size\": [%u, %u, %u], \"shared_bytes\": %u,\n",
        k->spirv_version >> 16, k->spirv_version >> 8 & 255, k->vulkan_version >> 22,
        k->vulkan_version >> 12 & 1023, k->local_size[0], k->local_size[1], k->local_size[2],
        k->shared_bytes);
    put_features(t, k);
    put_bounds(t, k);
    put_assumptions(t, k);
    vy_text_add(t, "      \"bindings\": [");
    for (uint32_t i = 0; i < k->binding_count; i++) {
        vy_text_add(t, i ? ",\n" : "\n");
        put_binding(t, k, &k->bindings[i]);
    }
    vy_text_add(t, "],\n");
    put_constants(t, k);
    put_params(t, k);
    vy_text_add(t, "      \"groups\": ");
    if (!k->domain_rank) vy_text_add(t, "null");
    for (uint32_t a = 0; a < 3 && k->domain_rank; a++) {
        vy_text_add(t, a ? ", " : "[");
        put_group_axis(t, k, a);
    }
    vy_text_add(t, k->domain_rank ? "]" : "");
    put_definitions(t, ",\n      \"expressions\": {", "}", k->exprs, k->symbols);
    vy_text_add(t, "}");
}

// ------------------------------------------------------------------------------------------- steps
static void put_plan_expr(writer *w, uint32_t index)
{
    put_expr(&w->t, w->plan->exprs, index, w->plan->symbols);
}

static void put_dispatch(writer *w, const vy_plan_step *s)
{
    vy_text *t = &w->t;
    const vy_kernel *k = &w->plan->kernels[s->kernel];
    put_field(t, "kernel", k->name);
    vy_text_add(t, "\"buffers\": {");
    for (uint32_t i = 0; i < k->binding_count; i++) {
        const vy_plan_arg *a = &s->args[i];
        vy_text_add(t, "%s", comma(i));
        vy_text_json(t, k->bindings[i].name);
        vy_text_add(t, ": ");
        if (a->offset != VY_NO_EXPR) vy_text_add(t, "{\"buffer\": ");
        vy_text_json(t, w->plan->buffers[a->buffer].name);
        if (a->offset == VY_NO_EXPR) continue;
        vy_text_add(t, ", \"offset\": ");
        put_plan_expr(w, a->offset);
        vy_text_add(t, "}");
    }
    vy_text_add(t, "}, \"symbols\": {");
    for (uint32_t i = 0; i < k->symbol_count; i++) {
        vy_text_add(t, "%s", comma(i));
        vy_text_json(t, k->symbols[i].name);
        vy_text_add(t, ": \"");
        vy_text_argument(t, w->plan, &k->symbols[i], s->symbols[i]);
        vy_text_add(t, "\"");
    }
    vy_text_add(t, "}");
    for (uint32_t i = 0; i < 3 && s->groups; i++) {
        vy_text_add(t, i ? ", " : ", \"groups\": [");
        put_plan_expr(w, s->groups[i]);
    }
    if (s->groups) vy_text_add(t, "]");
}

static void put_part(writer *w, const vy_plan_step *s)
{
    if (!s->part) return;
    vy_text_add(&w->t, ", \"offset\": ");
    put_plan_expr(w, s->part->offset);
    if (s->kind == VY_STEP_COPY) {
        vy_text_add(&w->t, ", \"from_offset\": ");
        put_plan_expr(w, s->part->source_offset);
    }
    vy_text_add(&w->t, ", \"elements\": ");
    put_plan_expr(w, s->part->count);
}

// The expression of a step, and the symbol that it determines.
static void put_into_symbol(writer *w, const vy_plan_step *s)
{
    put_plan_expr(w, s->expr);
    vy_text_add(&w->t, ", \"symbol\": ");
    vy_text_json(&w->t, w->plan->symbols[s->symbol].name);
}

// What the value of a check is compared with, and the error.
static void put_limit(writer *w, const vy_plan_step *s)
{
    vy_text_add(&w->t, s->check == VY_CHECK_BELOW ? ", \"below\": " : ", \"equals\": ");
    put_plan_expr(w, s->limit);
    vy_text_add(&w->t, ", \"error\": ");
    vy_text_json(&w->t, s->text);
}

static void put_step(writer *w, const vy_plan_step *s)
{
    static const char *const kinds[] = {"dispatch", "fill", "copy", "repeat",
                                        "readback", "test", "check"};
    vy_text *t = &w->t;
    const vy_plan_buffer *buffers = w->plan->buffers;
    vy_text_add(t, "    {");
    put_field(t, "do", kinds[s->kind]);
    switch (s->kind) {
    case VY_STEP_DISPATCH: put_dispatch(w, s); break;
    case VY_STEP_FILL:
        put_field(t, "buffer", buffers[s->buffer].name);
        vy_text_add(t, "\"value\": %d", s->pattern != 0);
        put_part(w, s);
        break;
    case VY_STEP_COPY:
        put_field(t, "from", buffers[s->source].name);
        vy_text_add(t, "\"to\": ");
        vy_text_json(t, buffers[s->buffer].name);
        put_part(w, s);
        break;
    case VY_STEP_REPEAT:
        vy_text_add(t, "\"count\": %u, \"times\": ", s->count);
        put_into_symbol(w, s);
        break;
    case VY_STEP_READBACK:
        put_field(t, "buffer", buffers[s->buffer].name);
        vy_text_add(t, "\"element\": ");
        put_into_symbol(w, s);
        break;
    case VY_STEP_TEST:
    case VY_STEP_CHECK:
        vy_text_add(t, "\"value\": ");
        put_plan_expr(w, s->expr);
        if (s->kind == VY_STEP_CHECK) put_limit(w, s);
        break;
    }
    vy_text_add(t, "}");
}

// ---------------------------------------------------------------------------------------- the plan
static void put_buffers(writer *w)
{
    static const char *const roles[] = {"in", "out", "inout", "workspace"};
    vy_text *t = &w->t;
    vy_text_add(t, "  \"buffers\": [");
    for (uint32_t i = 0; i < w->plan->buffer_count; i++) {
        const vy_plan_buffer *b = &w->plan->buffers[i];
        vy_text_add(t, i ? ",\n    {" : "\n    {");
        put_field(t, "name", b->name);
        put_field(t, "role", roles[b->role]);
        put_field(t, "type", b->type);
        vy_text_add(t, "\"element_size\": %u, \"shape\": ", b->elem_size);
        put_shape(t, b->dims, b->rank, w->plan->exprs, w->plan->symbols);
        vy_text_add(t, "}");
    }
    vy_text_add(t, "],\n");
}

static void put_scalars(writer *w)
{
    vy_text *t = &w->t;
    uint32_t n = 0;
    vy_text_add(t, "  \"scalars\": [");
    for (uint32_t i = 0; i < w->plan->symbol_count; i++) {
        const vy_symbol *s = &w->plan->symbols[i];
        if (s->kind != VY_SYMBOL_SCALAR) continue;
        vy_text_add(t, "%s{", comma(n++));
        put_field(t, "name", s->name);
        vy_text_add(t, "\"type\": \"%s\"}", s->type);
    }
    vy_text_add(t, "],\n");
}

// Identifies the module that this manifest describes: output files are renamed one after the other,
// so a command stopped in between leaves files of two runs.
static void put_module(vy_text *t, const vy_plan *plan)
{
    if (!plan->kernel_count) return;
    const vy_kernel *k = &plan->kernels[0]; // all are entry points of one module
    uint64_t hash = 0xcbf29ce484222325u;    // FNV-1a of the file's bytes: words, low byte first
    for (size_t i = 0; i < k->word_count; i++)
        for (int shift = 0; shift < 32; shift += 8)
            hash = (hash ^ (k->words[i] >> shift & 0xff)) * 0x100000001b3u;
    vy_text_add(t, "  \"module\": {\"bytes\": %zu, \"fnv1a\": \"%016llx\"},\n",
                (size_t)k->word_count * 4, (unsigned long long)hash);
}

char *vy_manifest(const vy_plan *plan, size_t *size)
{
    writer w = {.plan = plan};
    vy_text *t = &w.t;
    vy_text_add(t, "{\"vyre\": 1, \"name\": ");
    vy_text_json(t, plan->name);
    vy_text_add(t, ",\n");
    put_module(t, plan);
    put_scalars(&w);
    put_buffers(&w);
    vy_text_add(t, "  \"steps\": [");
    for (uint32_t i = 0; i < plan->step_count; i++) {
        vy_text_add(t, i ? ",\n" : "\n");
        put_step(&w, &plan->steps[i]);
    }
    vy_text_add(t, "],\n");
    put_definitions(t, "  \"expressions\": {", "},\n", plan->exprs, plan->symbols);
    vy_text_add(t, "  \"kernels\": [");
    for (uint32_t i = 0; i < plan->kernel_count; i++) {
        vy_text_add(t, i ? ",\n" : "\n");
        put_kernel(t, &plan->kernels[i]);
    }
    vy_text_add(t, "]}\n");
    return vy_text_take(t, size);
}
