// SPDX-License-Identifier: MIT
// print.c: modules and heads of programs as text.
#include "ir/text/print.h"

#include "ir/text/front.h"
#include "ir/text/text.h"

#include <stdio.h>
#include <string.h>

void print_bytes(printer *o, const char *text, size_t n)
{
    if (o->failed) return;
    if (!vy_vec_reserve(&o->out, n)) {
        o->failed = true;
        return;
    }
    memcpy(o->out.data + o->out.count, text, n);
    o->out.count += (uint32_t)n;
}

void print_str(printer *o, const char *text) { print_bytes(o, text, strlen(text)); }

void print_u64(printer *o, uint64_t value)
{
    char text[24];
    char *s = text + sizeof text;
    do *--s = (char)('0' + value % 10);
    while (value /= 10);
    print_bytes(o, s, (size_t)(text + sizeof text - s));
}

void print_indent(printer *o)
{
    static const char spaces[] = "                                                                ";
    uint32_t depth = o->frames.count + 1;
    for (uint32_t i = 0; i < o->frames.count; i++) depth -= o->frames.data[i].chains;
    for (; depth > 16; depth -= 16) print_bytes(o, spaces, 64);
    print_bytes(o, spaces, depth * 4);
}

void print_identifier(printer *o, const char *name)
{
    size_t n = strlen(name);
    bool plain = n && !(name[0] >= '0' && name[0] <= '9') && !vy_keyword_is(name, n);
    for (size_t i = 0; plain && i < n; i++) {
        char c = name[i];
        plain =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    }
    if (!plain) print_str(o, "`");
    print_bytes(o, name, n);
    if (!plain) print_str(o, "`");
}

// ------------------------------------------------------------------------------------- dimensions
static int dim_precedence(const vy_dim_node *n)
{
    if (n->op >= VY_DIM_ADD && n->op <= VY_DIM_SUB) return 1;
    return n->op >= VY_DIM_MUL && n->op <= VY_DIM_REM ? 2 : 3;
}

static void print_dim_leaf(printer *o, const vy_dim_node *n, uint32_t depth)
{
    char text[24];
    switch (n->op) {
    case VY_DIM_CONST:
        snprintf(text, sizeof text, n->value < 0 ? "(%lld)" : "%lld", (long long)n->value);
        print_str(o, text);
        return;
    case VY_DIM_SCALAR: print_identifier(o, o->p->scalars.data[n->value].name); return;
    case VY_DIM_UNKNOWN:
        print_str(o, "len(");
        print_identifier(o, o->p->buffers.data[n->value].name);
        print_str(o, ")");
        return;
    case VY_DIM_GROUPS:
        snprintf(text, sizeof text, "num_groups.%c", "xyz"[n->value]);
        print_str(o, text);
        return;
    case VY_DIM_STEP: print_number(o, n->value, depth); return;
    default:
        print_str(o, n->op == VY_DIM_MIN ? "min(" : n->op == VY_DIM_MAX ? "max(" : "isqrt(");
        print_dim(o, n->a, 0, depth + 1);
        if (n->op != VY_DIM_SQRT) {
            print_str(o, ", ");
            print_dim(o, n->b, 0, depth + 1);
        }
        print_str(o, ")");
    }
}

// Long sums lean to the left: only right operands recurse.
void print_dim(printer *o, uint32_t d, int outer, uint32_t depth)
{
    static const char *const texts[] = {" + ", " - ", " * ", " / ", " % "};
    const vy_dim_node *nodes = o->p->dims.data;
    const int caller = outer;
    vy_id_vec spine = {0};
    if (depth > 3000) o->failed = true; // no text has that
    for (; dim_precedence(&nodes[d]) < 3 && !o->failed; d = nodes[d].a) {
        int mine = dim_precedence(&nodes[d]);
        if (mine < outer) print_str(o, "(");
        outer = mine;
        if (!vy_vec_push(&spine, d)) o->failed = true;
    }
    if (!o->failed) print_dim_leaf(o, &nodes[d], depth);
    while (spine.count > 0 && !o->failed) {
        const vy_dim_node *n = &nodes[spine.data[--spine.count]];
        int mine = dim_precedence(n);
        print_str(o, texts[n->op - VY_DIM_ADD]);
        print_dim(o, n->b, mine + 1, depth + 1);
        // Closed where the next outer operator binds tighter.
        int around = spine.count ? dim_precedence(&nodes[spine.data[spine.count - 1]]) : caller;
        if (mine < around) print_str(o, ")");
    }
    vy_vec_free(&spine);
}

void print_dims(printer *o, const vy_buf *b)
{
    print_str(o, "[");
    for (uint32_t k = 0; k < b->rank; k++) {
        const vy_dim_node *n = &o->p->dims.data[b->dims[k].id];
        if (k) print_str(o, ", ");
        bool own = n->op == VY_DIM_UNKNOWN && b == &o->p->buffers.data[n->value];
        if (own)
            print_str(o, "?");
        else
            print_dim(o, b->dims[k].id, 0, 0);
    }
    print_str(o, "]");
}

// ------------------------------------------------------------------------------------------- heads
static void print_attribute(printer *o, const char *name, uint32_t value)
{
    print_str(o, name);
    print_u64(o, value);
    print_str(o, ") ");
}

void print_init(printer *o, const vy_buf *b)
{
    if (b->init == VY_INIT_ONES) print_str(o, "@init(ones) ");
    if (b->init != VY_INIT_COPY) return;
    print_str(o, "@init(");
    print_identifier(o, b->init_from ? b->init_from : "");
    print_str(o, ") ");
}

static void print_buffer(printer *o, const vy_buf *b, uint32_t position)
{
    static const char *const words[] = {"in ", "out ", "inout "};
    if (b->set) print_attribute(o, "@set(", b->set);
    if (b->binding != position) print_attribute(o, "@binding(", b->binding);
    if (b->workspace) print_str(o, "@workspace ");
    print_init(o, b);
    print_identifier(o, b->name);
    print_str(o, ": ");
    print_str(o, words[b->cls]);
    print_str(o, vy_type_name(b->type));
    print_dims(o, b);
}

static void separate(printer *o, bool *first, const char *text)
{
    if (!*first) print_str(o, text);
    *first = false;
}

static void print_parameters(printer *o, const char *separator)
{
    const vy_program *p = o->p;
    uint32_t position = 0;
    bool first = true;
    for (uint32_t b = 1; b < p->buffers.count; b++) {
        if (p->buffers.data[b].cls > VY_INOUT) continue;
        if (p->signature && p->buffers.data[b].workspace) continue; // declared by a step
        separate(o, &first, separator);
        print_buffer(o, &p->buffers.data[b], position++);
    }
    for (uint32_t i = 0; i < p->scalars.count; i++) {
        separate(o, &first, separator);
        print_identifier(o, p->scalars.data[i].name);
        print_str(o, ": ");
        print_str(o, vy_type_name(p->scalars.data[i].type));
    }
}

static void print_domain(printer *o)
{
    const vy_program *p = o->p;
    if (p->has_workgroup) {
        uint32_t n = p->workgroup[2] != 1 ? 3 : p->workgroup[1] != 1 ? 2 : 1;
        print_str(o, " workgroup(");
        for (uint32_t k = 0; k < n; k++) {
            if (k) print_str(o, ", ");
            print_u64(o, p->workgroup[k]);
        }
        print_str(o, ")");
    }
    for (uint32_t i = 0; i < p->overs.count; i++) {
        print_str(o, i ? ", " : " over(");
        print_identifier(o, p->overs.data[i].name);
        print_str(o, ": ");
        print_dim(o, p->overs.data[i].extent.id, 0, 0);
        if (i + 1 == p->overs.count) print_str(o, ")");
    }
}

enum { LINE = 100 };

// On one line where it fits, else a parameter a line.
void print_head(printer *o)
{
    uint32_t start = o->out.count;
    if (o->p->exact) print_str(o, "@exact ");
    print_str(o, o->p->signature ? "pipeline " : "program ");
    print_identifier(o, o->p->name);
    print_str(o, "(");
    uint32_t parameters = o->out.count;
    print_parameters(o, ", ");
    print_str(o, ")");
    bool wide = o->out.count - start > LINE;
    if (wide) {
        o->out.count = parameters;
        print_str(o, "\n    ");
        print_parameters(o, ",\n    ");
        print_str(o, ")");
    }
    uint32_t domain = o->out.count;
    print_domain(o);
    bool more = o->out.count > domain && (wide || o->out.count - start + 2 > LINE);
    if (more) {
        o->out.count = domain;
        print_str(o, "\n   ");
        print_domain(o);
    }
    print_str(o, wide || more ? "\n{\n" : " {\n");
}

// Parameters are named as they are; what the body names stays clear of them.
void print_reserve_names(printer *o)
{
    const vy_program *p = o->p;
    for (uint32_t b = 1; b < p->buffers.count; b++)
        if (p->buffers.data[b].cls <= VY_INOUT)
            print_names_add(o, p->buffers.data[b].name, strlen(p->buffers.data[b].name));
    for (uint32_t i = 0; i < p->scalars.count; i++)
        print_names_add(o, p->scalars.data[i].name, strlen(p->scalars.data[i].name));
    for (uint32_t i = 0; i < p->overs.count; i++)
        print_names_add(o, p->overs.data[i].name, strlen(p->overs.data[i].name));
    for (uint32_t i = 0; i < o->names.scope.count; i++) {
        const print_name *n = &o->names.all.data[o->names.scope.data[i]];
        const char *text = o->names.text.data + n->text;
        if (n->length == 3 && (!memcmp(text, "inf", 3) || !memcmp(text, "nan", 3)))
            o->shadows_literals = true;
    }
}

// ---------------------------------------------------------------------------------------- programs
static bool make_tables(printer *o)
{
    size_t n = o->p->insts.count;
    size_t words = (n + 2) + n + n + (n + 1) / 2 + (n + 3) / 4 * 2 + o->p->buffers.count;
    o->block = vy_realloc(NULL, words * sizeof *o->block);
    if (!o->block) return false;
    memset(o->block, 0, words * sizeof *o->block);
    o->use_start = o->block;
    o->var = o->use_start + n + 2;
    o->name = o->var + n;
    o->array_name = o->name + n;
    o->width = (uint16_t *)(o->array_name + o->p->buffers.count);
    o->height = (uint8_t *)(o->width + (n + 1) / 2 * 2);
    o->inlined = o->height + (n + 3) / 4 * 4;
    return vy_structure_make(o->p, &o->s);
}

void print_free(printer *o)
{
    vy_structure_free(&o->s);
    vy_free(o->block);
    vy_free(o->uses);
    vy_vec_free(&o->pending);
    vy_vec_free(&o->vars);
    vy_vec_free(&o->slots);
    vy_vec_free(&o->frames);
    vy_vec_free(&o->order);
    vy_vec_free(&o->aliases);
    print_names_free(&o->names);
}

static void print_program(print_text *out, bool *failed, const vy_program *p, bool dump)
{
    printer o = {.p = p, .out = *out, .dump = dump};
    if (*failed) return;
    if (!print_names_init(&o.names) || !make_tables(&o) || !print_plan(&o)) o.failed = true;
    if (!o.failed) {
        print_reserve_names(&o);
        print_head(&o);
        print_code(&o);
        print_str(&o, "}\n");
    }
    *out = o.out;
    *failed = o.failed;
    print_free(&o);
}

static char *finish(print_text *out, bool failed, size_t *size)
{
    if (!failed && vy_vec_push(out, '\0')) {
        if (size) *size = out->count - 1;
        return out->data;
    }
    vy_vec_free(out);
    if (size) *size = 0;
    return NULL;
}

char *vy_print(const vy_module *m, size_t *size)
{
    const uint64_t before = vy_memory_failures();
    print_text out = {0};
    bool failed = false;
    if (m->order) {
        printer o = {0};
        print_str(&o, "@order(");
        print_u64(&o, m->order);
        print_str(&o, ")\n");
        out = o.out;
        failed = o.failed;
    }
    for (uint32_t i = 0; i < m->programs.count + m->pipelines.count; i++) {
        printer o = {.out = out, .failed = failed};
        if (out.count) print_str(&o, "\n");
        out = o.out;
        failed = o.failed;
        if (i < m->programs.count)
            print_program(&out, &failed, m->programs.data[i], false);
        else
            print_pipeline(&out, &failed, m->pipelines.data[i - m->programs.count]);
    }
    return finish(&out, failed || vy_memory_failures() != before, size);
}

char *vy_print_dump(const vy_program *p, size_t *size)
{
    print_text out = {0};
    bool failed = false;
    print_program(&out, &failed, p, true);
    return finish(&out, failed, size);
}
