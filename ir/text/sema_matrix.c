// SPDX-License-Identifier: MIT
// sema_matrix.c: types of what only matrices have: products, functions of linear algebra.
//
// A product's type is not that of its operands, so a chain with a matrix is typed from the left,
// operator by operator; all others have one type (sema_expr.c).
#include "ir/text/front.h"

#include <string.h>

enum { TRANSPOSE, DETERMINANT, INVERSE, OUTER }; // as in builtin.c

typedef struct shape { // of a matrix or, as a column, a vector
    uint32_t rows, columns;
} shape;

static shape shape_of(const vy_front *f, vy_text_type t)
{
    const vy_made_type *m = vy_made_of(f, t);
    const bool matrix = m->kind == VY_MATRIX;
    return (shape){matrix ? vy_scalars(f, m->of) : m->parts, matrix ? m->parts : 1};
}

bool vy_is_product(const vy_front *f, uint8_t op, vy_text_type a, vy_text_type b)
{
    const bool x = vy_is_matrix(f, a), y = vy_is_matrix(f, b);
    return op == TK_MUL && ((x && y) || (x && vy_is_vector(f, b)) || (y && vy_is_vector(f, a)));
}

static vy_text_type product_type(const vy_front *f, vy_text_type a, vy_text_type b)
{
    const vy_text_type of = vy_element(f, a);
    const shape x = shape_of(f, a), y = shape_of(f, b);
    if (of != vy_element(f, b)) return VY_BROKEN;
    if (vy_is_vector(f, a)) return x.rows == y.rows ? vy_vector_type(of, y.columns) : VY_BROKEN;
    if (x.columns != y.rows) return VY_BROKEN;
    return vy_is_vector(f, b) ? vy_vector_type(of, x.rows)
                              : vy_matrix_type(f, of, y.columns, x.rows);
}

vy_text_type vy_operator_type(const vy_front *f, uint8_t op, vy_text_type a, vy_text_type b)
{
    if (!vy_operator_fits(op, vy_element(f, a))) return VY_BROKEN;
    if (vy_is_product(f, op, a, b)) return product_type(f, a, b);
    if (a == b || (!vy_is_made(b) && b == vy_element(f, a))) return a;
    return !vy_is_made(a) && a == vy_element(f, b) ? b : VY_BROKEN;
}

vy_text_type vy_synth_products(vy_front *f, vy_ast_expr *e)
{
    vy_text_type of = VY_VOID, t;
    for (const vy_ast_expr *o = e->u.list; o; o = o->next)
        if (vy_is_matrix(f, o->type)) of = vy_element(f, o->type);
    for (vy_ast_expr *o = e->u.list; o && !f->failed; o = o->next)
        if (vy_is_any(o->type)) vy_settle(f, o, of);
    t = e->u.list->type;
    for (vy_ast_expr *o = e->u.list->next; o && !f->failed; o = o->next) {
        const vy_text_type r = vy_operator_type(f, o->link, t, o->type);
        if (r == VY_BROKEN)
            vy_front_error(f, VY_E_TYPES_DIFFER, o->line, o->column,
                           o->link == TK_MUL ? "a product needs as many columns as rows" : NULL,
                           "there is no `%s` of %s and %s", vy_operator_text(o->link),
                           vy_any_type_name(f, t), vy_any_type_name(f, o->type));
        t = r;
    }
    return e->type = f->failed ? VY_BROKEN : t;
}

// --------------------------------------------------------------------------------------- functions
static bool fits(const vy_front *f, const vy_builtin_info *b, vy_text_type t)
{
    if (b->op == OUTER) return vy_is_vector(f, t) && vy_type_is_float((vy_type)vy_element(f, t));
    if (!vy_is_matrix(f, t)) return false;
    const shape s = shape_of(f, t);
    return b->op == TRANSPOSE || s.rows == s.columns;
}

vy_text_type vy_synth_matrix(vy_front *f, vy_ast_expr *e, const vy_builtin_info *b)
{
    vy_ast_expr *x = e->u.ref.list, *y = x->next;
    const vy_text_type t = vy_check_value(f, x), u = y ? vy_check_value(f, y) : t;
    if (f->failed) return e->type = VY_BROKEN;
    if (!fits(f, b, t) || !fits(f, b, u) || vy_element(f, t) != vy_element(f, u)) {
        vy_front_error(f, VY_E_TYPE_WRONG, e->line, e->column,
                       b->op == OUTER       ? "give two vectors of one type of floats"
                       : b->op == TRANSPOSE ? "give a matrix"
                                            : "give a square matrix",
                       "`%s` is not for values of type %s", b->text,
                       vy_any_type_name(f, fits(f, b, t) ? u : t));
        return e->type = VY_BROKEN;
    }
    const vy_text_type of = vy_element(f, t);
    const shape s = shape_of(f, t);
    if (b->op == DETERMINANT) return e->type = of;
    if (b->op == INVERSE) return e->type = t;
    if (b->op == OUTER) return e->type = vy_matrix_type(f, of, vy_scalars(f, u), s.rows);
    return e->type = vy_matrix_type(f, of, s.rows, s.columns);
}
