// SPDX-License-Identifier: MIT
// lower_expr.c: expressions to builder calls, operands from left to right.
#include "ir/text/lower.h"
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

static uint32_t lower_name(vy_lower *l, const vy_ast_expr *e, vy_value *v)
{
    vy_decl *d = e->u.ref.decl;
    const uint32_t n = vy_scalars(l->f, d->type);
    switch (d->kind) {
    case DK_CONST:
        if (!vy_lower_constant(l, d)) return n;
        for (uint32_t k = 0; k < n; k++)
            v[k] = vy_const(l->b, vy_scalar_type(l->f, d->type, k), d->values[k]);
        return n;
    case DK_LET:
    case DK_VAR:
        for (uint32_t k = 0; k < n; k++) v[k] = vy_get(l->b, (vy_var){l->frame[d->slot + k]});
        return n;
    default:
        for (uint32_t k = 0; k < n; k++) v[k] = (vy_value){l->frame[d->slot + k]};
        return n;
    }
}

static vy_value operator_of(vy_builder *b, uint8_t op, vy_value x, vy_value y)
{
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

// A scalar goes with each of the other's.
static uint32_t part_of(uint32_t n, uint32_t k) { return n == 1 ? 0 : k; }

uint32_t vy_lower_operator(vy_lower *l, uint8_t op, uint32_t n, vy_value *x, uint32_t m,
                           const vy_value *y)
{
    const uint32_t most = n > m ? n : m;
    const vy_value first = x[0];
    for (uint32_t k = 0; k < most; k++)
        x[k] = operator_of(l->b, op, n == 1 ? first : x[k], y[part_of(m, k)]);
    return most;
}

static uint32_t lower_chain(vy_lower *l, const vy_ast_expr *e, vy_value *v)
{
    for (const vy_ast_expr *o = e->u.list; o; o = o->next)
        if (vy_is_matrix(l->f, o->type)) return vy_lower_products(l, e, v);
    vy_value *right = vy_room_take(l, vy_scalars(l->f, e->type));
    uint32_t n = vy_lower_value(l, e->u.list, v);
    for (const vy_ast_expr *o = e->u.list->next; o && !vy_lower_stopped(l); o = o->next) {
        const uint32_t m = vy_lower_value(l, o, right);
        vy_lower_at(l, o->line, o->column);
        n = vy_lower_operator(l, o->link, n, v, m, right);
    }
    return n;
}

// --------------------------------------------------------------------------------------- vectors
// A vector: scalars one after the other, or one for all.
static uint32_t lower_vector(vy_lower *l, const vy_ast_expr *e, vy_value *v)
{
    const uint32_t n = vy_scalars(l->f, e->type);
    const vy_text_type to = vy_element(l->f, e->type);
    uint32_t have = 0;
    for (const vy_ast_expr *a = e->u.ref.list; a && !vy_lower_stopped(l); a = a->next) {
        vy_value part[16]; // a matrix at most
        const uint32_t m = vy_lower_value(l, a, part);
        const bool same = vy_element(l->f, a->type) == to;
        vy_lower_at(l, e->line, e->column);
        for (uint32_t k = 0; k < m && have < n; k++, have++)
            v[have] = same ? part[k] : vy_cast(l->b, (vy_type)to, part[k]);
    }
    for (; have > 0 && have < n; have++) v[have] = v[0];
    return n;
}

static uint32_t lower_make(vy_lower *l, const vy_ast_expr *e, vy_value *v)
{
    uint32_t have = 0;
    if (vy_is_vector(l->f, e->type)) return lower_vector(l, e, v);
    if (vy_is_matrix(l->f, e->type)) return vy_lower_make_matrix(l, e, v), 0;
    for (const vy_ast_expr *a = e->u.ref.list; a && !vy_lower_stopped(l); a = a->next)
        if (a->kind == EX_FIELD)
            vy_lower_value(l, a->u.ref.list, v + a->count);
        else
            have += vy_lower_value(l, a, v + have);
    return vy_scalars(l->f, e->type);
}

static uint32_t lower_member(vy_lower *l, const vy_ast_expr *e, vy_value *v)
{
    vy_value *of = vy_room_take(l, vy_scalars(l->f, e->u.member.of->type));
    vy_path path;
    const uint32_t n = vy_scalars(l->f, e->type);
    vy_lower_value(l, e->u.member.of, of);
    vy_lower_path(l, e, path);
    vy_lower_at(l, e->line, e->column);
    vy_take_part(l, e->u.member.steps, path, of);
    memcpy(v, of, n * sizeof *v);
    return n;
}

// -------------------------------------------------------------------------------- && || ? :
static bool cheap(const vy_ast_expr *e, int *budget);

static bool cheap_member(const vy_ast_expr *e, int *budget)
{
    for (const vy_member *m = e->u.member.steps; m; m = m->next) {
        if (m->index) *budget -= (int)m->count;
        if (m->index && !cheap(m->index, budget)) return false;
    }
    return cheap(e->u.member.of, budget);
}

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
    case EX_MEMBER: return cheap_member(e, budget);
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
    if (e->kind == EX_MEMBER) {
        for (const vy_member *m = e->u.member.steps; m; m = m->next)
            if (m->index && m->index->kind != EX_INT) return false;
        e = e->u.member.of;
    }
    return e->kind == EX_INT || e->kind == EX_FLOAT || e->kind == EX_BOOL || e->kind == EX_NAME ||
           e->kind == EX_BUILTIN;
}

static void set_all(vy_lower *l, uint32_t n, const vy_var *to, const vy_ast_expr *e)
{
    vy_value *v = vy_room_take(l, n);
    vy_lower_value(l, e, v);
    for (uint32_t k = 0; k < n; k++) vy_set(l->b, to[k], v[k]);
}

static uint32_t lower_cond(vy_lower *l, const vy_ast_expr *e, vy_value *v)
{
    const uint32_t n = vy_scalars(l->f, e->type);
    vy_var *result = vy_room_take(l, n);
    vy_value *y = vy_room_take(l, n);
    vy_value c = vy_lower_expr(l, e->u.sub.a);
    if (vy_lower_stopped(l)) return n;
    if (l->constant || (is_plain(e->u.sub.b) && is_plain(e->u.sub.c))) {
        vy_lower_value(l, e->u.sub.b, v);
        vy_lower_value(l, e->u.sub.c, y);
        vy_lower_at(l, e->line, e->column);
        for (uint32_t k = 0; k < n; k++) v[k] = vy_select(l->b, c, v[k], y[k]);
        return n;
    }
    vy_lower_at(l, e->line, e->column);
    for (uint32_t k = 0; k < n; k++)
        result[k] = vy_var_new(l->b, NULL, vy_zero(l->b, vy_scalar_type(l->f, e->type, k)));
    vy_if(l->b, c);
    set_all(l, n, result, e->u.sub.b);
    vy_else(l->b);
    set_all(l, n, result, e->u.sub.c);
    vy_end(l->b);
    for (uint32_t k = 0; k < n; k++) v[k] = vy_get(l->b, result[k]);
    return n;
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

static vy_value reduce_step(vy_builder *b, uint8_t op, vy_value old, vy_value v)
{
    switch (op) {
    case TK_ADD: return vy_add(b, old, v);
    case TK_MUL: return vy_mul(b, old, v);
    case TK_GT: return vy_max(b, old, v);
    default: return vy_min(b, old, v);
    }
}

// Nested loops over one accumulator for each scalar.
static uint32_t lower_reduce(vy_lower *l, const vy_ast_expr *e, vy_value *v)
{
    const uint32_t n = vy_scalars(l->f, e->type);
    vy_var *acc = vy_room_take(l, n);
    vy_value *old = vy_room_take(l, n);
    vy_lower_at(l, e->line, e->column);
    for (uint32_t k = 0; k < n; k++)
        acc[k] = vy_var_new(l->b, NULL, reduce_start(l, e->op, (vy_type)vy_element(l->f, e->type)));
    vy_loop_hint hint = {.vars = acc, .count = n};
    uint32_t open = 0;
    for (const vy_range *r = e->u.reduce.ranges; r; r = r->next, open++)
        if (vy_lower_stopped(l) || !vy_lower_range(l, r, &hint)) return n;
    for (uint32_t k = 0; k < n; k++) old[k] = vy_get(l->b, acc[k]);
    vy_lower_value(l, e->u.reduce.body, v);
    if (vy_lower_stopped(l)) return n;
    vy_lower_at(l, e->line, e->column);
    for (uint32_t k = 0; k < n; k++) vy_set(l->b, acc[k], reduce_step(l->b, e->op, old[k], v[k]));
    while (open-- > 0) vy_end(l->b);
    for (uint32_t k = 0; k < n; k++) v[k] = vy_get(l->b, acc[k]);
    return n;
}

// ------------------------------------------------------------------------------------------ memory
bool vy_lower_index(vy_lower *l, const vy_ast_expr *e, vy_value index[VY_MAX_RANK])
{
    uint32_t n = 0;
    for (const vy_ast_expr *i = e->u.ref.list; i; i = i->next) index[n++] = vy_lower_expr(l, i);
    return !vy_lower_stopped(l);
}

static uint32_t lower_unary(vy_lower *l, const vy_ast_expr *e, vy_value *v)
{
    const uint32_t n = vy_lower_value(l, e->u.sub.a, v);
    vy_lower_at(l, e->line, e->column);
    for (uint32_t k = 0; k < n; k++)
        v[k] = e->op == TK_SUB ? vy_neg(l->b, v[k]) : vy_not(l->b, v[k]);
    return n;
}

// Vectors are equal where all components are.
static vy_value lower_compare(vy_lower *l, const vy_ast_expr *e)
{
    const uint32_t n = vy_scalars(l->f, e->u.sub.a->type);
    vy_value *x = vy_room_take(l, n), *y = vy_room_take(l, n);
    vy_lower_value(l, e->u.sub.a, x);
    vy_lower_value(l, e->u.sub.b, y);
    vy_lower_at(l, e->line, e->column);
    vy_value v = operator_of(l->b, e->op, x[0], y[0]);
    for (uint32_t k = 1; k < n; k++) {
        const vy_value also = operator_of(l->b, e->op, x[k], y[k]);
        v = e->op == TK_EQ ? vy_and(l->b, v, also) : vy_or(l->b, v, also);
    }
    return v;
}

static uint32_t lower_call(vy_lower *l, const vy_ast_expr *e, vy_value *v)
{
    const uint32_t n = vy_scalars(l->f, e->type);
    if (!e->u.ref.decl) return vy_lower_builtin(l, e, v);
    vy_lower_call(l, e, n, v);
    return n;
}

static vy_value lower_cast(vy_lower *l, const vy_ast_expr *e)
{
    vy_value v = vy_lower_expr(l, e->u.sub.a);
    vy_lower_at(l, e->line, e->column);
    return vy_cast(l->b, (vy_type)e->op, v);
}

static vy_value lower_scalar(vy_lower *l, const vy_ast_expr *e)
{
    switch (e->kind) {
    case EX_INT:
    case EX_FLOAT:
    case EX_BOOL: return lower_literal(l, e);
    case EX_BUILTIN: return vy_builtin_value(l->b, (vy_builtin)e->op, e->count);
    case EX_LOGIC: return lower_logic(l, e);
    case EX_COMPARE: return lower_compare(l, e);
    case EX_CAST: return lower_cast(l, e);
    default: return (vy_value){0};
    }
}

static uint32_t lower_any(vy_lower *l, const vy_ast_expr *e, vy_value *v)
{
    switch (e->kind) {
    case EX_NAME: return lower_name(l, e, v);
    case EX_INDEX: return vy_lower_load(l, e, v);
    case EX_MEMBER: return vy_is_element(e) ? vy_lower_load(l, e, v) : lower_member(l, e, v);
    case EX_MAKE: return lower_make(l, e, v);
    case EX_CHAIN: return lower_chain(l, e, v);
    case EX_UNARY: return lower_unary(l, e, v);
    case EX_COND: return lower_cond(l, e, v);
    case EX_CALL: return lower_call(l, e, v);
    case EX_REDUCE: return lower_reduce(l, e, v);
    default: v[0] = lower_scalar(l, e); return 1;
    }
}

uint32_t vy_lower_value(vy_lower *l, const vy_ast_expr *e, vy_value *v)
{
    const uint32_t n = vy_scalars(l->f, e->type);
    for (uint32_t k = 0; k < n; k++) v[k] = (vy_value){0};
    if (vy_lower_stopped(l)) return n;
    const vy_room_mark mark = vy_room_here(l);
    lower_any(l, e, v);
    vy_room_back(l, mark);
    return n;
}

vy_value vy_lower_expr(vy_lower *l, const vy_ast_expr *e)
{
    vy_value v[1];
    vy_lower_value(l, e, v);
    return v[0];
}
