// SPDX-License-Identifier: MIT
// trip_bound.c: upper bounds of trip counts that follow from parameters, as dimensions.
//
// `for j in 0..i` inside `for i in 0..n` runs at most n iterations.  A bound need not be tight: it
// sizes memory.  It must hold for all parameter values, wrapped arithmetic included.
//
// The integers of a host program (ir/core/host.h) do not wrap: a sum that does not fit 64 bits is
// an error when its step is reached.  So lower bounds are known, too: `repeat s in T - 1 - t..T`.
#include "autodiff/facts/trip_bound.h"
#include "ir/build/edit.h"

enum { MAX_DEPTH = 12 }; // of expressions: both operands are visited, so this bounds the work

static const vy_dim none = {0};

static vy_dim of_program(const vy_bounds *r, vy_dim d) { return r->dims ? r->dims[d.id] : d; }

static vy_dim scalar_dim(const vy_bounds *r, uint32_t index)
{
    vy_type type = r->p->scalars.data[index].type;
    return vy_dim_value(r->b, (vy_value){vy_leaf_other(r->b, VY_LEAF_SCALAR, type, index, 0)});
}

static vy_dim join(const vy_bounds *r, vy_dim_op op, vy_dim x, vy_dim y)
{
    return x.id && y.id ? vy_dim_binary(r->b, op, x, y) : none;
}

// The leaf as a dimension, or for a domain variable its extent; or none.
static vy_dim leaf_bound(const vy_bounds *r, uint32_t id)
{
    const vy_program *p = r->p;
    const vy_leaf *l = &p->leaves.data[VY_LEAF_INDEX(id)];
    switch (l->kind) {
    case VY_LEAF_CONST: // what no tape could hold is no bound: `min(n, 4294967294) + 1`
        return l->value.i <= INT32_MAX ? vy_dim_const(r->b, l->value.i) : none;
    case VY_LEAF_SCALAR: return scalar_dim(r, l->index);
    case VY_LEAF_OVER: return of_program(r, p->overs.data[l->index].extent);
    case VY_LEAF_LEN: {
        vy_dim d = of_program(r, p->buffers.data[l->index].dims[l->axis]);
        bool open = d.id && vy_builder_program(r->b)->dims.data[d.id].op == VY_DIM_UNKNOWN;
        // The bare node would declare another open length.
        return open ? vy_dim_binary(r->b, VY_DIM_MAX, d, vy_dim_const(r->b, 0)) : d;
    }
    default: return none;
    }
}

static vy_dim upper_bound(const vy_bounds *r, uint32_t id, uint32_t depth);

// Is `id` a scalar that is the extent of a domain variable?  Then it is at least 1 in every
// invocation that runs.
static bool is_domain_extent(const vy_bounds *r, uint32_t id)
{
    if (!VY_IS_LEAF(id)) return false;
    const vy_leaf *l = &r->p->leaves.data[VY_LEAF_INDEX(id)];
    for (uint32_t k = 0; k < r->p->overs.count; k++) {
        const vy_dim_node *d = &r->p->dims.data[r->p->overs.data[k].extent.id];
        if (l->kind == VY_LEAF_SCALAR && d->op == VY_DIM_SCALAR && d->value == l->index)
            return true;
    }
    return false;
}

static bool is_representable(vy_type type, int64_t v)
{
    return vy_interval_within((vy_interval){v, v}, vy_interval_of_type(type));
}

// ------------------------------------------------------------------------------------ lower bounds
static int64_t least(const vy_bounds *r, uint32_t id)
{
    return VY_IS_LEAF(id) ? vy_interval_of(&r->lows->ranges, id).lo : r->lows->least[id];
}

// A sum that overflows wraps to a lower number, to which its upper bound applies, too.
static int64_t least_sum(const vy_lows *l, uint32_t id)
{
    const vy_program *p = l->ranges.p;
    const vy_bounds r = {.p = p, .lows = l};
    int64_t sum;
    const bool over =
        __builtin_add_overflow(least(&r, vy_arg(p, id, 0)), least(&r, vy_arg(p, id, 1)), &sum);
    const vy_type type = vy_id_type(p, id);
    return over || !is_representable(type, sum) ? vy_interval_of_type(type).lo : sum;
}

bool vy_lows_make(vy_lows *l, const vy_program *p, const vy_structure *s, vy_arena *arena)
{
    if (!vy_intervals_make_small(&l->ranges, p, s, arena)) return false;
    l->least = vy_arena_alloc(arena, p->insts.count * sizeof *l->least);
    for (uint32_t id = 1; l->least && id < p->insts.count; id++)
        l->least[id] = p->insts.data[id].op == VY_OP_ADD ? least_sum(l, id) : l->ranges.of[id].lo;
    return l->least != NULL;
}

// ------------------------------------------------------------------------------------ upper bounds
// Does `id` equal its dimension, rather than being only below it?
static bool is_exact(const vy_program *p, uint32_t id)
{
    return VY_IS_LEAF(id) && p->leaves.data[VY_LEAF_INDEX(id)].kind != VY_LEAF_OVER;
}

// A sum or difference of two 32-bit numbers, wrapped as the machine does: `0..N-1` with N = 0 runs
// four thousand million iterations.
static vy_dim wrapped(const vy_bounds *r, vy_dim sum, vy_type type)
{
    if (!sum.id) return none;
    vy_dim wrap = vy_dim_const(r->b, (int64_t)1 << 32), half = vy_dim_const(r->b, (int64_t)1 << 31);
    if (!vy_type_is_signed(type))
        return vy_dim_binary(r->b, VY_DIM_REM, vy_dim_binary(r->b, VY_DIM_ADD, sum, wrap), wrap);
    vy_dim up = vy_dim_const(r->b, (int64_t)3 << 31);
    sum = vy_dim_binary(r->b, VY_DIM_REM, vy_dim_binary(r->b, VY_DIM_ADD, sum, up), wrap);
    return vy_dim_binary(r->b, VY_DIM_SUB, sum, half);
}

static vy_dim join_upper(const vy_bounds *r, vy_dim_op op, uint32_t x, uint32_t y, uint32_t depth)
{
    const vy_dim right = upper_bound(r, y, depth);
    return join(r, op, upper_bound(r, x, depth), right);
}

static vy_dim addition(const vy_bounds *r, uint32_t x, uint32_t y, vy_type type, uint32_t depth)
{
    int64_t sum;
    vy_dim bound = join_upper(r, VY_DIM_ADD, x, y, depth);
    // Underflow below INT_MIN wraps to a huge value.  In 64 bits the dimension does not fit.
    if (!vy_type_is_signed(type) || vy_type_size(type) == 8) return bound;
    bool down =
        __builtin_add_overflow(least(r, x), least(r, y), &sum) || !is_representable(type, sum);
    if (!down) return bound;
    return is_exact(r->p, x) && is_exact(r->p, y) ? wrapped(r, bound, type) : none;
}

static vy_dim difference(const vy_bounds *r, uint32_t x, uint32_t y, vy_type type, uint32_t depth)
{
    const vy_scalar *k = vy_id_const(r->p, y);
    const bool exact = is_exact(r->p, x) && is_exact(r->p, y) && vy_type_size(type) == 4;
    if (exact) {
        const vy_dim less = leaf_bound(r, y);
        vy_dim span = join(r, VY_DIM_SUB, leaf_bound(r, x), less);
        const bool one = k && (k->i == 0 || k->i == 1) && is_domain_extent(r, x);
        return one ? span : wrapped(r, span, type);
    }
    int64_t low;
    const bool stays = vy_type_is_signed(type) || (k && least(r, x) >= k->i);
    vy_dim bound = stays && k && k->i >= 0 ? upper_bound(r, x, depth) : none;
    if (!bound.id) return none;
    bool down = __builtin_sub_overflow(least(r, x), k->i, &low) || !is_representable(type, low);
    if (down && vy_type_size(type) == 4) return none;
    return vy_dim_binary(r->b, VY_DIM_SUB, bound, vy_dim_const(r->b, k->i));
}

static vy_dim host_lower(const vy_bounds *r, uint32_t id, uint32_t depth);

static vy_dim bound_of_operation(const vy_bounds *r, uint32_t id, uint32_t depth)
{
    const vy_program *p = r->p;
    const vy_inst *i = &p->insts.data[id];
    const bool natural = vy_type_is_integer((vy_type)i->type) && // never negative
                         !vy_type_is_signed((vy_type)i->type);
    if (i->nargs < 2) return none;
    const uint32_t a = vy_arg(p, id, 0), b = vy_arg(p, id, 1);
    const vy_scalar *k = vy_id_const(p, b);
    vy_dim x, y;
    switch (i->op) {
    case VY_OP_ADD: return addition(r, a, b, (vy_type)i->type, depth);
    case VY_OP_SUB:
        if (p->host) {
            x = host_lower(r, b, depth);
            return join(r, VY_DIM_SUB, upper_bound(r, a, depth), x);
        }
        return difference(r, a, b, (vy_type)i->type, depth);
    case VY_OP_MUL: return natural ? join_upper(r, VY_DIM_MUL, a, b, depth) : none;
    case VY_OP_DIV:
        if (k && k->i > 0) {
            y = vy_dim_const(r->b, k->i);
            return join(r, VY_DIM_DIV, upper_bound(r, a, depth), y);
        }
        return natural ? upper_bound(r, a, depth) : none;
    case VY_OP_SHR: return natural ? upper_bound(r, a, depth) : none;
    case VY_OP_MAX: return join_upper(r, VY_DIM_MAX, a, b, depth);
    case VY_OP_REM:
    case VY_OP_AND:
        if (!natural) return none;
        break; // at most the smaller operand
    case VY_OP_MIN: break;
    case VY_OP_SELECT: return join_upper(r, VY_DIM_MAX, b, vy_arg(p, id, 2), depth);
    default: return none;
    }
    x = upper_bound(r, a, depth), y = upper_bound(r, b, depth);
    return x.id && y.id ? vy_dim_binary(r->b, VY_DIM_MIN, x, y) : x.id ? x : y;
}

// A dimension that is at least the value of `id` (an integer), or none.
static vy_dim upper_bound(const vy_bounds *r, uint32_t id, uint32_t depth)
{
    const vy_program *p = r->p;
    if (VY_IS_LEAF(id)) return leaf_bound(r, id);
    if (r->hints && r->hints[id]) return of_program(r, (vy_dim){r->hints[id]});
    if (depth == MAX_DEPTH) return none;
    const vy_inst *i = &p->insts.data[id];
    if (i->op == VY_OP_LOOP) // the variable is below `to`
        return upper_bound(r, vy_arg(p, id, 1), depth + 1);
    if (i->op == VY_OP_CAST ||
        i->op == VY_OP_BITCAST) { // a negative number would become a huge unsigned one
        vy_type from = vy_id_type(p, vy_arg(p, id, 0));
        bool keeps = vy_type_is_integer(from) &&
                     (!vy_type_is_signed(from) || vy_type_is_signed((vy_type)i->type) ||
                      vy_interval_of(&r->lows->ranges, vy_arg(p, id, 0)).lo >= 0);
        // Truncated to 32 bits, a negative number may become anything.
        if (keeps && vy_type_is_signed(from) && vy_type_size((vy_type)i->type) < vy_type_size(from))
            keeps = vy_interval_of(&r->lows->ranges, vy_arg(p, id, 0)).lo >= INT32_MIN;
        return keeps ? upper_bound(r, vy_arg(p, id, 0), depth + 1) : none;
    }
    return bound_of_operation(r, id, depth + 1);
}

vy_dim vy_upper_bound(const vy_bounds *r, uint32_t id) { return upper_bound(r, id, 0); }

// ------------------------------------------------------------------- lower bounds as dimensions
static vy_dim host_lower_of_operation(const vy_bounds *r, uint32_t id, uint32_t depth)
{
    const vy_inst *i = &r->p->insts.data[id];
    const uint32_t a = vy_arg(r->p, id, 0), b = i->nargs > 1 ? vy_arg(r->p, id, 1) : 0;
    vy_dim x, y;
    switch (i->op) {
    case VY_OP_LOOP: return host_lower(r, a, depth); // of its variable
    case VY_OP_CAST: return host_lower(r, a, depth);
    case VY_OP_ADD:
        y = host_lower(r, b, depth);
        return join(r, VY_DIM_ADD, host_lower(r, a, depth), y);
    case VY_OP_SUB:
        y = upper_bound(r, b, depth);
        return join(r, VY_DIM_SUB, host_lower(r, a, depth), y);
    case VY_OP_MIN:
        y = host_lower(r, b, depth);
        return join(r, VY_DIM_MIN, host_lower(r, a, depth), y);
    case VY_OP_MAX:
        x = host_lower(r, a, depth), y = host_lower(r, b, depth);
        return x.id && y.id ? vy_dim_binary(r->b, VY_DIM_MAX, x, y) : x.id ? x : y;
    default: return none;
    }
}

// A dimension that is at most the value of `id`, an integer of a host program, or none.
static vy_dim host_lower(const vy_bounds *r, uint32_t id, uint32_t depth)
{
    if (VY_IS_LEAF(id)) return leaf_bound(r, id);
    if (depth == MAX_DEPTH) return none;
    const vy_dim d = host_lower_of_operation(r, id, depth + 1);
    const bool natural = r->lows->ranges.of[id].lo >= 0;
    if (d.id && natural) return vy_dim_binary(r->b, VY_DIM_MAX, d, vy_dim_const(r->b, 0));
    return d.id ? d : natural ? vy_dim_const(r->b, 0) : none;
}

// A dimension that is at most the value of `id`, or none.
static vy_dim lower_bound(const vy_bounds *r, uint32_t id)
{
    if (r->p->host) return host_lower(r, id, 0);
    const vy_scalar *k = vy_id_const(r->p, id);
    if (k) return vy_dim_const(r->b, k->i);
    if (VY_IS_LEAF(id) && r->p->leaves.data[VY_LEAF_INDEX(id)].kind == VY_LEAF_SCALAR)
        return leaf_bound(r, id);
    if (!vy_type_is_signed(vy_id_type(r->p, id))) return vy_dim_const(r->b, 0);
    return none;
}

// Is the dimension non-negative, by its form?
static bool is_natural(const vy_program *p, uint32_t dim)
{
    for (;;) {
        const vy_dim_node *d = &p->dims.data[dim];
        switch (d->op) {
        case VY_DIM_CONST: return d->value >= 0;
        case VY_DIM_SCALAR: return !vy_type_is_signed(p->scalars.data[d->value].type);
        case VY_DIM_UNKNOWN:
        case VY_DIM_GROUPS:
        case VY_DIM_STEP: // of a host program: an extent
        case VY_DIM_SQRT: return true;
        case VY_DIM_MAX:
            return p->dims.data[d->b].op == VY_DIM_CONST && p->dims.data[d->b].value >= 0;
        case VY_DIM_ADD:
        case VY_DIM_DIV: // one operand is mostly a constant: no recursion
            if (p->dims.data[d->b].op != VY_DIM_CONST || p->dims.data[d->b].value < 0) return false;
            dim = d->a;
            break;
        default: return false;
        }
    }
}

// The step, if it is a constant or a parameter and may exceed 1; else none.  Below 1 it is an
// error.
static vy_dim step_dim(const vy_bounds *r, uint32_t id)
{
    const vy_scalar *k = vy_id_const(r->p, id);
    if (k) return k->i > 1 ? vy_dim_const(r->b, k->i) : none;
    if (!VY_IS_LEAF(id) || r->p->leaves.data[VY_LEAF_INDEX(id)].kind != VY_LEAF_SCALAR) return none;
    const vy_dim one = vy_dim_const(r->b, 1);
    return vy_dim_binary(r->b, VY_DIM_MAX, leaf_bound(r, id), one);
}

// max(⌈(to − from)/step⌉, 0)
vy_dim vy_trip_bound(const vy_bounds *r, uint32_t loop)
{
    const vy_program *p = r->p;
    if (p->insts.data[loop].op != VY_OP_LOOP) return none;
    vy_dim from = lower_bound(r, vy_arg(p, loop, 0));
    vy_dim to = upper_bound(r, vy_arg(p, loop, 1), 0);
    vy_dim s = step_dim(r, vy_arg(p, loop, 2));
    if (!from.id || !to.id) return none;
    if (s.id && vy_type_size((vy_type)p->insts.data[loop].type) == 8) {
        // to − from may not fit 64 bits
        const vy_dim before = vy_dim_binary(r->b, VY_DIM_DIV, from, s);
        vy_dim n = vy_dim_binary(r->b, VY_DIM_SUB, vy_dim_binary(r->b, VY_DIM_DIV, to, s), before);
        const vy_dim zero = vy_dim_const(r->b, 0), two = vy_dim_const(r->b, 2);
        return vy_dim_binary(r->b, VY_DIM_MAX, vy_dim_binary(r->b, VY_DIM_ADD, n, two), zero);
    }
    vy_dim span = vy_dim_binary(r->b, VY_DIM_SUB, to, from);
    if (s.id) {
        vy_dim less = vy_dim_binary(r->b, VY_DIM_SUB, s, vy_dim_const(r->b, 1));
        span = vy_dim_binary(r->b, VY_DIM_DIV, vy_dim_binary(r->b, VY_DIM_ADD, span, less), s);
    }
    if (vy_builder_failed(r->b) || is_natural(vy_builder_program(r->b), span.id)) return span;
    return vy_dim_binary(r->b, VY_DIM_MAX, span, vy_dim_const(r->b, 0));
}
