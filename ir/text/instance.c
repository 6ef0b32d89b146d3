// SPDX-License-Identifier: MIT
// instance.c: makes an instance of a function that leaves types open (generic.c): reads its text
// once more.  That needs the parser and the sizes of arrays, so expressions, which ask for it, call
// it through vy_front.
#include "ir/text/overload.h"

// Reads the declaration once more.
static vy_func *read_again(vy_front *f, const vy_func *of, const uint8_t *types)
{
    const vy_front outer = *f;
    const char *text = of->text - (of->text[-1] == '`');
    f->at = text, f->end = of->text + of->size;
    f->line = of->decl->line, f->line_start = text - (of->decl->column - 1);
    f->types = types;
    vy_advance(f);
    vy_func *fn = vy_parse_function(f);
    if (f->failed) return NULL;
    f->at = outer.at, f->end = outer.end, f->line_start = outer.line_start, f->line = outer.line;
    f->tok = outer.tok, f->last_line = outer.last_line, f->last_column = outer.last_column;
    f->last_end = outer.last_end;
    f->types = NULL;
    return fn;
}

vy_func *vy_make_instance(vy_front *f, const vy_ast_expr *e, vy_func *of, const uint8_t *types)
{
    vy_func *fn = read_again(f, of, types);
    if (!fn) return NULL;
    fn->order = of->order, fn->ordinal = of->ordinal, fn->unit = of->unit;
    fn->size = of->size;
    fn->same = fn;
    fn->generic->of = of;
    fn->generic->line = e->line;
    fn->generic->next = of->generic->next;
    of->generic->next = fn;
    *f->funcs_tail = fn; // sema.c comes to it
    f->funcs_tail = &fn->next;
    return vy_sema_made(f) ? fn : NULL;
}
