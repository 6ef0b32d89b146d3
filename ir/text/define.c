// SPDX-License-Identifier: MIT
// define.c: constants of a text that are set from outside (`-D NAME=VALUE`).
//
// The text declares the constants, their types and their defaults; a definition replaces only the
// value.  It is read by the same lexer and parser, so the same numbers are valid, and it gets the
// constant's type as the default would.
#include "ir/text/front.h"

#include <stdio.h>
#include <string.h>

static vy_decl *find_constant(const vy_front *f, const char *name)
{
    vy_decl *d = f->consts;
    while (d && strcmp(d->name->text, name) != 0) d = d->next;
    return d;
}

static bool is_number(const vy_ast_expr *e)
{
    static const char *const names[] = {"inf", "nan", "pi"};
    if (e->kind == EX_UNARY && e->op == TK_SUB) e = e->u.sub.a;
    if (e->kind == EX_INT || e->kind == EX_FLOAT || e->kind == EX_BOOL) return true;
    for (size_t i = 0; e->kind == EX_NAME && e->u.ref.name && i < sizeof names / sizeof *names; i++)
        if (!strcmp(e->u.ref.name->text, names[i])) return true;
    return false;
}

void vy_define_refused(vy_front *f, const vy_decl *d)
{
    vy_diag *was = &f->m->diag;
    if (was->blame != VY_BLAME_PROGRAM) return; // memory
    *was = (vy_diag){.severity = was->severity, .blame = was->blame, .code = was->code};
    snprintf(was->text, sizeof was->text,
             "-D %.60s=%.60s: constant `%.60s` is %s, which has no such value", d->name->text,
             d->given, d->name->text, vy_type_name((vy_type)d->type));
    snprintf(was->fix, sizeof was->fix, "give %s",
             d->type == VY_BOOL                    ? "true or false"
             : vy_type_is_float((vy_type)d->type)  ? "a number"
             : vy_type_is_signed((vy_type)d->type) ? "an integer that fits it"
                                                   : "an integer that fits it, not below zero");
}

// Errors in it are reported for the value (vy_define_refused); all others point at the declaration.
static void place(vy_ast_expr *e, const vy_decl *d)
{
    e->line = d->line;
    e->column = d->column;
    if (e->kind == EX_UNARY) place(e->u.sub.a, d);
}

static void define(vy_front *f, vy_decl *d, const char *value)
{
    const vy_front outer = {.at = f->at,
                            .end = f->end,
                            .line_start = f->line_start,
                            .line = f->line,
                            .tok = f->tok,
                            .last_line = f->last_line,
                            .last_column = f->last_column};
    const size_t size = strlen(value);
    char *text = vy_front_alloc(f, size + 1);
    if (f->failed) return;
    memcpy(text, value, size + 1);
    f->at = f->line_start = text;
    f->end = text + size;
    f->line = 1;
    vy_advance(f);
    vy_ast_expr *e = vy_parse_expr(f);
    d->given = text;
    if (!f->failed && (f->tok.kind != TK_END || !is_number(e)))
        vy_front_error(f, VY_E_CONSTANT, d->line, d->column, NULL, "not a number");
    if (f->failed) vy_define_refused(f, d);
    if (f->failed) return;
    place(e, d);
    d->dims = e;
    f->at = outer.at;
    f->end = outer.end;
    f->line_start = outer.line_start;
    f->line = outer.line;
    f->tok = outer.tok;
    f->last_line = outer.last_line;
    f->last_column = outer.last_column;
}

bool vy_define_constants(vy_front *f, const vy_define *defines, uint32_t count)
{
    for (uint32_t i = 0; i < count && !f->failed; i++) {
        vy_decl *d = find_constant(f, defines[i].name);
        for (uint32_t k = 0; k < i && d; k++)
            if (!strcmp(defines[k].name, defines[i].name))
                vy_front_error(f, VY_E_NAME_TAKEN, d->line, d->column, "give it once",
                               "constant `%s` is set twice from outside", defines[i].name);
        if (!f->failed && d && vy_is_made(d->type))
            vy_front_error(f, VY_E_CONSTANT, d->line, d->column, "set numbers of which it is made",
                           "constant `%s` is made of several numbers, -D sets one",
                           defines[i].name);
        if (f->failed) break;
        if (d)
            define(f, d, defines[i].value);
        else
            vy_front_error(f, VY_E_NAME_UNKNOWN, 0, 0,
                           vy_spelling_fix(f, defines[i].name, strlen(defines[i].name),
                                           VY_SPELL_CONSTANTS, "declare it: const NAME: u32 = 1;"),
                           "there is no constant `%.100s` that could be set", defines[i].name);
    }
    return !f->failed;
}
