// SPDX-License-Identifier: MIT
// again.c: derived declarations whose name another declaration has.
//
// The text of a derivative contains all that it needs, so texts that are concatenated contain some
// of it several times, not always the same: scale of the source, scale as net_grad uses it.
//
//   program scale …          pipeline net … { scale(…) }          the source
//   @order(1) program scale … @order(1) pipeline net_grad … { scale(…) scale_grad(…) }
//
// Three things make any concatenation mean what its texts mean:
//   1. *What a name denotes.*  In what is derived: what its own text declares, else the last
//      declaration before it; in what is not: the one that is not derived, wherever that is.  Where
//      one text ends and the next begins is seen by the order in which they are printed, functions,
//      programs, pipelines: a *unit* ends before a declaration that is not derived, at one of an
//      earlier kind, and at a name that it has.
//   2. *Equal ones are one.*  Derived declarations of one name and order that are written alike,
//      and whose names denote what is equal, are the first of them; compared are the first
//      MOST_DISTINCT texts of a name.
//   3. *Which keeps the name.*  What is not derived; else the first derived one that nothing
//      derived uses, for it is what was requested; else the first.  Others that something derived
//      uses, its *parts*, get a number: scale2.  Another result of the same name is an error
//      (E0202).
#include "ir/text/front.h"

#include <stdio.h>
#include <string.h>

enum { MOST_DISTINCT = 16, MOST_ROUNDS = VY_MAX_CALL_DEPTH };

// -------------------------------------------------------------------------------- what it denotes
static bool begins_unit(const vy_front *f, const vy_func *fn)
{
    const vy_func *last = f->read_last;
    if (!last || !fn->order != !last->order) return true;
    return fn->order && (fn->decl->kind < last->decl->kind || fn->decl->name->unit == f->units);
}

void vy_again_read(vy_front *f, vy_func *fn)
{
    if (f->failed) return; // it may have no name
    fn->ordinal = f->ordinals++;
    f->units += begins_unit(f, fn);
    fn->unit = f->units;
    if (fn->order) fn->decl->name->unit = fn->unit;
    f->read_last = fn;
}

static bool may_share(const vy_decl *a, const vy_decl *b)
{
    return a->func && b->func && (a->func->order || b->func->order);
}

// Functions of one name, which their parameters distinguish (sema_overload.c).
static bool may_overload(const vy_decl *a, const vy_decl *b)
{
    return a->kind == DK_FUNC && b->kind == DK_FUNC && !a->func->order && !b->func->order;
}

static void add_overload(vy_front *f, vy_decl *first, vy_decl *d)
{
    uint32_t n = 1;
    for (; first->overload; first = first->overload) n++;
    if (n >= VY_MAX_OVERLOADS)
        vy_front_error(f, VY_E_LIMIT, d->line, d->column, "give some of them other names",
                       "more than %u functions are called `%s`", VY_MAX_OVERLOADS, d->name->text);
    else
        first->overload = d;
}

static void make_current(vy_decl *d)
{
    vy_decl *other = d->name->global;
    if (other) other->func->shares = d->func->shares = true;
    if (!other || !d->func || !d->func->order) d->name->global = d;
}

void vy_declare_global(vy_front *f, vy_decl *d)
{
    const vy_name_rec *n = d->name;
    if (n->global && may_overload(n->global, d))
        add_overload(f, n->global, d);
    else if (n->global && !may_share(n->global, d))
        vy_name_taken(f, d, n->global, NULL);
    else if (d->kind == DK_FUNC && vy_builtin_find(n->text, n->length))
        vy_front_error(f, VY_E_NAME_TAKEN, d->line, d->column, NULL,
                       "`%s` is a function of the language", n->text);
    else
        make_current(d);
}

static void forget(vy_func *list)
{
    for (vy_func *fn = list; fn; fn = fn->next) fn->decl->name->derived = NULL;
}

void vy_again_begin(vy_front *f)
{
    forget(f->next_func = f->funcs);
    forget(f->next_pipe = f->pipes);
}

static void pass(vy_func **next, uint32_t unit)
{
    for (; *next && (*next)->unit <= unit; *next = (*next)->next) {
        vy_decl *d = (*next)->decl, *have = d->name->derived;
        if (!(*next)->order || (have && have->func->ordinal > d->func->ordinal)) continue;
        d->name->derived = d;
    }
}

void vy_again_pass(vy_front *f, const vy_func *fn)
{
    pass(&f->next_func, fn->unit);
    pass(&f->next_pipe, fn->unit);
}

// Does `from` mean the derived d, and not the other one, which is not derived?  It does where that
// is not between them: units have nothing of the kind inside.
static bool is_nearer(const vy_decl *d, const vy_decl *other, const vy_func *from)
{
    const uint32_t at = other->func->ordinal;
    return from->order && (at > from->ordinal || at < d->func->ordinal);
}

vy_decl *vy_again_find(const vy_name_rec *n, const vy_func *from)
{
    vy_decl *d = n->derived, *other = n->global;
    if (!d || !other->func->order) return d && from && is_nearer(d, other, from) ? d : other;
    return d;
}

void vy_again_use(const vy_func *from, vy_func *fn)
{
    if (from->order && fn->order) fn->is_part = true;
}

// ------------------------------------------------------------------------------ equal ones are one
static bool is_part(const vy_func *fn) { return fn->is_part || fn->decl->kind == DK_FUNC; }

static bool same_text(const vy_func *a, const vy_func *b)
{
    return a->decl->kind == b->decl->kind && a->order == b->order && a->exact == b->exact &&
           a->exact_sums == b->exact_sums && a->shader == b->shader && a->size == b->size &&
           memcmp(a->text, b->text, a->size) == 0;
}

static vy_func *find_text(const vy_func *fn)
{
    vy_func *other = fn->decl->name->distinct;
    while (other && !same_text(fn, other)) other = other->distinct;
    return other;
}

// Assumes that equal texts mean the same.
static void assume(vy_func *list)
{
    for (vy_func *fn = list; fn; fn = fn->next) {
        vy_name_rec *n = fn->decl->name;
        vy_func *same = fn->shares && fn->order ? find_text(fn) : fn;
        if (same) {
            fn->same = same;
        } else if (n->distinct_count < MOST_DISTINCT) {
            fn->distinct = n->distinct;
            n->distinct = fn;
            n->distinct_count++;
        }
    }
}

static bool same_names(const vy_func *a, const vy_func *b)
{
    const vy_callee *x = a->callees, *y = b->callees;
    for (uint32_t k = 0; k < VY_NAMES_OF; k++) {
        const vy_func *p = a->rules[k].func, *q = b->rules[k].func;
        if (!p != !q || (p && p->same != q->same)) return false;
    }
    while (x && y && x->func->same == y->func->same) x = x->next, y = y->next;
    return !x && !y;
}

// Ends as soon as all that is assumed holds; each time round it holds one call deeper.
static bool correct(vy_func *list)
{
    bool changed = false;
    for (vy_func *fn = list; fn; fn = fn->next) {
        if (fn->same == fn || same_names(fn, fn->same)) continue;
        fn->same = fn;
        changed = true;
    }
    return changed;
}

// What one of several is, the first of them is.
static void join(vy_func *list)
{
    for (vy_func *fn = list; fn; fn = fn->next) {
        fn->same->is_part &= fn->is_part;
        fn->same->stays |= fn->stays;
    }
}

static void give_up(vy_func *list)
{
    for (vy_func *fn = list; fn; fn = fn->next) fn->same = fn;
}

static void find_equal(vy_front *f)
{
    uint32_t rounds = 0;
    assume(f->funcs);
    assume(f->pipes);
    for (bool any = true; any;) {
        any = correct(f->funcs);
        any |= correct(f->pipes);
        if (!any || ++rounds < MOST_ROUNDS) continue;
        give_up(f->funcs);
        give_up(f->pipes);
    }
    join(f->funcs);
    join(f->pipes);
}

// ---------------------------------------------------------------------------- which keeps the name
static void find_owners(vy_func *list, bool parts)
{
    for (vy_func *fn = list; fn; fn = fn->next) {
        vy_name_rec *n = fn->decl->name;
        if (!fn->shares || fn->same != fn || n->owner) continue;
        if (!n->global->func->order)
            n->owner = n->global;
        else if (parts || !is_part(fn))
            n->owner = fn->decl;
    }
}

static void refuse(vy_front *f, const vy_decl *a, const vy_decl *b)
{
    const bool in_order = a->func->ordinal < b->func->ordinal;
    vy_name_taken(f, in_order ? b : a, in_order ? a : b,
                  "derive one of them under another name: `vyre-grad grad … --name NAME`");
}

// The name with the first number that makes it one that nothing has.
static void append_number(vy_front *f, vy_decl *d)
{
    vy_name_rec *n = d->name, *fresh;
    char *text = vy_front_alloc(f, n->length + (size_t)12);
    if (n->again == 0) n->again = 1;
    do {
        if (f->failed) return;
        const int length = snprintf(text, n->length + (size_t)12, "%s%u", n->text, ++n->again);
        fresh = vy_front_name(f, text, (uint32_t)length);
    } while (fresh->global || vy_word_is_taken(fresh->text, fresh->length));
    if (f->failed) return;
    fresh->global = d;
    d->name = fresh;
}

static void name_all(vy_front *f, vy_func *list)
{
    for (vy_func *fn = list; fn && !f->failed; fn = fn->next) {
        const vy_decl *owner = fn->decl->name->owner;
        if (!fn->shares || fn->same != fn || owner == fn->decl || !fn->order) continue;
        if (is_part(fn))
            append_number(f, fn->decl);
        else
            refuse(f, owner, fn->decl);
    }
}

// Of overloads the first keeps the name; others that are functions of the module get a number.
static void name_overloads(vy_front *f)
{
    for (vy_func *fn = f->funcs; fn && !f->failed; fn = fn->next) {
        vy_decl *d = fn->decl->overload;
        for (; d && fn->decl->name->global == fn->decl && !f->failed; d = d->overload)
            if (d->func->stays) append_number(f, d);
    }
}

bool vy_again_name(vy_front *f)
{
    name_overloads(f);
    find_equal(f);
    for (int parts = 0; parts < 2; parts++) {
        find_owners(f->funcs, parts);
        find_owners(f->pipes, parts);
    }
    name_all(f, f->funcs);
    name_all(f, f->pipes);
    return !f->failed;
}
