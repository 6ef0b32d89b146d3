// SPDX-License-Identifier: MIT
// parse_primary.c: operands of expressions to tree: names, literals, calls, elements, parts.
#include "ir/text/front.h"

#include <string.h>

vy_ast_expr *vy_new_expr(vy_front *f, vy_expr_kind kind, const vy_token *at)
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

// The flags of a mark; `@in_range(2)` takes the place of `@in_range`.  0: there is no such mark.
static uint8_t parse_mark(vy_front *f, const vy_token *word)
{
    const uint8_t mark = vy_mark_named(word->text, word->length);
    if (mark != VY_FLAG_INRANGE || f->tok.kind != TK_LPAREN) return mark;
    const vy_token at = f->tok;
    const uint32_t n = vy_parse_attribute_number(f, "in_range");
    if (n && n <= VY_FLAG_FIRSTS / VY_FLAG_FIRST) return (uint8_t)(n * VY_FLAG_FIRST);
    vy_front_error(f, VY_E_MARK, at.line, at.column, "write how many of the first indices are",
                   "@in_range(%u) is not of 1 to 7 indices", n);
    return mark;
}

// `@in_range @owned` after an element.
static void parse_marks(vy_front *f, vy_ast_expr *e)
{
    vy_token word;
    char text[48];
    while (f->tok.kind == TK_AT && parse_mark_word(f, &word)) {
        const uint8_t mark = parse_mark(f, &word), ranges = VY_FLAG_INRANGE | VY_FLAG_FIRSTS;
        if (mark && !(e->op & (mark & ranges ? ranges : mark))) {
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
    vy_ast_expr *e = vy_new_expr(f, EX_CALL, &f->tok);
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

// `Name[3](a, b, c)`, the size already read.
static vy_ast_expr *parse_array(vy_front *f, vy_ast_expr *e)
{
    vy_parse_made(f, e, vy_type_of_value(f, e), e->u.ref.list);
    vy_advance(f);
    e->u.ref.list = parse_list(f, TK_RPAREN, &e->count);
    return e;
}

// `Name { field: e, … }`
static vy_ast_expr *parse_fields(vy_front *f, vy_ast_expr *e)
{
    vy_ast_expr **tail = &e->u.ref.list;
    vy_parse_made(f, e, vy_type_of_value(f, e), NULL);
    e->u.ref.list = NULL;
    vy_advance(f);
    while (f->tok.kind != TK_RBRACE && !f->failed) {
        vy_ast_expr *d = *tail = vy_new_expr(f, EX_FIELD, &f->tok);
        tail = &d->next;
        e->count++;
        d->u.ref.name = f->tok.name;
        vy_expect(f, TK_NAME, "as the name of a field");
        vy_expect(f, TK_COLON, "after the name of the field");
        d->u.ref.list = vy_parse_expr(f);
        if (!vy_accept(f, TK_COMMA)) break;
    }
    vy_expect(f, TK_RBRACE, "after the fields");
    return e;
}

static vy_ast_expr *parse_named(vy_front *f)
{
    vy_ast_expr *e = vy_new_expr(f, EX_NAME, &f->tok);
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
        if (f->tok.kind == TK_LPAREN && e->count == 1) return parse_array(f, e);
        parse_marks(f, e);
    } else if (f->tok.kind == TK_LBRACE && vy_peek_field(f)) {
        return parse_fields(f, e);
    }
    return e;
}

static vy_ast_expr *parse_bracket(vy_front *f)
{
    vy_token at = f->tok;
    vy_advance(f);
    vy_ast_expr *e = vy_parse_expr(f);
    if (f->tok.kind == TK_COMMA) {
        vy_ast_expr *tuple = vy_new_expr(f, EX_TUPLE, &at);
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
    vy_ast_expr *e = vy_new_expr(f, truth ? EX_BOOL : (vy_expr_kind)kinds[f->tok.kind], &f->tok);
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
    vy_ast_expr *e = vy_new_expr(f, EX_CAST, &f->tok);
    e->op = f->tok.type;
    vy_advance(f);
    if (f->tok.kind == TK_LBRACKET) { // f32[3](a, b, c)
        vy_parse_made(f, e, e->op, NULL);
        vy_expect(f, TK_LPAREN, "after the type of the array");
        e->u.ref.list = parse_list(f, TK_RPAREN, &e->count);
        return e;
    }
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
    return vy_new_expr(f, EX_BOOL, &f->tok);
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
vy_ast_expr *vy_parse_operand(vy_front *f)
{
    const vy_token at = f->tok;
    vy_ast_expr *of = parse_primary(f);
    if (f->tok.kind != TK_DOT && f->tok.kind != TK_LBRACKET) return of;
    vy_ast_expr *e = vy_new_expr(f, EX_MEMBER, &at);
    vy_member **tail = &e->u.member.steps;
    e->u.member.of = of;
    while ((f->tok.kind == TK_DOT || f->tok.kind == TK_LBRACKET) && !f->failed) {
        *tail = parse_step(f);
        tail = &(*tail)->next;
    }
    return e;
}
