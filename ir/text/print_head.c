// SPDX-License-Identifier: MIT
// print_head.c: heads of programs: attributes, parameters, domain, workgroup.
#include "ir/text/print.h"

#include "ir/core/derive_as.h"
#include "ir/text/front.h"

#include <string.h>

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

// `@set(1) @binding(2) @layout(16, 16, 4)`
static void print_layout(printer *o, const vy_layout *l, uint32_t rank)
{
    if (l->uniform) print_str(o, "@uniform ");
    if (l->set) print_attribute(o, "@set(", l->set);
    print_attribute(o, "@binding(", l->binding);
    if (!l->strides) return;
    print_str(o, "@layout(");
    print_u64(o, l->offset - l->within);
    if (l->within) {
        print_str(o, " + ");
        print_u64(o, l->within);
    }
    for (uint32_t k = 0; k < rank; k++) {
        print_str(o, ", ");
        print_u64(o, l->strides[k]);
    }
    print_str(o, ") ");
}

// In a shader only the bindings that it has: others are numbered when it is compiled.
static void print_binding(printer *o, const vy_buf *b, uint32_t position)
{
    if (b->layout.given) print_layout(o, &b->layout, b->rank);
    if (o->p->shader) return;
    if (b->set) print_attribute(o, "@set(", b->set);
    if (b->binding != position) print_attribute(o, "@binding(", b->binding);
}

static void print_scalar_parameter(printer *o, const vy_scalar_param *s)
{
    if (s->layout.uniform) print_layout(o, &s->layout, 0);
    if (s->layout.given) print_attribute(o, "@offset(", s->layout.offset);
    print_identifier(o, s->name);
    print_str(o, ": ");
    print_str(o, vy_type_name(s->type));
}

static void print_buffer(printer *o, const vy_buf *b, uint32_t position)
{
    static const char *const words[] = {"in ", "out ", "inout "};
    print_binding(o, b, position);
    if (b->workspace) print_str(o, "@workspace ");
    if (b->owned) print_str(o, "@owned ");
    print_init(o, b);
    print_identifier(o, b->name);
    print_str(o, ": ");
    print_str(o, words[b->cls]);
    print_buffer_type(o, b);
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
        if (!vy_is_global(p->buffers.data[b].cls)) continue;
        if (p->signature && p->buffers.data[b].workspace) continue; // declared by a step
        separate(o, &first, separator);
        print_buffer(o, &p->buffers.data[b], position++);
    }
    for (uint32_t i = 0; i < p->scalars.count; i++) {
        separate(o, &first, separator);
        print_scalar_parameter(o, &p->scalars.data[i]);
    }
}

static void print_assumption(printer *o, const vy_assumption *a)
{
    print_dim(o, a->least.id, 0, 0);
    print_str(o, " <= ");
    print_dim(o, a->most.id, 0, 0);
}

char *vy_assumption_text(const vy_program *p, const vy_assumption *a)
{
    printer o = {.p = p};
    print_assumption(&o, a);
    if (!o.failed && vy_vec_push(&o.out, 0)) return o.out.data;
    vy_vec_free(&o.out);
    return NULL;
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
    for (uint32_t i = 0; i < p->assumes.count; i++) {
        print_str(o, i ? ", " : " assume(");
        print_assumption(o, &p->assumes.data[i]);
        if (i + 1 == p->assumes.count) print_str(o, ")");
    }
}

enum { LINE = 100 };

// On one line if it fits, else one parameter per line.
void print_head(printer *o)
{
    uint32_t start = o->out.count;
    for (uint32_t k = 0; k < VY_NAMES_OF; k++)
        if (o->p->rules[k]) print_rule(o, (vy_rule_of)k, o->p->rules[k], " ");
    if (o->p->exact) print_str(o, "@exact ");
    if (!o->p->signature && vy_exact_sums(o->p)) print_str(o, "@exact_sums ");
    if (!o->p->signature && vy_program_lowered(o->p)) print_str(o, "@lowered ");
    if (o->p->shader) print_str(o, "@shader ");
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

// Parameters keep their names; names in the body must avoid them.
void print_reserve_names(printer *o)
{
    const vy_program *p = o->p;
    for (uint32_t b = 1; b < p->buffers.count; b++)
        if (vy_is_global(p->buffers.data[b].cls))
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
