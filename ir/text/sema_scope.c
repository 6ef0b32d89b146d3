// SPDX-License-Identifier: MIT
// sema_scope.c: names enter and leave scopes.
#include "ir/text/front.h"

static const char *decl_kind_name(const vy_decl *d)
{
    static const char *const names[] = {"variable", "variable", "parameter", "loop variable",
                                        "scalar",   "variable", "buffer",    "shared array",
                                        "array",    "constant", "function",  "program",
                                        "pipeline", "number",   "struct",    "variable"};
    return names[d->kind];
}

void vy_name_taken(vy_front *f, const vy_decl *d, const vy_decl *old, const char *fix)
{
    char line[120];
    vy_front_error(f, VY_E_NAME_TAKEN, d->line, d->column, fix,
                   "`%s` is already the name of a %s, declared on %s", d->name->text,
                   decl_kind_name(old), vy_line_text(f->m, old->line, d->line, line));
}

void vy_declare(vy_front *f, vy_decl *d)
{
    if (f->failed) return;
    vy_decl *old = d->name->local;
    if (old) {
        vy_name_taken(f, d, old, NULL);
        return;
    }
    d->name->local = d;
    d->scope_next = f->scope;
    f->scope = d;
    d->slot = f->func ? f->func->slot_count : 0;
    if (f->func) f->func->slot_count += vy_scalars(f, d->type);
    d->loop_depth = f->loop ? f->loop->depth : 0;
}

void vy_scope_close(vy_front *f, vy_decl *mark)
{
    while (f->scope != mark) {
        f->scope->name->local = NULL;
        f->scope = f->scope->scope_next;
    }
}
