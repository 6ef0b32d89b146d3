// SPDX-License-Identifier: MIT
// parse_switch.c: `switch` to tree, in two forms:
//
//   switch k { case 0, 3 { … } case K { … } default { … } }        ends with the block
//   switch (k) { case 0: case 3: …; break; default: …; }            C's
//
// In C's a case goes on into the next one where nothing leaves it.  No case does here: where one of
// C's would, the text is refused (sema_switch.c), so that it never means less than it does in C.
#include "ir/text/front.h"

// What follows a name that is no word of the language here.
static bool goes_on(vy_front *f)
{
    const vy_token next = vy_peek(f);
    const bool twice = next.text + 1 < f->end && next.text[1] == next.text[0];
    const bool step = (next.kind == TK_ADD || next.kind == TK_SUB) && twice;
    return step || (next.kind >= TK_SET && next.kind <= TK_SET_SHR) || next.kind == TK_DOT ||
           next.kind == TK_LBRACKET || next.kind == TK_SEMICOLON;
}

bool vy_at_switch(vy_front *f) { return !goes_on(f); }

static bool at_default(vy_front *f)
{
    if (!vy_at_word(f, "default")) return false;
    const uint8_t next = vy_peek(f).kind;
    return next == TK_COLON || next == TK_LBRACE;
}

static bool at_label(vy_front *f)
{
    return at_default(f) || (vy_at_word(f, "case") && !goes_on(f));
}

static void parse_numbers(vy_front *f, vy_ast_expr **tail)
{
    while (*tail) tail = &(*tail)->next;
    do {
        *tail = vy_parse_expr(f);
        tail = &(*tail)->next;
    } while (vy_accept(f, TK_COMMA));
}

// `case 1, 2`, `default`
static void parse_label(vy_front *f, vy_stmt *s)
{
    const bool other = at_default(f);
    if (other && s->op)
        vy_front_error(f, VY_E_NAME_TAKEN, f->tok.line, f->tok.column, "write it once",
                       "`default` is given twice");
    s->op |= other;
    vy_advance(f);
    if (!other) parse_numbers(f, &s->value);
    s->colon = vy_accept(f, TK_COLON);
}

// What follows `case 1:`, up to the next label.
static vy_stmt *parse_statements(vy_front *f)
{
    vy_stmt *block = vy_new_stmt(f, ST_BLOCK, &f->tok), **tail = &block->body;
    while (f->tok.kind != TK_RBRACE && f->tok.kind != TK_END && !at_label(f) && !f->failed) {
        if (vy_accept(f, TK_SEMICOLON)) continue;
        *tail = vy_parse_stmt(f);
        tail = &(*tail)->next;
    }
    return block;
}

static vy_stmt *parse_case(vy_front *f)
{
    char text[48];
    vy_stmt *s = vy_new_stmt(f, ST_CASE, &f->tok);
    if (!at_label(f))
        vy_front_error(f, VY_E_SYNTAX, f->tok.line, f->tok.column,
                       "write `case 1, 2 { … }` or `default { … }`",
                       "expected `case` or `default`, found %s", vy_token_text(&f->tok, text));
    do {
        parse_label(f, s);
    } while (s->colon && at_label(f) && !f->failed);
    s->body = s->colon ? parse_statements(f) : vy_parse_block(f);
    return s;
}

vy_stmt *vy_parse_switch(vy_front *f)
{
    vy_stmt *s = vy_new_stmt(f, ST_SWITCH, &f->tok), **tail = &s->body;
    vy_advance(f);
    s->value = vy_parse_expr(f);
    const vy_token open = f->tok;
    if (vy_enter(f)) {
        vy_expect(f, TK_LBRACE, "to open the cases");
        while (f->tok.kind != TK_RBRACE && f->tok.kind != TK_END && !f->failed) {
            *tail = parse_case(f);
            tail = &(*tail)->next;
        }
        vy_close_block(f, &open);
    }
    vy_leave(f);
    return s;
}
