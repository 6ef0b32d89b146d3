// SPDX-License-Identifier: MIT
// sema_vector.c: types of what only vectors have: widening, constructors, functions.
//
// Operators and functions of numbers know the type of their scalars only (vy_element): what they do
// with a vector they do with each component.
#include "ir/build/geometry.h"
#include "ir/text/front.h"

#include <stdio.h>
#include <string.h>

static vy_text_type broken(vy_ast_expr *e) { return e->type = VY_BROKEN; }

vy_text_type vy_widen(vy_front *f, vy_text_type so_far, vy_ast_expr *e, vy_text_type t,
                      const char *what)
{
    const bool mine = vy_is_made(so_far);
    if (so_far == VY_VOID || mine == vy_is_made(t)) return vy_join(f, so_far, e, t, what);
    const vy_text_type made = mine ? so_far : t, other = mine ? t : so_far;
    const bool widens = vy_is_any(other) || other == vy_element(f, made);
    if (widens && vy_element(f, made)) return made;
    if (!f->failed) vy_types_differ(f, e, so_far, t, what);
    return VY_BROKEN;
}

const char *vy_made_fix(vy_front *f, vy_text_type need, vy_text_type have)
{
    enum { SIZE = 48 };
    const vy_made_type *n = vy_made_of(f, need), *m = vy_made_of(f, have);
    if (!n && !m) return NULL;
    if (!n)
        return m->kind == VY_VECTOR  ? "take a component, like v.x"
               : m->kind == VY_ARRAY ? "take an element, like a[0]"
                                     : "take a field, like p.x";
    const bool less = m && m->kind == VY_VECTOR && n->kind == VY_VECTOR && n->parts < m->parts;
    char *fix = vy_front_alloc(f, SIZE);
    if (f->failed) return NULL;
    snprintf(fix, SIZE,
             less                   ? "take components, like v.xy"
             : n->kind == VY_STRUCT ? "make one: %.24s { field: … }"
                                    : "make one: %.24s(…)",
             n->name);
    return fix;
}

// ------------------------------------------------------------------------------------ constructors
static void refuse_count(vy_front *f, const vy_ast_expr *e, vy_text_type t, uint32_t have)
{
    vy_front_error(f, VY_E_ARGUMENTS, e->line, e->column,
                   "give one for each component, or one for all",
                   "%s has %u components, its arguments have %u", vy_any_type_name(f, t),
                   vy_scalars(f, t), have);
}

static void refuse_parts(vy_front *f, const vy_ast_expr *a, vy_text_type t)
{
    vy_front_error(f, VY_E_TYPE_WRONG, a->line, a->column, "give numbers and vectors",
                   "%s is not made of %s", vy_any_type_name(f, t), vy_any_type_name(f, a->type));
}

// Scalars and vectors that have all components together, of which the last may have more; or one
// scalar for all.
vy_text_type vy_synth_make(vy_front *f, vy_ast_expr *e, vy_text_type t)
{
    const uint32_t n = vy_scalars(f, t);
    uint32_t have = 0, last = 0;
    e->kind = EX_MAKE;
    e->op = 1;
    for (vy_ast_expr *a = e->u.ref.list; a && !f->failed; a = a->next) {
        if (vy_is_any(vy_synth(f, a))) vy_settle(f, a, vy_element(f, t));
        have += last = vy_scalars(f, a->type);
        if (!f->failed && !vy_element(f, a->type)) refuse_parts(f, a, t);
    }
    if (f->failed) return broken(e);
    const bool one = e->count == 1 && (have == 1 || vy_is_matrix(f, e->u.ref.list->type));
    const bool all = one && (have == 1 || vy_is_matrix(f, t));
    if (!(all || have == 1 || (have >= n && have - last < n))) refuse_count(f, e, t, have);
    return e->type = t;
}

// --------------------------------------------------------------------------------------- functions
static void check_geometry(vy_front *f, const vy_ast_expr *e, const vy_builtin_info *b,
                           vy_text_type t)
{
    const bool floats = vy_type_is_float((vy_type)vy_element(f, t)) && !vy_is_matrix(f, t);
    if (!vy_is_any(t) && !floats)
        vy_front_error(f, VY_E_TYPE_WRONG, e->line, e->column,
                       vy_is_vector(f, t) ? "convert them, like vec3(v)" : NULL,
                       "`%s` is not for values of type %s", b->text, vy_any_type_name(f, t));
    else if (b->op == VY_CROSS && vy_scalars(f, t) != 3)
        vy_front_error(f, VY_E_TYPE_WRONG, e->line, e->column, "give vectors of three",
                       "`cross` is not for values of type %s", vy_any_type_name(f, t));
}

// The last argument of `refract` is a scalar; all others are alike.
vy_text_type vy_synth_geometry(vy_front *f, vy_ast_expr *e, const vy_builtin_info *b)
{
    vy_text_type t = VY_VOID;
    for (vy_ast_expr *a = e->u.ref.list; a && !f->failed; a = a->next)
        if (b->op == VY_REFRACT && !a->next && !vy_is_any(t))
            vy_check_as(f, a, vy_element(f, t), "the ratio of the indices");
        else
            t = vy_join(f, t, a, vy_synth(f, a), b->text);
    if (!f->failed) check_geometry(f, e, b, t);
    if (t == VY_ANY_INT) t = VY_ANY_FLOAT;
    if (!vy_is_any(t))
        for (vy_ast_expr *a = e->u.ref.list; a && !f->failed; a = a->next)
            if (vy_is_any(a->type)) vy_settle(f, a, t);
    if (f->failed) return broken(e);
    const bool scalar = b->op == VY_DOT || b->op == VY_LENGTH || b->op == VY_DISTANCE;
    return e->type = scalar ? vy_element(f, t) : t;
}
