// SPDX-License-Identifier: MIT
// whole_domain.c: a domain of whole workgroups, all of whose lanes can serve the others.
//
//   over(i: N)                        over(i: (N + 63) / 64 * 64)
//   y[i] = x[i];               →      let last = N - 1;
//                                     let inside = i <= last;
//                                     let at = min(i, last);
//                                     let v = x[at];
//                                     if inside { y[at] = v; }
//
// Lanes beyond the end of a domain load zero (docs/language.md 3.3), so what one of them loaded for
// its neighbours would be wrong.  Here they are ordinary invocations, which do what the last one
// inside does, but write nothing.
#include "ir/pass/target/lane_loads.h"
#include "ir/core/access.h"
#include "ir/facts/domain_dependence.h"

typedef struct whole {
    vy_rewrite w;
    uint32_t *at; // by variable of the domain: its value; 0: as it is
    vy_value inside;
} whole;

// The workgroup's size along a variable of the domain.  Of more than three, all but the last two
// are along z, together: it is enough that each is a multiple.
static uint32_t width(const vy_program *p, uint32_t axis)
{
    const uint32_t from_last = p->overs.count - 1 - axis;
    return p->workgroup[from_last < 2 ? from_last : 2];
}

static bool is_whole(const vy_program *p, uint32_t axis)
{
    const uint32_t n = vy_axis_constant(p, axis), w = width(p, axis);
    return w == 1 || (n && n % w == 0);
}

// ---------------------------------------------------------------------------------------- extents
// (x + (c − 1)) / c, as coarsen makes it of x.  0: another dimension.
static int64_t divisor(const vy_program *p, const vy_dim_node *d)
{
    const vy_dim_node *sum = d->op == VY_DIM_DIV ? &p->dims.data[d->a] : NULL;
    if (!sum || sum->op != VY_DIM_ADD) return 0;
    const vy_dim_node *more = &p->dims.data[sum->b], *by = &p->dims.data[d->b];
    const bool fits = more->op == VY_DIM_CONST && by->op == VY_DIM_CONST && by->value > 0 &&
                      by->value <= UINT32_MAX && more->value == by->value - 1;
    return fits ? by->value : 0;
}

static bool is_computable(const vy_program *p, uint32_t dim)
{
    const vy_dim_node *d = &p->dims.data[dim];
    while (divisor(p, d)) d = &p->dims.data[p->dims.data[d->a].a];
    if (d->op == VY_DIM_CONST) return d->value > 0 && d->value <= UINT32_MAX;
    if (d->op != VY_DIM_SCALAR) return false;
    const vy_type t = p->scalars.data[d->value].type;
    return t == VY_U32 || t == VY_I32;
}

// One less than the extent, which is at least 1 where an invocation runs.
static vy_value last_of(whole *x, uint32_t dim)
{
    const vy_program *p = x->w.p;
    const vy_dim_node *d = &p->dims.data[dim];
    vy_builder *b = x->w.b;
    const int64_t by = divisor(p, d);
    if (by) {
        const vy_value last = last_of(x, p->dims.data[d->a].a);
        return vy_div(b, last, vy_int(b, VY_U32, (uint64_t)by));
    }
    if (d->op == VY_DIM_CONST) return vy_int(b, VY_U32, (uint64_t)d->value - 1);
    const uint32_t s = (uint32_t)d->value;
    const vy_type t = p->scalars.data[s].type;
    const vy_value n = {vy_leaf_other(b, VY_LEAF_SCALAR, t, s, 0)};
    const vy_value extent = vy_cast(b, VY_U32, n);
    return vy_sub(b, extent, vy_int(b, VY_U32, 1));
}

// ----------------------------------------------------------------------------------------- choice
static bool writes(const vy_program *p, uint32_t id)
{
    const vy_inst *i = &p->insts.data[id];
    if (!vy_op_is_memory((vy_op)i->op) || i->op == VY_OP_LOAD) return false;
    return p->buffers.data[i->aux].cls != VY_LOCAL;
}

static bool writes_suit(const vy_program *p)
{
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        for (uint32_t k = 0; k < i->nargs; k++) { // the old value of an atomic
            const uint32_t a = vy_arg(p, id, k);
            const bool used = !VY_IS_LEAF(a) && !vy_is_marker((vy_op)p->insts.data[a].op);
            if (used && writes(p, a)) return false;
        }
        // What was written may be loaded again: not by an invocation that has written nothing.
        if (i->op == VY_OP_LOAD && p->buffers.data[i->aux].cls != VY_IN &&
            p->buffers.data[i->aux].cls != VY_LOCAL)
            return false;
    }
    return true;
}

bool vy_domain_rounds_up(const vy_program *p)
{
    const uint32_t n = p->overs.count;
    if (!n || vy_sees_workgroup(p) || !writes_suit(p)) return false;
    for (uint32_t axis = n; axis < 3; axis++)
        if (p->workgroup[axis] > 1) return false;
    for (uint32_t axis = 0; axis < n; axis++)
        if (!is_whole(p, axis) && !is_computable(p, p->overs.data[axis].extent.id)) return false;
    return true;
}

double vy_rounded_up_share(const vy_program *p, const vy_opt_options *o)
{
    double share = 1;
    for (uint32_t axis = 0; axis < p->overs.count; axis++) {
        if (is_whole(p, axis)) continue;
        const int64_t n = o->extent ? o->extent(o->user, p, axis) : -1;
        const int64_t w = width(p, axis);
        if (n < 1) return 0;
        share *= (double)((n + w - 1) / w * w) / (double)n;
    }
    return share;
}

// ------------------------------------------------------------------------------------ rebuilding
static void round_extent(whole *x, uint32_t axis)
{
    vy_builder *b = x->w.b;
    const vy_dim n = vy_builder_program(b)->overs.data[axis].extent;
    const vy_dim w = vy_dim_const(b, width(x->w.p, axis));
    const vy_dim more = vy_dim_const(b, width(x->w.p, axis) - 1);
    const vy_dim up = vy_dim_binary(b, VY_DIM_ADD, n, more);
    const vy_dim m = vy_dim_binary(b, VY_DIM_MUL, vy_dim_binary(b, VY_DIM_DIV, up, w), w);
    if (!vy_builder_failed(b)) vy_builder_program(b)->overs.data[axis].extent = m;
}

static void find_places(whole *x)
{
    const vy_program *p = x->w.p;
    vy_builder *b = x->w.b;
    for (uint32_t axis = 0; axis < p->overs.count && !vy_builder_failed(b); axis++) {
        if (is_whole(p, axis)) continue;
        const vy_value i = {vy_leaf_other(b, VY_LEAF_OVER, VY_U32, axis, 0)};
        const vy_value last = last_of(x, p->overs.data[axis].extent.id);
        const vy_value in = vy_le(b, i, last);
        x->inside = x->inside.id ? vy_and(b, x->inside, in) : in;
        x->at[axis] = vy_min(b, i, last).id;
        round_extent(x, axis);
    }
    // Invocations beyond the end load what the last one inside does.
    if (!vy_builder_failed(b))
        for (uint32_t i = 1; i < p->buffers.count; i++)
            if (p->buffers.data[i].cls == VY_IN)
                vy_builder_program(b)->buffers.data[i].owned = false;
    // The extents are multiples of these sizes.
    if (!vy_builder_failed(b)) vy_builder_program(b)->has_workgroup = true;
}

static uint32_t instead(void *pass, uint32_t id)
{
    whole *x = pass;
    const bool guarded = x->inside.id && writes(x->w.p, id);
    if (guarded) vy_begin_if(x->w.b, x->inside.id);
    vy_rewrite_copy_over(&x->w, id, x->at);
    if (guarded) vy_end_plain_if(x->w.b);
    return id;
}

bool vy_round_domain_up(vy_program *p)
{
    whole x = {0};
    bool ok = vy_rewrite_begin(&x.w, p), changed = false;
    x.at = ok ? vy_rewrite_table(&x.w, p->overs.count * sizeof *x.at) : NULL;
    ok &= x.at != NULL;
    if (ok && vy_rewrite_open(&x.w)) {
        find_places(&x);
        vy_rewrite_range(&x.w, 1, p->insts.count, instead, &x);
    }
    return vy_rewrite_end(&x.w, ok, &changed);
}
