// SPDX-License-Identifier: MIT
// lower_matrix.c: matrices: products, constructors, functions of linear algebra.
#include "ir/build/matrix.h"
#include "ir/text/lower.h"

#include <string.h>

enum { TRANSPOSE, DETERMINANT, INVERSE, OUTER }; // as in builtin.c

static uint32_t columns_of(const vy_lower *l, vy_text_type t)
{
    return vy_is_matrix(l->f, t) ? vy_made_of(l->f, t)->parts : 1;
}

static uint32_t rows_of(const vy_lower *l, vy_text_type t)
{
    return vy_scalars(l->f, t) / columns_of(l, t);
}

vy_text_type vy_lower_product(vy_lower *l, uint8_t op, vy_text_type a, vy_value *x, vy_text_type b,
                              const vy_value *y)
{
    const vy_text_type t = vy_operator_type(l->f, op, a, b);
    vy_value v[VY_MAX_ENTRIES];
    if (!vy_is_product(l->f, op, a, b)) {
        vy_lower_operator(l, op, vy_scalars(l->f, a), x, vy_scalars(l->f, b), y);
        return t;
    }
    const bool row = vy_is_vector(l->f, a); // a vector on the left
    const uint32_t rows = row ? 1 : rows_of(l, a), inner = row ? rows_of(l, a) : columns_of(l, a);
    vy_matrix_product(l->b, rows, inner, columns_of(l, b), x, y, v);
    memcpy(x, v, vy_scalars(l->f, t) * sizeof *v);
    return t;
}

uint32_t vy_lower_products(vy_lower *l, const vy_ast_expr *e, vy_value *v)
{
    vy_value *x = vy_room_take(l, VY_MAX_ENTRIES), *y = vy_room_take(l, VY_MAX_ENTRIES);
    vy_text_type t = e->u.list->type;
    vy_lower_value(l, e->u.list, x);
    for (const vy_ast_expr *o = e->u.list->next; o && !vy_lower_stopped(l); o = o->next) {
        vy_lower_value(l, o, y);
        if (vy_lower_stopped(l)) break;
        vy_lower_at(l, o->line, o->column);
        t = vy_lower_product(l, o->link, t, x, o->type, y);
    }
    memcpy(v, x, vy_scalars(l->f, e->type) * sizeof *v);
    return vy_scalars(l->f, e->type);
}

// ------------------------------------------------------------------------------------ constructors
static vy_value cast(vy_lower *l, vy_type to, vy_value x)
{
    return vy_value_type(l->b, x) == to ? x : vy_cast(l->b, to, x);
}

// One number on the diagonal, or another matrix at the corner of the unit matrix.
static void make_corner(vy_lower *l, const vy_ast_expr *e, const vy_value *of, vy_value *v)
{
    const vy_text_type from = e->u.ref.list->type;
    const vy_type to = (vy_type)vy_element(l->f, e->type);
    const bool number = !vy_is_made(from);
    const uint32_t rows = rows_of(l, e->type), columns = columns_of(l, e->type);
    const uint32_t r = number ? 0 : rows_of(l, from), c = number ? 0 : columns_of(l, from);
    for (uint32_t k = 0; k < rows * columns; k++) {
        const uint32_t i = k % rows, j = k / rows;
        v[k] = i < r && j < c ? cast(l, to, of[j * r + i])
               : i != j       ? vy_zero(l->b, to)
               : number       ? cast(l, to, of[0])
                              : vy_float(l->b, to, 1);
    }
}

void vy_lower_make_matrix(vy_lower *l, const vy_ast_expr *e, vy_value *v)
{
    const vy_ast_expr *first = e->u.ref.list;
    const uint32_t n = vy_scalars(l->f, e->type);
    vy_value part[VY_MAX_ENTRIES];
    uint32_t have = 0;
    if (!first->next && !vy_is_vector(l->f, first->type)) {
        vy_lower_value(l, first, part);
        if (!vy_lower_stopped(l)) make_corner(l, e, part, v);
        return;
    }
    for (const vy_ast_expr *a = first; a && !vy_lower_stopped(l); a = a->next) {
        const uint32_t m = vy_lower_value(l, a, part);
        if (vy_lower_stopped(l)) return;
        for (uint32_t k = 0; k < m && have < n; k++)
            v[have++] = cast(l, (vy_type)vy_element(l->f, e->type), part[k]);
    }
}

// --------------------------------------------------------------------------------------- functions
uint32_t vy_lower_matrix(vy_lower *l, const vy_ast_expr *e, vy_value *const *args, vy_value *v)
{
    const vy_text_type t = e->u.ref.list->type;
    const uint32_t rows = rows_of(l, t), columns = columns_of(l, t);
    switch (e->u.ref.name->info->op) {
    case TRANSPOSE: vy_matrix_transpose(rows, columns, args[0], v); break;
    case DETERMINANT: v[0] = vy_matrix_determinant(l->b, rows, args[0]); break;
    case INVERSE: vy_matrix_inverse(l->b, rows, args[0], v); break;
    default: vy_matrix_product(l->b, rows, 1, columns_of(l, e->type), args[0], args[1], v); break;
    }
    return vy_scalars(l->f, e->type);
}
