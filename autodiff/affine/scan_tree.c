// SPDX-License-Identifier: MIT
// scan_tree.c: what a tree of loops that isl has made costs: copies of the point's code, and loops
// that walk much more than the points.
#include "autodiff/affine/scan.h"

static isl_bool count_point(isl_ast_node *n, void *user)
{
    uint32_t *count = user;
    *count += isl_ast_node_get_type(n) == isl_ast_node_user;
    return isl_bool_true;
}

uint32_t vy_tree_points(isl_ast_node *tree)
{
    uint32_t count = 0;
    if (tree) isl_ast_node_foreach_descendant_top_down(tree, count_point, &count);
    return count;
}

// Does the expression have the identifier?
static bool mentions(isl_ast_expr *e, isl_id *id)
{
    bool found = false;
    if (isl_ast_expr_get_type(e) == isl_ast_expr_id) {
        isl_id *own = isl_ast_expr_id_get_id(e);
        found = own == id;
        isl_id_free(own);
    }
    if (isl_ast_expr_get_type(e) != isl_ast_expr_op) return found;
    for (int k = 0, n = (int)isl_ast_expr_op_get_n_arg(e); k < n && !found; k++) {
        isl_ast_expr *x = isl_ast_expr_op_get_arg(e, k);
        found = x && mentions(x, id);
        isl_ast_expr_free(x);
    }
    return found;
}

// Has the expression an identifier, but the iterator, that `also` has, too?  NULL: any at all.
static bool has_common(isl_ast_expr *e, isl_id *iterator, isl_ast_expr *also)
{
    bool found = false;
    if (isl_ast_expr_get_type(e) == isl_ast_expr_id) {
        isl_id *id = isl_ast_expr_id_get_id(e);
        found = id != iterator && (!also || mentions(also, id));
        isl_id_free(id);
    }
    if (isl_ast_expr_get_type(e) != isl_ast_expr_op) return found;
    for (int k = 0, n = (int)isl_ast_expr_op_get_n_arg(e); k < n && !found; k++) {
        isl_ast_expr *x = isl_ast_expr_op_get_arg(e, k);
        found = x && has_common(x, iterator, also);
        isl_ast_expr_free(x);
    }
    return found;
}

// May it have as many iterations as an array has rows?  `for (c = 0; c < n; c++)` may, `0 … 3` and
// `max(0, y - 1) … min(n, y + 1)` go through a neighbourhood.
static bool is_long(isl_ast_node *loop)
{
    isl_ast_expr *from = isl_ast_node_for_get_init(loop), *to = isl_ast_node_for_get_cond(loop);
    isl_ast_expr *counter = isl_ast_node_for_get_iterator(loop);
    isl_id *id = counter ? isl_ast_expr_id_get_id(counter) : NULL;
    const bool is = from && to && id && (has_common(from, id, NULL) || has_common(to, id, NULL)) &&
                    !has_common(from, id, to);
    isl_id_free(id);
    isl_ast_expr_free(counter);
    isl_ast_expr_free(from);
    isl_ast_expr_free(to);
    return is;
}

uint32_t vy_tree_walks(isl_ast_node *n)
{
    uint32_t least = UINT32_MAX;
    isl_ast_node *inner[2] = {NULL, NULL};
    isl_ast_node_list *list = NULL;
    switch (isl_ast_node_get_type(n)) {
    case isl_ast_node_user: return 0;
    case isl_ast_node_for: inner[0] = isl_ast_node_for_get_body(n); break;
    case isl_ast_node_if:
        inner[0] = isl_ast_node_if_get_then(n);
        if (isl_ast_node_if_has_else(n) == isl_bool_true) inner[1] = isl_ast_node_if_get_else(n);
        break;
    case isl_ast_node_block: list = isl_ast_node_block_get_children(n); break;
    default: break;
    }
    const int count = list ? (int)isl_ast_node_list_n_ast_node(list) : 2;
    for (int k = 0; k < count; k++) {
        isl_ast_node *x = list ? isl_ast_node_list_get_ast_node(list, k) : inner[k];
        const uint32_t loops = x ? vy_tree_walks(x) : UINT32_MAX;
        if (loops < least) least = loops;
        isl_ast_node_free(x);
    }
    isl_ast_node_list_free(list);
    const bool loops = isl_ast_node_get_type(n) == isl_ast_node_for &&
                       isl_ast_node_for_is_degenerate(n) != isl_bool_true && is_long(n);
    return least + (loops && least < UINT32_MAX);
}
