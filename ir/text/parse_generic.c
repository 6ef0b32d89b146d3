// SPDX-License-Identifier: MIT
// parse_generic.c: types that a function leaves open, `fn f<T: float>` (generic.c): while the text
// of the function is read, the lexer takes T for the type that it is in this instance.
#include "ir/text/front.h"

static void parse_name(vy_front *f, vy_generic *g)
{
    vy_name_rec *name = f->tok.name;
    for (uint32_t k = 0; k < g->count; k++)
        if (g->names[k] == name)
            vy_front_error(f, VY_E_NAME_TAKEN, f->tok.line, f->tok.column, "name it otherwise",
                           "type `%s` is named twice", name->text);
    if (g->count == VY_MAX_GENERICS)
        vy_front_error(f, VY_E_LIMIT, f->tok.line, f->tok.column, "leave fewer open",
                       "a function that leaves more than %u types open", VY_MAX_GENERICS);
    vy_expect(f, TK_NAME, "of a type that is left open");
    vy_expect(f, TK_COLON, "after the name of the type");
    if (!f->failed && !vy_at_word(f, "float"))
        vy_front_error(f, VY_E_SYNTAX, f->tok.line, f->tok.column, "write `T: float`",
                       "only float types can be left open");
    if (f->failed) return;
    vy_advance(f);
    g->names[g->count++] = name;
}

void vy_parse_generic(vy_front *f, vy_func *fn)
{
    vy_generic *g = vy_front_alloc(f, sizeof *g);
    if (f->failed) return;
    *g = (vy_generic){.of = fn};
    vy_advance(f);
    do {
        parse_name(f, g);
    } while (vy_accept(f, TK_COMMA));
    for (uint32_t k = 0; k < g->count; k++) {
        g->types[k] = f->types ? f->types[k] : VY_F32;
        g->names[k]->stands_for = g->types[k];
    }
    fn->generic = g;
    vy_expect(f, TK_GT, "after the types that are left open");
}

static bool is_taken(const vy_func *fn, const vy_name_rec *name)
{
    const vy_decl *p = fn->params;
    while (p && p->open != name) p = p->next;
    return p != NULL;
}

void vy_end_generic(vy_front *f, vy_func *fn)
{
    const vy_generic *g = fn->generic;
    for (uint32_t k = 0; k < g->count && !f->failed; k++) {
        g->names[k]->stands_for = VY_VOID;
        if (!is_taken(fn, g->names[k]))
            vy_front_error(f, VY_E_TYPE_WRONG, fn->decl->line, fn->decl->column,
                           "take a parameter of that type", "no argument of `%s` says what `%s` is",
                           fn->decl->name->text, g->names[k]->text);
    }
    if (f->tok.kind == TK_TYPE && f->tok.name) f->tok.kind = TK_NAME; // read before it ended
}
