// SPDX-License-Identifier: MIT
// sema_overload.c: functions of one name with different parameters: which of them is called?
//
// One fits a call if it has as many parameters and each is of its argument's type; a literal is of
// every type that it may take.  Of two that fit, one is better if no argument fits it worse and one
// fits it better: a literal i32, or f32 if it is a float, before others.  Called is the one that is
// better than all others; if there is none the call is ambiguous.
#include "ir/text/overload.h"

#include <stdio.h>

vy_decl *vy_named_array(const vy_ast_expr *a)
{
    vy_decl *d = a->kind == EX_NAME && a->u.ref.name ? a->u.ref.name->local : NULL;
    const bool array = d && (d->kind == DK_BUFFER || d->kind == DK_SHARED || d->kind == DK_LOCAL);
    return array ? d : NULL;
}

// ------------------------------------------------------------------------------------ declarations
static uint32_t rank(const vy_decl *p) { return p->rank ? p->rank : 1; } // f32[]

static bool same_parameters(const vy_func *a, const vy_func *b)
{
    const vy_decl *p = a->params, *q = b->params;
    for (; p && q; p = p->next, q = q->next) {
        const bool buffer = p->kind == DK_BUFFER;
        if (!p->open != !q->open || buffer != (q->kind == DK_BUFFER) || p->type != q->type)
            return false;
        if (buffer && rank(p) != rank(q)) return false;
    }
    return !p && !q;
}

void vy_sema_overloads(vy_front *f, const vy_decl *first)
{
    for (const vy_decl *d = first->overload; d; d = d->overload)
        for (const vy_decl *o = first; o != d && !f->failed; o = o->overload)
            if (same_parameters(o->func, d->func))
                vy_name_taken(f, d, o, "take other parameters, or choose another name");
}

// ------------------------------------------------------------------------------------------- calls
static int misfit_literal(vy_text_type t, vy_text_type need)
{
    if (!vy_operator_fits(t == VY_ANY_INT ? TK_ADD : TK_DIV, need)) return -1;
    const bool is_float = vy_type_is_float((vy_type)need);
    if (t == VY_ANY_FLOAT) return !is_float ? -1 : need == VY_F32 ? 0 : 3;
    return need == VY_I32 ? 0 : need == VY_F32 ? 1 : 3;
}

// How ill the argument fits; -1: not at all.  A type that is left open is taken as it comes
// (vy_open_types), and a function that names it is better.
static int misfit(const vy_ast_expr *a, const vy_decl *p)
{
    const vy_decl *d = vy_named_array(a);
    const bool fits = p->open || p->type == (d ? d->type : a->type);
    if ((p->kind == DK_BUFFER) != (d != NULL)) return -1;
    if (d && (!fits || d->rank != rank(p))) return -1;
    if (p->open) return 2;
    if (fits) return 0;
    return vy_is_any(a->type) && p->kind == DK_PARAM ? misfit_literal(a->type, p->type) : -1;
}

static bool fits(const vy_ast_expr *e, const vy_func *fn)
{
    const vy_ast_expr *a = e->u.ref.list;
    if (fn->param_count != e->count) return false;
    for (const vy_decl *p = fn->params; p; p = p->next, a = a->next)
        if (misfit(a, p) < 0) return false;
    return true;
}

static bool is_better(const vy_ast_expr *e, const vy_func *fn, const vy_func *other)
{
    const vy_ast_expr *a = e->u.ref.list;
    bool better = false;
    for (const vy_decl *p = fn->params, *q = other->params; p; p = p->next, q = q->next) {
        const int x = misfit(a, p), y = misfit(a, q);
        if (x > y) return false;
        better |= x < y;
        a = a->next;
    }
    return better;
}

// ------------------------------------------------------------------------------------------ errors
enum { SIZE = 200 };

static size_t add_type(const vy_front *f, char *text, size_t n, const vy_decl *array,
                       vy_text_type t)
{
    const char *const comma = text[n - 1] == '(' ? "" : ", ";
    if (n > SIZE - 48) return n;
    n += (size_t)snprintf(text + n, SIZE - n, "%s%.30s", comma, vy_any_type_name(f, t));
    if (array) n += (size_t)snprintf(text + n, SIZE - n, "[%s]", rank(array) == 1 ? "?" : "?, …");
    return n;
}

static void refuse_all(vy_front *f, const vy_ast_expr *e, const vy_decl *first)
{
    char text[SIZE] = "(", *fix = vy_front_alloc(f, SIZE);
    size_t n = 1, m = 0;
    if (f->failed) return;
    for (const vy_ast_expr *a = e->u.ref.list; a; a = a->next)
        n = add_type(f, text, n, vy_named_array(a),
                     vy_named_array(a) ? vy_named_array(a)->type : a->type);
    m = (size_t)snprintf(fix, SIZE, "they take");
    for (const vy_decl *d = first; d && m < SIZE - 60; d = d->overload) {
        m += (size_t)snprintf(fix + m, SIZE - m, d == first ? " (" : ", (");
        for (const vy_decl *p = d->func->params; p; p = p->next)
            m = add_type(f, fix, m, p->kind == DK_BUFFER ? p : NULL, p->type);
        m += (size_t)snprintf(fix + m, SIZE - m, ")");
    }
    vy_front_error(f, VY_E_ARGUMENTS, e->line, e->column, fix, "no function `%s` takes %s)",
                   e->u.ref.name->text, text);
}

static void refuse_both(vy_front *f, const vy_ast_expr *e, const vy_decl *a, const vy_decl *b)
{
    char one[120], other[120];
    vy_front_error(f, VY_E_ARGUMENTS, e->line, e->column,
                   "give the literals a type, like 1f32 or f32(1)",
                   "this may be `%s` of %s, and the one of %s", e->u.ref.name->text,
                   vy_line_text(f->m, a->line, e->line, one),
                   vy_line_text(f->m, b->line, e->line, other));
}

vy_decl *vy_choose_overload(vy_front *f, const vy_ast_expr *e, vy_decl *first)
{
    vy_decl *best = NULL;
    for (vy_decl *d = first; d; d = d->overload)
        if (fits(e, d->func) && (!best || is_better(e, d->func, best->func))) best = d;
    if (!best) refuse_all(f, e, first);
    for (vy_decl *d = first; d && best && !f->failed; d = d->overload)
        if (d != best && fits(e, d->func) && !is_better(e, best->func, d->func))
            refuse_both(f, e, best->line < d->line ? best : d, best->line < d->line ? d : best);
    return f->failed ? NULL : best;
}
