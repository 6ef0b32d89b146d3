// SPDX-License-Identifier: MIT
// sema_member.c: parts of values: components `v.xyz`, fields `p.pos`, elements `v[i]`; values of
// structs and arrays, which are given by their parts.
//
// What follows a value is a list of steps, each to a part of the one before.  Components of
// components are joined to one step, so a list is no longer than types are nested (VY_MAX_STEPS).
#include "ir/text/front.h"

#include <stdio.h>

static vy_text_type broken(vy_ast_expr *e) { return e->type = VY_BROKEN; }

// --------------------------------------------------------------------------- gid.x and the like
static bool is_builtin(const vy_front *f, const vy_ast_expr *of, vy_builtin *id)
{
    const vy_name_rec *n = of->kind == EX_NAME ? of->u.ref.name : NULL;
    return n && !n->local && !n->global && !f->in_const &&
           vy_builtin_value_find(n->text, n->length, id) && *id <= VY_NUM_GROUPS;
}

static vy_text_type builtin_member(vy_front *f, vy_ast_expr *e, vy_builtin id)
{
    const vy_name_rec *n = e->u.member.of->u.ref.name, *part = e->u.member.steps->name;
    const bool one = part && !e->u.member.steps->next && part->length == 1;
    if (!one || part->text[0] < 'x' || part->text[0] > 'z') {
        vy_front_error(f, VY_E_NAME_KIND, e->line, e->column,
                       "components are gid.x gid.y gid.z, and the same of lid, wid, num_groups",
                       "`%s` has no component `%s`", n->text, part ? part->text : "[…]");
        return broken(e);
    }
    e->kind = EX_BUILTIN;
    e->op = (uint8_t)id;
    e->count = (uint32_t)(part->text[0] - 'x');
    return e->type = VY_U32;
}

// -------------------------------------------------------------------------------------- components
static void refuse_member(vy_front *f, const vy_ast_expr *e, vy_text_type t, const char *name)
{
    static const char *const fixes[] = {"only vectors and structs have them",
                                        "components are x y, or r g",
                                        "components are x y z, or r g b",
                                        "components are x y z w, or r g b a"};
    vy_front_error(f, VY_E_NAME_KIND, e->line, e->column,
                   fixes[vy_is_vector(f, t) ? vy_scalars(f, t) - 1 : 0],
                   "%s has no component `%.40s`", vy_any_type_name(f, t), name);
}

// The components `word` of what has n of them; false: it has not.
static bool find_components(const vy_name_rec *word, uint32_t n, uint8_t *which, uint32_t *count)
{
    *count = vy_components(word, which);
    for (uint32_t k = 0; k < *count; k++)
        if (vy_component(*which, k) >= n) return false;
    return *count > 0;
}

static uint8_t compose(uint8_t outer, uint8_t inner, uint32_t n)
{
    uint8_t which = 0;
    for (uint32_t k = 0; k < n; k++)
        which |= (uint8_t)(vy_component(inner, vy_component(outer, k)) << 2 * k);
    return which;
}

static vy_text_type synth_components(vy_front *f, const vy_ast_expr *e, vy_member *m)
{
    if (!vy_is_vector(f, m->whole) ||
        !find_components(m->name, vy_scalars(f, m->whole), &m->which, &m->count)) {
        refuse_member(f, e, m->whole, m->name->text);
        return VY_BROKEN;
    }
    m->size = m->count;
    return vy_vector_type(vy_element(f, m->whole), m->count);
}

// ------------------------------------------------------------------------------- fields of structs
static void refuse_field(vy_front *f, const vy_ast_expr *e, const vy_made_type *m, const char *name)
{
    enum { SIZE = 120 };
    char *fix = vy_front_alloc(f, SIZE);
    if (f->failed) return;
    size_t n = (size_t)snprintf(fix, SIZE, "its fields are");
    for (const vy_field *d = m->fields; d && n < SIZE - 40; d = d->next)
        n += (size_t)snprintf(fix + n, SIZE - n, " %.30s", d->name->text);
    vy_front_error(f, VY_E_NAME_KIND, e->line, e->column, fix, "%s has no field `%.40s`", m->name,
                   name);
}

static const vy_field *find_field(const vy_made_type *m, const vy_name_rec *name)
{
    const vy_field *d = m->fields;
    while (d && d->name != name) d = d->next;
    return d;
}

static vy_text_type synth_field(vy_front *f, const vy_ast_expr *e, vy_member *m)
{
    const vy_made_type *of = vy_made_of(f, m->whole);
    const vy_field *d = find_field(of, m->name);
    if (!d) {
        refuse_field(f, e, of, m->name->text);
        return VY_BROKEN;
    }
    m->is_field = true;
    m->at = d->at;
    m->size = vy_scalars(f, d->type);
    return d->type;
}

static vy_text_type synth_named(vy_front *f, const vy_ast_expr *e, vy_member *m)
{
    const vy_made_type *of = vy_made_of(f, m->whole);
    return of && of->kind == VY_STRUCT ? synth_field(f, e, m) : synth_components(f, e, m);
}

// `Name { field: e }`
static void synth_fields(vy_front *f, vy_ast_expr *e, const vy_made_type *m)
{
    uint32_t given = 0;
    for (vy_ast_expr *a = e->u.ref.list; a && !f->failed; a = a->next, given++) {
        const vy_field *d = find_field(m, a->u.ref.name);
        for (const vy_ast_expr *o = e->u.ref.list; o != a && !f->failed; o = o->next)
            if (o->u.ref.name == a->u.ref.name)
                vy_front_error(f, VY_E_NAME_TAKEN, a->line, a->column, "give it once",
                               "field `%s` is given twice", a->u.ref.name->text);
        if (!d) refuse_field(f, a, m, a->u.ref.name->text);
        if (f->failed) return;
        vy_check_as(f, a->u.ref.list, d->type, "the field");
        a->count = d->at;
        a->type = d->type;
    }
    if (!f->failed && given < m->parts)
        vy_front_error(f, VY_E_ARGUMENTS, e->line, e->column, "give all of them",
                       "%s has %u fields, this gives %u", m->name, m->parts, given);
}

static void synth_array(vy_front *f, vy_ast_expr *e, const vy_made_type *m)
{
    if (e->count != m->parts)
        vy_front_error(f, VY_E_ARGUMENTS, e->line, e->column, "give all of them",
                       "%s has %u elements, this gives %u", m->name, m->parts, e->count);
    for (vy_ast_expr *a = e->u.ref.list; a && !f->failed; a = a->next)
        vy_check_as(f, a, m->of, "the element");
}

vy_text_type vy_synth_made(vy_front *f, vy_ast_expr *e)
{
    const vy_made_type *m = vy_made_of(f, e->type);
    e->op = 1;
    if (!m || m->kind == VY_VECTOR)
        vy_front_error(f, VY_E_SYNTAX, e->line, e->column, "write it like vec3(1, 2, 3)",
                       "only structs have fields");
    else if (m->kind == VY_STRUCT)
        synth_fields(f, e, m);
    else
        synth_array(f, e, m);
    return f->failed ? broken(e) : e->type;
}

// `.zyx.x` is `.z`
static void join_components(vy_member *m)
{
    const vy_member *next = m->next;
    m->which = compose(next->which, m->which, next->count);
    m->count = m->size = next->count;
    m->next = next->next;
}

// -------------------------------------------------------------------------------- elements v[i]
static vy_text_type synth_element(vy_front *f, const vy_ast_expr *e, vy_member *m)
{
    vy_ast_expr *i = m->index;
    const vy_made_type *of = vy_made_of(f, m->whole);
    if (!of || of->kind == VY_STRUCT) {
        vy_front_error(f, VY_E_NAME_KIND, e->line, e->column,
                       "only vectors, arrays and buffers have them", "%s has no elements",
                       vy_any_type_name(f, m->whole));
        return VY_BROKEN;
    }
    const vy_text_type t = vy_check_value(f, i);
    m->count = of->parts;
    m->size = vy_scalars(f, of->of);
    if (!f->failed && !vy_operator_fits(TK_REM, t))
        vy_front_error(f, VY_E_TYPE_WRONG, i->line, i->column, "write u32(x)",
                       "an index must be an integer, not %s", vy_any_type_name(f, t));
    else if (!f->failed && i->kind == EX_INT && i->u.value >= m->count)
        vy_front_error(f, VY_E_RANK, i->line, i->column, "elements count from 0",
                       "%s has %u elements", vy_any_type_name(f, m->whole), m->count);
    return of->of;
}

bool vy_is_part(const vy_ast_expr *e)
{
    if (e->kind != EX_INDEX || !e->u.ref.name || e->op) return false;
    const vy_decl *d = e->u.ref.name->local ? e->u.ref.name->local : e->u.ref.name->global;
    return d && (d->kind <= DK_OVER || d->kind == DK_CONST) && vy_is_made(d->type);
}

// `v[i]` was read as an element of a buffer.
static void make_part(vy_front *f, vy_ast_expr *e)
{
    vy_ast_expr *of = vy_front_alloc(f, sizeof *of), *index = e->u.ref.list;
    vy_member *m = vy_front_alloc(f, sizeof *m);
    if (e->count != 1)
        vy_front_error(f, VY_E_RANK, e->line, e->column, "write v[i]",
                       "`%s` has 1 dimension, not %u", e->u.ref.name->text, e->count);
    if (f->failed) return;
    *of = *e;
    of->kind = EX_NAME;
    of->count = 0;
    of->u.ref.list = of->next = NULL;
    *m = (vy_member){.index = index};
    e->kind = EX_MEMBER;
    e->u.member.of = of;
    e->u.member.steps = m;
}

// `v[i].x` is one list of steps.
static void join_index(vy_front *f, vy_ast_expr *e)
{
    vy_ast_expr *of = e->u.member.of;
    if (!vy_is_part(of)) return;
    make_part(f, of);
    if (f->failed) return;
    of->u.member.steps->next = e->u.member.steps;
    e->u.member = of->u.member;
}

void vy_sema_part(vy_front *f, vy_ast_expr *e)
{
    if (vy_is_part(e))
        make_part(f, e);
    else
        join_index(f, e);
}

// --------------------------------------------------------------------------------------- all steps
static bool is_components(const vy_member *m) { return m->name && !m->is_field; }

// The type of e, whose steps begin at a value of type t.
static vy_text_type synth_steps(vy_front *f, vy_ast_expr *e, vy_text_type t)
{
    vy_member *before = NULL;
    for (vy_member *m = e->u.member.steps; m && !f->failed; m = m->next) {
        m->whole = t;
        t = m->name ? synth_named(f, e, m) : synth_element(f, e, m);
        if (!f->failed && before && is_components(before) && is_components(m))
            join_components(before);
        else
            before = m;
    }
    return f->failed ? broken(e) : (e->type = t);
}

vy_text_type vy_synth_member(vy_front *f, vy_ast_expr *e)
{
    vy_builtin id;
    vy_sema_part(f, e);
    if (!f->failed && is_builtin(f, e->u.member.of, &id)) return builtin_member(f, e, id);
    const vy_text_type t = f->failed ? VY_BROKEN : vy_synth(f, e->u.member.of);
    return f->failed ? broken(e) : synth_steps(f, e, t);
}

vy_text_type vy_sema_element_part(vy_front *f, vy_ast_expr *e, vy_op op)
{
    vy_ast_expr *of = e->u.member.of;
    const vy_text_type t = vy_sema_index(f, of, true, vy_marks_allowed(op, of->op));
    return f->failed ? broken(e) : synth_steps(f, e, t);
}

bool vy_sema_target(vy_front *f, const vy_ast_expr *e)
{
    for (const vy_member *m = e->u.member.steps; m; m = m->next)
        for (uint32_t k = 1; is_components(m) && k < m->count; k++)
            for (uint32_t j = 0; j < k; j++)
                if (vy_component(m->which, k) == vy_component(m->which, j)) {
                    vy_front_error(f, VY_E_IMMUTABLE, e->line, e->column,
                                   "name each component once",
                                   "component `%c` would be assigned twice",
                                   vy_component_name(vy_component(m->which, k)));
                    return false;
                }
    return true;
}
