// SPDX-License-Identifier: MIT
// sema_literal.c: gives expressions of literals the type of their context; loop ranges.
#include "ir/text/front.h"

#include <math.h>

static void literal_range(vy_front *f, const vy_ast_expr *e, vy_text_type type)
{
    vy_front_error(f, VY_E_LITERAL_RANGE, e->line, e->column, NULL, "this literal does not fit %s",
                   vy_type_name((vy_type)type));
}

static uint64_t largest(vy_text_type type)
{
    uint32_t bits = vy_type_size((vy_type)type) * 8;
    return UINT64_MAX >> (64 - bits + vy_type_is_signed((vy_type)type));
}

static void settle_int(vy_front *f, vy_ast_expr *e, vy_text_type type)
{
    bool fits = type == VY_F16   ? e->u.value < 65520
                : type >= VY_F32 ? vy_type_is_float((vy_type)type)
                                 : type != VY_BOOL && e->u.value <= largest(type);
    if (!fits) literal_range(f, e, type);
    e->type = type;
}

static void settle_float(vy_front *f, vy_ast_expr *e, vy_text_type type)
{
    e->type = type;
    if (!vy_type_is_float((vy_type)type)) {
        vy_front_error(f, VY_E_LITERAL_RANGE, e->line, e->column,
                       "write an integer literal, or convert the other side",
                       "a float literal where %s is needed", vy_type_name((vy_type)type));
    } else if (e->u.number.text) {
        double v = vy_number_parse((vy_type)type, e->u.number.text, e->u.number.length);
        if (isinf(v)) literal_range(f, e, type);
    }
}

bool vy_is_least(const vy_ast_expr *e, vy_text_type type)
{
    return e->kind == EX_INT && vy_type_is_signed((vy_type)type) && e->u.value == largest(type) + 1;
}

vy_text_type vy_synth_literal(vy_front *f, vy_ast_expr *e)
{
    bool whole = e->kind == EX_INT;
    if (!e->op) return e->type = whole ? VY_ANY_INT : VY_ANY_FLOAT;
    if (whole)
        settle_int(f, e, e->op);
    else
        settle_float(f, e, e->op);
    return e->type;
}

static void settle_chain(vy_front *f, vy_ast_expr *e, vy_text_type type)
{
    for (vy_ast_expr *o = e->u.list; o && !f->failed; o = o->next) {
        if (o != e->u.list && !vy_operator_fits(o->link, type))
            vy_operator_error(f, e, o->link, type);
        else
            vy_settle(f, o, type);
    }
}

static bool is_unsigned(vy_text_type type) { return type == VY_U32 || type == VY_U64; }

static void settle_unary(vy_front *f, vy_ast_expr *e, vy_text_type type)
{
    vy_ast_expr *a = e->u.sub.a;
    // −2147483648 is a literal that fits, though 2147483648 is not.
    if (e->op == TK_SUB && vy_is_least(a, type))
        a->type = type;
    else if (e->op == TK_SUB && is_unsigned(type) && !(a->kind == EX_INT && a->u.value == 0))
        vy_front_error(f, VY_E_LITERAL_RANGE, e->line, e->column,
                       "give it a signed type, or write u32(-1), which wraps",
                       "a negative literal does not fit %s", vy_type_name((vy_type)type));
    else if (e->op == TK_TILDE && !vy_operator_fits(TK_REM, type))
        vy_front_error(f, VY_E_TYPE_WRONG, e->line, e->column, NULL,
                       "`~` is not for values of type %s", vy_type_name((vy_type)type));
    else
        vy_settle(f, a, type);
}

void vy_settle(vy_front *f, vy_ast_expr *e, vy_text_type type)
{
    if (f->failed || e->type == type) return;
    if (!vy_is_any(e->type)) {
        vy_front_error(f, VY_E_TYPES_DIFFER, e->line, e->column, vy_made_fix(f, type, e->type),
                       "%s where %s is needed", vy_any_type_name(f, e->type),
                       vy_any_type_name(f, type));
        return;
    }
    if (!vy_operator_fits(TK_ADD, type)) {
        vy_front_error(f, VY_E_TYPES_DIFFER, e->line, e->column, vy_made_fix(f, type, e->type),
                       "a number where %s is needed", vy_any_type_name(f, type));
        return;
    }
    switch (e->kind) {
    case EX_INT: settle_int(f, e, type); return;
    case EX_FLOAT: settle_float(f, e, type); return;
    case EX_CHAIN: settle_chain(f, e, type); break;
    case EX_UNARY: settle_unary(f, e, type); break;
    case EX_COND:
        vy_settle(f, e->u.sub.b, type);
        vy_settle(f, e->u.sub.c, type);
        break;
    case EX_REDUCE: vy_settle(f, e->u.reduce.body, type); break;
    case EX_CALL: vy_settle_call(f, e, type); break;
    default: break;
    }
    e->type = type;
}

vy_text_type vy_check_value(vy_front *f, vy_ast_expr *e)
{
    vy_text_type t = vy_synth(f, e);
    // A suffixed literal has not been checked yet.
    if (!f->failed && !vy_is_any(t) && (e->kind == EX_INT || e->kind == EX_FLOAT)) return t;
    if (!f->failed && vy_is_any(t)) vy_settle(f, e, t = t == VY_ANY_INT ? VY_I32 : VY_F32);
    return t;
}

void vy_need(vy_front *f, vy_ast_expr *e, vy_text_type type, const char *what)
{
    const vy_text_type t = e->type;
    bool number = vy_operator_fits(TK_ADD, type);
    if (t != type && !(vy_is_any(t) && number)) {
        vy_front_error(f, VY_E_TYPES_DIFFER, e->line, e->column,
                       type == VY_BOOL && !vy_is_made(t) ? "compare it: `x != 0`"
                                                         : vy_made_fix(f, type, t),
                       "%s is %s, this is %s", what, vy_any_type_name(f, type),
                       vy_any_type_name(f, t));
        return;
    }
    vy_settle(f, e, type);
}

void vy_check_as(vy_front *f, vy_ast_expr *e, vy_text_type type, const char *what)
{
    vy_synth(f, e);
    if (!f->failed) vy_need(f, e, type, what);
}

// The value of an expression of integer literals; false if it has another operation or does not fit
// 64 bits.
static bool literal_value(const vy_ast_expr *e, int64_t *value)
{
    if (e->kind == EX_INT) {
        *value = (int64_t)e->u.value;
        return *value >= 0;
    }
    if (e->kind == EX_UNARY)
        return e->op == TK_SUB && literal_value(e->u.sub.a, value) &&
               !__builtin_sub_overflow(0, *value, value);
    if (e->kind != EX_CHAIN || !literal_value(e->u.list, value)) return false;
    for (const vy_ast_expr *o = e->u.list->next; o; o = o->next) {
        int64_t x;
        if (!literal_value(o, &x)) return false;
        const bool overflow = o->link == TK_ADD   ? __builtin_add_overflow(*value, x, value)
                              : o->link == TK_SUB ? __builtin_sub_overflow(*value, x, value)
                              : o->link == TK_MUL ? __builtin_mul_overflow(*value, x, value)
                                                  : true;
        if (overflow) return false;
    }
    return true;
}

static bool is_negative(const vy_ast_expr *e)
{
    int64_t value;
    return literal_value(e, &value) && value < 0;
}

void vy_sema_range(vy_front *f, vy_range *r)
{
    vy_ast_expr *parts[3] = {r->from, r->to, r->step};
    vy_text_type t = VY_VOID;
    for (int i = 0; i < 3 && !f->failed; i++)
        if (parts[i]) t = vy_join(f, t, parts[i], vy_synth(f, parts[i]), "a loop");
    if (f->failed) return;
    if (!vy_operator_fits(TK_REM, t)) {
        vy_front_error(f, VY_E_TYPE_WRONG, r->from->line, r->from->column, "write u32(x)",
                       "the bounds of a loop must be integers, not %s", vy_any_type_name(f, t));
        return;
    }
    if (t == VY_ANY_INT) t = is_negative(r->from) || is_negative(r->to) ? VY_I32 : VY_U32;
    if (r->step && vy_is_any(r->step->type) && is_negative(r->step))
        vy_front_error(f, VY_E_STEP, r->step->line, r->step->column, NULL,
                       "the step of a loop is not positive");
    for (int i = 0; i < 3; i++)
        if (parts[i]) vy_settle(f, parts[i], t);
    r->var->type = t;
    vy_declare(f, r->var);
}
