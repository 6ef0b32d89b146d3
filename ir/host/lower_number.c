// SPDX-License-Identifier: MIT
// lower_number.c: integers of a host program as dimension expressions of the pipeline.
//
// Expressions are computed in 64 bits, so casts between integer types change nothing.  Numbers of
// loops and of loaded elements are noted where the walk meets those (lower.c).
#include "ir/host/lower.h"

static vy_dim leaf_number(lowering *w, const vy_leaf *l)
{
    switch ((vy_leaf_kind)l->kind) {
    case VY_LEAF_CONST: return vy_dim_const(w->b, l->value.i);
    case VY_LEAF_SCALAR:
        return vy_dim_value(w->b, (vy_value){vy_leaf_other(w->b, VY_LEAF_SCALAR, (vy_type)l->type,
                                                           l->index, 0)});
    case VY_LEAF_LEN: return w->b->p->buffers.data[l->index].dims[l->axis];
    case VY_LEAF_BUILTIN:
        if (l->index == VY_NUM_GROUPS) return vy_dim_groups(w->b, l->axis);
        break;
    default: break;
    }
    return (vy_dim){0};
}

static vy_dim two(lowering *w, vy_dim_op op, uint32_t id)
{
    const vy_dim x = lower_number(w, vy_arg(w->h, id, 0)), y = lower_number(w, vy_arg(w->h, id, 1));
    return x.id && y.id ? vy_dim_binary(w->b, op, x, y) : (vy_dim){0};
}

// x of i64(sqrt(f64(x))), or 0.
static uint32_t root_of(const vy_program *h, uint32_t id)
{
    const uint32_t root = vy_arg(h, id, 0);
    if (VY_IS_LEAF(root) || h->insts.data[root].op != VY_OP_SQRT) return 0;
    const uint32_t cast = vy_arg(h, root, 0);
    return !VY_IS_LEAF(cast) && h->insts.data[cast].op == VY_OP_CAST ? vy_arg(h, cast, 0) : 0;
}

static vy_dim compute(lowering *w, uint32_t id)
{
    const vy_inst *i = &w->h->insts.data[id];
    switch ((vy_op)i->op) {
    case VY_OP_ADD: return two(w, VY_DIM_ADD, id);
    case VY_OP_SUB: return two(w, VY_DIM_SUB, id);
    case VY_OP_MUL: return two(w, VY_DIM_MUL, id);
    case VY_OP_DIV: return two(w, VY_DIM_DIV, id);
    case VY_OP_REM: return two(w, VY_DIM_REM, id);
    case VY_OP_MIN: return two(w, VY_DIM_MIN, id);
    case VY_OP_MAX: return two(w, VY_DIM_MAX, id);
    case VY_OP_NEG: {
        const vy_dim x = lower_number(w, vy_arg(w->h, id, 0));
        return x.id ? vy_dim_binary(w->b, VY_DIM_SUB, vy_dim_const(w->b, 0), x) : x;
    }
    case VY_OP_SHL: {
        const vy_scalar *n = vy_id_const(w->h, vy_arg(w->h, id, 1));
        const vy_dim x = lower_number(w, vy_arg(w->h, id, 0));
        if (!n || n->u > 62 || !x.id) return (vy_dim){0};
        return vy_dim_binary(w->b, VY_DIM_MUL, x, vy_dim_const(w->b, (int64_t)1 << n->u));
    }
    case VY_OP_CAST: {
        if (vy_type_is_integer(vy_id_type(w->h, vy_arg(w->h, id, 0))))
            return lower_number(w, vy_arg(w->h, id, 0));
        const uint32_t root = root_of(w->h, id);
        const vy_dim x = root ? lower_number(w, root) : (vy_dim){0};
        return x.id ? vy_dim_binary(w->b, VY_DIM_SQRT, x, x) : x;
    }
    default: return (vy_dim){0};
    }
}

vy_dim lower_number(lowering *w, uint32_t id)
{
    if (lower_stopped(w)) return (vy_dim){0};
    if (VY_IS_LEAF(id)) {
        vy_dim *d = &w->leaf[VY_LEAF_INDEX(id)];
        if (!d->id) *d = leaf_number(w, &w->h->leaves.data[VY_LEAF_INDEX(id)]);
        if (!d->id)
            vy_build_fail(w->b, VY_E_INTERNAL, "a host program uses a value that no step has");
        return *d;
    }
    if (!w->number[id].id) w->number[id] = compute(w, id);
    if (!w->number[id].id && !vy_builder_failed(w->b))
        vy_build_fail(w->b, VY_E_INTERNAL, "`%s` of a host program is no dimension expression",
                      vy_op_infos[w->h->insts.data[id].op].text);
    return w->number[id];
}

// -------------------------------------------------------------------------------------- conditions
static vy_dim compared(lowering *w, vy_dim (*how)(vy_builder *, vy_dim, vy_dim), uint32_t a,
                       uint32_t b)
{
    const vy_dim y = lower_number(w, b);
    return how(w->b, lower_number(w, a), y);
}

static vy_dim condition_of(lowering *w, uint32_t id)
{
    const vy_op op = (vy_op)w->h->insts.data[id].op;
    const uint32_t a = vy_arg(w->h, id, 0),
                   b = w->h->insts.data[id].nargs > 1 ? vy_arg(w->h, id, 1) : 0;
    switch (op) {
    case VY_OP_NOT: return vy_dim_not(w->b, lower_condition(w, a));
    case VY_OP_AND:
    case VY_OP_OR: {
        const vy_dim x = lower_condition(w, a), y = lower_condition(w, b);
        return vy_dim_binary(w->b, op == VY_OP_AND ? VY_DIM_MIN : VY_DIM_MAX, x, y);
    }
    case VY_OP_LT: return compared(w, vy_dim_less, a, b);
    case VY_OP_LE: return vy_dim_not(w->b, compared(w, vy_dim_less, b, a));
    case VY_OP_EQ: return vy_dim_not(w->b, compared(w, vy_dim_differ, a, b));
    case VY_OP_NE: return compared(w, vy_dim_differ, a, b);
    default:
        vy_build_fail(w->b, VY_E_INTERNAL, "`%s` of a host program is no condition",
                      vy_op_infos[op].text);
        return (vy_dim){0};
    }
}

vy_dim lower_condition(lowering *w, uint32_t id)
{
    if (lower_stopped(w)) return (vy_dim){0};
    const vy_scalar *c = vy_id_const(w->h, id);
    if (c) return vy_dim_const(w->b, c->u != 0);
    if (!VY_IS_LEAF(id)) return condition_of(w, id);
    vy_build_fail(w->b, VY_E_INTERNAL, "a host program tests a value that no step has");
    return (vy_dim){0};
}

vy_dim lower_test(lowering *w, uint32_t id)
{
    const bool differ = !VY_IS_LEAF(id) && w->h->insts.data[id].op == VY_OP_NE;
    const vy_scalar *zero = differ ? vy_id_const(w->h, vy_arg(w->h, id, 1)) : NULL;
    return zero && !zero->u ? lower_number(w, vy_arg(w->h, id, 0)) : lower_condition(w, id);
}
