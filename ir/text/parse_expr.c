// SPDX-License-Identifier: MIT
// parse_expr.c: expressions to tree.
//
// Operators of one precedence level form one flat node, EX_CHAIN, which is left-associative: a sum
// of a hundred thousand terms is a list, and no walk of the tree recurses along it.
#include "ir/text/front.h"

#include <string.h>

static vy_ast_expr *new_expr(vy_front *f, vy_expr_kind kind, const vy_token *at)
{
    vy_ast_expr *e = vy_front_alloc(f, sizeof *e);
    *e = (vy_ast_expr){.kind = (uint8_t)kind,
                       .type = VY_BROKEN,
                       .line = at->line,
                       .column = at->column};
    f->nodes++;
    return e;
}

// Expressions separated by commas up to `close`, which is consumed.
static vy_ast_expr *parse_list(vy_front *f, vy_token_kind close, uint32_t *count)
{
    vy_ast_expr *list = NULL, **tail = &list;
    *count = 0;
    while (f->tok.kind != close && !f->failed) {
        *tail = vy_parse_expr(f);
        tail = &(*tail)->next;
        ++*count;
        if (!vy_accept(f, TK_COMMA)) break;
    }
    vy_expect(f, close, "after the list");
    return list;
}

// ---------------------------------------------------------------------------------------- primary
static vy_ast_expr *parse_reduce(vy_front *f, vy_ast_expr *e)
{
    e->kind = EX_REDUCE;
    const char *word = e->u.ref.name->text;
    e->op = word[0] == 's' ? TK_ADD : word[0] == 'p' ? TK_MUL : word[1] == 'a' ? TK_GT : TK_LT;
    vy_range *first = NULL, **tail = &first;
    do {
        *tail = vy_parse_range(f);
        tail = &(*tail)->next;
        if (++e->count > VY_MAX_RANK)
            vy_front_error(f, VY_E_LIMIT, e->line, e->column, "nest two of them",
                           "more than %u ranges", VY_MAX_RANK);
    } while (vy_accept(f, TK_COMMA));
    vy_expect(f, TK_COLON, "after the range");
    e->u.reduce.ranges = first;
    e->u.reduce.body = vy_parse_expr(f);
    vy_expect(f, TK_RPAREN, "after the reduction");
    return e;
}

// `summ(k in 0..3: x[k])`
static void refuse_reduction(vy_front *f, const vy_ast_expr *e)
{
    const vy_name_rec *name = e->u.ref.name;
    vy_front_error(f, VY_E_SYNTAX, e->line, e->column,
                   vy_spelling_fix(f, name->text, name->length, VY_SPELL_REDUCTIONS,
                                   "ranges are allowed only in sum, prod, max and min"),
                   "`%.40s(…)` takes no range", name->text);
}

static bool names_reduction(const vy_name_rec *name)
{
    static const char *const words[] = {"sum", "prod", "max", "min"};
    for (int i = 0; i < 4; i++)
        if (strcmp(name->text, words[i]) == 0) return true;
    return false;
}

// The `in` that makes `sum(k in …` a reduction.
static bool at_range(vy_front *f)
{
    if (f->tok.kind != TK_NAME) return false;
    vy_token next = vy_peek(f);
    return next.kind == TK_NAME && next.length == 2 && memcmp(next.text, "in", 2) == 0;
}

// ------------------------------------------------------------------------------- lowered programs
// The word after `@`, if marks or operations of lowered programs are allowed here.
static bool parse_mark_word(vy_front *f, vy_token *word)
{
    vy_token at = f->tok;
    vy_advance(f);
    *word = f->tok;
    vy_expect(f, TK_NAME, "after `@`");
    if (f->failed || f->lowered) return !f->failed;
    vy_front_error(f, VY_E_MARK, at.line, at.column,
                   "leave it out, or write `@lowered program` if passes have made this text",
                   "`@%.*s` is allowed only in a lowered program",
                   word->length > 40 ? 40 : (int)word->length, word->text);
    return false;
}

// `@in_range @owned` after an element.
static void parse_marks(vy_front *f, vy_ast_expr *e)
{
    vy_token word;
    char text[48];
    while (f->tok.kind == TK_AT && parse_mark_word(f, &word)) {
        uint8_t mark = vy_mark_named(word.text, word.length);
        if (mark && !(e->op & mark)) {
            e->op |= mark;
            continue;
        }
        vy_front_error(f, VY_E_MARK, word.line, word.column, "marks are @in_range, @owned, @once",
                       mark ? "mark %s is given twice" : "there is no mark %s",
                       vy_token_text(&word, text));
    }
}

// `@candidate(v, n)`: rows of ops.h with form LOWERED.
static vy_ast_expr *parse_lowered_call(vy_front *f)
{
    vy_ast_expr *e = new_expr(f, EX_CALL, &f->tok);
    vy_token word;
    char text[48];
    if (!parse_mark_word(f, &word)) return e;
    if (word.text[-1] == '@' && vy_builtin_find(word.text - 1, word.length + 1)) {
        e->u.ref.name = vy_front_name(f, word.text - 1, word.length + 1);
        vy_expect(f, TK_LPAREN, "after the operation");
        e->u.ref.list = parse_list(f, TK_RPAREN, &e->count);
    } else {
        vy_front_error(f, VY_E_MARK, word.line, word.column,
                       "operations of lowered programs are @derive_as(x, y), @candidate(v, n)",
                       "there is no operation %s of lowered programs", vy_token_text(&word, text));
    }
    return e;
}

static vy_ast_expr *parse_named(vy_front *f)
{
    vy_ast_expr *e = new_expr(f, EX_NAME, &f->tok);
    e->u.ref.name = f->tok.name;
    vy_advance(f);
    if (vy_accept(f, TK_LPAREN)) {
        e->kind = EX_CALL;
        const bool range = at_range(f);
        if (range && names_reduction(e->u.ref.name)) return parse_reduce(f, e);
        if (range) refuse_reduction(f, e);
        e->u.ref.list = parse_list(f, TK_RPAREN, &e->count);
    } else if (vy_accept(f, TK_LBRACKET)) {
        e->kind = EX_INDEX;
        e->u.ref.list = parse_list(f, TK_RBRACKET, &e->count);
        parse_marks(f, e);
    }
    return e;
}

static vy_ast_expr *parse_bracket(vy_front *f)
{
    vy_token at = f->tok;
    vy_advance(f);
    vy_ast_expr *e = vy_parse_expr(f);
    if (f->tok.kind == TK_COMMA) {
        vy_ast_expr *tuple = new_expr(f, EX_TUPLE, &at);
        vy_advance(f);
        tuple->u.list = e;
        e->next = parse_list(f, TK_RPAREN, &tuple->count);
        tuple->count++;
        return tuple;
    }
    vy_expect(f, TK_RPAREN, "to close the bracket");
    return e;
}

static vy_ast_expr *parse_literal(vy_front *f)
{
    static const uint8_t kinds[] = {[TK_INT] = EX_INT, [TK_FLOAT] = EX_FLOAT};
    bool truth = f->tok.kind == TK_TRUE || f->tok.kind == TK_FALSE;
    vy_ast_expr *e = new_expr(f, truth ? EX_BOOL : (vy_expr_kind)kinds[f->tok.kind], &f->tok);
    uint8_t suffix = f->tok.type;
    if (truth) {
        e->u.value = f->tok.kind == TK_TRUE;
    } else if (f->tok.kind == TK_INT && !vy_type_is_float((vy_type)suffix)) {
        e->u.value = f->tok.value;
    } else { // also 3f32
        e->kind = EX_FLOAT;
        e->u.number.text = f->tok.text;
        e->u.number.length = f->tok.length;
    }
    e->op = suffix;
    vy_advance(f);
    return e;
}

static vy_ast_expr *parse_cast(vy_front *f)
{
    vy_ast_expr *e = new_expr(f, EX_CAST, &f->tok);
    e->op = f->tok.type;
    vy_advance(f);
    vy_expect(f, TK_LPAREN, "after the type: a conversion is written f32(x)");
    e->u.sub.a = vy_parse_expr(f);
    vy_expect(f, TK_RPAREN, "after the value to convert");
    return e;
}

static vy_ast_expr *parse_primary(vy_front *f)
{
    char text[48];
    switch (f->tok.kind) {
    case TK_NAME: return parse_named(f);
    case TK_INT:
    case TK_FLOAT:
    case TK_TRUE:
    case TK_FALSE: return parse_literal(f);
    case TK_TYPE: return parse_cast(f);
    case TK_LPAREN: return parse_bracket(f);
    case TK_AT: return parse_lowered_call(f);
    default: break;
    }
    if (!f->failed)
        vy_front_error(f, VY_E_SYNTAX, f->tok.line, f->tok.column, NULL,
                       "expected an expression, found %s", vy_token_text(&f->tok, text));
    return new_expr(f, EX_BOOL, &f->tok);
}

// `.name` or `[index]`
static vy_member *parse_step(vy_front *f)
{
    vy_member *m = vy_front_alloc(f, sizeof *m);
    *m = (vy_member){0};
    f->nodes++;
    if (vy_accept(f, TK_DOT)) {
        m->name = f->tok.name;
        vy_expect(f, TK_NAME, "after the point");
    } else if (vy_accept(f, TK_LBRACKET)) {
        m->index = vy_parse_expr(f);
        vy_expect(f, TK_RBRACKET, "after the index");
    }
    return m;
}

// `e.xyz[i].x`: the steps are a list, as operators of one level are.
static vy_ast_expr *parse_members(vy_front *f)
{
    const vy_token at = f->tok;
    vy_ast_expr *of = parse_primary(f);
    if (f->tok.kind != TK_DOT && f->tok.kind != TK_LBRACKET) return of;
    vy_ast_expr *e = new_expr(f, EX_MEMBER, &at);
    vy_member **tail = &e->u.member.steps;
    e->u.member.of = of;
    while ((f->tok.kind == TK_DOT || f->tok.kind == TK_LBRACKET) && !f->failed) {
        *tail = parse_step(f);
        tail = &(*tail)->next;
    }
    return e;
}

// -------------------------------------------------------------------------------------- operators
static vy_ast_expr *parse_unary(vy_front *f)
{
    uint8_t k = f->tok.kind;
    if (k != TK_SUB && k != TK_NOT && k != TK_TILDE) return parse_members(f);
    vy_ast_expr *e = new_expr(f, EX_UNARY, &f->tok);
    e->op = k;
    if (vy_enter(f)) {
        vy_advance(f);
        e->u.sub.a = parse_unary(f);
    }
    vy_leave(f);
    return e;
}

// As in C; 0: no binary operator.
static int precedence(uint8_t kind)
{
    switch (kind) {
    case TK_OROR: return 1;
    case TK_ANDAND: return 2;
    case TK_OR: return 3;
    case TK_XOR: return 4;
    case TK_AND: return 5;
    case TK_EQ:
    case TK_NE: return 6;
    case TK_LT:
    case TK_LE:
    case TK_GT:
    case TK_GE: return 7;
    case TK_SHL:
    case TK_SHR: return 8;
    case TK_ADD:
    case TK_SUB: return 9;
    case TK_MUL:
    case TK_DIV:
    case TK_REM: return 10;
    default: return 0;
    }
}

// `x++;`: two signs without a space and the end of the statement.
bool vy_at_step(vy_front *f)
{
    const uint8_t kind = f->tok.kind;
    if ((kind != TK_ADD && kind != TK_SUB) || f->failed) return false;
    const char *at = f->tok.text;
    if (f->end - at < 2 || at[1] != at[0]) return false;
    for (at += 2; at < f->end && strchr(" \t\r\n", *at);) at++;
    return at < f->end && *at == ';';
}

static int next_precedence(vy_front *f) { return vy_at_step(f) ? 0 : precedence(f->tok.kind); }

static vy_ast_expr *parse_binary(vy_front *f, int least);

// All operators of level p that follow `left`.
static vy_ast_expr *parse_level(vy_front *f, vy_ast_expr *left, int p)
{
    vy_ast_expr *chain = NULL, *last = left;
    bool compares = p == 6 || p == 7;
    uint32_t comparisons = 0;
    while (next_precedence(f) == p && !f->failed) {
        vy_token op = f->tok;
        if (compares || !chain) {
            chain = new_expr(f, compares ? EX_COMPARE : p <= 2 ? EX_LOGIC : EX_CHAIN, &op);
            chain->op = op.kind;
            if (compares)
                chain->u.sub.a = left;
            else
                chain->u.list = left;
            left = chain;
            chain->count = 1;
        }
        vy_advance(f);
        vy_ast_expr *right = parse_binary(f, p + 1);
        right->link = op.kind;
        chain->count++;
        if (compares)
            chain->u.sub.b = right;
        else
            last->next = right;
        last = right;
        // Comparisons nest to the left; they count as depth.
        if (compares && ++comparisons > VY_MAX_TREE_DEPTH / 2)
            vy_front_error(f, VY_E_LIMIT, op.line, op.column, "use brackets and variables",
                           "more than %u comparisons in a row", VY_MAX_TREE_DEPTH / 2);
    }
    return left;
}

static vy_ast_expr *parse_binary(vy_front *f, int least)
{
    if (!vy_enter(f)) {
        vy_leave(f);
        return new_expr(f, EX_BOOL, &f->tok);
    }
    vy_ast_expr *left = parse_unary(f);
    for (int p = next_precedence(f); p >= least && p && !f->failed; p = next_precedence(f))
        left = parse_level(f, left, p);
    vy_leave(f);
    return left;
}

vy_ast_expr *vy_parse_one(vy_front *f)
{
    vy_ast_expr *e = new_expr(f, EX_INT, &f->tok);
    e->op = VY_VOID;
    e->u.value = 1;
    return e;
}

vy_ast_expr *vy_parse_expr(vy_front *f)
{
    vy_ast_expr *c = parse_binary(f, 1);
    if (f->tok.kind != TK_QUESTION) return c;
    vy_ast_expr *e = new_expr(f, EX_COND, &f->tok);
    if (vy_enter(f)) {
        vy_advance(f);
        e->u.sub.a = c;
        e->u.sub.b = vy_parse_expr(f);
        vy_expect(f, TK_COLON, "between the arms");
        e->u.sub.c = vy_parse_expr(f);
    }
    vy_leave(f);
    return e;
}

vy_range *vy_parse_range(vy_front *f)
{
    vy_range *r = vy_front_alloc(f, sizeof *r);
    *r = (vy_range){.var = vy_parse_decl(f, DK_LOOP)};
    if (vy_at_word(f, "in")) {
        vy_advance(f);
    } else if (!f->failed) {
        char text[48];
        vy_front_error(f, VY_E_SYNTAX, f->tok.line, f->tok.column, "write `for k in 0..n { … }`",
                       "expected `in` after the loop variable, found %s",
                       vy_token_text(&f->tok, text));
    }
    if (vy_at_word(f, "rev") && vy_peek(f).kind == TK_LPAREN) {
        vy_advance(f);
        vy_advance(f);
        r->reverse = true;
    }
    r->from = vy_parse_expr(f);
    vy_expect(f, TK_DOTDOT, "between the bounds");
    r->to = vy_parse_expr(f);
    if (r->reverse) vy_expect(f, TK_RPAREN, "after the bounds");
    if (vy_at_word(f, "step")) {
        vy_advance(f);
        r->step = vy_parse_expr(f);
    }
    return r;
}
