// SPDX-License-Identifier: MIT
// sema_vector.c: types of what only vectors have: widening, constructors, components, functions.
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
    if (vy_is_any(other) || other == vy_element(made)) return made;
    return vy_join(f, so_far, e, t, what); // which says that they differ
}

const char *vy_made_fix(vy_front *f, vy_text_type need, vy_text_type have)
{
    enum { SIZE = 48 };
    const uint32_t n = vy_scalars(need), m = vy_scalars(have);
    if (n == 1 && m == 1) return NULL;
    if (n == 1) return "take a component, like v.x";
    char *fix = vy_front_alloc(f, SIZE);
    if (f->failed) return NULL;
    snprintf(fix, SIZE, n < m ? "take components, like v.xy" : "make one: %s(…)",
             vy_any_type_name(need));
    return fix;
}

// ------------------------------------------------------------------------------------ constructors
static void refuse_count(vy_front *f, const vy_ast_expr *e, vy_text_type t, uint32_t have)
{
    vy_front_error(f, VY_E_ARGUMENTS, e->line, e->column,
                   "give one for each component, or one for all",
                   "%s has %u components, its arguments have %u", vy_any_type_name(t),
                   vy_scalars(t), have);
}

// Scalars and vectors that have all components together, of which the last may have more; or one
// scalar for all.
vy_text_type vy_synth_make(vy_front *f, vy_ast_expr *e, vy_text_type t)
{
    const uint32_t n = vy_scalars(t);
    uint32_t have = 0, last = 0;
    e->kind = EX_MAKE;
    for (vy_ast_expr *a = e->u.ref.list; a && !f->failed; a = a->next) {
        if (vy_is_any(vy_synth(f, a))) vy_settle(f, a, vy_element(t));
        have += last = vy_scalars(a->type);
    }
    if (f->failed) return broken(e);
    if (!(have == 1 || (have >= n && have - last < n))) refuse_count(f, e, t, have);
    return e->type = t;
}

// -------------------------------------------------------------------------------------- components
static bool is_builtin(const vy_front *f, const vy_ast_expr *of, vy_builtin *id)
{
    const vy_name_rec *n = of->kind == EX_NAME ? of->u.ref.name : NULL;
    return n && !n->local && !n->global && !f->in_const &&
           vy_builtin_value_find(n->text, n->length, id) && *id <= VY_NUM_GROUPS;
}

static vy_text_type builtin_member(vy_front *f, vy_ast_expr *e, vy_builtin id)
{
    const vy_name_rec *n = e->u.member.of->u.ref.name, *part = e->u.member.names->name;
    const bool one = !e->u.member.names->next && part->length == 1;
    if (!one || part->text[0] < 'x' || part->text[0] > 'z') {
        vy_front_error(f, VY_E_NAME_KIND, e->line, e->column,
                       "components are gid.x gid.y gid.z, and the same of lid, wid, num_groups",
                       "`%s` has no component `%s`", n->text, part->text);
        return broken(e);
    }
    e->kind = EX_BUILTIN;
    e->op = (uint8_t)id;
    e->count = (uint32_t)(part->text[0] - 'x');
    return e->type = VY_U32;
}

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

vy_text_type vy_synth_member(vy_front *f, vy_ast_expr *e)
{
    vy_builtin id;
    if (is_builtin(f, e->u.member.of, &id)) return builtin_member(f, e, id);
    vy_text_type t = vy_synth(f, e->u.member.of);
    uint8_t which, all = 0xe4; // x y z w
    for (const vy_member *m = e->u.member.names; m && !f->failed; m = m->next) {
        if (!vy_is_made(t) || !find_components(m->name, vy_scalars(t), &which, &e->count)) {
            refuse_member(f, e, t, m->name->text);
            break;
        }
        all = compose(which, all, e->count);
        t = vy_vector_type(vy_element(t), e->count);
    }
    e->op = all;
    return f->failed ? broken(e) : (e->type = t);
}

bool vy_sema_target(vy_front *f, const vy_ast_expr *e)
{
    for (uint32_t k = 1; k < e->count; k++)
        for (uint32_t j = 0; j < k; j++)
            if (vy_component(e->op, k) == vy_component(e->op, j)) {
                vy_front_error(f, VY_E_IMMUTABLE, e->line, e->column, "name each component once",
                               "component `%c` would be assigned twice",
                               vy_component_name(vy_component(e->op, k)));
                return false;
            }
    return true;
}

// --------------------------------------------------------------------------------------- functions
static void check_geometry(vy_front *f, const vy_ast_expr *e, const vy_builtin_info *b,
                           vy_text_type t)
{
    if (!vy_is_any(t) && !vy_type_is_float((vy_type)vy_element(t)))
        vy_front_error(f, VY_E_TYPE_WRONG, e->line, e->column,
                       vy_is_made(t) ? "convert them, like vec3(v)" : NULL,
                       "`%s` is not for values of type %s", b->text, vy_any_type_name(t));
    else if (b->op == VY_CROSS && vy_scalars(t) != 3)
        vy_front_error(f, VY_E_TYPE_WRONG, e->line, e->column, "give vectors of three",
                       "`cross` is not for values of type %s", vy_any_type_name(t));
}

// The last argument of `refract` is a scalar; all others are alike.
vy_text_type vy_synth_geometry(vy_front *f, vy_ast_expr *e, const vy_builtin_info *b)
{
    vy_text_type t = VY_VOID;
    for (vy_ast_expr *a = e->u.ref.list; a && !f->failed; a = a->next)
        if (b->op == VY_REFRACT && !a->next && !vy_is_any(t))
            vy_check_as(f, a, vy_element(t), "the ratio of the indices");
        else
            t = vy_join(f, t, a, vy_synth(f, a), b->text);
    if (!f->failed) check_geometry(f, e, b, t);
    if (t == VY_ANY_INT) t = VY_ANY_FLOAT;
    if (!vy_is_any(t))
        for (vy_ast_expr *a = e->u.ref.list; a && !f->failed; a = a->next)
            if (vy_is_any(a->type)) vy_settle(f, a, t);
    if (f->failed) return broken(e);
    const bool scalar = b->op == VY_DOT || b->op == VY_LENGTH || b->op == VY_DISTANCE;
    return e->type = scalar ? vy_element(t) : t;
}
