// SPDX-License-Identifier: MIT
// dim_condition.c: conditions on integers as dimensions, 1 where they hold and 0 where not.
//
// So `if c` of a pipeline is a repeat from 0 to c, and && and || are minimum and maximum.
#include "ir/build/build.h"

// 1 where d > 0, else 0.
static vy_dim positive(vy_builder *b, vy_dim d)
{
    const vy_dim natural = vy_dim_binary(b, VY_DIM_MAX, d, vy_dim_const(b, 0));
    return vy_dim_binary(b, VY_DIM_MIN, natural, vy_dim_const(b, 1));
}

vy_dim vy_dim_less(vy_builder *b, vy_dim x, vy_dim y)
{
    return positive(b, vy_dim_binary(b, VY_DIM_SUB, y, x));
}

vy_dim vy_dim_differ(vy_builder *b, vy_dim x, vy_dim y)
{
    const vy_dim up = vy_dim_binary(b, VY_DIM_SUB, y, x), down = vy_dim_binary(b, VY_DIM_SUB, x, y);
    return positive(b, vy_dim_binary(b, VY_DIM_MAX, up, down)); // of a form that has bounds
}

vy_dim vy_dim_not(vy_builder *b, vy_dim condition)
{
    if (b->failed || condition.id >= b->p->dims.count) return (vy_dim){0};
    const vy_dim_node *d = &b->p->dims.data[condition.id], *a = &b->p->dims.data[d->a];
    if (d->op == VY_DIM_SUB && a->op == VY_DIM_CONST && a->value == 1) return (vy_dim){d->b};
    return vy_dim_binary(b, VY_DIM_SUB, vy_dim_const(b, 1), condition);
}
