// SPDX-License-Identifier: MIT
// subgroup.c: subgroup operations before they are differentiated.
//
//   y = subgroup_max(x)     m = subgroup_max(stop_grad(x))
//                       →   won = subgroup_max(x == m ? lane : 0)
//                           y = subgroup_shuffle(x, won)
//
// The derivative of a maximum is that of one lane's value: among equals the highest lane's, by the
// left fold of docs/language.md 9.2.  As the lane is found here, before anything is replayed, the
// reverse needs only `won`, and no comparison with a taped value, which different rounding could
// make fail.  A NaN result is the last NaN operand, so NaN counts as equal to NaN.
//
// Where operations move values between lanes, padding lanes are made explicit, see
// explicit_padding.c.  Sums, maxima and minima ignore padding lanes, and nothing uses the result
// that a padding lane gets: programs that have no other operations stay as they are.
#include "autodiff/rewrite/subgroup.h"

#include "autodiff/rewrite/explicit_padding.h"
#include "ir/build/rewrite.h"

bool vy_has_subgroup(const vy_program *p)
{
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (vy_op_is_subgroup((vy_op)p->insts.data[id].op)) return true;
    return false;
}

static bool is_extremum(const vy_inst *i) { return i->op == VY_OP_SG_MIN || i->op == VY_OP_SG_MAX; }

typedef struct subgroup {
    vy_rewrite w;
    const uint8_t *active;
} subgroup;

static uint32_t replace_extremum(void *pass, uint32_t id)
{
    subgroup *g = pass;
    const vy_inst *i = &g->w.p->insts.data[id];
    if (!is_extremum(i) || !g->active[id]) return 0;
    vy_builder *b = g->w.b;
    vy_rewrite_at(&g->w, id);
    vy_value x = {vy_new_arg(&g->w, id, 0)}, held = vy_stop_grad(b, x);
    vy_value m = {vy_emit(b, (vy_op)i->op, (vy_type)i->type, 0, 1, &held.id)};
    // In statements of their own: the C compiler chooses the order of evaluation in expressions.
    vy_value nan_m = vy_ne(b, m, m), nan_x = vy_ne(b, held, held);
    vy_value both_nan = vy_and(b, nan_x, nan_m);
    vy_value ties = vy_or(b, vy_eq(b, held, m), both_nan);
    vy_value lane = vy_builtin_value(b, VY_LANE, 0);
    vy_value vote = vy_select(b, ties, lane, vy_zero(b, VY_U32));
    uint32_t won = vy_emit(b, VY_OP_SG_MAX, VY_U32, 0, 1, &vote.id), args[2] = {x.id, won};
    vy_rewrite_as(&g->w, id, vy_emit(b, VY_OP_SG_SHUFFLE, (vy_type)i->type, 0, 2, args));
    return id;
}

static bool write_extrema(vy_program *p, const uint8_t *active)
{
    subgroup g = {.active = active};
    bool ok = vy_rewrite_begin(&g.w, p), changed = false;
    if (ok) vy_rewrite_run(&g.w, replace_extremum, &g);
    return vy_rewrite_end(&g.w, ok, &changed);
}

// Does its derivative pass through other lanes, padding lanes too?
static bool moves(const vy_inst *i, bool forward)
{
    return i->op == VY_OP_SG_MUL || (!forward && !is_extremum(i) && i->op != VY_OP_SG_ADD);
}

static bool prepare_lanes(vy_program *p, const uint8_t *active, bool forward)
{
    bool extrema = false, any = false, done;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (!active[id] || !vy_op_is_subgroup((vy_op)i->op)) continue;
        extrema |= is_extremum(i);
        any |= moves(i, forward);
    }
    return (!extrema || write_extrema(p, active)) &&
           (!any || (vy_fold_domain(p) && vy_unpad(p, &done)));
}

bool vy_subgroup_prepare(vy_program *p, const uint8_t *active)
{
    return prepare_lanes(p, active, false);
}

bool vy_subgroup_prepare_forward(vy_program *p, const uint8_t *active)
{
    return prepare_lanes(p, active, true);
}
