// SPDX-License-Identifier: MIT
// header.c: a plan as a C99 header without dependencies.
#include "spirv/spirv.h"
#include "spirv/write/text.h"

#include <ctype.h>
#include <string.h>

// Upper case, for macros and enumerators; what C does not allow becomes `_`.
static void put_name(vy_text *t, const char *s, bool upper)
{
    for (; *s; s++) {
        int c = (unsigned char)*s;
        if (c >= 128 || !(isalnum(c) || c == '_')) c = '_';
        vy_text_add(t, "%c", upper ? toupper(c) : c);
    }
}

// PREFIX, or PREFIX_KERNEL where there are several kernels.
static void put_prefix(vy_text *t, const vy_plan *plan, const vy_kernel *k, const char *prefix,
                       bool upper)
{
    put_name(t, prefix, upper);
    if (plan->kernel_count == 1) return;
    vy_text_add(t, "_");
    put_name(t, k->name, upper);
}

static void put_macro(vy_text *t, const vy_plan *plan, const vy_kernel *k, const char *prefix,
                      const char *what)
{
    vy_text_add(t, "#define ");
    put_prefix(t, plan, k, prefix, true);
    vy_text_add(t, "_%s ", what);
}

static void put_words(vy_text *t, const uint32_t *words, size_t count, const char *prefix,
                      const char *suffix)
{
    vy_text_add(t, "\nstatic const uint32_t ");
    put_name(t, prefix, false);
    if (*suffix) {
        vy_text_add(t, "_");
        put_name(t, suffix, false);
    }
    vy_text_add(t, "_spirv[%zu] = {", count);
    for (size_t i = 0; i < count; i++)
        vy_text_add(t, "%s0x%08x,", i % 8 ? " " : "\n    ", words[i]);
    vy_text_add(t, "\n};\n");
}

static void put_from(vy_text *t, const vy_kernel_from *from)
{
    if (!from) return;
    vy_text_add(t, ", the shader's");
    if (from->rank && from->offset) vy_text_add(t, " from byte %u", from->offset);
    for (uint32_t i = 0; i < from->rank; i++)
        vy_text_add(t, i ? ", %u" : ", strides %u", from->strides[i]);
}

static void put_shape_comment(vy_text *t, const vy_kernel *k, const vy_kernel_binding *b)
{
    static const char *const access[] = {"in", "out", "inout"};
    vy_text_add(t, " // %s %s[", access[b->access], b->type);
    for (uint32_t i = 0; i < b->rank; i++) {
        if (i) vy_text_add(t, ", ");
        vy_text_expr(t, k->exprs, b->dims[i], k->symbols);
    }
    vy_text_add(t, "]%s%s", b->clear ? ", zero it before each dispatch" : "",
                b->workspace ? ", scratch memory" : "");
    put_from(t, b->from);
    if (b->init) vy_text_add(t, ", starts as %s", strcmp(b->init, "1") ? b->init : "all ones");
    vy_text_add(t, "\n");
}

static void put_bindings(vy_text *t, const vy_plan *plan, const vy_kernel *k, const char *prefix)
{
    if (!k->binding_count) return;
    vy_text_add(t, "\nenum { // bindings; the set is 0 unless stated\n");
    for (uint32_t i = 0; i < k->binding_count; i++) {
        const vy_kernel_binding *b = &k->bindings[i];
        vy_text_add(t, "    ");
        put_prefix(t, plan, k, prefix, true);
        vy_text_add(t, "_BINDING_");
        put_name(t, b->name, true);
        vy_text_add(t, " = %u,", b->binding);
        put_shape_comment(t, k, b);
        if (!b->set) continue;
        vy_text_add(t, "    ");
        put_prefix(t, plan, k, prefix, true);
        vy_text_add(t, "_SET_");
        put_name(t, b->name, true);
        vy_text_add(t, " = %u,\n", b->set);
    }
    vy_text_add(t, "};\n");
}

static const char *c_type(const char *type)
{
    static const char *const pairs[][2] = {{"i32", "int32_t"},   {"u32", "uint32_t"},
                                           {"i64", "int64_t"},   {"u64", "uint64_t"},
                                           {"f32", "float"},     {"f64", "double"},
                                           {"bool", "uint32_t"}, {"f16", "uint16_t"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (strcmp(type, pairs[i][0]) == 0) return pairs[i][1];
    return "uint32_t";
}

static void put_param_comment(vy_text *t, const vy_kernel *k, const vy_kernel_param *p)
{
    vy_text_add(t, " // offset %u", p->offset);
    if (p->kind == VY_PARAM_EXPR) {
        vy_text_add(t, ": ");
        vy_text_expr(t, k->exprs, p->index, k->symbols);
    }
    if (p->kind == VY_PARAM_GROUP_BASE)
        vy_text_add(t, ": 0, or the first workgroup where a dispatch is split");
    if (p->kind == VY_PARAM_OFFSET)
        vy_text_add(t, ": elements from the descriptor's beginning to the first of %s",
                    k->bindings[p->index].name);
    if (p->kind == VY_PARAM_NUM_GROUPS) vy_text_add(t, ": workgroups of the whole dispatch");
    vy_text_add(t, "\n");
}

// What the host of a shader passes, where it is.
static void put_constants(vy_text *t, const vy_plan *plan, const vy_kernel *k, const char *prefix)
{
    if (!k->constant_count) return;
    vy_text_add(t, "\nenum { // scalars of the shader: bytes from the start of their block\n");
    for (uint32_t i = 0; i < k->constant_count; i++) {
        const vy_kernel_constant *c = &k->constants[i];
        vy_text_add(t, "    ");
        put_prefix(t, plan, k, prefix, true);
        vy_text_add(t, "_OFFSET_");
        put_name(t, c->param.name, true);
        vy_text_add(t, " = %u, // %s, ", c->from->offset, c->param.type);
        if (c->from->set == VY_NO_BINDING)
            vy_text_add(t, "push constants\n");
        else
            vy_text_add(t, "uniform block: set %u, binding %u\n", c->from->set, c->from->binding);
    }
    vy_text_add(t, "};\n");
}

// The struct has exactly the offsets of the block: padding that C would not insert is explicit.
static void put_params(vy_text *t, const vy_plan *plan, const vy_kernel *k, const char *prefix)
{
    uint32_t at = 0, pads = 0;
    if (!k->param_count) return;
    vy_text_add(t, "\ntypedef struct ");
    put_prefix(t, plan, k, prefix, false);
    vy_text_add(t, "_params { // %s\n",
                k->param_set == VY_NO_BINDING ? "push constants" : "storage buffer");
    for (uint32_t i = 0; i < k->param_count; i++) {
        const vy_kernel_param *p = &k->params[i];
        while (at + 4 <= p->offset) {
            vy_text_add(t, "    uint32_t pad%u;\n", pads++);
            at += 4;
        }
        vy_text_add(t, "    %s ", c_type(p->type));
        put_name(t, p->name, false);
        vy_text_add(t, ";");
        put_param_comment(t, k, p);
        at = p->offset + p->size;
        if (p->size == 2) {
            vy_text_add(t, "    uint16_t pad%u;\n", pads++);
            at += 2;
        }
    }
    vy_text_add(t, "} ");
    put_prefix(t, plan, k, prefix, false);
    vy_text_add(t, "_params;\n");
}

// What is too long for its line.
static void put_definitions(vy_text *t, const vy_expr *exprs, const vy_symbol *symbols)
{
    static const vy_definition_marks marks = {"", "// ", " = ", "\n", "", ""};
    vy_text_definitions(t, exprs, symbols, &marks);
}

static void put_kernel(vy_text *t, const vy_plan *plan, const vy_kernel *k, const char *prefix)
{
    vy_text_add(t, "\n// ---- kernel %s\n", k->name);
    put_macro(t, plan, k, prefix, "ENTRY");
    vy_text_json(t, k->entry);
    for (uint32_t a = 0; a < 3; a++) {
        static const char *const names[] = {"LOCAL_SIZE_X", "LOCAL_SIZE_Y", "LOCAL_SIZE_Z"};
        vy_text_add(t, "\n");
        put_macro(t, plan, k, prefix, names[a]);
        vy_text_add(t, "%u", k->local_size[a]);
    }
    vy_text_add(t, "\n");
    put_macro(t, plan, k, prefix, "PARAM_BYTES");
    vy_text_add(t, "%u\n", k->param_bytes);
    if (k->param_set != VY_NO_BINDING) {
        put_macro(t, plan, k, prefix, "PARAM_BINDING");
        vy_text_add(t, "%u // in set %u\n", k->param_binding, k->param_set);
    }
    for (uint32_t i = 0; i < k->domain_rank; i++) {
        vy_text_add(t, "// domain axis %u: ", i);
        vy_text_expr(t, k->exprs, k->domain[i], k->symbols);
        vy_text_add(t, i + 1 == k->domain_rank   ? " (x)\n"
                       : i + 2 == k->domain_rank ? " (y)\n"
                                                 : " (z)\n");
    }
    for (uint32_t i = 0; i < VY_FEATURE_COUNT; i++)
        if (k->features >> i & 1) vy_text_add(t, "// needs %s\n", vy_feature_name(i));
    put_bindings(t, plan, k, prefix);
    put_constants(t, plan, k, prefix);
    put_params(t, plan, k, prefix);
    put_definitions(t, k->exprs, k->symbols);
}

// ------------------------------------------------------------------------------------------- steps
static void put_plan_expr(vy_text *t, const vy_plan *plan, uint32_t expr)
{
    vy_text_expr(t, plan->exprs, expr, plan->symbols);
}

static void put_dispatch(vy_text *t, const vy_plan *plan, const vy_plan_step *s)
{
    const vy_kernel *k = &plan->kernels[s->kernel];
    vy_text_add(t, "%s(", k->name);
    for (uint32_t i = 0; i < k->binding_count; i++) {
        const vy_plan_arg *a = &s->args[i];
        vy_text_add(t, "%s%s = %s", i ? ", " : "", k->bindings[i].name,
                    plan->buffers[a->buffer].name);
        if (a->offset == VY_NO_EXPR) continue;
        vy_text_add(t, " from element ");
        put_plan_expr(t, plan, a->offset);
    }
    for (uint32_t i = 0; i < k->symbol_count; i++) {
        vy_text_add(t, "%s%s = ", i ? ", " : "; ", k->symbols[i].name);
        vy_text_argument(t, plan, &k->symbols[i], s->symbols[i]);
    }
    vy_text_add(t, ")");
    for (uint32_t i = 0; s->groups && i < 3; i++) {
        vy_text_add(t, i ? ", " : " in groups ");
        put_plan_expr(t, plan, s->groups[i]);
    }
}

static void put_part(vy_text *t, const vy_plan *plan, const vy_plan_step *s)
{
    if (!s->part) return;
    vy_text_add(t, ", ");
    put_plan_expr(t, plan, s->part->count);
    vy_text_add(t, " elements from ");
    put_plan_expr(t, plan, s->part->offset);
    if (s->kind != VY_STEP_COPY) return;
    vy_text_add(t, ", of the source from ");
    put_plan_expr(t, plan, s->part->source_offset);
}

static void put_step(vy_text *t, const vy_plan *plan, const vy_plan_step *s)
{
    const char *name = plan->buffers[s->buffer].name;
    switch (s->kind) {
    case VY_STEP_DISPATCH: put_dispatch(t, plan, s); return;
    case VY_STEP_FILL:
        vy_text_add(t, "fill %s with %d", name, s->pattern != 0);
        put_part(t, plan, s);
        return;
    case VY_STEP_COPY:
        vy_text_add(t, "copy %s to %s", plan->buffers[s->source].name, name);
        put_part(t, plan, s);
        return;
    case VY_STEP_REPEAT:
        vy_text_add(t, "repeat the next %u steps, %s from 0 up to ", s->count,
                    plan->symbols[s->symbol].name);
        put_plan_expr(t, plan, s->expr);
        return;
    case VY_STEP_READBACK:
        vy_text_add(t, "%s = element ", plan->symbols[s->symbol].name);
        put_plan_expr(t, plan, s->expr);
        vy_text_add(t, " of %s", name);
        return;
    case VY_STEP_TEST:
        vy_text_add(t, "leave the repeat if this is 0: ");
        put_plan_expr(t, plan, s->expr);
        return;
    case VY_STEP_CHECK:
        vy_text_add(t, "check ");
        put_plan_expr(t, plan, s->expr);
        vy_text_add(t, s->check == VY_CHECK_BELOW ? " from 0, below " : " = ");
        put_plan_expr(t, plan, s->limit);
        return;
    }
}

// How to run several steps, for human readers; programs read the JSON manifest.
static void put_plan(vy_text *t, const vy_plan *plan)
{
    static const char *const roles[] = {"in", "out", "inout", "workspace"};
    vy_text_add(t, "\n// ---- %s: buffers\n", plan->name);
    for (uint32_t i = 0; i < plan->buffer_count; i++) {
        const vy_plan_buffer *b = &plan->buffers[i];
        vy_text_add(t, "// %s %s: %s[", roles[b->role], b->name, b->type);
        for (uint32_t k = 0; k < b->rank; k++) {
            if (k) vy_text_add(t, ", ");
            put_plan_expr(t, plan, b->dims[k]);
        }
        vy_text_add(t, "]\n");
    }
    vy_text_add(t, "// ---- steps\n");
    for (uint32_t i = 0; i < plan->step_count; i++) {
        vy_text_add(t, "// ");
        put_step(t, plan, &plan->steps[i]);
        vy_text_add(t, "\n");
    }
    put_definitions(t, plan->exprs, plan->symbols);
}

char *vy_c_header(const vy_plan *plan, const char *prefix, size_t *size)
{
    vy_text text = {0}, *t = &text;
    vy_text_add(t, "// Generated by Vyre from `");
    put_name(t, plan->name, false);
    vy_text_add(t, "`.  Do not edit.\n#ifndef ");
    put_name(t, prefix, true);
    vy_text_add(t, "_SPIRV_H\n#define ");
    put_name(t, prefix, true);
    vy_text_add(t, "_SPIRV_H\n\n#include <stdint.h>\n");
    for (uint32_t i = 0; i < plan->kernel_count; i++) {
        const vy_kernel *k = &plan->kernels[i];
        bool seen = false;
        for (uint32_t j = 0; j < i; j++) seen |= plan->kernels[j].words == k->words;
        put_kernel(t, plan, k, prefix);
        bool alone = plan->kernel_count == 1 ||
                     (!i && k->words == plan->kernels[plan->kernel_count - 1].words);
        if (!seen) put_words(t, k->words, k->word_count, prefix, alone ? "" : k->name);
    }
    if (plan->step_count > 1) put_plan(t, plan);
    vy_text_add(t, "\n#endif\n");
    return vy_text_take(t, size);
}
