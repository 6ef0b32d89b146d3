// SPDX-License-Identifier: MIT
// sema_place.c: what may be assigned: variables, parts of them, elements of buffers; what loops
// assign; `inout` and `out` arguments, which a call assigns.
//
// A parameter `x: inout T` or `x: out T` that is a value is a variable of its function (DK_VAR,
// with a class): it begins as the argument, or at zero, and the argument becomes what it is at the
// end (lower_call.c).
#include "ir/text/front.h"

#include <string.h>

void vy_note_assigned(vy_front *f, vy_loop *loop, vy_decl *d)
{
    if (!loop || d->loop_depth >= loop->depth || d->mark == loop->id) return;
    vy_assigned *a = vy_front_alloc(f, sizeof *a);
    if (f->failed) return;
    *a = (vy_assigned){d, d->mark, loop->assigned};
    loop->assigned = a;
    loop->count += vy_scalars(f, d->type);
    d->mark = loop->id;
}

// ------------------------------------------------------------------------------------ variables
vy_decl *vy_place_variable(const vy_ast_expr *e)
{
    if (e->kind == EX_MEMBER) e = e->u.member.of;
    const bool named = (e->kind == EX_NAME || e->kind == EX_INDEX) && e->u.ref.name;
    return named ? e->u.ref.name->local : NULL;
}

void vy_note_written(const vy_ast_expr *e)
{
    vy_decl *d = vy_place_variable(e);
    if (d && d->kind == DK_VAR) d->written = true;
}

// In a loop what assigns it may follow in the text.
void vy_check_written(vy_front *f, const vy_ast_expr *e, const vy_decl *d)
{
    if (!d || d->kind != DK_VAR || d->cls != VY_OUT || d->written || f->loop) return;
    vy_front_error(f, VY_E_READ_OUT, e->line, e->column,
                   "assign to it first, or declare it `inout`",
                   "`%s` is an `out` parameter, and nothing has been assigned to it yet",
                   d->name->text);
}

static void change_variable(vy_front *f, const vy_ast_expr *e, vy_decl *d)
{
    const char *name = d->name->text;
    if (d->kind == DK_BUFFER || d->kind == DK_SHARED || d->kind == DK_LOCAL)
        vy_front_error(f, VY_E_RANK, e->line, e->column, "name an element, like `x[i] = …`",
                       "`%s` is an array", name);
    else if (d->kind != DK_VAR)
        vy_front_error(f, VY_E_IMMUTABLE, e->line, e->column, NULL,
                       "`%s` cannot be changed: it is not declared with `var`", name);
    else if (f->condition && d->loop_depth < f->condition->depth)
        vy_front_error(f, VY_E_PLACE, e->line, e->column, "change it in the loop's body",
                       "the condition of a `while` cannot change `%s`", name);
    else if (f->reductions)
        vy_front_error(f, VY_E_PLACE, e->line, e->column, "write a `for` loop",
                       "what is summed, or the like, cannot change `%s`", name);
    else
        vy_note_assigned(f, f->loop, d);
}

// -------------------------------------------------------------------------------- in an assignment
static vy_text_type sema_variable(vy_front *f, vy_ast_expr *e)
{
    vy_decl *d = e->u.ref.name->local ? e->u.ref.name->local : e->u.ref.name->global;
    const char *name = e->u.ref.name->text;
    if (d)
        change_variable(f, e, d);
    else
        vy_front_error(f, VY_E_NAME_UNKNOWN, e->line, e->column,
                       vy_spelling_fix(f, name, strlen(name), VY_SPELL_VALUES,
                                       "declare it with `var`"),
                       "`%s` is not declared", name);
    if (f->failed) return VY_BROKEN;
    e->u.ref.decl = d;
    return e->type = d->type;
}

static bool is_variable(const vy_ast_expr *of)
{
    vy_builtin id;
    const vy_name_rec *n = of->kind == EX_NAME ? of->u.ref.name : NULL;
    return n && (n->local || n->global || !vy_builtin_value_find(n->text, n->length, &id));
}

static void refuse_part(vy_front *f, const vy_ast_expr *e)
{
    vy_front_error(f, VY_E_IMMUTABLE, e->line, e->column, "assign to components of a variable",
                   "only components of variables can be changed");
}

static vy_text_type sema_part(vy_front *f, vy_ast_expr *e)
{
    vy_text_type t = VY_BROKEN;
    vy_sema_part(f, e);
    if (f->failed) return VY_BROKEN;
    vy_ast_expr *of = e->u.member.of;
    if (of->kind == EX_INDEX) {
        t = vy_sema_element_part(f, e, VY_OP_STORE);
    } else if (is_variable(of)) {
        sema_variable(f, of);
        vy_note_written(of);
        if (!f->failed) t = vy_synth_member(f, e);
    } else {
        refuse_part(f, e);
    }
    return !f->failed && vy_sema_target(f, e) ? t : VY_BROKEN;
}

vy_text_type vy_sema_place(vy_front *f, vy_ast_expr *e)
{
    if (e->kind == EX_NAME) return sema_variable(f, e);
    if (e->kind == EX_MEMBER || vy_is_part(e)) return sema_part(f, e);
    return vy_sema_index(f, e, true, vy_marks_allowed(VY_OP_STORE, e->op));
}

// --------------------------------------------------------------------------------- as an argument
static const vy_ast_expr *place_of(const vy_ast_expr *a)
{
    const vy_ast_expr *of = a->kind == EX_MEMBER ? a->u.member.of : a;
    return of->kind == EX_INDEX || (of->kind == EX_NAME && of->u.ref.decl) ? of : NULL;
}

// `a`, which was analysed as a value, is changed too.
static void change_argument(vy_front *f, const vy_ast_expr *a, const vy_decl *p)
{
    const vy_ast_expr *of = place_of(a);
    if (!of)
        vy_front_error(f, VY_E_NAME_KIND, a->line, a->column,
                       "pass a variable, an element of a buffer or a part of one",
                       "parameter `%s` is `%s`, and this cannot be assigned to", p->name->text,
                       p->cls == VY_OUT ? "out" : "inout");
    else if (of->kind == EX_NAME)
        change_variable(f, a, of->u.ref.decl);
    else
        vy_check_stored(f, of);
    if (!f->failed && a->kind == EX_MEMBER) vy_sema_target(f, a);
}

void vy_sema_changed(vy_front *f, vy_ast_expr *a, const vy_decl *p)
{
    const vy_text_type t = a->type;
    change_argument(f, a, p);
    if (!f->failed && t != p->type)
        vy_front_error(f, VY_E_TYPES_DIFFER, a->line, a->column,
                       "pass a variable of that type, and convert it before and after",
                       "parameter `%s` is `%s` %s, this is %s", p->name->text,
                       p->cls == VY_OUT ? "out" : "inout", vy_any_type_name(f, p->type),
                       vy_any_type_name(f, t));
}
