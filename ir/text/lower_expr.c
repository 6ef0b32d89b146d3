// SPDX-License-Identifier: MIT
// lower_expr.c: expressions to builder calls, operands from left to right.
#include "ir/text/front.h"
#include "ir/build/edit.h"

#include <math.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

static vy_value lower_literal(vy_lower *l, const vy_ast_expr *e)
{
    vy_type t = (vy_type)e->type;
    if (e->kind == EX_BOOL) return vy_bool(l->b, e->u.value);
    if (e->kind == EX_INT) {
        vy_scalar v = {.u = e->u.value};
        if (t == VY_F32)
            v.f = (float)e->u.value; // rounds once
        else if (vy_type_is_float(t))
            v.f = (double)e->u.value;
        return vy_const(l->b, t, v);
    }
    if (!e->u.number.text) {
        const double values[] = {INFINITY, NAN, pi};
        return vy_float(l->b, t, values[e->u.number.length]);
    }
    return vy_float(l->b, t, vy_number_parse(t, e->u.number.text, e->u.number.length));
}

static vy_value lower_name(vy_lower *l, const vy_ast_expr *e)
{
    vy_decl *d = e->u.ref.decl;
    switch (d->kind) {
    case DK_CONST:
        if (!vy_lower_constant(l, d)) return (vy_value){0};
        return vy_const(l->b, (vy_type)d->type, d->value);
    case DK_LET:
    case DK_VAR: return vy_get(l->b, (vy_var){l->frame[d->slot]});
    default: return (vy_value){l->frame[d->slot]};
    }
}

vy_value vy_lower_operator(vy_lower *l, uint8_t op, vy_value x, vy_value y)
{
    vy_builder *b = l->b;
    switch (op) {
    case TK_ADD: return vy_add(b, x, y);
    case TK_SUB: return vy_sub(b, x, y);
    case TK_MUL: return vy_mul(b, x, y);
    case TK_DIV: return vy_div(b, x, y);
    case TK_REM: return vy_rem(b, x, y);
    case TK_AND: return vy_and(b, x, y);
    case TK_OR: return vy_or(b, x, y);
    case TK_XOR: return vy_xor(b, x, y);
    case TK_SHL: return vy_shl(b, x, y);
    case TK_SHR: return vy_shr(b, x, y);
    case TK_EQ: return vy_eq(b, x, y);
    case TK_NE: return vy_ne(b, x, y);
    case TK_LT: return vy_lt(b, x, y);
    case TK_LE: return vy_le(b, x, y);
    case TK_GT: return vy_lt(b, y, x);
    default: return vy_le(b, y, x);
    }
}

static vy_value lower_chain(vy_lower *l, const vy_ast_expr *e)
{
    vy_value v = vy_lower_expr(l, e->u.list);
    for (const vy_ast_expr *o = e->u.list->next; o && !vy_lower_stopped(l); o = o->next) {
        vy_value right = vy_lower_expr(l, o);
        vy_lower_at(l, o->line, o->column);
        v = vy_lower_operator(l, o->link, v, right);
    }
    return v;
}

// -------------------------------------------------------------------------------- && || ? :
// Is it cheap and unobservable to evaluate `e` speculatively?
static bool cheap(const vy_ast_expr *e, int *budget)
{
    if (--*budget < 0) return false;
    switch (e->kind) {
    case EX_INT:
    case EX_FLOAT:
    case EX_BOOL:
    case EX_NAME:
    case EX_BUILTIN: return true;
    case EX_UNARY:
    case EX_CAST: return cheap(e->u.sub.a, budget);
    case EX_COMPARE: return cheap(e->u.sub.a, budget) && cheap(e->u.sub.b, budget);
    case EX_CHAIN:
    case EX_LOGIC:
        for (const vy_ast_expr *o = e->u.list; o; o = o->next) {
            if (o->link == TK_DIV || o->link == TK_REM) return false;
            if (!cheap(o, budget)) return false;
        }
        return true;
    default: return false;
    }
}

static vy_value lower_logic(vy_lower *l, const vy_ast_expr *e)
{
    bool both = e->op == TK_ANDAND;
    vy_value v = vy_lower_expr(l, e->u.list);
    for (const vy_ast_expr *o = e->u.list->next; o && !vy_lower_stopped(l); o = o->next) {
        int budget = VY_CHEAP_NODES;
        if (l->constant || cheap(o, &budget)) {
            vy_value right = vy_lower_expr(l, o);
            vy_lower_at(l, e->line, e->column);
            v = both ? vy_and(l->b, v, right) : vy_or(l->b, v, right);
            continue;
        }
        vy_lower_at(l, o->line, o->column);
        vy_var result = vy_var_new(l->b, NULL, v);
        vy_if(l->b, both ? v : vy_not(l->b, v));
        vy_set(l->b, result, vy_lower_expr(l, o));
        vy_end(l->b);
        v = vy_get(l->b, result);
    }
    return v;
}

static bool is_plain(const vy_ast_expr *e)
{
    if (e->kind == EX_UNARY && e->op == TK_SUB) e = e->u.sub.a;
    return e->kind == EX_INT || e->kind == EX_FLOAT || e->kind == EX_BOOL || e->kind == EX_NAME ||
           e->kind == EX_BUILTIN;
}

static vy_value lower_cond(vy_lower *l, const vy_ast_expr *e)
{
    vy_value c = vy_lower_expr(l, e->u.sub.a);
    if (vy_lower_stopped(l)) return (vy_value){0};
    if (l->constant || (is_plain(e->u.sub.b) && is_plain(e->u.sub.c))) {
        vy_value x = vy_lower_expr(l, e->u.sub.b), y = vy_lower_expr(l, e->u.sub.c);
        vy_lower_at(l, e->line, e->column);
        return vy_select(l->b, c, x, y);
    }
    vy_lower_at(l, e->line, e->column);
    vy_var result = vy_var_new(l->b, NULL, vy_zero(l->b, (vy_type)e->type));
    vy_if(l->b, c);
    vy_set(l->b, result, vy_lower_expr(l, e->u.sub.b));
    vy_else(l->b);
    vy_set(l->b, result, vy_lower_expr(l, e->u.sub.c));
    vy_end(l->b);
    return vy_get(l->b, result);
}

// ------------------------------------------------------------------------------------- reductions
static vy_value reduce_start(vy_lower *l, uint8_t op, vy_type t)
{
    bool least = op == TK_GT; // of max
    if (op == TK_ADD) return vy_zero(l->b, t);
    if (op == TK_MUL) return vy_int(l->b, t, 1);
    if (vy_type_is_float(t)) return vy_float(l->b, t, least ? -INFINITY : INFINITY);
    uint32_t bits = vy_type_size(t) * 8;
    if (!vy_type_is_signed(t)) return vy_int(l->b, t, least ? 0 : -1);
    int64_t top = (int64_t)(UINT64_MAX >> (65 - bits));
    return vy_int(l->b, t, least ? -top - 1 : top);
}

// Nested loops over one accumulator.
static vy_value lower_reduce(vy_lower *l, const vy_ast_expr *e)
{
    vy_type t = (vy_type)e->type;
    vy_lower_at(l, e->line, e->column);
    vy_var acc = vy_var_new(l->b, NULL, reduce_start(l, e->op, t));
    vy_loop_hint hint = {.vars = &acc, .count = 1};
    uint32_t open = 0;
    for (const vy_range *r = e->u.reduce.ranges; r; r = r->next, open++)
        if (vy_lower_stopped(l) || !vy_lower_range(l, r, &hint)) return (vy_value){0};
    vy_value old = vy_get(l->b, acc), v = vy_lower_expr(l, e->u.reduce.body);
    if (vy_lower_stopped(l)) return (vy_value){0};
    vy_lower_at(l, e->line, e->column);
    switch (e->op) {
    case TK_ADD: v = vy_add(l->b, old, v); break;
    case TK_MUL: v = vy_mul(l->b, old, v); break;
    case TK_GT: v = vy_max(l->b, old, v); break;
    default: v = vy_min(l->b, old, v); break;
    }
    vy_set(l->b, acc, v);
    while (open-- > 0) vy_end(l->b);
    return vy_get(l->b, acc);
}

// ------------------------------------------------------------------------------------------ memory
bool vy_lower_index(vy_lower *l, const vy_ast_expr *e, vy_value index[VY_MAX_RANK])
{
    uint32_t n = 0;
    for (const vy_ast_expr *i = e->u.ref.list; i; i = i->next) index[n++] = vy_lower_expr(l, i);
    return !vy_lower_stopped(l);
}

static vy_value lower_load(vy_lower *l, const vy_ast_expr *e)
{
    vy_value index[VY_MAX_RANK];
    if (!vy_lower_index(l, e, index)) return (vy_value){0};
    vy_lower_at(l, e->line, e->column);
    vy_value v = vy_load(l->b, vy_lower_buffer(l, e->u.ref.decl), index);
    vy_emit_flags(l->b, v.id, e->op);
    return v;
}

static vy_value lower_unary(vy_lower *l, const vy_ast_expr *e)
{
    vy_value v = vy_lower_expr(l, e->u.sub.a);
    vy_lower_at(l, e->line, e->column);
    return e->op == TK_SUB ? vy_neg(l->b, v) : vy_not(l->b, v);
}

static vy_value lower_compare(vy_lower *l, const vy_ast_expr *e)
{
    vy_value x = vy_lower_expr(l, e->u.sub.a), y = vy_lower_expr(l, e->u.sub.b);
    vy_lower_at(l, e->line, e->column);
    return vy_lower_operator(l, e->op, x, y);
}

static vy_value lower_call(vy_lower *l, const vy_ast_expr *e)
{
    vy_value v = {0};
    if (!e->u.ref.decl) return vy_lower_builtin(l, e);
    return vy_lower_call(l, e, 1, &v) ? v : (vy_value){0};
}

vy_value vy_lower_expr(vy_lower *l, const vy_ast_expr *e)
{
    if (vy_lower_stopped(l)) return (vy_value){0};
    switch (e->kind) {
    case EX_INT:
    case EX_FLOAT:
    case EX_BOOL: return lower_literal(l, e);
    case EX_NAME: return lower_name(l, e);
    case EX_BUILTIN: return vy_builtin_value(l->b, (vy_builtin)e->op, e->count);
    case EX_CHAIN: return lower_chain(l, e);
    case EX_LOGIC: return lower_logic(l, e);
    case EX_COMPARE: return lower_compare(l, e);
    case EX_UNARY: return lower_unary(l, e);
    case EX_COND: return lower_cond(l, e);
    case EX_CALL: return lower_call(l, e);
    case EX_INDEX: return lower_load(l, e);
    case EX_REDUCE: return lower_reduce(l, e);
    case EX_CAST: {
        vy_value v = vy_lower_expr(l, e->u.sub.a);
        vy_lower_at(l, e->line, e->column);
        return vy_cast(l->b, (vy_type)e->op, v);
    }
    default: return (vy_value){0};
    }
}
