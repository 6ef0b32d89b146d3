// SPDX-License-Identifier: MIT
// parse_pipe.c: pipelines to tree.
//
// `buffer`, `repeat`, `groups`, `sqrt`, `revolve` and `value` are special only here; before `(` the
// first two are names of programs.
#include "ir/text/front.h"

static vy_pipe_stmt *new_stmt(vy_front *f, vy_pipe_stmt_kind kind, const vy_token *at)
{
    vy_pipe_stmt *s = vy_front_alloc(f, sizeof *s);
    *s = (vy_pipe_stmt){.kind = (uint8_t)kind, .line = at->line, .column = at->column};
    f->nodes++;
    return s;
}

static vy_pipe_stmt *parse_stmt(vy_front *f);

static vy_pipe_stmt *parse_block(vy_front *f)
{
    vy_pipe_stmt *list = NULL, **tail = &list;
    vy_token open = f->tok;
    if (vy_enter(f)) {
        vy_expect(f, TK_LBRACE, "to open the block");
        while (f->tok.kind != TK_RBRACE && f->tok.kind != TK_END && !f->failed) {
            *tail = parse_stmt(f);
            tail = &(*tail)->next;
        }
        vy_close_block(f, &open);
    }
    vy_leave(f);
    return list;
}

// ------------------------------------------------------------------------------------- attributes
typedef struct attributes {
    vy_token groups_at, init_at; // kind TK_END: not given
    vy_ast_expr *groups;
    vy_decl init; // init, init_from
} attributes;

static vy_ast_expr *parse_groups(vy_front *f)
{
    vy_ast_expr *list = NULL, **tail = &list;
    uint32_t n = 0;
    vy_token at = f->tok;
    vy_expect(f, TK_LPAREN, "after `groups`");
    do {
        *tail = vy_parse_expr(f);
        tail = &(*tail)->next;
        n++;
    } while (vy_accept(f, TK_COMMA));
    vy_expect(f, TK_RPAREN, "after the numbers of workgroups");
    if (n > 3)
        vy_front_error(f, VY_E_PIPE_GROUPS, at.line, at.column, "write @groups(x, y, z)",
                       "%u numbers of workgroups", n);
    return list;
}

static void parse_attributes(vy_front *f, attributes *a)
{
    *a = (attributes){.groups_at.kind = TK_END, .init_at.kind = TK_END};
    while (f->tok.kind == TK_AT) {
        vy_token at = f->tok;
        char text[48];
        vy_advance(f);
        bool groups = vy_at_word(f, "groups"), init = vy_at_word(f, "init");
        if ((groups && a->groups) || (init && a->init.init))
            vy_front_error(f, VY_E_ATTRIBUTE, at.line, at.column, "write it once",
                           "attribute %s is given twice", vy_token_text(&f->tok, text));
        if (!groups && !init && !f->failed)
            vy_front_error(f, VY_E_ATTRIBUTE, at.line, at.column,
                           "write @groups(x, y, z) before a dispatch, @init(ones) or @init(NAME) "
                           "before a `buffer`",
                           "there is no attribute %s of a step", vy_token_text(&f->tok, text));
        vy_advance(f);
        if (groups) {
            a->groups_at = at;
            a->groups = parse_groups(f);
        } else if (init) {
            a->init_at = at;
            vy_parse_init(f, &a->init);
        }
    }
}

static void refuse_attribute(vy_front *f, const vy_token *at, const char *where)
{
    if (at->kind != TK_END && !f->failed)
        vy_front_error(f, VY_E_ATTRIBUTE, at->line, at->column, "move it or leave it out",
                       "this attribute is allowed only before %s", where);
}

// ------------------------------------------------------------------------------------------ steps
// `buffer h: f32[B, D];`
static vy_pipe_stmt *parse_buffer(vy_front *f, const attributes *a)
{
    vy_pipe_stmt *s = new_stmt(f, PS_BUFFER, &f->tok);
    vy_advance(f);
    vy_decl *d = s->decl = vy_parse_decl(f, DK_BUFFER);
    d->cls = VY_INOUT;
    d->init = a->init.init;
    d->init_from = a->init.init_from;
    vy_expect(f, TK_COLON, "after the buffer's name");
    d->type = vy_parse_stored_type(f, "of the buffer's elements", VY_SPELL_TYPES);
    d->dims = vy_parse_dims(f, &d->rank);
    if (d->rank == 0)
        vy_front_error(f, VY_E_EXTENT, d->line, d->column, "write a size, like [N]",
                       "buffer `%s` has no dimensions", d->name ? d->name->text : "");
    vy_expect(f, TK_SEMICOLON, "after the buffer");
    return s;
}

// `let n = value(total[0]);`, `var n = 0;`
static vy_pipe_stmt *parse_number(vy_front *f, vy_pipe_stmt_kind kind, vy_decl_kind decl)
{
    vy_pipe_stmt *s = new_stmt(f, kind, &f->tok);
    vy_advance(f);
    s->decl = vy_parse_decl(f, decl);
    vy_expect(f, TK_SET, "before the number");
    s->value = vy_parse_expr(f);
    vy_expect(f, TK_SEMICOLON, "after the number");
    return s;
}

// `matmul(x, u[t], h, eps=1e-6);`
static vy_pipe_stmt *parse_dispatch(vy_front *f, const attributes *a)
{
    vy_pipe_stmt *s = new_stmt(f, PS_DISPATCH, &f->tok);
    vy_pipe_actual **tail = &s->args;
    const vy_token at = f->tok;
    s->name = f->tok.name;
    s->groups = a->groups;
    vy_expect(f, TK_NAME,
              "of a program, or `buffer`, `let`, `var`, `repeat`, `if`, `while`, `checkpoint`");
    if (f->tok.kind != TK_LPAREN) vy_begins_wrongly(f, "step", &at, VY_SPELL_STEPS);
    vy_expect(f, TK_LPAREN, "before the buffers that are passed");
    while (f->tok.kind != TK_RPAREN && !f->failed) {
        vy_pipe_actual *arg = *tail = vy_front_alloc(f, sizeof *arg);
        *arg = (vy_pipe_actual){.line = f->tok.line, .column = f->tok.column};
        tail = &arg->next;
        if (f->tok.kind == TK_NAME && vy_peek(f).kind == TK_SET) {
            arg->name = f->tok.name;
            vy_advance(f);
            vy_advance(f);
            s->scalars++;
        } else {
            s->buffers++;
        }
        arg->value = vy_parse_expr(f);
        if (!vy_accept(f, TK_COMMA)) break;
    }
    vy_expect(f, TK_RPAREN, "after what is passed");
    vy_expect(f, TK_SEMICOLON, "after the dispatch");
    return s;
}

// `checkpoint(sqrt)`, `checkpoint(k)`, `checkpoint(revolve, k)` of a repeat
static void parse_keep(vy_front *f, vy_pipe_stmt *s)
{
    if (!vy_accept(f, TK_CHECKPOINT)) return;
    vy_expect(f, TK_LPAREN, "with what to keep: sqrt, k, or revolve, k");
    s->keep = VY_KEEP_EVERY;
    if (vy_at_word(f, "sqrt") && vy_peek(f).kind == TK_RPAREN) {
        s->keep = VY_KEEP_SQRT;
        vy_advance(f);
    } else if (vy_at_word(f, "revolve") && vy_peek(f).kind == TK_COMMA) {
        s->keep = VY_KEEP_REVOLVE;
        vy_advance(f);
        vy_advance(f);
    }
    if (s->keep != VY_KEEP_SQRT) s->keep_count = vy_parse_expr(f);
    vy_expect(f, TK_RPAREN, "after what to keep");
}

static vy_pipe_stmt *parse_repeat(vy_front *f)
{
    vy_pipe_stmt *s = new_stmt(f, PS_REPEAT, &f->tok);
    vy_advance(f);
    s->decl = vy_parse_decl(f, DK_NUMBER);
    if (!vy_at_word(f, "in") && !f->failed)
        vy_front_error(f, VY_E_SYNTAX, f->tok.line, f->tok.column, "write `repeat t in 0..n {`",
                       "expected `in` after the counter");
    vy_advance(f);
    s->reverse = vy_at_word(f, "rev") && vy_peek(f).kind == TK_LPAREN;
    if (s->reverse) vy_advance(f);
    if (s->reverse) vy_advance(f);
    s->value = vy_parse_expr(f);
    vy_expect(f, TK_DOTDOT, "between the bounds of the repeat");
    s->to = vy_parse_expr(f);
    if (s->reverse) vy_expect(f, TK_RPAREN, "after the bounds of `rev`");
    parse_keep(f, s);
    s->body = parse_block(f);
    return s;
}

// The operator of `n += 1`, or TK_END.
static uint8_t operator_of(uint8_t assignment)
{
    static const uint8_t ops[] = {TK_ADD, TK_SUB, TK_MUL, TK_DIV, TK_REM};
    const bool has = assignment >= TK_SET_ADD && assignment <= TK_SET_REM;
    return has ? ops[assignment - TK_SET_ADD] : TK_END;
}

// n op value
static vy_ast_expr *joined(vy_front *f, const vy_token *n, uint8_t op, vy_ast_expr *value)
{
    vy_ast_expr *e = vy_front_alloc(f, sizeof *e), *x = vy_front_alloc(f, sizeof *x);
    *x = (vy_ast_expr){.kind = EX_NAME, .line = n->line, .column = n->column};
    x->u.ref.name = n->name;
    x->next = value;
    value->link = op;
    *e = (vy_ast_expr){.kind = EX_CHAIN, .op = op, .line = n->line, .column = n->column};
    e->count = 2;
    e->u.list = x;
    f->nodes += 2;
    return e;
}

// `n = n + 1;`, `n += 1;`
static vy_pipe_stmt *parse_set(vy_front *f)
{
    const vy_token name = f->tok;
    vy_pipe_stmt *s = new_stmt(f, PS_SET, &name);
    s->name = name.name;
    vy_advance(f);
    const uint8_t op = operator_of(f->tok.kind);
    vy_advance(f);
    s->value = vy_parse_expr(f);
    if (op != TK_END && !f->failed) s->value = joined(f, &name, op, s->value);
    vy_expect(f, TK_SEMICOLON, "after the number");
    return s;
}

static vy_pipe_stmt *parse_if(vy_front *f)
{
    vy_pipe_stmt *s = new_stmt(f, PS_IF, &f->tok);
    vy_advance(f);
    s->value = vy_parse_expr(f);
    s->body = parse_block(f);
    if (!vy_accept(f, TK_ELSE)) return s;
    if (f->tok.kind != TK_IF) {
        s->other = parse_block(f);
        return s;
    }
    if (vy_enter(f)) s->other = parse_if(f);
    vy_leave(f);
    return s;
}

// In the block of a condition: does a step begin here, and not the condition that ends it?
static bool at_step(vy_front *f)
{
    static const char *const functions[] = {"value", "len", "min", "max", "isqrt"};
    const uint8_t next = vy_peek(f).kind;
    switch (f->tok.kind) {
    case TK_AT:
    case TK_LET:
    case TK_VAR:
    case TK_IF:
    case TK_WHILE:
    case TK_CHECKPOINT: return true;
    case TK_NAME: break;
    default: return false;
    }
    if (next == TK_SET || operator_of(next) != TK_END || next == TK_NAME) return true;
    bool call = next == TK_LPAREN;
    for (uint32_t i = 0; i < sizeof functions / sizeof *functions; i++)
        call = call && !vy_at_word(f, functions[i]);
    return call;
}

// `while c { … }`, or `while { steps c } { … }` if the condition needs steps.
static vy_pipe_stmt *parse_while(vy_front *f)
{
    vy_pipe_stmt *s = new_stmt(f, PS_WHILE, &f->tok), **tail = &s->other;
    const vy_token open = vy_peek(f);
    vy_advance(f);
    const bool block = vy_accept(f, TK_LBRACE);
    if (vy_enter(f)) {
        while (block && !f->failed && at_step(f)) {
            *tail = parse_stmt(f);
            tail = &(*tail)->next;
        }
        if (!f->failed) s->value = vy_parse_expr(f);
        if (block) vy_close_block(f, &open);
    }
    vy_leave(f);
    parse_keep(f, s);
    s->body = parse_block(f);
    return s;
}

static vy_pipe_stmt *parse_checkpoint(vy_front *f)
{
    vy_pipe_stmt *s = new_stmt(f, PS_CHECKPOINT, &f->tok);
    vy_advance(f);
    s->body = parse_block(f);
    return s;
}

static vy_pipe_stmt *parse_stmt(vy_front *f)
{
    attributes a;
    parse_attributes(f, &a);
    const uint8_t next = vy_peek(f).kind;
    bool names = next != TK_LPAREN;
    bool buffer = names && vy_at_word(f, "buffer"), repeat = names && vy_at_word(f, "repeat");
    bool set = f->tok.kind == TK_NAME && (next == TK_SET || operator_of(next) != TK_END);
    bool dispatch = f->tok.kind == TK_NAME && !buffer && !repeat && !set;
    if (!dispatch) refuse_attribute(f, &a.groups_at, "a dispatch");
    if (!buffer) refuse_attribute(f, &a.init_at, "`buffer`");
    if (buffer) return parse_buffer(f, &a);
    if (repeat) return parse_repeat(f);
    if (set) return parse_set(f);
    switch (f->tok.kind) {
    case TK_LET: return parse_number(f, PS_LET, DK_NUMBER);
    case TK_VAR: return parse_number(f, PS_VAR, DK_CELL);
    case TK_IF: return parse_if(f);
    case TK_WHILE: return parse_while(f);
    case TK_CHECKPOINT: return parse_checkpoint(f);
    default: return parse_dispatch(f, &a);
    }
}

vy_func *vy_parse_pipeline(vy_front *f)
{
    vy_func *fn = vy_parse_head(f, DK_PIPELINE);
    fn->steps = parse_block(f);
    return fn;
}
