// SPDX-License-Identifier: MIT
// condition.c: the conditions of `if` and `while` in pipelines.
//
//   n < 3 && !(len(x) == M)            numbers, 1 or 0 (ir/build/dim_condition.c)
//   value(r[0]) > eps * value(s[t])    floats: computed by a program, whose result is read
//                                      (ir/build/pipe_condition.c)
//
// An integer alone is a condition too: it holds if it is not 0.
#include "ir/build/pipe_build.h"
#include "ir/text/lower.h"

#include <string.h>

static bool is_call(const vy_ast_expr *e, const char *name)
{
    return e->kind == EX_CALL && !strcmp(e->u.ref.name->text, name);
}

// What a name means, while names are resolved and after that.
static vy_decl *meaning(const vy_ast_expr *e)
{
    return e->u.ref.decl || !e->u.ref.name ? e->u.ref.decl : e->u.ref.name->local;
}

// The float scalar that is named, or NULL.
static vy_decl *float_scalar(const vy_ast_expr *e)
{
    vy_decl *d = e->kind == EX_NAME ? meaning(e) : NULL;
    return d && d->kind == DK_SCALAR && vy_type_is_float((vy_type)d->type) ? d : NULL;
}

// Operands of arithmetic on floats, and of the functions that conditions may call.
static vy_ast_expr *operands_of(const vy_ast_expr *e)
{
    static const char *const functions[] = {"abs", "min", "max", "sqrt"};
    if (e->kind == EX_CHAIN) return e->u.list;
    if (e->kind == EX_UNARY && e->op == TK_SUB) return e->u.sub.a;
    for (uint32_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (is_call(e, functions[i])) return e->u.ref.list;
    return NULL;
}

// The type of the floats in an expression; VY_VOID: there are only constants and integers.
static vy_type float_type(const vy_ast_expr *e)
{
    const vy_ast_expr *x = is_call(e, "value") ? e->u.ref.list : NULL;
    const vy_decl *d = float_scalar(e);
    vy_type type = VY_VOID;
    if (e->kind == EX_CAST && vy_type_is_float((vy_type)e->op)) return (vy_type)e->op;
    if (x && x->kind == EX_INDEX) d = meaning(x);
    if (d && (d->kind == DK_BUFFER || d->kind == DK_SCALAR))
        return vy_type_is_float((vy_type)d->type) ? (vy_type)d->type : VY_VOID;
    if (x || (e->kind == EX_UNARY && e->op != TK_SUB)) return VY_VOID;
    for (const vy_ast_expr *o = operands_of(e); o && type == VY_VOID; o = o->next) {
        type = float_type(o);
        if (e->kind == EX_UNARY) break;
    }
    return type;
}

// ------------------------------------------------------------------------------------------- names
static void sema_leaf(vy_front *f, vy_ast_expr *e, vy_type type)
{
    const vy_type own = float_type(e);
    if (own != VY_VOID && own != type) {
        vy_front_error(f, VY_E_TYPES_DIFFER, e->line, e->column, "compare floats of one type",
                       "this is %s, the rest %s", vy_type_name(own), vy_type_name(type));
    } else if (is_call(e, "value") && own == VY_VOID) {
        vy_front_error(f, VY_E_TYPES_DIFFER, e->line, e->column, "write f32(value(…)), or f64",
                       "an integer is compared with %s", vy_type_name(type));
    } else if (is_call(e, "value")) {
        vy_sema_element(f, e);
    } else if (float_scalar(e)) {
        e->u.ref.decl = float_scalar(e);
    } else if (e->kind == EX_CAST) {
        vy_sema_dim(f, e->u.sub.a);
    } else {
        f->in_const = true;
        vy_check_as(f, e, (uint8_t)type, "the other side");
        f->in_const = false;
    }
}

static void sema_float(vy_front *f, vy_ast_expr *e, vy_type type)
{
    if (f->failed) return;
    if (!operands_of(e) || float_type(e) == VY_VOID) {
        sema_leaf(f, e, type);
        return;
    }
    const bool two = e->kind == EX_CALL && e->u.ref.name->text[0] == 'm'; // min, max
    if (e->kind == EX_CALL && e->count != 1u + two) {
        vy_front_error(f, VY_E_ARGUMENTS, e->line, e->column, NULL,
                       "`%s` takes %u operands, not %u", e->u.ref.name->text, 1u + two, e->count);
        return;
    }
    for (vy_ast_expr *o = operands_of(e); o; o = o->next) {
        if (e->kind == EX_CHAIN && o->link == TK_REM && o != e->u.list)
            vy_front_error(f, VY_E_TYPE_WRONG, o->line, o->column, NULL,
                           "`%%` is of integers in the condition of a pipeline");
        sema_float(f, o, type);
        if (e->kind == EX_UNARY) break;
    }
}

static void sema_compare(vy_front *f, vy_ast_expr *e)
{
    vy_ast_expr *a = e->u.sub.a, *b = e->u.sub.b;
    const vy_type x = float_type(a), y = float_type(b);
    e->type = (uint8_t)(x == VY_VOID ? y : x);
    if (e->type == VY_VOID) {
        vy_sema_dim(f, a);
        vy_sema_dim(f, b);
        return;
    }
    sema_float(f, a, (vy_type)e->type);
    sema_float(f, b, (vy_type)e->type);
}

void vy_sema_condition(vy_front *f, vy_ast_expr *e)
{
    if (f->failed) return;
    switch (e->kind) {
    case EX_BOOL: return;
    case EX_COMPARE: sema_compare(f, e); return;
    case EX_LOGIC:
        for (vy_ast_expr *o = e->u.list; o; o = o->next) vy_sema_condition(f, o);
        return;
    case EX_UNARY:
        if (e->op == TK_NOT) {
            vy_sema_condition(f, e->u.sub.a);
            return;
        }
    // fall through
    default: vy_sema_dim(f, e);
    }
}

// ----------------------------------------------------------------------------------------- numbers
// The leaves of a comparison of floats, in their order.
typedef struct leaves {
    vy_lower *l;
    vy_type type;
    const vy_ast_expr *root;
    vy_pipe_operand *operands;
    uint32_t count, next; // next: while the program is built
} leaves;

static bool is_leaf(const vy_ast_expr *e) { return !operands_of(e) || float_type(e) == VY_VOID; }

static uint32_t count_leaves(const vy_ast_expr *e)
{
    uint32_t n = 0;
    if (is_leaf(e)) return 1;
    for (const vy_ast_expr *o = operands_of(e); o; o = e->kind == EX_UNARY ? NULL : o->next)
        n += count_leaves(o);
    return n;
}

static void add_leaf(leaves *v, const vy_ast_expr *e)
{
    vy_pipe_operand *x = &v->operands[v->count++];
    *x = (vy_pipe_operand){0};
    if (e->kind == EX_CAST) {
        x->scalar = (vy_pipe_scalar){.kind = VY_PIPE_DIM, .dim = vy_lower_dim(v->l, e->u.sub.a)};
    } else if (is_call(e, "value")) {
        const vy_ast_expr *element = e->u.ref.list;
        vy_dim *index = vy_front_alloc(v->l->f, element->count * sizeof *index + 1);
        uint32_t n = 0;
        for (const vy_ast_expr *i = element->u.ref.list; i && !v->l->f->failed; i = i->next)
            index[n++] = vy_lower_dim(v->l, i);
        x->buffer = vy_lower_buffer(v->l, element->u.ref.decl);
        x->index = index;
    } else {
        vy_name_rec *name = vy_front_name(v->l->f, "condition", 9);
        if (!v->l->f->failed) vy_lower_given(v->l, e, name, v->type, &x->scalar);
    }
}

static void add_leaves(leaves *v, const vy_ast_expr *e)
{
    if (v->l->f->failed) return;
    if (is_leaf(e)) {
        add_leaf(v, e);
        return;
    }
    for (const vy_ast_expr *o = operands_of(e); o; o = e->kind == EX_UNARY ? NULL : o->next)
        add_leaves(v, o);
}

static vy_value join(vy_builder *b, uint8_t op, vy_value x, vy_value y)
{
    return op == TK_ADD   ? vy_add(b, x, y)
           : op == TK_SUB ? vy_sub(b, x, y)
           : op == TK_MUL ? vy_mul(b, x, y)
                          : vy_div(b, x, y);
}

static vy_value build_float(leaves *v, vy_builder *b, const vy_ast_expr *e, const vy_value *values)
{
    vy_value args[VY_MAX_RANK] = {{0}}, x = {0};
    uint32_t n = 0;
    if (is_leaf(e)) return values[v->next++];
    if (e->kind == EX_UNARY) return vy_neg(b, build_float(v, b, e->u.sub.a, values));
    for (const vy_ast_expr *o = operands_of(e); o; o = o->next) {
        const vy_value y = build_float(v, b, o, values);
        if (e->kind == EX_CHAIN)
            x = o == e->u.list ? y : join(b, o->link, x, y);
        else if (n < VY_MAX_RANK)
            args[n++] = y;
    }
    return e->kind == EX_CHAIN ? x : vy_call(b, e->u.ref.name->text, n, args);
}

static vy_value build_condition(void *user, vy_builder *b, const vy_value *values)
{
    leaves *v = user;
    const vy_ast_expr *e = v->root;
    v->next = 0;
    const vy_value x = build_float(v, b, e->u.sub.a, values),
                   y = build_float(v, b, e->u.sub.b, values);
    switch (e->op) {
    case TK_LT: return vy_lt(b, x, y);
    case TK_GT: return vy_lt(b, y, x);
    case TK_LE: return vy_le(b, x, y);
    case TK_GE: return vy_le(b, y, x);
    case TK_NE: return vy_ne(b, x, y);
    default: return vy_eq(b, x, y);
    }
}

static vy_dim compare_floats(vy_lower *l, const vy_ast_expr *e)
{
    const uint32_t most = count_leaves(e->u.sub.a) + count_leaves(e->u.sub.b);
    leaves v = {.l = l, .type = (vy_type)e->type, .root = e};
    v.operands = vy_front_alloc(l->f, most * sizeof *v.operands);
    if (!l->f->failed) add_leaves(&v, e->u.sub.a);
    add_leaves(&v, e->u.sub.b);
    if (vy_lower_stopped(l)) return (vy_dim){0};
    vy_lower_at(l, e->line, e->column);
    return vy_pipe_holds(l->pipe, &(vy_pipe_condition){.type = v.type,
                                                       .count = v.count,
                                                       .operands = v.operands,
                                                       .build = build_condition,
                                                       .user = &v});
}

static vy_dim compare(vy_lower *l, const vy_ast_expr *e)
{
    if (e->type != VY_VOID) return compare_floats(l, e);
    const vy_dim a = vy_lower_dim(l, e->u.sub.a), b = vy_lower_dim(l, e->u.sub.b);
    if (vy_lower_stopped(l)) return (vy_dim){0};
    switch (e->op) {
    case TK_LT: return vy_dim_less(l->b, a, b);
    case TK_GT: return vy_dim_less(l->b, b, a);
    case TK_LE: return vy_dim_not(l->b, vy_dim_less(l->b, b, a));
    case TK_GE: return vy_dim_not(l->b, vy_dim_less(l->b, a, b));
    case TK_NE: return vy_dim_differ(l->b, a, b);
    default: return vy_dim_not(l->b, vy_dim_differ(l->b, a, b));
    }
}

static vy_dim logic(vy_lower *l, const vy_ast_expr *e)
{
    const vy_dim_op op = e->op == TK_ANDAND ? VY_DIM_MIN : VY_DIM_MAX;
    vy_dim all = {0};
    for (const vy_ast_expr *o = e->u.list; o && !vy_lower_stopped(l); o = o->next) {
        const vy_dim c = vy_lower_condition(l, o);
        all = all.id ? vy_dim_binary(l->b, op, all, c) : c;
    }
    return all;
}

vy_dim vy_lower_condition(vy_lower *l, const vy_ast_expr *e)
{
    if (vy_lower_stopped(l)) return (vy_dim){0};
    switch (e->kind) {
    case EX_BOOL: return vy_dim_const(l->b, (int64_t)e->u.value);
    case EX_COMPARE: {
        const vy_dim c = compare(l, e);
        // The run decides what floats compare to; that it is at most 1 bounds a repeat.
        return e->type == VY_VOID ? c : vy_dim_binary(l->b, VY_DIM_MIN, c, vy_dim_const(l->b, 1));
    }
    case EX_LOGIC: return logic(l, e);
    case EX_UNARY:
        if (e->op == TK_NOT) return vy_dim_not(l->b, vy_lower_condition(l, e->u.sub.a));
    // fall through
    default: {
        const vy_dim zero = vy_dim_const(l->b, 0);
        return vy_dim_differ(l->b, vy_lower_dim(l, e), zero);
    }
    }
}

vy_dim vy_lower_test(vy_lower *l, const vy_ast_expr *e)
{
    const bool condition =
        e->kind == EX_BOOL || e->kind == EX_LOGIC || (e->kind == EX_UNARY && e->op == TK_NOT);
    if (e->kind == EX_COMPARE) return compare(l, e);
    return condition ? vy_lower_condition(l, e) : vy_lower_dim(l, e);
}
