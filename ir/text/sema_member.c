// SPDX-License-Identifier: MIT
// sema_member.c: parts of values: components `v.xyz`, elements `v[i]`.
//
// What follows a value is a list of steps, each to a part of the one before.  Components of
// components are joined to one step, so a list is no longer than types are nested (VY_MAX_STEPS).
#include "ir/text/front.h"

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
    static const char *const fixes[] = {"only vectors have components",
                                        "components are x y, or r g",
                                        "components are x y z, or r g b",
                                        "components are x y z w, or r g b a"};
    vy_front_error(f, VY_E_NAME_KIND, e->line, e->column, fixes[vy_scalars(t) - 1],
                   "%s has no component `%.40s`", vy_any_type_name(t), name);
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
    if (!vy_is_made(m->whole) ||
        !find_components(m->name, vy_scalars(m->whole), &m->which, &m->count)) {
        refuse_member(f, e, m->whole, m->name->text);
        return VY_BROKEN;
    }
    m->size = m->count;
    return vy_vector_type(vy_element(m->whole), m->count);
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
    if (!vy_is_made(m->whole)) {
        vy_front_error(f, VY_E_NAME_KIND, e->line, e->column, "only vectors and buffers have them",
                       "%s has no elements", vy_any_type_name(m->whole));
        return VY_BROKEN;
    }
    const vy_text_type t = vy_check_value(f, i);
    m->count = vy_scalars(m->whole);
    m->size = 1;
    if (!f->failed && !vy_operator_fits(TK_REM, t))
        vy_front_error(f, VY_E_TYPE_WRONG, i->line, i->column, "write u32(x)",
                       "an index must be an integer, not %s", vy_any_type_name(t));
    else if (!f->failed && i->kind == EX_INT && i->u.value >= m->count)
        vy_front_error(f, VY_E_RANK, i->line, i->column, "elements count from 0",
                       "%s has %u elements", vy_any_type_name(m->whole), m->count);
    return vy_element(m->whole);
}

bool vy_is_part(const vy_ast_expr *e)
{
    if (e->kind != EX_INDEX || !e->u.ref.name || e->op) return false;
    const vy_decl *d = e->u.ref.name->local ? e->u.ref.name->local : e->u.ref.name->global;
    return d && d->kind <= DK_OVER && vy_is_made(d->type);
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
vy_text_type vy_synth_member(vy_front *f, vy_ast_expr *e)
{
    vy_builtin id;
    vy_sema_part(f, e);
    if (!f->failed && is_builtin(f, e->u.member.of, &id)) return builtin_member(f, e, id);
    vy_text_type t = f->failed ? VY_BROKEN : vy_synth(f, e->u.member.of);
    vy_member *before = NULL;
    for (vy_member *m = e->u.member.steps; m && !f->failed; m = m->next) {
        m->whole = t;
        t = m->name ? synth_components(f, e, m) : synth_element(f, e, m);
        if (!f->failed && before && before->name && m->name)
            join_components(before);
        else
            before = m;
    }
    return f->failed ? broken(e) : (e->type = t);
}

bool vy_sema_target(vy_front *f, const vy_ast_expr *e)
{
    for (const vy_member *m = e->u.member.steps; m; m = m->next)
        for (uint32_t k = 1; m->name && k < m->count; k++)
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
