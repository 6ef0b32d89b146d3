// SPDX-License-Identifier: MIT
// scan_lanes.c: the points of a lattice divided among the lanes of a workgroup.
//
//   for b in 0..B { for i in 0..M { for j in 0..N { … } } }
//
//   for b in 0..B { for i in 0 + t / 8 .. M step 8 { for j in 0 + t % 8 .. N step 8 { … } } }
//
// The two innermost loops are divided, eight lanes to a row: iterations of the innermost loop are
// mostly neighbours in memory, outer loops are often short (images of a batch), and dividing two
// loops needs no product of their lengths, which could wrap, and no division in each iteration.  A
// single loop is divided among all lanes.  Of thousands of invocations sixty-four are a row.
// Bounds may depend on outer counters: each lane evaluates those of the loops it reaches.  Lane 0
// runs the points that no loop divides.
#include "autodiff/affine/scan.h"

enum { ROW = 8, MANY = 4096, LONG_ROW = 64 };

// The nesting depth of loops in `n`, which is taken.
static uint32_t depth(isl_ast_node *n)
{
    uint32_t d = 0, other;
    switch (isl_ast_node_get_type(n)) {
    case isl_ast_node_for:
        d = depth(isl_ast_node_for_get_body(n));
        d += isl_ast_node_for_is_degenerate(n) != isl_bool_true;
        break;
    case isl_ast_node_if:
        d = depth(isl_ast_node_if_get_then(n));
        other =
            isl_ast_node_if_has_else(n) == isl_bool_true ? depth(isl_ast_node_if_get_else(n)) : 0;
        if (other > d) d = other;
        break;
    case isl_ast_node_block: {
        isl_ast_node_list *list = isl_ast_node_block_get_children(n);
        int count = (int)isl_ast_node_list_n_ast_node(list);
        for (int k = 0; k < count; k++) {
            other = depth(isl_ast_node_list_get_ast_node(list, k));
            if (other > d) d = other;
        }
        isl_ast_node_list_free(list);
        break;
    }
    default: break;
    }
    isl_ast_node_free(n);
    return d;
}

void vy_lanes_take(vy_lattice *l, isl_ast_node *body, vy_value *from, int64_t *step)
{
    vy_builder *b = l->b;
    uint32_t below = depth(isl_ast_node_copy(body)), count = l->lanes.count, rest = 1;
    vy_value lane = l->lanes.lane;
    if (below > 1) return;
    if (below == 1 && count > ROW) rest = count < MANY ? ROW : LONG_ROW;
    if (below == 1 && rest == 1) return; // too few lanes for both loops: the inner one gets them
    l->lanes.count = rest;
    if (rest > 1) {
        vy_value row = vy_int(b, VY_U32, rest);
        l->lanes.lane = vy_rem(b, lane, row);
        lane = vy_div(b, lane, row);
    }
    *from = vy_add(b, *from, vy_mul(b, lane, vy_int(b, VY_U32, *step)));
    *step *= count / rest;
}
