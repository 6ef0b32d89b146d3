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
#include "ir/check/uniform.h"
#include "ir/core/access.h"
#include "ir/core/flow.h"
#include "ir/pass/pass.h"

enum {
    MOST_LOOP = 1024,  // instructions of a loop
    MOST_CODE = 4096,  // … of a program
    MOST_TRIPS = 4,    // of a loop whose iterations are checked one by one
    MOST_COUNTERS = 4, // such loops in an outermost one
    MOST_CHECKS = 256, // comparisons
    MOST_HIGH = 24,    // operations between a value and what it is made of
    NO_AXIS = 3,
};

// What a value is made of.
typedef struct form {
    bool known, kept; // kept: no lane and no iteration changes it
    uint8_t axis;     // of the workgroup, along which it changes
    uint8_t counters; // bit k: made of counter k
    uint8_t high;
    int32_t slope;
} form;

typedef struct ahead {
    vy_rewrite w;
    const uint32_t *along[3];
    form *of;                          // by instruction
    uint8_t *freed;                    // selects and loads
    uint32_t *taken;                   // by condition: twice its loop, + 1 once it is checked
    uint32_t *value, *stamp, now;      // by instruction: what was evaluated, and when
    uint32_t counter[MOST_COUNTERS];   // loops
    uint64_t trips[MOST_COUNTERS];     // of those
    uint32_t counters, checks;         // of the loop that is looked at
    uint32_t iteration[MOST_COUNTERS]; // that is evaluated
    bool last;                         // … at the last lane, not at the first
    vy_id_vec required;                // conditions that `all` has
    vy_value all;
} ahead;

// ------------------------------------------------------------------------------------------- forms
static bool is_word(vy_type t) { return t == VY_I32 || t == VY_U32; }

static form form_of_leaf(const ahead *x, uint32_t id)
{
    const vy_program *p = x->w.p;
    const vy_leaf *l = &p->leaves.data[VY_LEAF_INDEX(id)];
    form f = {.known = true, .kept = true, .axis = NO_AXIS};
    for (uint8_t axis = 0; axis < 3; axis++) {
        if (p->workgroup[axis] < 2 || !vy_leaf_along(p, id, axis)) continue;
        const bool alone = axis < 2 || p->overs.count == 3;
        if (l->kind != VY_LEAF_OVER || !alone) return (form){0};
        f.kept = false;
        f.axis = axis;
        f.slope = 1;
    }
    return f;
}

static form form_of(const ahead *x, uint32_t id)
{
    return VY_IS_LEAF(id) ? form_of_leaf(x, id) : x->of[id];
}

// Is it the same in the workgroup?  Asked outside of loops.
static bool is_common(const ahead *x, uint32_t id)
{
    for (uint32_t axis = 0; axis < 3; axis++)
        if (x->w.p->workgroup[axis] > 1 && x->along[axis][id]) return false;
    return true;
}

static bool fits(const ahead *x, int64_t slope, uint32_t axis)
{
    const int64_t most = slope < 0 ? -slope : slope;
    return axis == NO_AXIS || most <= (int64_t)INT32_MAX / x->w.p->workgroup[axis];
}

// Of a sum, a difference, a product with a constant, a conversion: linear if the operands are.
static bool find_slope(const ahead *x, uint32_t id, form *f)
{
    const vy_program *p = x->w.p;
    const vy_inst *i = &p->insts.data[id];
    const form a = form_of(x, vy_arg(p, id, 0));
    const form b = i->nargs > 1 ? form_of(x, vy_arg(p, id, 1)) : (form){.axis = NO_AXIS};
    const bool words = is_word((vy_type)i->type) && is_word(vy_id_type(p, vy_arg(p, id, 0)));
    if (a.axis == NO_AXIS && b.axis == NO_AXIS) return true;
    if (!words || (a.axis != NO_AXIS && b.axis != NO_AXIS && a.axis != b.axis)) return false;
    int64_t slope = a.slope, by;
    if (i->op == VY_OP_ADD || i->op == VY_OP_SUB)
        slope += i->op == VY_OP_ADD ? b.slope : -(int64_t)b.slope;
    else if (i->op == VY_OP_MUL && vy_id_int(p, vy_arg(p, id, 1), &by) && by >= 0 && by < 1 << 20)
        slope *= by;
    else if (i->op != VY_OP_CAST)
        return false;
    f->axis = a.axis != NO_AXIS ? a.axis : b.axis;
    f->slope = (int32_t)slope;
    return slope && fits(x, slope, f->axis);
}

static form form_of_operation(const ahead *x, uint32_t id)
{
    const vy_inst *i = &x->w.p->insts.data[id];
    form f = {.known = vy_op_infos[i->op].effect == VY_PURE && i->op != VY_OP_APPLY,
              .axis = NO_AXIS};
    for (uint32_t k = 0; f.known && k < i->nargs; k++) {
        const form a = form_of(x, vy_arg(x->w.p, id, k));
        f.known = a.known && a.high < MOST_HIGH;
        f.counters |= a.counters;
        if (a.high >= f.high) f.high = (uint8_t)(a.high + 1);
    }
    const bool still = i->nargs < 3 || form_of(x, vy_arg(x->w.p, id, 2)).axis == NO_AXIS;
    const bool suits = f.known && still && i->nargs && i->nargs <= 3 && find_slope(x, id, &f);
    return suits ? f : (form){0};
}

// A condition: comparisons of linear values, and what no lane changes, joined by `&&`.
static bool is_comparison(const ahead *x, uint32_t id)
{
    const vy_program *p = x->w.p;
    if (VY_IS_LEAF(id)) return false;
    const vy_op op = (vy_op)p->insts.data[id].op;
    if (op != VY_OP_LT && op != VY_OP_LE) return false;
    const form a = form_of(x, vy_arg(p, id, 0)), b = form_of(x, vy_arg(p, id, 1));
    return a.known && b.known && is_word(vy_id_type(p, vy_arg(p, id, 0))) &&
           (a.axis == NO_AXIS || b.axis == NO_AXIS || a.axis == b.axis);
}

static bool joins(const vy_program *p, uint32_t id)
{
    return !VY_IS_LEAF(id) && p->insts.data[id].op == VY_OP_AND && vy_id_type(p, id) == VY_BOOL;
}

static bool is_condition(const ahead *x, uint32_t id, uint32_t high)
{
    if (form_of(x, id).known && form_of(x, id).axis == NO_AXIS) return true;
    if (!joins(x->w.p, id)) return is_comparison(x, id);
    return high < MOST_HIGH / 2 && is_condition(x, vy_arg(x->w.p, id, 0), high + 1) &&
           is_condition(x, vy_arg(x->w.p, id, 1), high + 1);
}

static bool is_zero(const vy_program *p, uint32_t id)
{
    const vy_scalar *c = vy_id_const(p, id);
    return c && (vy_type_is_float(vy_id_type(p, id)) ? c->f == 0 && !__builtin_signbit(c->f)
                                                     : c->u == 0);
}

static bool is_guard(const ahead *x, uint32_t id)
{
    const vy_program *p = x->w.p;
    return p->insts.data[id].op == VY_OP_SELECT && is_zero(p, vy_arg(p, id, 2)) &&
           !vy_id_const(p, vy_arg(p, id, 0)) && is_condition(x, vy_arg(p, id, 0), 0);
}

// ---------------------------------------------------------------------------------- what is freed
// How often a value is checked: at both ends, in each iteration of its counters.
static uint32_t times(const ahead *x, form f)
{
    uint64_t n = f.axis == NO_AXIS ? 1 : 2;
    for (uint32_t k = 0; k < x->counters; k++)
        if (f.counters >> k & 1) n *= x->trips[k];
    return (uint32_t)n;
}

static bool is_free_load(ahead *x, uint32_t id)
{
    const vy_program *p = x->w.p;
    const vy_inst *i = &p->insts.data[id];
    if (i->op != VY_OP_LOAD || !vy_is_global(p->buffers.data[i->aux].cls)) return false;
    const uint32_t rank = vy_rank_of(p, id), known = vy_axes_known(p, id);
    uint32_t checks = 0;
    for (uint32_t k = known; k < rank; k++) {
        const uint32_t index = vy_arg(p, id, k);
        const form f = form_of(x, index);
        if (!f.known || !is_word(vy_id_type(p, index))) return false;
        checks += times(x, f);
    }
    x->checks += checks;
    return known < rank;
}

static void count_counter(ahead *x, uint32_t loop)
{
    uint64_t trips;
    const vy_inst *i = &x->w.p->insts.data[loop];
    if (x->counters == MOST_COUNTERS || !is_word((vy_type)i->type)) return;
    if (!vy_constant_trips(x->w.p, loop, &trips) || !trips || trips > MOST_TRIPS) return;
    x->of[loop] =
        (form){.known = true, .axis = NO_AXIS, .counters = (uint8_t)(1u << x->counters), .high = 1};
    x->trips[x->counters] = trips;
    x->counter[x->counters++] = loop;
}

static void count_condition(ahead *x, uint32_t loop, uint32_t condition)
{
    if (!VY_IS_LEAF(condition) && x->taken[condition] == 2 * loop) return;
    if (!VY_IS_LEAF(condition)) x->taken[condition] = 2 * loop;
    x->checks += times(x, (form){.axis = 0, .counters = UINT8_MAX});
}

// Looks at an instruction of a loop.
static bool look_inside(ahead *x, uint32_t loop, uint32_t id)
{
    const vy_program *p = x->w.p;
    const vy_inst *i = &p->insts.data[id];
    if (i->op == VY_OP_LOOP) {
        count_counter(x, id);
    } else if (is_guard(x, id)) {
        x->of[id] = form_of(x, vy_arg(p, id, 1));
        x->of[id].kept = false; // the first value may be, but not the select
        count_condition(x, loop, vy_arg(p, id, 0));
        x->freed[id] = 1;
        return true;
    } else if (vy_op_infos[i->op].effect == VY_PURE) {
        x->of[id] = form_of_operation(x, id);
    }
    x->freed[id] = is_free_load(x, id);
    return x->freed[id];
}

static void look_outside(ahead *x, uint32_t id)
{
    const vy_inst *i = &x->w.p->insts.data[id];
    if (i->op != VY_OP_NONE && i->type != VY_VOID && is_common(x, id))
        x->of[id] = (form){.known = true, .kept = true, .axis = NO_AXIS};
    else if (vy_op_infos[i->op].effect == VY_PURE)
        x->of[id] = form_of_operation(x, id);
}

// Is it in the second arm of an `if`?
static bool in_second_arm(const ahead *x, uint32_t id)
{
    const vy_program *p = x->w.p;
    for (uint32_t up = x->w.s.parent[id]; up; id = up, up = x->w.s.parent[up])
        if (p->insts.data[up].op == VY_OP_IF && !vy_in_then(&x->w.s, up, id)) return true;
    return false;
}

static bool is_long(const ahead *x, uint32_t loop)
{
    const vy_program *p = x->w.p;
    uint64_t trips;
    if (p->insts.data[loop].op == VY_OP_LOOP && vy_constant_trips(p, loop, &trips)) return false;
    return x->w.s.partner[loop] - loop <= MOST_LOOP && !in_second_arm(x, loop);
}

// Can checks of the outermost loop be left out?  Decides all that is in it.
static bool look(ahead *x, uint32_t loop)
{
    bool any = false, suits = is_long(x, loop);
    x->counters = x->checks = 0;
    for (uint32_t id = loop; id < x->w.s.partner[loop]; id++) {
        any |= look_inside(x, loop, id);
        suits &= vy_op_infos[x->w.p->insts.data[id].op].effect != VY_CONV;
    }
    return any && suits && x->checks <= MOST_CHECKS;
}

// ---------------------------------------------------------------------------------------- checking
static uint32_t evaluate(ahead *x, uint32_t id);

static uint32_t end_of_workgroup(ahead *x, uint32_t axis)
{
    vy_builder *b = x->w.b;
    const uint32_t size = x->w.p->workgroup[axis];
    const vy_value group = vy_builtin_value(b, VY_WID, axis);
    const vy_value first = vy_mul(b, group, vy_int(b, VY_U32, size));
    vy_builder_program(b)->has_workgroup = true; // which wid depends on
    return x->last ? vy_add(b, first, vy_int(b, VY_U32, size - 1)).id : first.id;
}

static uint32_t counter_value(ahead *x, uint32_t loop)
{
    uint32_t k = 0;
    while (x->counter[k] != loop) k++;
    const vy_type t = (vy_type)x->w.p->insts.data[loop].type;
    const vy_value n = vy_int(x->w.b, t, x->iteration[k]);
    const vy_value from = {vy_new_arg(&x->w, loop, 0)}, step = {vy_new_arg(&x->w, loop, 2)};
    return vy_add(x->w.b, from, vy_mul(x->w.b, n, step)).id;
}

static uint32_t evaluate_operation(ahead *x, uint32_t id)
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
static uint32_t evaluate(ahead *x, uint32_t id)
{
    const form f = form_of(x, id);
    if (f.kept) return vy_new(&x->w, id);
    if (VY_IS_LEAF(id)) return end_of_workgroup(x, f.axis);
    if (x->stamp[id] != x->now) {
        x->value[id] = evaluate_operation(x, id);
        x->stamp[id] = x->now;
    }
    return x->value[id];
}

static vy_value value_at(ahead *x, uint32_t id, bool last)
{
    if (x->last != last) x->now++;
    x->last = last;
    return (vy_value){evaluate(x, id)};
}

static void require(ahead *x, vy_value condition)
{
    for (uint32_t k = 0; k < x->required.count; k++)
        if (x->required.data[k] == condition.id) return;
    x->w.oom |= !vy_vec_push(&x->required, condition.id);
    x->all = x->all.id ? vy_and(x->w.b, x->all, condition) : condition;
}

// It does not wrap around between the ends of the workgroup.
static void require_order(ahead *x, uint32_t id)
{
    const form f = form_of(x, id);
    if (f.axis == NO_AXIS) return;
    const vy_value first = value_at(x, id, false), last = value_at(x, id, true);
    require(x, f.slope > 0 ? vy_le(x->w.b, first, last) : vy_le(x->w.b, last, first));
}

// The next iteration of the counters; false: there is none.
static bool step(ahead *x, uint8_t counters)
{
    x->now++;
    for (uint32_t k = 0; k < x->counters; k++) {
        if (!(counters >> k & 1)) continue;
        if (++x->iteration[k] < x->trips[k]) return true;
        x->iteration[k] = 0;
    }
    return false;
}

static void check_index(ahead *x, uint32_t load, uint32_t k)
{
    const vy_program *p = x->w.p;
    const uint32_t index = vy_arg(p, load, k), buffer = p->insts.data[load].aux;
    const form f = form_of(x, index);
    const vy_value extent = {vy_extent_leaf(x->w.b, buffer, k)};
    do {
        require_order(x, index);
        for (uint32_t end = 0; end < (f.axis == NO_AXIS ? 1 : 2); end++) {
            const vy_value at = value_at(x, index, end);
            require(x, vy_and_in_range(x->w.b, vy_bool(x->w.b, true), at, extent));
        }
    } while (step(x, f.counters));
}

static void check_comparison(ahead *x, uint32_t id)
{
    const vy_program *p = x->w.p;
    const uint32_t m = vy_arg(p, id, 0), n = vy_arg(p, id, 1);
    const form a = form_of(x, m), b = form_of(x, n);
    const bool both = a.axis != NO_AXIS || b.axis != NO_AXIS;
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

static void check_condition(ahead *x, uint32_t loop, uint32_t id)
{
    const form f = form_of(x, id);
    if (!VY_IS_LEAF(id) && x->taken[id] == 2 * loop + 1) return;
    if (!VY_IS_LEAF(id)) x->taken[id] = 2 * loop + 1;
    if (f.known && f.axis == NO_AXIS) {
        do require(x, value_at(x, id, false));
        while (step(x, f.counters));
    } else if (joins(x->w.p, id)) {
        check_condition(x, loop, vy_arg(x->w.p, id, 0));
        check_condition(x, loop, vy_arg(x->w.p, id, 1));
    } else {
        check_comparison(x, id);
    }
}

static void check(ahead *x, uint32_t loop)
{
    const vy_program *p = x->w.p;
    x->all.id = x->required.count = 0;
    for (uint32_t id = loop; id < x->w.s.partner[loop] && !vy_rewrite_stopped(&x->w); id++) {
        if (!x->freed[id]) continue;
        if (p->insts.data[id].op == VY_OP_SELECT) check_condition(x, loop, vy_arg(p, id, 0));
        for (uint32_t k = vy_axes_known(p, id);
             p->insts.data[id].op == VY_OP_LOAD && k < vy_rank_of(p, id); k++)
            check_index(x, id, k);
    }
}

// --------------------------------------------------------------------------------------- rewriting
// Marks the load emitted last; an earlier one is shared, and has the marks of its place.
static void mark_in_range(ahead *x, uint32_t load)
{
    vy_program *fresh = vy_builder_program(x->w.b);
    if (vy_rewrite_stopped(&x->w) || load + 1 != fresh->insts.count) return;
    fresh->insts.data[load].flags &= (uint8_t)~VY_FLAG_FIRSTS;
    fresh->insts.data[load].flags |= VY_FLAG_INRANGE;
}

static uint32_t without_checks(void *pass, uint32_t id)
{
    ahead *x = pass;
    if (!x->freed[id]) return 0;
    if (x->w.p->insts.data[id].op == VY_OP_SELECT) {
        x->w.map[id] = vy_new_arg(&x->w, id, 1);
        return id;
    }
    vy_rewrite_copy(&x->w, id);
    mark_in_range(x, x->w.map[id]);
    return id;
}

static uint32_t instead(void *pass, uint32_t id)
{
    ahead *x = pass;
    const vy_program *p = x->w.p;
    if (!vy_is_loop((vy_op)p->insts.data[id].op)) {
        look_outside(x, id);
        return 0;
    }
    const uint32_t last = vy_last_result(p, &x->w.s, id), n = vy_slot_count(p, &x->w.s, id);
    const bool suits = look(x, id);
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

static bool any_suits(ahead *x)
{
    const vy_program *p = x->w.p;
    bool any = false;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        if (!vy_is_loop((vy_op)p->insts.data[id].op)) {
            look_outside(x, id);
            continue;
        }
        any |= look(x, id);
        id = vy_last_result(p, &x->w.s, id);
    }
    return any;
}

static bool prepare(ahead *x)
{
    const vy_program *p = x->w.p;
    uint8_t *sources = vy_rewrite_table(&x->w, p->buffers.count);
    for (uint32_t k = 1; sources && k < p->buffers.count; k++)
        sources[k] = p->buffers.data[k].cls != VY_IN;
    for (uint32_t axis = 0; axis < 3 && !x->w.oom; axis++) {
        x->along[axis] = vy_differences_along(p, &x->w.s, axis, sources, &x->w.arena);
        x->w.oom |= !x->along[axis];
    }
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
    ahead x = {0};
    const bool ok = vy_rewrite_begin(&x.w, p) && prepare(&x);
    if (ok && any_suits(&x)) vy_rewrite_run(&x.w, instead, &x);
    vy_vec_free(&x.required);
    return vy_rewrite_end(&x.w, ok, &context->changed);
}
