// SPDX-License-Identifier: MIT
// scan_expression.c: the expressions of isl's AST as values of the program being built.
//
//   min(N, 64·s + 64) − 1        →        min(N, s * 64 + 64) and the constant −1 (vy_signed)
//
// isl's numbers are integers of any size and sign; here they are u32.  So each is represented as a
// difference of two non-negative values with upper bounds (scan_arithmetic.c); one that could wrap
// is refused.
#include "autodiff/affine/scan.h"

#include <isl/ast.h>

static vy_signed number_of(isl_ast_expr *e)
{
    isl_val *v = isl_ast_expr_get_val(e);
    bool small = isl_val_is_int(v) == isl_bool_true && isl_val_cmp_si(v, INT32_MAX) <= 0 &&
                 isl_val_cmp_si(v, -INT32_MAX) >= 0;
    vy_signed r = small ? vy_signed_constant(isl_val_get_num_si(v)) : vy_signed_none;
    isl_val_free(v);
    return r;
}

bool vy_lattice_constant(isl_ast_expr *e, int64_t *k)
{
    vy_signed x = vy_signed_none;
    if (isl_ast_expr_get_type(e) == isl_ast_expr_int) x = number_of(e);
    *k = x.constant;
    return vy_signed_fits(x);
}

static vy_signed name_of(vy_lattice *l, isl_ast_expr *e)
{
    isl_id *id = isl_ast_expr_get_id(e);
    vy_signed r = vy_lattice_named(l, id);
    isl_id_free(id);
    return r;
}

static vy_signed fold(vy_lattice *l, isl_ast_expr *e, enum isl_ast_expr_op_type op)
{
    vy_signed x = vy_signed_none;
    int n = (int)isl_ast_expr_get_op_n_arg(e);
    for (int k = 0; k < n; k++) {
        isl_ast_expr *arg = isl_ast_expr_get_op_arg(e, k);
        vy_signed y = vy_lattice_expression(l, arg);
        isl_ast_expr_free(arg);
        if (k == 0)
            x = y;
        else if (op == isl_ast_expr_op_add)
            x = vy_signed_add(l->b, x, y);
        else if (op == isl_ast_expr_op_sub)
            x = vy_signed_sub(l->b, x, y);
        else
            x = vy_signed_least(l->b, x, y, op == isl_ast_expr_op_max);
    }
    return x;
}

static vy_signed scaled(vy_lattice *l, isl_ast_expr *x, isl_ast_expr *y,
                        enum isl_ast_expr_op_type op)
{
    int64_t by;
    if (op == isl_ast_expr_op_mul && vy_lattice_constant(x, &by))
        return vy_signed_scale(l->b, vy_lattice_expression(l, y), by);
    if (!vy_lattice_constant(y, &by)) return vy_signed_none;
    vy_signed v = vy_lattice_expression(l, x);
    switch (op) {
    case isl_ast_expr_op_mul: return vy_signed_scale(l->b, v, by);
    case isl_ast_expr_op_pdiv_q: return vy_signed_divide(l->b, v, by);
    case isl_ast_expr_op_pdiv_r: return vy_signed_remainder(l->b, v, by);
    case isl_ast_expr_op_zdiv_r: return vy_signed_congruent(l->b, v, by);
    default: return vy_signed_floor(l->b, v, by); // fdiv_q, and div, which is exact
    }
}

static vy_signed operation(vy_lattice *l, isl_ast_expr *e)
{
    enum isl_ast_expr_op_type op = isl_ast_expr_get_op_type(e);
    isl_ast_expr *x = isl_ast_expr_get_op_arg(e, 0), *y = NULL, *z = NULL;
    int n = (int)isl_ast_expr_get_op_n_arg(e);
    if (n > 1) y = isl_ast_expr_get_op_arg(e, 1);
    if (n > 2) z = isl_ast_expr_get_op_arg(e, 2);
    vy_signed r = vy_signed_none;
    switch (op) {
    case isl_ast_expr_op_add:
    case isl_ast_expr_op_sub:
    case isl_ast_expr_op_min:
    case isl_ast_expr_op_max: r = fold(l, e, op); break;
    case isl_ast_expr_op_minus:
        r = vy_signed_sub(l->b, vy_signed_constant(0), vy_lattice_expression(l, x));
        break;
    case isl_ast_expr_op_mul:
    case isl_ast_expr_op_div:
    case isl_ast_expr_op_fdiv_q:
    case isl_ast_expr_op_pdiv_q:
    case isl_ast_expr_op_pdiv_r:
    case isl_ast_expr_op_zdiv_r: r = scaled(l, x, y, op); break;
    case isl_ast_expr_op_cond:
    case isl_ast_expr_op_select: {
        vy_value c = vy_lattice_condition(l, x);
        vy_signed yes = vy_lattice_expression(l, y), no = vy_lattice_expression(l, z);
        r = vy_signed_select(l->b, c, yes, no);
        break;
    }
    default: break;
    }
    isl_ast_expr_free(x);
    isl_ast_expr_free(y);
    isl_ast_expr_free(z);
    return r;
}

vy_signed vy_lattice_expression(vy_lattice *l, isl_ast_expr *e)
{
    switch (isl_ast_expr_get_type(e)) {
    case isl_ast_expr_int: return number_of(e);
    case isl_ast_expr_id: return name_of(l, e);
    case isl_ast_expr_op: return operation(l, e);
    default: return vy_signed_none;
    }
}

static vy_value compared(vy_lattice *l, isl_ast_expr *x, isl_ast_expr *y,
                         enum isl_ast_expr_op_type op)
{
    vy_signed a = vy_lattice_expression(l, x), b = vy_lattice_expression(l, y);
    switch (op) {
    case isl_ast_expr_op_eq: return vy_signed_compare(l->b, VY_OP_EQ, a, b);
    case isl_ast_expr_op_le: return vy_signed_compare(l->b, VY_OP_LE, a, b);
    case isl_ast_expr_op_lt: return vy_signed_compare(l->b, VY_OP_LT, a, b);
    case isl_ast_expr_op_ge: return vy_signed_compare(l->b, VY_OP_LE, b, a);
    default: return vy_signed_compare(l->b, VY_OP_LT, b, a);
    }
}

vy_value vy_lattice_condition(vy_lattice *l, isl_ast_expr *e)
{
    vy_value r = {0};
    if (isl_ast_expr_get_type(e) == isl_ast_expr_int) {
        int64_t k = 0;
        return vy_lattice_constant(e, &k) ? vy_bool(l->b, k != 0) : r;
    }
    if (isl_ast_expr_get_type(e) != isl_ast_expr_op) return r;
    enum isl_ast_expr_op_type op = isl_ast_expr_get_op_type(e);
    bool conjoins = op == isl_ast_expr_op_and || op == isl_ast_expr_op_and_then;
    bool disjoins = op == isl_ast_expr_op_or || op == isl_ast_expr_op_or_else;
    if (!conjoins && !disjoins && (op < isl_ast_expr_op_eq || op > isl_ast_expr_op_gt)) return r;
    isl_ast_expr *x = isl_ast_expr_get_op_arg(e, 0), *y = isl_ast_expr_get_op_arg(e, 1);
    if (conjoins || disjoins) {
        vy_value a = vy_lattice_condition(l, x), b = vy_lattice_condition(l, y);
        if (a.id && b.id) r = conjoins ? vy_and(l->b, a, b) : vy_or(l->b, a, b);
    } else {
        r = compared(l, x, y, op);
    }
    isl_ast_expr_free(x);
    isl_ast_expr_free(y);
    return r;
}
