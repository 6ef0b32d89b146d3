// SPDX-License-Identifier: MIT
// scan.c: see scan.h.  Walks the tree that isl's AST builder makes of a set; scan_expression.c
// translates its expressions.
#include "autodiff/affine/scan.h"
#include "ir/build/edit.h"

#include <isl/ast.h>
#include <isl/ast_build.h>
#include <isl/union_map.h>

static void node(vy_lattice *l, isl_ast_node *n);

// ------------------------------------------------------------------------------------------- nodes
static void refuse_walk(vy_lattice *l) { l->refused = true; }

static bool bind(vy_lattice *l, isl_ast_expr *iterator, vy_signed value)
{
    vy_bound_id entry = {isl_ast_expr_get_id(iterator), value};
    isl_id_free(entry.id); // the tree keeps a reference
    if (vy_vec_push(&l->ids, entry)) return true;
    l->a->failed = true;
    return false;
}

static void body(vy_lattice *l, isl_ast_node *n)
{
    isl_ast_node *inner = isl_ast_node_for_get_body(n);
    node(l, inner);
    isl_ast_node_free(inner);
}

// The exclusive upper bound of the iterator.
static vy_signed end_of(vy_lattice *l, isl_ast_node *n)
{
    isl_ast_expr *cond = isl_ast_node_for_get_cond(n);
    vy_signed r = vy_signed_none;
    if (isl_ast_expr_get_type(cond) == isl_ast_expr_op) {
        enum isl_ast_expr_op_type op = isl_ast_expr_get_op_type(cond);
        isl_ast_expr *x = isl_ast_expr_get_op_arg(cond, 0), *y = isl_ast_expr_get_op_arg(cond, 1);
        bool own = isl_ast_expr_get_type(x) == isl_ast_expr_id;
        if (own && (op == isl_ast_expr_op_lt || op == isl_ast_expr_op_le)) {
            r = vy_lattice_expression(l, y);
            if (op == isl_ast_expr_op_le) r = vy_signed_add(l->b, r, vy_signed_constant(1));
        }
        isl_ast_expr_free(x);
        isl_ast_expr_free(y);
    }
    isl_ast_expr_free(cond);
    return r;
}

static const char *iterator_name(isl_ast_expr *iterator)
{
    isl_id *id = isl_ast_expr_get_id(iterator);
    const char *name = isl_id_get_name(id); // of the nest's dimension, see iterators
    isl_id_free(id);
    return name ? name : "k";
}

// Start and step of the loop, divided among the lanes; false: that could wrap.
static bool divide(vy_lattice *l, isl_ast_node *n, vy_signed from, vy_value *start, int64_t *step)
{
    enum { MOST_STEP = 1 << 20 };
    int64_t most = from.most_plus + (from.constant > 0 ? from.constant : 0);
    *start = vy_signed_modular(l->b, from);
    if (l->lanes.count < 2) return true;
    if (*step > MOST_STEP || most + *step * l->lanes.count > UINT32_MAX) return false;
    isl_ast_node *inner = isl_ast_node_for_get_body(n);
    vy_lanes_take(l, inner, start, step);
    isl_ast_node_free(inner);
    return true;
}

// The emitted counter is a u32: bounds that may be negative are shifted by `origin`, which makes
// them non-negative.
static void loop(vy_lattice *l, isl_ast_node *n, isl_ast_expr *iterator)
{
    vy_builder *b = l->b;
    isl_ast_expr *init = isl_ast_node_for_get_init(n), *inc = isl_ast_node_for_get_inc(n);
    vy_signed from = vy_lattice_expression(l, init), to = end_of(l, n);
    int64_t step = 0;
    bool known = vy_lattice_constant(inc, &step) && step > 0;
    isl_ast_expr_free(init);
    isl_ast_expr_free(inc);
    // iterator = counter − origin
    vy_signed origin = {.plus = from.minus, .most_plus = from.most_minus};
    if (from.constant < 0) origin.constant = -from.constant;
    from = vy_signed_add(b, from, origin);
    to = vy_signed_add(b, to, origin);
    if (!known || !vy_signed_fits(from) || !vy_signed_fits(to)) {
        refuse_walk(l);
        return;
    }
    vy_value end = vy_signed_natural(b, to), start;
    int64_t most = to.most_plus + (to.constant > 0 ? to.constant : 0);
    if (!end.id) {
        refuse_walk(l);
        return;
    }
    const vy_lanes lanes = l->lanes;
    if (!divide(l, n, from, &start, &step)) {
        refuse_walk(l);
        return;
    }
    vy_at(b, 0, 0); // not a loop of the source
    vy_value at =
        vy_for_step(b, iterator_name(iterator), start, end, vy_int(b, VY_U32, step), false);
    vy_signed value = vy_signed_sub(b, vy_signed_value(at, most), origin);
    if (vy_signed_fits(value) && bind(l, iterator, value))
        body(l, n);
    else
        refuse_walk(l);
    l->ids.count -= l->ids.count > 0;
    vy_end(b);
    l->lanes = lanes;
}

static void for_node(vy_lattice *l, isl_ast_node *n)
{
    isl_ast_expr *iterator = isl_ast_node_for_get_iterator(n);
    if (isl_ast_node_for_is_degenerate(n) == isl_bool_true) {
        isl_ast_expr *init = isl_ast_node_for_get_init(n);
        vy_signed value = vy_lattice_expression(l, init);
        isl_ast_expr_free(init);
        if (vy_signed_fits(value) && bind(l, iterator, value)) {
            body(l, n);
            l->ids.count--;
        } else {
            refuse_walk(l);
        }
    } else {
        loop(l, n, iterator);
    }
    isl_ast_expr_free(iterator);
}

static void if_node(vy_lattice *l, isl_ast_node *n)
{
    isl_ast_expr *cond = isl_ast_node_if_get_cond(n);
    isl_ast_node *yes = isl_ast_node_if_get_then(n);
    vy_value c = vy_lattice_condition(l, cond);
    if (c.id) {
        vy_if(l->b, c);
        node(l, yes);
        if (isl_ast_node_if_has_else(n) == isl_bool_true) {
            isl_ast_node *no = isl_ast_node_if_get_else(n);
            vy_else(l->b);
            node(l, no);
            isl_ast_node_free(no);
        }
        vy_end(l->b);
    } else {
        refuse_walk(l);
    }
    isl_ast_expr_free(cond);
    isl_ast_node_free(yes);
}

// A point: a call of the set's name with the coordinates.
static void user_node(vy_lattice *l, isl_ast_node *n)
{
    isl_ast_expr *call = isl_ast_node_user_get_expr(n);
    vy_value index[64];
    vy_signed number[64];
    const vy_nest *nest = l->nest;
    bool ok = nest->count <= 64;
    for (uint32_t k = 0; ok && k < nest->count; k++) {
        isl_ast_expr *arg = isl_ast_expr_get_op_arg(call, (int)k + 1);
        vy_signed x = number[k] = vy_lattice_expression(l, arg);
        isl_ast_expr_free(arg);
        ok = vy_signed_fits(x);
        if (!ok) break;
        vy_type t = k < nest->overs ? VY_U32 : vy_id_type(l->a->p, nest->loop[k]);
        vy_value v = vy_signed_modular(l->b, x);
        // i64 counters may be negative: sign-extend.
        if (t == VY_I64) v = vy_cast(l->b, VY_I32, v);
        index[k] = vy_cast(l->b, t, v);
    }
    isl_ast_expr_free(call);
    if (ok && l->taps.all) l->guard = vy_taps_guard(l, number);
    if (!ok || l->refused) {
        refuse_walk(l);
        return;
    }
    bool alone = l->lanes.count > 1; // not divided by any loop around the point: lane 0 runs it
    if (alone) vy_if(l->b, vy_eq(l->b, l->lanes.lane, vy_zero(l->b, VY_U32)));
    l->point(l->user, index);
    if (alone) vy_end(l->b);
}

static void node(vy_lattice *l, isl_ast_node *n)
{
    if (l->refused || vy_builder_failed(l->b)) return;
    switch (isl_ast_node_get_type(n)) {
    case isl_ast_node_for: for_node(l, n); return;
    case isl_ast_node_if:
        vy_at(l->b, 0, 0);
        if_node(l, n);
        return;
    case isl_ast_node_user: user_node(l, n); return;
    case isl_ast_node_block: {
        isl_ast_node_list *list = isl_ast_node_block_get_children(n);
        int count = (int)isl_ast_node_list_n_ast_node(list);
        for (int k = 0; k < count; k++) {
            isl_ast_node *child = isl_ast_node_list_get_ast_node(list, k);
            node(l, child);
            isl_ast_node_free(child);
        }
        isl_ast_node_list_free(list);
        return;
    }
    default: refuse_walk(l);
    }
}

// Iterators have the names of the nest's dimensions.
static isl_id_list *iterators(const vy_lattice *l)
{
    isl_id_list *list = isl_id_list_alloc(l->a->ctx, (int)l->nest->count);
    for (uint32_t k = 0; k < l->nest->count; k++) {
        // The user pointer distinguishes it from a parameter of the same name.
        const uint32_t dim = l->taps.all ? l->taps.order[k] : k;
        const char *name = isl_space_get_dim_name(l->nest->space, isl_dim_set, dim);
        list = isl_id_list_add(list, isl_id_alloc(l->a->ctx, name, l->a->ctx));
    }
    return list;
}

// The tree of a schedule (kept).  whole: no loop is split, whatever conditions that puts into it.
//
// isl's AST builder (0.25) confuses remainders and quotients of different parameters where the
// context orders its parameters differently from the schedule: `T % 4` came out as `N % 4`.  Other
// functions of isl align parameters themselves; for this one they are aligned beforehand.
static isl_ast_node *tree_of(const vy_lattice *l, isl_map *schedule, isl_set *context, bool whole)
{
    context = vy_isl_set_align_params(isl_set_copy(context), isl_map_get_space(schedule));
    schedule = vy_isl_map_align_params(isl_map_copy(schedule), isl_set_get_space(context));
    isl_ast_node *tree = vy_isl_known_tree(schedule, context, l->nest->space, whole);
    if (tree) {
        isl_map_free(schedule);
        isl_set_free(context);
        return tree;
    }
    isl_ast_build *build = isl_ast_build_from_context(isl_set_copy(context));
    if (whole) {
        isl_space *space = vy_isl_space_set_alloc(l->a->ctx, 0, 1);
        space = isl_space_set_tuple_name(space, isl_dim_set, "atomic");
        isl_set *all = vy_isl_set_universe(space);
        isl_space *times = isl_space_range(isl_map_get_space(schedule));
        isl_set *where = vy_isl_set_universe(times);
        isl_map *option = isl_map_from_domain_and_range(where, all);
        build = isl_ast_build_set_options(build, isl_union_map_from_map(option));
    }
    build = isl_ast_build_set_iterators(build, iterators(l));
    isl_union_map *map = isl_union_map_from_map(isl_map_copy(schedule));
    tree = isl_ast_build_node_from_schedule_map(build, map);
    isl_ast_build_free(build);
    vy_isl_remember_tree(schedule, context, l->nest->space, whole, tree);
    isl_map_free(schedule);
    isl_set_free(context);
    return tree;
}

// The tree with fewer copies of the point's code: with or without split loops.  Where those that
// are split leave some points without a long loop, as where numbers are clamped, of which only
// those at the ends have many, the others would walk all for each.
static isl_ast_node *best_tree(const vy_lattice *l, isl_set *set, isl_set *context,
                               uint32_t *points)
{
    enum { ENOUGH = 4 };
    isl_map *schedule = l->taps.all
                            ? vy_taps_schedule(l, set)
                            : vy_isl_map_reset_tuple_id(vy_isl_set_identity(set), isl_dim_out);
    isl_ast_node *tree = tree_of(l, schedule, context, false);
    *points = vy_tree_points(tree);
    if (*points > ENOUGH) {
        isl_ast_node *other = tree_of(l, schedule, context, true);
        const uint32_t others = vy_tree_points(other);
        const bool walks = tree && other && vy_tree_walks(tree) < vy_tree_walks(other);
        if (other && others < *points && !walks) {
            isl_ast_node_free(tree);
            tree = other;
            *points = others;
        } else {
            isl_ast_node_free(other);
        }
    }
    isl_map_free(schedule);
    return tree;
}

// Is the tree in the memo?  (Walks over taps are not memoised.)
static bool is_known(const vy_lattice_memo *m, isl_set *set, isl_set *context)
{
    return m && m->tree && isl_set_plain_is_equal(m->set, set) == isl_bool_true &&
           isl_set_plain_is_equal(m->context, context) == isl_bool_true;
}

void vy_lattice_forget(vy_lattice_memo *m)
{
    isl_set_free(m->set);
    isl_set_free(m->context);
    isl_ast_node_free(m->tree);
    *m = (vy_lattice_memo){0};
}

static void remember(const vy_lattice *l, isl_set *set, isl_set *context, isl_ast_node *tree,
                     uint32_t points)
{
    if (!l->memo) return;
    vy_lattice_forget(l->memo);
    *l->memo = (vy_lattice_memo){isl_set_copy(set), isl_set_copy(context), isl_ast_node_copy(tree),
                                 points};
}

static isl_set *named_point(const vy_lattice *l, isl_set *set)
{
    return vy_isl_set_set_tuple_id(set, isl_id_alloc(l->a->ctx, "point", NULL));
}

bool vy_lattice_emit(vy_lattice *l, isl_set *set, isl_set *context)
{
    enum { MOST = 32 }; // copies of the point's code
    uint32_t points = 0;
    isl_ast_node *tree;
    set = named_point(l, vy_isl_set_coalesce(set));
    l->context = context;
    if (vy_taps_find(l, set, context)) {
        tree = best_tree(l, named_point(l, isl_set_copy(l->taps.all)), context, &points);
    } else if (is_known(l->memo, set, context)) {
        tree = isl_ast_node_copy(l->memo->tree);
        points = l->memo->points;
    } else {
        tree = best_tree(l, isl_set_copy(set), context, &points);
        remember(l, set, context, tree, points);
    }
    isl_set_free(set);
    if (tree && points <= MOST && vy_affine_ok(l->a))
        node(l, tree);
    else
        refuse_walk(l);
    isl_ast_node_free(tree);
    return !l->refused && !l->a->failed && !vy_builder_failed(l->b);
}

void vy_lattice_free(vy_lattice *l)
{
    vy_vec_free(&l->ids);
    vy_taps_free(&l->taps);
}
