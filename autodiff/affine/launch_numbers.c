// SPDX-License-Identifier: MIT
// launch_numbers.c: see launch_numbers.h.
#include "autodiff/affine/launch_numbers.h"

#include "ir/core/flow.h"

typedef struct numbering {
    vy_program *p;
    const uint8_t *kind;
    vy_launch_number *number; // by instruction
    uint8_t *is, *wanted;     // … does the launch alone decide it; is it part of a number
    uint8_t *multiplies;      // … is it a product of what is not constant
    bool products;            // … of which products are
    bool failed;
} numbering;

vy_interval vy_affine_range_of_kind(vy_type t, uint8_t kind)
{
    vy_interval r = vy_interval_of_type(t);
    const int64_t least = kind == VY_AFFINE_POSITIVE  ? 1
                          : kind == VY_AFFINE_NATURAL ? 0
                                                      : -VY_AFFINE_CALM;
    if (kind == VY_AFFINE_ANY) return r;
    if (r.lo < least) r.lo = least;
    if (r.hi > VY_AFFINE_CALM) r.hi = VY_AFFINE_CALM;
    return r;
}

bool vy_makes_number(vy_op op)
{
    switch (op) {
    case VY_OP_ADD:
    case VY_OP_SUB:
    case VY_OP_MUL:
    case VY_OP_MIN:
    case VY_OP_MAX:
    case VY_OP_DIV:
    case VY_OP_REM:
    case VY_OP_SHR:
    case VY_OP_CAST:
    case VY_OP_BITCAST: return true;
    default: return false;
    }
}

// ----------------------------------------------------------------------------------------- ranges
// The range of an operand; false: the launch alone does not decide it.
static bool range_of(const numbering *n, uint32_t id, vy_interval *r)
{
    int64_t c;
    if (vy_id_int(n->p, id, &c)) {
        *r = (vy_interval){c, c};
        return true;
    }
    if (!VY_IS_LEAF(id)) {
        *r = n->number[id].range;
        return n->is[id];
    }
    const vy_leaf *l = &n->p->leaves.data[VY_LEAF_INDEX(id)];
    if (l->kind != VY_LEAF_SCALAR || !vy_is_narrow((vy_type)l->type)) return false;
    *r = vy_affine_range_of_kind((vy_type)l->type, n->kind ? n->kind[l->index] : VY_AFFINE_ANY);
    return true;
}

// x op y of the operands, as a dimension computes it; false: there is no such operation.
static bool operation(const numbering *n, uint32_t id, vy_op *op, vy_interval *x, vy_interval *y)
{
    const vy_inst *i = &n->p->insts.data[id];
    *op = (vy_op)i->op;
    if (!vy_makes_number(*op) || !range_of(n, vy_arg(n->p, id, 0), x)) return false;
    if (*op == VY_OP_CAST || *op == VY_OP_BITCAST) {
        *op = VY_OP_ADD;
        *y = (vy_interval){0, 0};
        return vy_is_narrow(vy_id_type(n->p, vy_arg(n->p, id, 0)));
    }
    if (!range_of(n, vy_arg(n->p, id, 1), y)) return false;
    if (*op != VY_OP_SHR) return true;
    if (y->lo != y->hi || y->lo < 0 || y->lo > 30) return false;
    *op = VY_OP_DIV;
    y->lo = y->hi = INT64_C(1) << y->lo;
    return true;
}

static void see(numbering *n, uint32_t id)
{
    const vy_type t = (vy_type)n->p->insts.data[id].type;
    vy_interval x, y, r;
    vy_op op;
    if (!vy_is_narrow(t) || !operation(n, id, &op, &x, &y)) return;
    const bool divides = op == VY_OP_DIV || op == VY_OP_REM;
    if (x.lo < 0 || y.lo < divides) return;
    const bool product = op == VY_OP_MUL && x.lo != x.hi && y.lo != y.hi;
    if (product && !n->products) return;
    if (product)
        r = (vy_interval){x.lo && y.lo, VY_AFFINE_CALM};
    else if (!vy_interval_exactly(op, x, y, &r) || !vy_interval_within(r, vy_interval_of_type(t)))
        return;
    if (r.lo < 0 || (divides && y.lo != y.hi && r.hi >= INT64_C(1) << 30)) return;
    n->is[id] = 1;
    n->number[id].range = r;
    n->multiplies[id] = product;
}

static bool is_quotient(const vy_program *p, uint32_t id)
{
    const vy_op op = (vy_op)p->insts.data[id].op;
    return op == VY_OP_DIV || op == VY_OP_REM || op == VY_OP_SHR;
}

// Which are quotients, or products that are no multiples, or what they are made of.
static void want(numbering *n)
{
    for (uint32_t id = n->p->insts.count; id-- > 1;) {
        const bool begins = is_quotient(n->p, id) || n->multiplies[id];
        if (!n->is[id] || (!n->wanted[id] && !begins)) continue;
        n->wanted[id] = 1;
        for (uint32_t k = 0; k < n->p->insts.data[id].nargs; k++) {
            const uint32_t a = vy_arg(n->p, id, k);
            if (!VY_IS_LEAF(a)) n->wanted[a] = 1;
        }
    }
}

// -------------------------------------------------------------------------------------- dimensions
static uint32_t node(numbering *n, vy_dim_node d)
{
    if (!n->failed && vy_vec_push(&n->p->dims, d)) return n->p->dims.count - 1;
    n->failed = true;
    return 0;
}

static uint32_t constant(numbering *n, int64_t c)
{
    return node(n, (vy_dim_node){.op = VY_DIM_CONST, .value = c});
}

static uint32_t dim_of(numbering *n, uint32_t id)
{
    int64_t c;
    if (vy_id_int(n->p, id, &c)) return constant(n, c);
    if (!VY_IS_LEAF(id)) return n->number[id].dim;
    const uint32_t scalar = n->p->leaves.data[VY_LEAF_INDEX(id)].index;
    return node(n, (vy_dim_node){.op = VY_DIM_SCALAR, .value = scalar});
}

static vy_dim_op dim_op(vy_op op)
{
    switch (op) {
    case VY_OP_SUB: return VY_DIM_SUB;
    case VY_OP_MUL: return VY_DIM_MUL;
    case VY_OP_MIN: return VY_DIM_MIN;
    case VY_OP_MAX: return VY_DIM_MAX;
    case VY_OP_DIV:
    case VY_OP_SHR: return VY_DIM_DIV;
    case VY_OP_REM: return VY_DIM_REM;
    default: return VY_DIM_ADD;
    }
}

// A dimension is computed in every launch, so its divisor is made at least 1.
static uint32_t divisor(numbering *n, uint32_t id, uint32_t d)
{
    vy_interval y;
    if (range_of(n, id, &y) && y.lo == y.hi) return d;
    return node(n, (vy_dim_node){.op = VY_DIM_MAX, .a = d, .b = constant(n, 1)});
}

// d within lo..hi.
static uint32_t within(numbering *n, uint32_t d, int64_t lo, int64_t hi)
{
    d = node(n, (vy_dim_node){.op = VY_DIM_MAX, .a = d, .b = constant(n, lo)});
    return node(n, (vy_dim_node){.op = VY_DIM_MIN, .a = d, .b = constant(n, hi)});
}

// A factor of at most 31 bits and a sign.
static uint32_t factor(numbering *n, uint32_t id)
{
    const uint32_t d = dim_of(n, id);
    const uint32_t most = constant(n, INT64_C(1) << 31);
    if (!VY_IS_LEAF(id)) return n->multiplies[id] ? d : within(n, d, 0, INT64_C(1) << 31);
    return vy_id_type(n->p, id) == VY_I32
               ? d
               : node(n, (vy_dim_node){.op = VY_DIM_MIN, .a = d, .b = most});
}

// A dimension is computed in every launch, so products are, too, where they are not small.
static void make_product(numbering *n, uint32_t id)
{
    const uint32_t x = factor(n, vy_arg(n->p, id, 0)), y = factor(n, vy_arg(n->p, id, 1));
    const uint32_t all = node(n, (vy_dim_node){.op = VY_DIM_MUL, .a = x, .b = y});
    n->number[id].product = all;
    n->number[id].dim = within(n, all, 0, VY_AFFINE_CALM);
}

static void make_dim(numbering *n, uint32_t id)
{
    const vy_op op = (vy_op)n->p->insts.data[id].op;
    uint32_t y, second;
    int64_t c;
    if (n->multiplies[id]) {
        make_product(n, id);
        return;
    }
    const uint32_t x = dim_of(n, vy_arg(n->p, id, 0));
    n->number[id].dim = x;
    if (op == VY_OP_CAST || op == VY_OP_BITCAST) return;
    second = vy_arg(n->p, id, 1);
    if (op == VY_OP_SHR && vy_id_int(n->p, second, &c))
        y = constant(n, INT64_C(1) << c);
    else
        y = dim_of(n, second);
    if (op == VY_OP_DIV || op == VY_OP_REM) y = divisor(n, second, y);
    n->number[id].dim = node(n, (vy_dim_node){.op = dim_op(op), .a = x, .b = y});
}

const vy_launch_number *vy_launch_numbers_make(vy_program *p, const uint8_t *kind, bool products,
                                               vy_arena *arena)
{
    numbering n = {.p = p, .kind = kind, .products = products};
    n.number = vy_arena_alloc(arena, p->insts.count * sizeof *n.number);
    n.is = vy_arena_alloc(arena, p->insts.count);
    n.wanted = vy_arena_alloc(arena, p->insts.count);
    n.multiplies = vy_arena_alloc(arena, p->insts.count);
    if (!n.number || !n.is || !n.wanted || !n.multiplies) return NULL;
    for (uint32_t id = 1; id < p->insts.count; id++) see(&n, id);
    want(&n);
    for (uint32_t id = 1; id < p->insts.count && !n.failed; id++)
        if (n.is[id] && n.wanted[id]) make_dim(&n, id);
    return n.failed ? NULL : n.number;
}
