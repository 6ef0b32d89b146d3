// SPDX-License-Identifier: MIT
// dim_copy.c: dimensions of a program as dimensions of the program being built.
#include "ir/build/edit.h"

vy_dim vy_dim_own_scalar(vy_builder *b, uint32_t k)
{
    if (vy_builder_failed(b)) return (vy_dim){0}; // it may lack them
    const vy_type t = vy_builder_program(b)->scalars.data[k].type;
    return vy_dim_value(b, (vy_value){vy_leaf_other(b, VY_LEAF_SCALAR, t, k, 0)});
}

vy_dim vy_dim_copy(vy_builder *b, const vy_dim_node *n, const vy_dim *made)
{
    if (n->op == VY_DIM_CONST) return vy_dim_const(b, n->value);
    if (n->op == VY_DIM_GROUPS) return vy_dim_groups(b, (uint32_t)n->value);
    if (n->op < VY_DIM_ADD || !made[n->a].id || !made[n->b].id) return (vy_dim){0};
    return vy_dim_binary(b, n->op, made[n->a], made[n->b]);
}
