// SPDX-License-Identifier: MIT
// condition.c: the conditions of `if` and `while` in pipelines.
//
//   n < 3 && !(len(x) == M)            numbers, 1 or 0 (ir/build/dim_condition.c)
//   value(r[0]) > 1e-6 * 2 || s <= 1   floats are compared by a program, whose result is read
//
// An integer alone is a condition too: it holds if it is not 0.
#include "ir/build/pipe_build.h"
#include "ir/text/front.h"

#include <string.h>

static bool is_value(const vy_ast_expr *e)
{
    return e->kind == EX_CALL && !strcmp(e->u.ref.name->text, "value");
}

// The float scalar that is named, or NULL.
static vy_decl *float_scalar(const vy_ast_expr *e)
{
    vy_decl *d = e->kind == EX_NAME && e->u.ref.name ? e->u.ref.name->local : NULL;
    return d && d->kind == DK_SCALAR && vy_type_is_float((vy_type)d->type) ? d : NULL;
}

// The type of an operand that is an element or a scalar; VY_VOID: it is a constant, or an integer.
static vy_type float_type(const vy_ast_expr *e)
{
    const vy_ast_expr *x = is_value(e) ? e->u.ref.list : NULL;
    const vy_decl *d =
        x && x->kind == EX_INDEX && x->u.ref.name ? x->u.ref.name->local : float_scalar(e);
    const bool typed = d && (d->kind == DK_BUFFER || d->kind == DK_SCALAR);
    return typed && vy_type_is_float((vy_type)d->type) ? (vy_type)d->type : VY_VOID;
}

// ------------------------------------------------------------------------------------------- names
static void sema_float(vy_front *f, vy_ast_expr *e, vy_type type)
{
    if (is_value(e)) {
        vy_sema_element(f, e);
    } else if (float_scalar(e)) {
        e->u.ref.decl = float_scalar(e);
    } else {
        f->in_const = true;
        vy_check_as(f, e, (uint8_t)type, "the other side");
        f->in_const = false;
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
    if (x != VY_VOID && y != VY_VOID && x != y) {
        vy_front_error(f, VY_E_TYPES_DIFFER, e->line, e->column, "compare floats of one type",
                       "%s and %s are compared", vy_type_name(x), vy_type_name(y));
        return;
    }
    sema_float(f, a, (vy_type)e->type);
    if (!f->failed) sema_float(f, b, (vy_type)e->type);
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
static bool float_operand(vy_lower *l, const vy_ast_expr *e, vy_type type, vy_pipe_operand *out)
{
    *out = (vy_pipe_operand){0};
    if (is_value(e)) {
        const vy_ast_expr *x = e->u.ref.list;
        vy_dim *index = vy_front_alloc(l->f, x->count * sizeof *index + 1);
        uint32_t n = 0;
        if (l->f->failed) return false;
        for (const vy_ast_expr *i = x->u.ref.list; i; i = i->next) index[n++] = vy_lower_dim(l, i);
        out->buffer = vy_lower_buffer(l, x->u.ref.decl);
        out->index = index;
        return true;
    }
    vy_name_rec *name = vy_front_name(l->f, "condition", 9);
    return !l->f->failed && vy_lower_given(l, e, name, type, &out->scalar);
}

static vy_dim compare_floats(vy_lower *l, const vy_ast_expr *e)
{
    const bool swapped = e->op == TK_GT || e->op == TK_GE;
    const vy_pipe_kernel_kind kind = e->op == TK_LT || e->op == TK_GT   ? VY_PIPE_LESS
                                     : e->op == TK_LE || e->op == TK_GE ? VY_PIPE_AT_MOST
                                                                        : VY_PIPE_EQUAL;
    vy_pipe_operand a, b;
    if (!float_operand(l, e->u.sub.a, (vy_type)e->type, &a) ||
        !float_operand(l, e->u.sub.b, (vy_type)e->type, &b))
        return (vy_dim){0};
    vy_lower_at(l, e->line, e->column);
    const vy_dim holds =
        vy_pipe_compare(l->pipe, kind, (vy_type)e->type, swapped ? &b : &a, swapped ? &a : &b);
    return e->op == TK_NE && holds.id ? vy_dim_not(l->b, holds) : holds;
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
    case EX_COMPARE: return compare(l, e);
    case EX_LOGIC: return logic(l, e);
    case EX_UNARY:
        if (e->op == TK_NOT) return vy_dim_not(l->b, vy_lower_condition(l, e->u.sub.a));
    // fall through
    default: return vy_dim_differ(l->b, vy_lower_dim(l, e), vy_dim_const(l->b, 0));
    }
}

vy_dim vy_lower_test(vy_lower *l, const vy_ast_expr *e)
{
    const bool condition = e->kind == EX_BOOL || e->kind == EX_COMPARE || e->kind == EX_LOGIC ||
                           (e->kind == EX_UNARY && e->op == TK_NOT);
    return condition ? vy_lower_condition(l, e) : vy_lower_dim(l, e);
}
