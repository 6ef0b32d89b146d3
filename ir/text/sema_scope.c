// SPDX-License-Identifier: MIT
// sema_scope.c: names enter and leave scopes.
#include "ir/text/front.h"

static const char *decl_kind_name(const vy_decl *d)
{
    static const char *const names[] = {"variable", "variable", "parameter", "loop variable",
                                        "scalar",   "variable", "buffer",    "shared array",
                                        "array",    "constant", "function",  "program",
                                        "pipeline", "number",   "variable"};
    return names[d->kind];
}

void vy_declare(vy_front *f, vy_decl *d)
{
    char line[120];
    if (f->failed) return;
    vy_decl *old = d->name->local;
    if (old) {
        vy_front_error(f, VY_E_NAME_TAKEN, d->line, d->column, NULL,
                       "`%s` is already the name of a %s, declared on %s", d->name->text,
                       decl_kind_name(old), vy_line_text(f->m, old->line, d->line, line));
        return;
    }
    d->name->local = d;
    d->scope_next = f->scope;
    f->scope = d;
    d->slot = f->func ? f->func->slot_count++ : 0;
    d->loop_depth = f->loop ? f->loop->depth : 0;
}

void vy_scope_close(vy_front *f, vy_decl *mark)
{
    while (f->scope != mark) {
        f->scope->name->local = NULL;
        f->scope = f->scope->scope_next;
    }
}

void vy_declare_global(vy_front *f, vy_decl *d)
{
    const vy_name_rec *n = d->name;
    char line[120];
    if (n->global)
        vy_front_error(f, VY_E_NAME_TAKEN, d->line, d->column, NULL,
                       "`%s` is already the name of a %s, declared on %s", n->text,
                       decl_kind_name(n->global),
                       vy_line_text(f->m, n->global->line, d->line, line));
    if (d->kind == DK_FUNC && vy_builtin_find(n->text, n->length))
        vy_front_error(f, VY_E_NAME_TAKEN, d->line, d->column, NULL,
                       "`%s` is a function of the language", n->text);
    d->name->global = d;
}
