// SPDX-License-Identifier: MIT
// lower_dim.c: dimensions to the builder, and helpers shared by all of lowering.
#include "ir/text/lower.h"
#include "ir/build/edit.h"

void vy_lower_at(vy_lower *l, uint32_t line, uint32_t column)
{
    if (!l->fixed_place) vy_at(l->b, line, column);
}

bool vy_lower_stopped(vy_lower *l)
{
    if (++l->visited > VY_MAX_LOWERED && !l->f->failed)
        vy_front_error(l->f, VY_E_LIMIT, 0, 0, "call functions from loops instead",
                       "inlining functions makes more than %u expressions", VY_MAX_LOWERED);
    return l->f->failed || vy_builder_failed(l->b);
}

vy_buffer vy_lower_buffer(const vy_lower *l, const vy_decl *d)
{
    return (vy_buffer){l->frame[d->slot]};
}

static vy_dim dim_name(vy_lower *l, const vy_ast_expr *e)
{
    const vy_decl *d = e->u.ref.decl;
    if (d->kind == DK_CONST) return vy_dim_const(l->b, d->value.i);
    vy_value v = {l->frame[d->slot]};
    if (d->kind == DK_NUMBER) return (vy_dim){v.id};
    if (d->kind == DK_CELL) {
        const vy_dim zero = vy_dim_const(l->b, 0);
        vy_lower_at(l, e->line, e->column);
        return vy_pipeline_value(l->pipe, (vy_buffer){v.id}, &zero);
    }
    if (!vy_builder_failed(l->b) && d->kind == DK_PARAM &&
        !vy_id_const(vy_builder_program(l->b), v.id)) {
        vy_front_error(l->f, VY_E_CONSTANT, e->line, e->column, "pass a constant, or use one here",
                       "`%s` is not constant in this call", d->name->text);
        return (vy_dim){0};
    }
    return vy_dim_value(l->b, v);
}

static vy_dim dim_call(vy_lower *l, const vy_ast_expr *e)
{
    const vy_ast_expr *a = e->u.ref.list;
    const char *name = e->u.ref.name->text;
    if (name[0] == 'i') {
        vy_dim x = vy_lower_dim(l, a);
        return vy_dim_binary(l->b, VY_DIM_SQRT, x, x);
    }
    if (name[0] == 'v') return vy_lower_element(l, e);
    if (name[0] != 'l') {
        vy_dim x = vy_lower_dim(l, a), y = vy_lower_dim(l, a->next);
        return vy_dim_binary(l->b, name[1] == 'i' ? VY_DIM_MIN : VY_DIM_MAX, x, y);
    }
    if (vy_builder_failed(l->b)) return (vy_dim){0};
    vy_buffer buf = vy_lower_buffer(l, a->u.ref.decl);
    if (!buf.id) {
        vy_front_error(l->f, VY_E_NAME_UNKNOWN, a->line, a->column, "declare that buffer first",
                       "the length of `%s` is used before it is declared", a->u.ref.name->text);
        return (vy_dim){0};
    }
    uint32_t axis = a->next ? (uint32_t)a->next->u.value : 0;
    return vy_builder_program(l->b)->buffers.data[buf.id].dims[axis];
}

vy_dim vy_lower_dim(vy_lower *l, const vy_ast_expr *e)
{
    // In the order of the tokens.
    static const vy_dim_op ops[] = {VY_DIM_ADD, VY_DIM_SUB, VY_DIM_MUL, VY_DIM_DIV, VY_DIM_REM};
    vy_dim x = {0};
    if (vy_lower_stopped(l)) return x;
    switch (e->kind) {
    case EX_INT:
        if (e->u.value > INT64_MAX)
            vy_front_error(l->f, VY_E_LITERAL_RANGE, e->line, e->column, NULL,
                           "this dimension is too large");
        return vy_dim_const(l->b, (int64_t)(e->u.value & INT64_MAX));
    case EX_NAME:
        if (!e->u.ref.name) return vy_dim_unknown(l->b);
        return dim_name(l, e);
    case EX_BUILTIN: return vy_dim_groups(l->b, e->count);
    case EX_UNARY:
        x = vy_lower_dim(l, e->u.sub.a);
        return vy_dim_binary(l->b, VY_DIM_SUB, vy_dim_const(l->b, 0), x);
    case EX_CHAIN:
        for (const vy_ast_expr *o = e->u.list; o; o = o->next) {
            vy_dim y = vy_lower_dim(l, o);
            x = o == e->u.list ? y : vy_dim_binary(l->b, ops[o->link - TK_ADD], x, y);
        }
        return x;
    default: return dim_call(l, e);
    }
}

bool vy_dim_known(const vy_lower *l, vy_dim d, int64_t *value)
{
    if (!d.id || vy_builder_failed(l->b)) return false;
    const vy_dim_node *n = &vy_builder_program(l->b)->dims.data[d.id];
    *value = n->value;
    return n->op == VY_DIM_CONST;
}

bool vy_lower_dims(vy_lower *l, const vy_decl *d, vy_dim dims[VY_MAX_RANK])
{
    uint32_t n = 0;
    for (const vy_ast_expr *e = d->dims; e; e = e->next) {
        int64_t value;
        dims[n] = vy_lower_dim(l, e);
        if (vy_lower_stopped(l)) return false;
        bool known = vy_dim_known(l, dims[n++], &value);
        if (d->kind == DK_BUFFER || (known && value > 0 && value <= INT32_MAX)) continue;
        vy_front_error(l->f, known ? VY_E_EXTENT : VY_E_CONSTANT, e->line, e->column,
                       known ? "give a size from 1 up" : NULL,
                       known ? "array `%s` has size %lld"
                             : "the size of array `%s` is not constant",
                       d->name->text, known ? (long long)value : 0);
        return false;
    }
    return true;
}

uint32_t vy_lower_column(vy_lower *l, const vy_decl *d, uint32_t c, vy_dim dims[VY_MAX_RANK],
                         vy_column *column)
{
    *column = vy_column_at(l->f, d->name->text, d->type, c);
    if (!vy_lower_dims(l, d, dims)) return 0;
    for (uint32_t k = 0; k < column->axes; k++)
        dims[d->rank + k] = vy_dim_const(l->b, column->size[k]);
    return vy_lower_stopped(l) ? 0 : d->rank + column->axes;
}

vy_dim vy_lower_element(vy_lower *l, const vy_ast_expr *e)
{
    const vy_ast_expr *x = e->u.ref.list;
    vy_dim index[VY_MAX_RANK], zero = {0};
    uint32_t n = 0;
    for (const vy_ast_expr *i = x->u.ref.list; i; i = i->next) index[n++] = vy_lower_dim(l, i);
    if (vy_lower_stopped(l)) return zero;
    vy_lower_at(l, e->line, e->column);
    return vy_pipeline_value(l->pipe, vy_lower_buffer(l, x->u.ref.decl), index);
}
