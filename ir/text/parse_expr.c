// SPDX-License-Identifier: MIT
// parse_expr.c: expressions to tree.
//
// Operators of one precedence level form one flat node, EX_CHAIN, which is left-associative: a sum
// of a hundred thousand terms is a list, and no walk of the tree recurses along it.
#include "ir/text/front.h"

#include <string.h>

// -------------------------------------------------------------------------------------- operators
static vy_ast_expr *parse_unary(vy_front *f)
{
    uint8_t k = f->tok.kind;
    if (k != TK_SUB && k != TK_NOT && k != TK_TILDE) return vy_parse_operand(f);
    vy_ast_expr *e = vy_new_expr(f, EX_UNARY, &f->tok);
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
            chain = vy_new_expr(f, compares ? EX_COMPARE : p <= 2 ? EX_LOGIC : EX_CHAIN, &op);
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
        return vy_new_expr(f, EX_BOOL, &f->tok);
    }
    vy_ast_expr *left = parse_unary(f);
    for (int p = next_precedence(f); p >= least && p && !f->failed; p = next_precedence(f))
        left = parse_level(f, left, p);
    vy_leave(f);
    return left;
}

vy_ast_expr *vy_parse_one(vy_front *f)
{
    vy_ast_expr *e = vy_new_expr(f, EX_INT, &f->tok);
    e->op = VY_VOID;
    e->u.value = 1;
    return e;
}

vy_ast_expr *vy_parse_expr(vy_front *f)
{
    vy_ast_expr *c = parse_binary(f, 1);
    if (f->tok.kind != TK_QUESTION) return c;
    vy_ast_expr *e = vy_new_expr(f, EX_COND, &f->tok);
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
