// SPDX-License-Identifier: MIT
// parse_type.c: types, and declarations of structs.
//
// A name stands for a struct that may be declared later, an array may have a constant as its size:
// both are rows of the table of types that are completed when all has been read (sema_made.c).
#include "ir/text/front.h"

#include <string.h>

uint8_t vy_parse_type(vy_front *f, const char *after, unsigned meant)
{
    uint8_t type = f->tok.type;
    if (!vy_expect_word(f, TK_TYPE, after, meant)) return VY_F32;
    return type;
}

// The struct of that name, declared or not.
static vy_text_type named(vy_front *f, vy_name_rec *name, const char *after, unsigned meant)
{
    if (!name->made) {
        vy_made_type *m = vy_made_new(f, VY_STRUCT, &name->made);
        m->name = name->text;
        m->after = after;
        m->meant = meant | VY_SPELL_MADE;
    }
    return name->made;
}

vy_text_type vy_parse_stored_type(vy_front *f, const char *after, unsigned meant)
{
    const bool word = f->tok.kind == TK_NAME && f->tok.text[0] != '`';
    if (!word || vy_peek(f).kind != TK_LBRACKET)
        return vy_parse_type(f, after, meant | VY_SPELL_MADE);
    vy_text_type t = vy_made_type_named(f->tok.text, f->tok.length);
    if (!t) t = named(f, f->tok.name, after, meant);
    vy_advance(f);
    return t;
}

// A type that changes when arrays are known.
static void note_place(vy_front *f, vy_text_type *where)
{
    vy_type_place *p = vy_front_alloc(f, sizeof *p);
    if (f->failed) return;
    *p = (vy_type_place){where, f->type_places};
    f->type_places = p;
}

static vy_text_type array_type(vy_front *f, vy_text_type of, vy_ast_expr *count)
{
    vy_text_type t;
    vy_made_type *m = vy_made_new(f, VY_ARRAY, &t);
    m->of = of;
    m->count = count;
    m->line = count->line, m->column = count->column;
    return t;
}

// `[a][b]`: an array of a arrays of b.
static void parse_counts(vy_front *f, vy_text_type *where)
{
    enum { MOST = VY_MAX_TYPE_DEPTH };
    vy_ast_expr *counts[MOST];
    uint32_t n = 0;
    while (f->tok.kind == TK_LBRACKET && n < MOST) {
        const vy_token next = vy_peek(f);
        if (next.kind == TK_RBRACKET || next.kind == TK_QUESTION || f->failed) break;
        vy_advance(f);
        counts[n++] = vy_parse_expr(f);
        vy_expect(f, TK_RBRACKET, "after the size of the array");
    }
    if (!n || f->failed) return;
    while (n-- > 0) *where = array_type(f, *where, counts[n]);
    note_place(f, where);
}

void vy_parse_value_type(vy_front *f, vy_text_type *where, const char *after, unsigned meant)
{
    const bool word = f->tok.kind == TK_NAME && f->tok.text[0] != '`';
    if (word) {
        *where = vy_made_type_named(f->tok.text, f->tok.length);
        if (!*where) *where = named(f, f->tok.name, after, meant);
        vy_advance(f);
    } else {
        *where = vy_parse_type(f, after, meant | VY_SPELL_MADE);
    }
    parse_counts(f, where);
}

// ------------------------------------------------------------------------------------------ values
// The type of `f32[3](…)`, of `Name[3](…)` and of `Name { … }`, the name or type already read.
void vy_parse_made(vy_front *f, vy_ast_expr *e, vy_text_type type, vy_ast_expr *count)
{
    e->kind = EX_MAKE;
    e->op = 0;
    e->type = count ? array_type(f, type, count) : type;
    if (!count) parse_counts(f, &e->type);
    if (count) note_place(f, &e->type);
}

vy_text_type vy_type_of_value(vy_front *f, const vy_ast_expr *e)
{
    vy_name_rec *name = e->u.ref.name;
    const vy_text_type made = vy_made_type_named(name->text, name->length);
    const bool is_new = !made && !name->made;
    const vy_text_type t = made ? made : named(f, name, "of the value", VY_SPELL_TYPES);
    if (is_new && !f->failed) vy_made_open(f, t)->line = e->line;
    if (is_new && !f->failed) vy_made_open(f, t)->column = e->column;
    return t;
}

// ----------------------------------------------------------------------------------------- structs
static vy_field *parse_field(vy_front *f)
{
    vy_field *d = vy_front_alloc(f, sizeof *d);
    *d = (vy_field){.name = f->tok.name, .line = f->tok.line, .column = f->tok.column};
    vy_expect(f, TK_NAME, "as the name of a field");
    vy_expect(f, TK_COLON, "after the name of the field");
    vy_parse_value_type(f, &d->type, "of the field", VY_SPELL_TYPES);
    vy_expect(f, TK_SEMICOLON, "after the field");
    return d;
}

// `struct Name { field: type; … }`
void vy_parse_struct(vy_front *f)
{
    vy_advance(f);
    vy_decl *d = vy_parse_decl(f, DK_STRUCT);
    if (f->failed) return;
    d->type = named(f, d->name, "", 0);
    if (f->failed) return;
    vy_made_type *m = vy_made_open(f, d->type);
    if (!m->declared) m->line = d->line, m->column = d->column;
    m->declared = true;
    const vy_token open = f->tok;
    vy_expect(f, TK_LBRACE, "after the name of the struct");
    vy_field **tail = &m->fields; // of two of one name the second is reported later
    while (*tail) tail = &(*tail)->next;
    while (f->tok.kind != TK_RBRACE && f->tok.kind != TK_END && !f->failed) {
        *tail = parse_field(f);
        tail = &(*tail)->next;
    }
    vy_close_block(f, &open);
    *f->structs_tail = d;
    f->structs_tail = &d->next;
}
