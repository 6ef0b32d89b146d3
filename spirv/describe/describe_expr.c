// SPDX-License-Identifier: MIT
// describe_expr.c: sizes as expressions of the kernel's symbols.
#include "spirv/describe/describe.h"

#include <string.h>

// Nodes are deduplicated: fewer hidden parameters, and a pipeline can see that sizes are equal.
static uint32_t *find_slot(vy_describe *d, const vy_expr *e)
{
    uint64_t h = (uint64_t)e->op ^ (uint64_t)e->a << 8 ^ (uint64_t)e->b << 36 ^ (uint64_t)e->value;
    h = (h ^ h >> 31) * 0x9e3779b97f4a7c15ull;
    for (uint32_t i = (uint32_t)(h >> 32);; i++) {
        uint32_t *slot = &d->table[i & (d->table_size - 1)];
        const vy_expr *o = *slot ? &d->exprs.data[*slot - 1] : NULL;
        if (!o || (o->op == e->op && o->a == e->a && o->b == e->b && o->value == e->value))
            return slot;
    }
}

static bool grow_table(vy_describe *d)
{
    uint32_t size = d->table_size ? d->table_size * 2 : 64;
    while (size <= d->exprs.count * 2) size *= 2; // of a copy that has no table yet
    uint32_t *table = vy_realloc(NULL, size * sizeof *table);
    if (!table) return false;
    memset(table, 0, size * sizeof *table);
    vy_free(d->table);
    d->table = table;
    d->table_size = size;
    for (uint32_t i = 0; i < d->exprs.count; i++) *find_slot(d, &d->exprs.data[i]) = i + 1;
    return true;
}

uint32_t vy_describe_expr(vy_describe *d, vy_expr e)
{
    if (d->oom || (d->exprs.count * 2 >= d->table_size && !grow_table(d))) {
        d->oom = true;
        return 0;
    }
    uint32_t *slot = find_slot(d, &e);
    if (*slot) return *slot - 1;
    if (!vy_vec_push(&d->exprs, e)) d->oom = true;
    if (!d->oom) *slot = d->exprs.count;
    return d->oom ? 0 : d->exprs.count - 1;
}

static const vy_expr_op expr_ops[] = {
    [VY_DIM_ADD] = VY_EXPR_ADD, [VY_DIM_SUB] = VY_EXPR_SUB,   [VY_DIM_MUL] = VY_EXPR_MUL,
    [VY_DIM_DIV] = VY_EXPR_DIV, [VY_DIM_REM] = VY_EXPR_REM,   [VY_DIM_MIN] = VY_EXPR_MIN,
    [VY_DIM_MAX] = VY_EXPR_MAX, [VY_DIM_SQRT] = VY_EXPR_SQRT,
};

uint32_t vy_describe_binary(vy_describe *d, vy_expr_op op, uint32_t a, uint32_t b)
{
    if (d->oom) return 0;
    vy_expr e[3] = {{.op = VY_EXPR_CONST}, {.op = VY_EXPR_CONST}, {.op = op, .a = 0, .b = 1}};
    const vy_expr *x = &d->exprs.data[a], *y = &d->exprs.data[b];
    int64_t values[3];
    if (x->op == VY_EXPR_CONST && y->op == VY_EXPR_CONST) {
        e[0].value = x->value;
        e[1].value = y->value;
        // An overflow or division by zero is not folded: the host reports it.
        if (vy_expr_eval(e, 3, NULL, NULL, values, NULL, NULL))
            return vy_describe_expr(d, (vy_expr){.op = VY_EXPR_CONST, .value = values[2]});
    }
    return vy_describe_expr(d, (vy_expr){.op = op, .a = a, .b = b});
}

// A plan's repeat counts from 0, the pipeline's from a start value, which is an earlier node.
static uint32_t step_expr(vy_describe *d, uint32_t step)
{
    const vy_pipe_step *s = &d->pipeline->steps.data[step];
    const uint32_t symbol = d->step_symbols[step]; // its expression has its number
    const uint32_t from = s->kind == VY_PIPE_REPEAT ? d->dim_exprs[s->from.id] - 1 : 0;
    const vy_expr *e = &d->exprs.data[from];
    const bool zero = e->op == VY_EXPR_CONST && e->value == 0;
    if (s->kind != VY_PIPE_REPEAT || zero) return symbol;
    return vy_describe_binary(d, VY_EXPR_ADD, from, symbol);
}

static uint32_t dim_expr(vy_describe *d, const vy_dim_node *n)
{
    if (d->oom) return 0;
    switch (n->op) {
    case VY_DIM_CONST:
        return vy_describe_expr(d, (vy_expr){.op = VY_EXPR_CONST, .value = n->value});
    case VY_DIM_SCALAR: return (uint32_t)n->value; // symbols come first
    case VY_DIM_UNKNOWN: return d->extent_sym[n->value] ? d->extent_sym[n->value] - 1 : 0;
    case VY_DIM_GROUPS: return d->group_sym[n->value] ? d->group_sym[n->value] - 1 : 0;
    case VY_DIM_STEP: return step_expr(d, (uint32_t)n->value);
    default:
        return vy_describe_binary(d, expr_ops[n->op], d->dim_exprs[n->a] - 1,
                                  d->dim_exprs[n->b] - 1);
    }
}

uint32_t vy_describe_dim(vy_describe *d, vy_dim dim)
{
    return d->oom ? 0 : d->dim_exprs[dim.id] - 1;
}

void vy_describe_symbol(vy_describe *d, vy_symbol s)
{
    if (!vy_vec_push(&d->symbols, s)) d->oom = true;
    vy_describe_expr(d, (vy_expr){.op = VY_EXPR_SYMBOL, .value = d->symbols.count - 1});
}

void vy_describe_dims(vy_describe *d)
{
    for (uint32_t i = 1; i < d->p->dims.count && !d->oom; i++)
        d->dim_exprs[i] = dim_expr(d, &d->p->dims.data[i]) + 1;
}
