// SPDX-License-Identifier: MIT
// parse_token.c: shared by all of the parser: expected tokens, nesting, declarations.
#include "ir/text/front.h"

#include <stdio.h>
#include <string.h>

const char *vy_token_spelling(vy_token_kind kind)
{
    static const char *const names[] = {
        [TK_END] = "the end of the file",
        [TK_NAME] = "a name",
        [TK_INT] = "a number",
        [TK_FLOAT] = "a number",
        [TK_TYPE] = "a type",
        [TK_STRING] = "a path in quotes",
        [TK_LPAREN] = "`(`",
        [TK_RPAREN] = "`)`",
        [TK_LBRACE] = "`{`",
        [TK_RBRACE] = "`}`",
        [TK_LBRACKET] = "`[`",
        [TK_RBRACKET] = "`]`",
        [TK_COMMA] = "`,`",
        [TK_SEMICOLON] = "`;`",
        [TK_COLON] = "`:`",
        [TK_DOTDOT] = "`..`",
        [TK_SET] = "`=`",
        [TK_ARROW] = "`->`",
        [TK_FN] = "`fn`",
        [TK_WHILE] = "`while`",
        [TK_PROGRAM] = "`program`",
    };
    bool known = (size_t)kind < sizeof names / sizeof *names && names[kind];
    return known ? names[kind] : "a symbol";
}

const char *vy_token_text(const vy_token *t, char out[48])
{
    if (t->kind == TK_END) return "the end of the file";
    snprintf(out, 48, "`%.*s`", t->length > 40 ? 40 : (int)t->length, t->text);
    return out;
}

bool vy_accept(vy_front *f, vy_token_kind kind)
{
    if (f->tok.kind != kind || f->failed) return false;
    vy_advance(f);
    return true;
}

bool vy_expect(vy_front *f, vy_token_kind kind, const char *after)
{
    const unsigned meant = kind == TK_TYPE     ? VY_SPELL_TYPES
                           : kind == TK_LBRACE ? VY_SPELL_WORDS // `ovr(i: N) {`
                                               : 0;
    return vy_expect_word(f, kind, after, meant);
}

bool vy_expect_word(vy_front *f, vy_token_kind kind, const char *after, unsigned meant)
{
    if (vy_accept(f, kind)) return true;
    if (f->failed) return false;
    char text[48];
    if (kind == TK_TYPE && vy_made_type_named(f->tok.text, f->tok.length)) {
        vy_front_error(f, VY_E_TYPE_WRONG, f->tok.line, f->tok.column, "use its scalars",
                       "%s cannot be the type %s", vy_token_text(&f->tok, text), after);
        return false;
    }
    // A missing `;` is best shown where it is missing, not on the next line.
    bool before = kind == TK_SEMICOLON && f->last_line < f->tok.line;
    const char *fix =
        f->tok.kind == TK_NAME ? vy_spelling_fix(f, f->tok.text, f->tok.length, meant, NULL) : NULL;
    vy_front_error(f, VY_E_SYNTAX, before ? f->last_line : f->tok.line,
                   before ? f->last_column : f->tok.column, fix, "expected %s %s, found %s",
                   vy_token_spelling(kind), after, vy_token_text(&f->tok, text));
    return false;
}

void vy_begins_wrongly(vy_front *f, const char *what, const vy_token *at, unsigned meant)
{
    char next[48];
    if (f->failed) return;
    vy_front_error(f, VY_E_SYNTAX, at->line, at->column,
                   vy_spelling_fix(f, at->text, at->length, meant, NULL),
                   "a %s that begins with `%.*s` does not continue with %s", what,
                   at->length > 40 ? 40 : (int)at->length, at->text, vy_token_text(&f->tok, next));
}

bool vy_at_word(const vy_front *f, const char *word)
{
    return f->tok.kind == TK_NAME && f->tok.text[0] != '`' && strlen(word) == f->tok.length &&
           memcmp(f->tok.text, word, f->tok.length) == 0;
}

void vy_close_block(vy_front *f, const vy_token *open)
{
    char line[120];
    if (f->tok.kind == TK_END && !f->failed)
        vy_front_error(f, VY_E_SYNTAX, f->tok.line, f->tok.column, "add `}`",
                       "the block opened on %s is not closed",
                       vy_line_text(f->m, open->line, f->tok.line, line));
    vy_expect(f, TK_RBRACE, "to close the block");
}

bool vy_enter(vy_front *f)
{
    f->depth++;
    if (f->depth <= VY_MAX_TREE_DEPTH && f->nodes <= VY_MAX_TREE) return true;
    if (f->failed) return false;
    bool deep = f->depth > VY_MAX_TREE_DEPTH;
    vy_front_error(f, VY_E_LIMIT, f->tok.line, f->tok.column,
                   deep ? "put inner parts into variables" : NULL,
                   deep ? "brackets and blocks are nested more than %u deep"
                        : "the text has more than %u operators, names and statements",
                   deep ? VY_MAX_TREE_DEPTH : VY_MAX_TREE);
    return false;
}

vy_decl *vy_parse_decl(vy_front *f, vy_decl_kind kind)
{
    vy_decl *d = vy_front_alloc(f, sizeof *d);
    *d = (vy_decl){.kind = (uint8_t)kind, .line = f->tok.line, .column = f->tok.column};
    f->nodes++;
    d->name = f->tok.name;
    char text[48];
    if (f->tok.kind != TK_NAME && !f->failed && vy_keyword_is(f->tok.text, f->tok.length))
        vy_front_error(f, VY_E_KEYWORD, f->tok.line, f->tok.column, NULL,
                       "%s is a keyword, not a name", vy_token_text(&f->tok, text));
    else
        vy_expect(f, TK_NAME, "here");
    return d;
}

uint32_t vy_parse_attribute_number(vy_front *f, const char *name)
{
    vy_expect(f, TK_LPAREN, "after the attribute");
    uint64_t value = f->tok.value;
    if (f->tok.kind == TK_INT && value > UINT32_MAX)
        vy_front_error(f, VY_E_LITERAL_RANGE, f->tok.line, f->tok.column, NULL,
                       "the number of @%s is too large", name);
    vy_expect(f, TK_INT, "as the attribute's value");
    vy_expect(f, TK_RPAREN, "after the attribute's value");
    return (uint32_t)value;
}
