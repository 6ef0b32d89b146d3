// SPDX-License-Identifier: MIT
// parse_stmt.c: statements to tree.
#include "ir/text/front.h"

vy_stmt *vy_new_stmt(vy_front *f, vy_stmt_kind kind, const vy_token *at)
{
    vy_stmt *s = vy_front_alloc(f, sizeof *s);
    *s = (vy_stmt){.kind = (uint8_t)kind, .line = at->line, .column = at->column};
    f->nodes++;
    return s;
}

// Statements up to the closing brace, which is not consumed.
static vy_stmt *parse_list(vy_front *f, bool condition)
{
    vy_stmt *list = NULL, **tail = &list;
    while (f->tok.kind != TK_RBRACE && f->tok.kind != TK_END && !f->failed) {
        if (vy_accept(f, TK_SEMICOLON)) continue; // an empty statement
        vy_stmt *s = vy_parse_stmt(f);
        *tail = s;
        tail = &s->next;
        if (condition && s->kind == ST_CALL && f->tok.kind == TK_RBRACE && s->op) break;
    }
    return list;
}

vy_stmt *vy_parse_block(vy_front *f)
{
    vy_token open = f->tok;
    vy_stmt *s = vy_new_stmt(f, ST_BLOCK, &open);
    if (vy_enter(f)) {
        vy_expect(f, TK_LBRACE, "to open the block");
        s->body = parse_list(f, false);
        vy_close_block(f, &open);
    }
    vy_leave(f);
    return s;
}

// `let x = e;` `var x: TYPE = e;` `let (p, q) = f(x);`
static vy_stmt *parse_let(vy_front *f, vy_decl_kind kind)
{
    vy_token at = f->tok;
    vy_advance(f);
    vy_stmt *s = vy_new_stmt(f, f->tok.kind == TK_LPAREN ? ST_TUPLE : ST_LET, &at);
    if (s->kind == ST_TUPLE) {
        vy_decl **tail = &s->decl;
        vy_advance(f);
        do {
            *tail = vy_parse_decl(f, kind);
            tail = &(*tail)->next;
        } while (vy_accept(f, TK_COMMA));
        vy_expect(f, TK_RPAREN, "after the names");
    } else {
        s->decl = vy_parse_decl(f, kind);
        if (vy_accept(f, TK_COLON)) {
            s->decl->has_type = true;
            vy_parse_value_type(f, &s->decl->type, "of the variable", VY_SPELL_TYPES);
        }
    }
    if (kind == DK_VAR && s->kind == ST_LET && s->decl->has_type && vy_accept(f, TK_SEMICOLON))
        return s; // `var x: f32;` is zero
    vy_expect(f, TK_SET, "before the variable's value");
    s->value = vy_parse_expr(f);
    vy_expect(f, TK_SEMICOLON, "after the statement");
    return s;
}

static vy_stmt *parse_array(vy_front *f, vy_decl_kind kind)
{
    vy_stmt *s = vy_new_stmt(f, ST_ARRAY, &f->tok);
    vy_advance(f);
    vy_decl *d = s->decl = vy_parse_decl(f, kind);
    d->cls = kind == DK_SHARED ? VY_SHARED : VY_LOCAL;
    if (vy_accept(f, TK_SEMICOLON)) return s; // clears it
    vy_expect(f, TK_COLON, "after the array's name");
    d->type = vy_parse_stored_type(f, "of the array's elements", VY_SPELL_TYPES);
    d->dims = vy_parse_dims(f, &d->rank);
    if (d->rank == 0)
        vy_front_error(f, VY_E_EXTENT, d->line, d->column, "write a size, like [16]",
                       "array `%s` has no dimensions", d->name ? d->name->text : "");
    if (kind == DK_LOCAL && vy_at_word(f, "undefined")) { // cleared later, by `local v;`
        d->undefined = true;
        vy_advance(f);
    }
    vy_expect(f, TK_SEMICOLON, "after the statement");
    return s;
}

// A chain of else-ifs is a list, so its length costs no stack.
static vy_stmt *parse_if(vy_front *f)
{
    vy_stmt *first = NULL, **link = &first;
    for (;;) {
        vy_stmt *s = *link = vy_new_stmt(f, ST_IF, &f->tok);
        vy_advance(f);
        s->value = vy_parse_expr(f);
        s->body = vy_parse_block(f);
        if (!vy_accept(f, TK_ELSE)) break;
        link = &s->other;
        if (f->tok.kind == TK_IF) continue;
        *link = vy_parse_block(f);
        break;
    }
    return first;
}

static vy_stmt *parse_for(vy_front *f)
{
    vy_stmt *s = vy_new_stmt(f, ST_FOR, &f->tok);
    vy_advance(f);
    s->range = vy_parse_range(f);
    s->body = vy_parse_block(f);
    return s;
}

// `while c { … }`, or `while { statements; c } { … }` if the condition needs statements.
static vy_stmt *parse_while(vy_front *f)
{
    vy_stmt *s = vy_new_stmt(f, ST_WHILE, &f->tok);
    vy_advance(f);
    if (f->tok.kind == TK_LBRACE && vy_enter(f)) {
        vy_token open = f->tok;
        vy_advance(f);
        vy_stmt *block = vy_new_stmt(f, ST_BLOCK, &open);
        block->body = parse_list(f, true);
        vy_stmt **last = &block->body;
        while (*last && (*last)->next) last = &(*last)->next;
        if (!f->failed && (!*last || (*last)->kind != ST_CALL || !(*last)->op))
            vy_front_error(f, VY_E_SYNTAX, f->tok.line, f->tok.column,
                           "write `while { statements; condition } { … }`",
                           "the block of a condition must end with the condition, without `;`");
        if (!f->failed) {
            s->value = (*last)->value;
            *last = NULL;
        }
        s->other = block;
        vy_expect(f, TK_RBRACE, "after the condition");
        vy_leave(f);
    } else {
        s->value = vy_parse_expr(f);
    }
    s->body = vy_parse_block(f);
    return s;
}

// `do { … } while c;`
static vy_stmt *parse_do(vy_front *f)
{
    vy_stmt *s = vy_new_stmt(f, ST_DO, &f->tok);
    vy_advance(f);
    s->body = vy_parse_block(f);
    vy_expect(f, TK_WHILE, "after the block of `do`");
    s->value = vy_parse_expr(f);
    vy_expect(f, TK_SEMICOLON, "after the condition of `do`");
    return s;
}

static bool at_do(vy_front *f) { return vy_peek(f).kind == TK_LBRACE; }

static vy_stmt *parse_return(vy_front *f)
{
    vy_stmt *s = vy_new_stmt(f, ST_RETURN, &f->tok);
    vy_advance(f);
    if (f->tok.kind != TK_SEMICOLON) s->value = vy_parse_expr(f);
    vy_expect(f, TK_SEMICOLON, "after `return`");
    return s;
}

static void parse_target(vy_front *f, vy_stmt *s, vy_ast_expr *e, const vy_token *at)
{
    s->target = e;
    if (e->kind != EX_NAME && e->kind != EX_INDEX && e->kind != EX_MEMBER)
        vy_front_error(f, VY_E_SYNTAX, at->line, at->column,
                       "assign to a variable or to an element of a buffer",
                       "this cannot be assigned to");
}

// `++x;`
static vy_stmt *parse_increment(vy_front *f)
{
    const vy_token at = f->tok;
    vy_stmt *s = vy_new_stmt(f, ST_ASSIGN, &at);
    s->op = TK_SET_ADD;
    s->value = vy_parse_one(f);
    vy_advance(f);
    vy_advance(f);
    const vy_token target = f->tok;
    parse_target(f, s, vy_parse_expr(f), &target);
    vy_expect(f, TK_SEMICOLON, "after the statement");
    return s;
}

static bool at_increment(vy_front *f)
{
    return f->tok.kind == TK_ADD && f->end - f->tok.text > 1 && f->tok.text[1] == '+';
}

// `--x;` was read as two signs: x, or NULL.
static vy_ast_expr *decremented(const vy_front *f, const vy_ast_expr *e)
{
    const vy_ast_expr *inner = e->kind == EX_UNARY && e->op == TK_SUB ? e->u.sub.a : NULL;
    const bool two = f->tok.kind == TK_SEMICOLON && inner && inner->kind == EX_UNARY &&
                     inner->op == TK_SUB && inner->line == e->line &&
                     inner->column == e->column + 1;
    return two ? inner->u.sub.a : NULL;
}

// `x = e`, `x += e`, `x++`
static void parse_assignment(vy_front *f, vy_stmt *s, vy_ast_expr *e, const vy_token *at)
{
    const bool step = vy_at_step(f);
    s->op = !step ? f->tok.kind : f->tok.kind == TK_ADD ? TK_SET_ADD : TK_SET_SUB;
    parse_target(f, s, e, at);
    vy_advance(f);
    if (step) vy_advance(f);
    s->value = step ? vy_parse_one(f) : vy_parse_expr(f);
}

// Assignment or call.  An expression before `}` is marked in `op`: the condition of a `while {…}`.
static vy_stmt *parse_simple(vy_front *f)
{
    vy_token at = f->tok;
    vy_ast_expr *e = vy_parse_expr(f), *less = f->failed ? NULL : decremented(f, e);
    const bool set = f->tok.kind >= TK_SET && f->tok.kind <= TK_SET_SHR && !f->failed;
    vy_stmt *s = vy_new_stmt(f, ST_CALL, &at);
    s->kind = set || less || vy_at_step(f) ? ST_ASSIGN : ST_CALL;
    if (less) {
        s->op = TK_SET_SUB;
        s->value = vy_parse_one(f);
        parse_target(f, s, less, &at);
    } else if (s->kind == ST_ASSIGN) {
        parse_assignment(f, s, e, &at);
    } else {
        if (e->kind == EX_NAME && f->tok.kind != TK_RBRACE && f->tok.kind != TK_SEMICOLON)
            vy_begins_wrongly(f, "statement", &at, VY_SPELL_WORDS);
        s->value = e;
        s->op = f->tok.kind == TK_RBRACE;
        if (s->op) return s;
    }
    vy_expect(f, TK_SEMICOLON, "after the statement");
    return s;
}

static vy_stmt *parse_word(vy_front *f, vy_stmt_kind kind, const char *after)
{
    vy_stmt *s = vy_new_stmt(f, kind, &f->tok);
    vy_advance(f);
    vy_expect(f, TK_SEMICOLON, after);
    return s;
}

// Statements that begin with words which are names elsewhere.
static const struct {
    const char *word;
    bool (*begins)(vy_front *f); // is it one, to judge by what follows?
    vy_stmt *(*parse)(vy_front *f);
} words[] = {{"do", at_do, parse_do}, {"switch", vy_at_switch, vy_parse_switch}};

static vy_stmt *parse_other(vy_front *f)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (vy_at_word(f, words[i].word) && words[i].begins(f)) return words[i].parse(f);
    return at_increment(f) ? parse_increment(f) : parse_simple(f);
}

vy_stmt *vy_parse_stmt(vy_front *f)
{
    vy_stmt *s;
    switch (f->tok.kind) {
    case TK_LET: return parse_let(f, DK_LET);
    case TK_VAR: return parse_let(f, DK_VAR);
    case TK_SHARED: return parse_array(f, DK_SHARED);
    case TK_LOCAL: return parse_array(f, DK_LOCAL);
    case TK_IF: return parse_if(f);
    case TK_FOR: return parse_for(f);
    case TK_WHILE: return parse_while(f);
    case TK_RETURN: return parse_return(f);
    case TK_LBRACE: return vy_parse_block(f);
    case TK_BREAK: return parse_word(f, ST_BREAK, "after `break`");
    case TK_CONTINUE: return parse_word(f, ST_CONTINUE, "after `continue`");
    case TK_CHECKPOINT:
        s = vy_new_stmt(f, ST_CHECKPOINT, &f->tok);
        vy_advance(f);
        s->body = vy_parse_block(f);
        return s;
    default: return parse_other(f);
    }
}
