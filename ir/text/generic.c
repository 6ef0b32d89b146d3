// SPDX-License-Identifier: MIT
// generic.c: functions that leave float types open: `fn f<T: float>(x: T) -> T { … }`.
//
// A call says by its arguments what T is.  For each choice there is an *instance*, a function of
// its own: the text of the declaration is read once more, with the name T standing for the type
// (instance.c), so nothing else in the language knows of them.  The declaration is the instance of
// f32: by that all functions are checked, called or not.  Errors in another one name the types, and
// the call.
#include "ir/text/overload.h"

#include <stdio.h>
#include <string.h>

// ----------------------------------------------------------------------------- types of a call
static uint32_t number_of(const vy_generic *g, const vy_name_rec *name)
{
    uint32_t k = 0;
    while (k < g->count && g->names[k] != name) k++;
    return k;
}

// What arrays of arrays are made of.
static vy_text_type innermost(const vy_front *f, vy_text_type t)
{
    for (const vy_made_type *m; (m = vy_made_of(f, t)) && m->kind == VY_ARRAY;) t = m->of;
    return t;
}

static vy_text_type argument_type(const vy_front *f, const vy_ast_expr *a)
{
    const vy_decl *d = vy_named_array(a);
    return d ? d->type : innermost(f, a->type);
}

const vy_ast_expr *vy_open_types(const vy_front *f, const vy_ast_expr *e, const vy_func *fn,
                                 uint8_t types[VY_MAX_GENERICS])
{
    const vy_ast_expr *a = e->u.ref.list;
    const vy_generic *g = fn->generic;
    memset(types, VY_VOID, VY_MAX_GENERICS);
    for (const vy_decl *p = fn->params; p && a; p = p->next, a = a->next) {
        const uint32_t k = number_of(g, p->open);
        const vy_text_type t = argument_type(f, a);
        if (k == g->count || vy_is_any(t)) continue;
        if (vy_is_made(t) || !vy_type_is_float((vy_type)t)) return a;
        if (types[k] && types[k] != t) return a;
        types[k] = (uint8_t)t;
    }
    for (uint32_t k = 0; k < g->count; k++)
        if (!types[k]) types[k] = VY_F32;
    return NULL;
}

static void refuse(vy_front *f, const vy_ast_expr *a, const vy_func *fn)
{
    const vy_text_type t = argument_type(f, a);
    const bool is_float = !vy_is_made(t) && vy_type_is_float((vy_type)t);
    char line[120];
    vy_front_error(f, VY_E_TYPES_DIFFER, a->line, a->column,
                   is_float ? "convert one of them, like f32(x)" : "convert it, like f32(x)",
                   is_float ? "`%s`, declared on %s, takes values of one type here, and this is %s"
                            : "`%s`, declared on %s, takes a float here, and this is %s",
                   fn->decl->name->text, vy_line_text(f->m, fn->decl->line, a->line, line),
                   vy_any_type_name(f, t));
}

// ------------------------------------------------------------------------------------- instances
vy_func *vy_instance(vy_front *f, const vy_ast_expr *e, vy_func *fn)
{
    uint8_t types[VY_MAX_GENERICS];
    if (!fn->generic) return fn;
    const vy_ast_expr *wrong = vy_open_types(f, e, fn, types);
    if (wrong) return refuse(f, wrong, fn), NULL;
    for (vy_func *i = fn; i; i = i->generic->next)
        if (!memcmp(i->generic->types, types, fn->generic->count)) return i;
    return f->make_instance(f, e, fn, types);
}

void vy_blame_instance(vy_front *f, const vy_func *fn)
{
    vy_diag *d = &f->m->diag;
    const vy_generic *g = fn->generic;
    size_t n = strlen(d->text);
    char line[120];
    if (d->blame != VY_BLAME_PROGRAM) return; // memory
    for (uint32_t k = 0; k < g->count && n < sizeof d->text; k++)
        n += (size_t)snprintf(d->text + n, sizeof d->text - n, "%s`%.30s` is %s", k ? ", " : " (",
                              g->names[k]->text, vy_type_name((vy_type)g->types[k]));
    if (n < sizeof d->text && g->line)
        n += (size_t)snprintf(d->text + n, sizeof d->text - n, " where `%.30s` is called on %s",
                              fn->decl->name->text, vy_line_text(f->m, g->line, d->line, line));
    if (n < sizeof d->text) snprintf(d->text + n, sizeof d->text - n, ")");
}
