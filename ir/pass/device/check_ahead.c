// SPDX-License-Identifier: MIT
// check_ahead.c: what a loop checks in each iteration is checked before it, for the entire
// workgroup.
//
//   for o in 0..O { for u in 0..3 {            let first = wid.x * 8; …
//       let ok = i >= u && i - u < I;          if first >= 2 && first + 7 < I && … {
//       s += select(ok, g[o, i - u], 0);   →       for o in 0..O { … s += g[o, i - u]; … }
//   } }                                        } else {
//                                                  as before
//                                              }
//
// Gathers and stencils check at each tap whether it is inside, and nearly all are.  A load whose
// address or value is selected is not next to another one for a GPU's compiler, which otherwise
// makes one load of three taps; and each select is an instruction for each lane.  Where the checks
// hold for all lanes of a workgroup in all iterations, they are left out; a branch that differed
// between lanes would run both arms wherever a subgroup touches an edge.  What that gains:
// docs/performance.md, "Gradients compiled by AMD's compiler".
//
// What is checked ahead: conditions of `select(ok, x, 0)`, and indices of loads that are not proved
// in range.  Both must be made of
//   - values that lanes of a workgroup have in common and that no iteration changes,
//   - counters of loops with few iterations, whose number is known: each is checked,
//   - one variable of the domain, times a constant: checked at both ends of the workgroup.  Modulo
//     2^32, x changes between them by slope * (size - 1), less than 2^31; so unless x wraps around,
//     which comparing its ends tells, it is linear, and of linear values x <= y holds between two
//     places where it holds.
// An index that is itself selected is its first value, for which the same is asked.
//
// Only where options->uniform_starts (GPUs): outermost loops whose number of iterations is not
// known, not in second arms of ifs (interior.c's: blocks at the edge), and not long ones.
#include "ir/pass/device/check_ahead.h"
#include "ir/check/uniform.h"
#include "ir/core/access.h"
#include "ir/core/flow.h"
#include "ir/pass/pass.h"

enum { MOST_CODE = 4096 }; // instructions of a program

// ---------------------------------------------------------------------------------------- checking
static uint32_t evaluate(vy_ahead *x, uint32_t id);

static uint32_t end_of_workgroup(vy_ahead *x, uint32_t axis)
{
    vy_builder *b = x->w.b;
    const uint32_t size = x->w.p->workgroup[axis];
    const vy_value group = vy_builtin_value(b, VY_WID, axis);
    const vy_value first = vy_mul(b, group, vy_int(b, VY_U32, size));
    vy_builder_program(b)->has_workgroup = true; // which wid depends on
    return x->last ? vy_add(b, first, vy_int(b, VY_U32, size - 1)).id : first.id;
}

static uint32_t counter_value(vy_ahead *x, uint32_t loop)
{
    uint32_t k = 0;
    while (x->counter[k] != loop) k++;
    const vy_type t = (vy_type)x->w.p->insts.data[loop].type;
    const vy_value n = vy_int(x->w.b, t, x->iteration[k]);
    const vy_value from = {vy_new_arg(&x->w, loop, 0)}, step = {vy_new_arg(&x->w, loop, 2)};
    return vy_add(x->w.b, from, vy_mul(x->w.b, n, step)).id;
}

static uint32_t evaluate_operation(vy_ahead *x, uint32_t id)
{
    const vy_inst *i = &x->w.p->insts.data[id];
    if (i->op == VY_OP_LOOP) return counter_value(x, id);
    if (x->freed[id]) return evaluate(x, vy_arg(x->w.p, id, 1));
    uint32_t args[3];
    for (uint32_t k = 0; k < i->nargs; k++) args[k] = evaluate(x, vy_arg(x->w.p, id, k));
    if (vy_rewrite_stopped(&x->w)) return 0;
    return vy_emit(x->w.b, (vy_op)i->op, (vy_type)i->type, i->aux, i->nargs, args);
}

// The value at an end of the workgroup, in an iteration.
static uint32_t evaluate(vy_ahead *x, uint32_t id)
{
    const vy_ahead_form f = vy_ahead_form_of(x, id);
    if (f.kept) return vy_new(&x->w, id);
    if (VY_IS_LEAF(id)) return end_of_workgroup(x, f.axis);
    if (x->stamp[id] != x->now) {
        x->value[id] = evaluate_operation(x, id);
        x->stamp[id] = x->now;
    }
    return x->value[id];
}

static vy_value value_at(vy_ahead *x, uint32_t id, bool last)
{
    if (x->last != last) x->now++;
    x->last = last;
    return (vy_value){evaluate(x, id)};
}

static void require(vy_ahead *x, vy_value condition)
{
    for (uint32_t k = 0; k < x->required.count; k++)
        if (x->required.data[k] == condition.id) return;
    x->w.oom |= !vy_vec_push(&x->required, condition.id);
    x->all = x->all.id ? vy_and(x->w.b, x->all, condition) : condition;
}

// It does not wrap around between the ends of the workgroup.
static void require_order(vy_ahead *x, uint32_t id)
{
    const vy_ahead_form f = vy_ahead_form_of(x, id);
    if (f.axis == VY_NO_SIDE) return;
    const vy_value first = value_at(x, id, false), last = value_at(x, id, true);
    require(x, f.slope > 0 ? vy_le(x->w.b, first, last) : vy_le(x->w.b, last, first));
}

// The next iteration of the counters; false: there is none.
static bool step(vy_ahead *x, uint8_t counters)
{
    x->now++;
    for (uint32_t k = 0; k < x->counters; k++) {
        if (!(counters >> k & 1)) continue;
        if (++x->iteration[k] < x->trips[k]) return true;
        x->iteration[k] = 0;
    }
    return false;
}

static void check_index(vy_ahead *x, uint32_t load, uint32_t k)
{
    const vy_program *p = x->w.p;
    const uint32_t index = vy_arg(p, load, k), buffer = p->insts.data[load].aux;
    const vy_ahead_form f = vy_ahead_form_of(x, index);
    const vy_value extent = {vy_extent_leaf(x->w.b, buffer, k)};
    do {
        require_order(x, index);
        for (uint32_t end = 0; end < (f.axis == VY_NO_SIDE ? 1 : 2); end++) {
            const vy_value at = value_at(x, index, end);
            require(x, vy_and_in_range(x->w.b, vy_bool(x->w.b, true), at, extent));
        }
    } while (step(x, f.counters));
}

static void check_comparison(vy_ahead *x, uint32_t id)
{
    const vy_program *p = x->w.p;
    const uint32_t m = vy_arg(p, id, 0), n = vy_arg(p, id, 1);
    const vy_ahead_form a = vy_ahead_form_of(x, m), b = vy_ahead_form_of(x, n);
    const bool both = a.axis != VY_NO_SIDE || b.axis != VY_NO_SIDE;
    do {
        require_order(x, m);
        require_order(x, n);
        for (uint32_t end = 0; end < (both ? 2 : 1); end++) {
            const vy_value left = value_at(x, m, end), right = value_at(x, n, end);
            const bool less = p->insts.data[id].op == VY_OP_LT;
            require(x, less ? vy_lt(x->w.b, left, right) : vy_le(x->w.b, left, right));
        }
    } while (step(x, a.counters | b.counters));
}

static void check_condition(vy_ahead *x, uint32_t id)
{
    const vy_ahead_form f = vy_ahead_form_of(x, id);
    if (!VY_IS_LEAF(id) && x->taken[id] == 2 * x->look + 1) return;
    if (!VY_IS_LEAF(id)) x->taken[id] = 2 * x->look + 1;
    if (f.known && f.axis == VY_NO_SIDE) {
        do require(x, value_at(x, id, false));
        while (step(x, f.counters));
    } else if (vy_is_joined(x->w.p, id)) {
        check_condition(x, vy_arg(x->w.p, id, 0));
        check_condition(x, vy_arg(x->w.p, id, 1));
    } else {
        check_comparison(x, id);
    }
}

static void check(vy_ahead *x, uint32_t loop)
{
    const vy_program *p = x->w.p;
    x->all.id = x->required.count = 0;
    for (uint32_t id = loop; id < x->w.s.partner[loop] && !vy_rewrite_stopped(&x->w); id++) {
        if (!x->freed[id]) continue;
        if (p->insts.data[id].op == VY_OP_SELECT) check_condition(x, vy_arg(p, id, 0));
        for (uint32_t k = vy_axes_known(p, id);
             p->insts.data[id].op == VY_OP_LOAD && k < vy_rank_of(p, id); k++)
            check_index(x, id, k);
    }
}

// --------------------------------------------------------------------------------------- rewriting
static uint32_t without_checks(void *pass, uint32_t id)
{
    vy_ahead *x = pass;
    if (!x->freed[id]) return 0;
    if (x->w.p->insts.data[id].op == VY_OP_SELECT) {
        x->w.map[id] = vy_new_arg(&x->w, id, 1);
        return id;
    }
    vy_rewrite_copy_in_range(&x->w, id);
    return id;
}

static uint32_t instead(void *pass, uint32_t id)
{
    vy_ahead *x = pass;
    const vy_program *p = x->w.p;
    if (!vy_is_loop((vy_op)p->insts.data[id].op)) {
        vy_look_outside(x, id);
        return 0;
    }
    const uint32_t last = vy_last_result(p, &x->w.s, id), n = vy_slot_count(p, &x->w.s, id);
    const bool suits = vy_look_inside(x, id);
    uint32_t *yields = vy_rewrite_table(&x->w, (n + 1) * sizeof *yields);
    if (suits && yields) check(x, id);
    if (vy_rewrite_stopped(&x->w)) return last;
    if (suits) {
        vy_begin_if(x->w.b, x->all.id);
        vy_rewrite_range(&x->w, id, last + 1, without_checks, x);
        for (uint32_t k = 0; k < n; k++) yields[k] = vy_new(&x->w, vy_result(p, &x->w.s, id, k));
        if (vy_rewrite_stopped(&x->w)) return last;
        vy_begin_else(x->w.b, n, yields);
    }
    vy_rewrite_range(&x->w, id, last + 1, NULL, NULL);
    if (!suits || vy_rewrite_stopped(&x->w)) return last;
    for (uint32_t k = 0; k < n; k++) yields[k] = vy_new(&x->w, vy_result(p, &x->w.s, id, k));
    vy_end_if(x->w.b, n, yields, yields);
    vy_rewrite_slots(&x->w, x->w.s.partner[id], n, yields);
    return last;
}

static bool any_suits(vy_ahead *x)
{
    const vy_program *p = x->w.p;
    bool any = false;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        if (!vy_is_loop((vy_op)p->insts.data[id].op)) {
            vy_look_outside(x, id);
            continue;
        }
        any |= vy_look_inside(x, id);
        id = vy_last_result(p, &x->w.s, id);
    }
    return any;
}

static bool prepare(vy_ahead *x)
{
    const vy_program *p = x->w.p;
    x->w.oom |= !vy_differences_by_axis(p, &x->w.s, &x->w.arena, x->along);
    x->of = vy_rewrite_table(&x->w, p->insts.count * sizeof *x->of);
    x->freed = vy_rewrite_bytes(&x->w);
    x->taken = vy_rewrite_ids(&x->w);
    x->value = vy_rewrite_ids(&x->w);
    x->stamp = vy_rewrite_ids(&x->w);
    x->now = 1;
    return !x->w.oom;
}

bool vy_pass_check_ahead(vy_program *p, vy_pass_context *context)
{
    const vy_opt_options *o = context->options;
    if (!o || !o->uniform_starts || !p->overs.count || p->insts.count > MOST_CODE) return true;
    if (!(vy_constructs(p) & VY_LOOPS)) return true;
    vy_ahead x = {0};
    const bool ok = vy_rewrite_begin(&x.w, p) && prepare(&x);
    if (ok && any_suits(&x)) vy_rewrite_run(&x.w, instead, &x);
    vy_vec_free(&x.required);
    return vy_rewrite_end(&x.w, ok, &context->changed);
}
