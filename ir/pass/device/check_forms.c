// SPDX-License-Identifier: MIT
// check_forms.c: what a loop checks that can be checked before it (check_ahead.c).
#include "ir/pass/device/check_ahead.h"
#include "ir/check/uniform.h"
#include "ir/core/access.h"
#include "ir/core/flow.h"

enum {
    MOST_LOOP = 1024,  // instructions of a loop
    MOST_TRIPS = 4,    // of a loop whose iterations are checked one by one
    MOST_CHECKS = 256, // comparisons
    MOST_HIGH = 24,    // operations between a value and what it is made of
};

// ------------------------------------------------------------------------------------------- forms
static bool is_word(vy_type t) { return t == VY_I32 || t == VY_U32; }

static vy_ahead_form form_of_leaf(const vy_ahead *x, uint32_t id)
{
    const vy_program *p = x->w.p;
    uint32_t own;
    if (vy_has_lone_axis(p, id, &own))
        return (vy_ahead_form){.known = true, .axis = (uint8_t)own, .slope = 1};
    for (uint32_t axis = 0; axis < 3; axis++)
        if (p->workgroup[axis] > 1 && vy_leaf_along(p, id, axis)) return (vy_ahead_form){0};
    return (vy_ahead_form){.known = true, .kept = true, .axis = VY_NO_SIDE};
}

vy_ahead_form vy_ahead_form_of(const vy_ahead *x, uint32_t id)
{
    return VY_IS_LEAF(id) ? form_of_leaf(x, id) : x->of[id];
}

// Is it the same in the workgroup?  Asked outside of loops.
static bool is_common(const vy_ahead *x, uint32_t id)
{
    for (uint32_t axis = 0; axis < 3; axis++)
        if (x->w.p->workgroup[axis] > 1 && x->along[axis][id]) return false;
    return true;
}

static bool fits(const vy_ahead *x, int64_t slope, uint32_t axis)
{
    const int64_t most = slope < 0 ? -slope : slope;
    return axis == VY_NO_SIDE || most <= (int64_t)INT32_MAX / x->w.p->workgroup[axis];
}

// Of a sum, a difference, a product with a constant, a conversion: linear if the operands are.
static bool find_slope(const vy_ahead *x, uint32_t id, vy_ahead_form *f)
{
    const vy_program *p = x->w.p;
    const vy_inst *i = &p->insts.data[id];
    const vy_ahead_form a = vy_ahead_form_of(x, vy_arg(p, id, 0));
    const vy_ahead_form b =
        i->nargs > 1 ? vy_ahead_form_of(x, vy_arg(p, id, 1)) : (vy_ahead_form){.axis = VY_NO_SIDE};
    const bool words = is_word((vy_type)i->type) && is_word(vy_id_type(p, vy_arg(p, id, 0)));
    if (a.axis == VY_NO_SIDE && b.axis == VY_NO_SIDE) return true;
    if (!words || (a.axis != VY_NO_SIDE && b.axis != VY_NO_SIDE && a.axis != b.axis)) return false;
    int64_t slope = a.slope, by;
    if (i->op == VY_OP_ADD || i->op == VY_OP_SUB)
        slope += i->op == VY_OP_ADD ? b.slope : -(int64_t)b.slope;
    else if (i->op == VY_OP_MUL && vy_id_int(p, vy_arg(p, id, 1), &by) && by >= 0 && by < 1 << 20)
        slope *= by;
    else if (i->op != VY_OP_CAST)
        return false;
    f->axis = a.axis != VY_NO_SIDE ? a.axis : b.axis;
    f->slope = (int32_t)slope;
    return slope && fits(x, slope, f->axis);
}

static vy_ahead_form form_of_operation(const vy_ahead *x, uint32_t id)
{
    const vy_inst *i = &x->w.p->insts.data[id];
    vy_ahead_form f = {.known = vy_op_infos[i->op].effect == VY_PURE && i->op != VY_OP_APPLY,
                       .axis = VY_NO_SIDE};
    for (uint32_t k = 0; f.known && k < i->nargs; k++) {
        const vy_ahead_form a = vy_ahead_form_of(x, vy_arg(x->w.p, id, k));
        f.known = a.known && a.high < MOST_HIGH;
        f.counters |= a.counters;
        if (a.high >= f.high) f.high = (uint8_t)(a.high + 1);
    }
    const bool still =
        i->nargs < 3 || vy_ahead_form_of(x, vy_arg(x->w.p, id, 2)).axis == VY_NO_SIDE;
    const bool suits = f.known && still && i->nargs && i->nargs <= 3 && find_slope(x, id, &f);
    return suits ? f : (vy_ahead_form){0};
}

// A condition: comparisons of linear values, and what no lane changes, joined by `&&`.
static bool is_comparison(const vy_ahead *x, uint32_t id)
{
    const vy_program *p = x->w.p;
    if (VY_IS_LEAF(id)) return false;
    const vy_op op = (vy_op)p->insts.data[id].op;
    if (op != VY_OP_LT && op != VY_OP_LE) return false;
    const vy_ahead_form a = vy_ahead_form_of(x, vy_arg(p, id, 0)),
                        b = vy_ahead_form_of(x, vy_arg(p, id, 1));
    return a.known && b.known && is_word(vy_id_type(p, vy_arg(p, id, 0))) &&
           (a.axis == VY_NO_SIDE || b.axis == VY_NO_SIDE || a.axis == b.axis);
}

bool vy_is_joined(const vy_program *p, uint32_t id)
{
    return !VY_IS_LEAF(id) && p->insts.data[id].op == VY_OP_AND && vy_id_type(p, id) == VY_BOOL;
}

static bool is_condition(const vy_ahead *x, uint32_t id, uint32_t high)
{
    if (vy_ahead_form_of(x, id).known && vy_ahead_form_of(x, id).axis == VY_NO_SIDE) return true;
    if (!vy_is_joined(x->w.p, id)) return is_comparison(x, id);
    return high < MOST_HIGH / 2 && is_condition(x, vy_arg(x->w.p, id, 0), high + 1) &&
           is_condition(x, vy_arg(x->w.p, id, 1), high + 1);
}

static bool is_zero(const vy_program *p, uint32_t id)
{
    const vy_scalar *c = vy_id_const(p, id);
    return c && (vy_type_is_float(vy_id_type(p, id)) ? c->f == 0 && !__builtin_signbit(c->f)
                                                     : c->u == 0);
}

static bool is_guard(const vy_ahead *x, uint32_t id)
{
    const vy_program *p = x->w.p;
    return p->insts.data[id].op == VY_OP_SELECT && is_zero(p, vy_arg(p, id, 2)) &&
           !vy_id_const(p, vy_arg(p, id, 0)) && is_condition(x, vy_arg(p, id, 0), 0);
}

// ---------------------------------------------------------------------------------- what is freed
// How often a value is checked: at both ends, in each iteration of its counters.
static uint32_t times(const vy_ahead *x, vy_ahead_form f)
{
    uint64_t n = f.axis == VY_NO_SIDE ? 1 : 2;
    for (uint32_t k = 0; k < x->counters; k++)
        if (f.counters >> k & 1) n *= x->trips[k];
    return (uint32_t)n;
}

static bool is_free_load(vy_ahead *x, uint32_t id)
{
    const vy_program *p = x->w.p;
    const vy_inst *i = &p->insts.data[id];
    if (i->op != VY_OP_LOAD || !vy_is_global(p->buffers.data[i->aux].cls)) return false;
    const uint32_t rank = vy_rank_of(p, id), known = vy_axes_known(p, id);
    uint32_t checks = 0;
    for (uint32_t k = known; k < rank; k++) {
        const uint32_t index = vy_arg(p, id, k);
        const vy_ahead_form f = vy_ahead_form_of(x, index);
        if (!f.known || !is_word(vy_id_type(p, index))) return false;
        checks += times(x, f);
    }
    x->checks += checks;
    return known < rank;
}

static void count_counter(vy_ahead *x, uint32_t loop)
{
    uint64_t trips;
    const vy_inst *i = &x->w.p->insts.data[loop];
    if (x->counters == VY_AHEAD_COUNTERS || !is_word((vy_type)i->type)) return;
    if (!vy_constant_trips(x->w.p, loop, &trips) || !trips || trips > MOST_TRIPS) return;
    x->of[loop] = (vy_ahead_form){.known = true,
                                  .axis = VY_NO_SIDE,
                                  .counters = (uint8_t)(1u << x->counters),
                                  .high = 1};
    x->trips[x->counters] = trips;
    x->counter[x->counters++] = loop;
}

// As check_ahead.c's check_condition makes them, each once.
static void count_condition(vy_ahead *x, uint32_t id)
{
    const vy_program *p = x->w.p;
    vy_ahead_form f = vy_ahead_form_of(x, id);
    if (!VY_IS_LEAF(id) && x->taken[id] == 2 * x->look) return;
    if (!VY_IS_LEAF(id)) x->taken[id] = 2 * x->look;
    if (!f.known && vy_is_joined(p, id)) {
        count_condition(x, vy_arg(p, id, 0));
        count_condition(x, vy_arg(p, id, 1));
        return;
    }
    for (uint32_t k = 0; !f.known && k < 2; k++)
        f.counters |= vy_ahead_form_of(x, vy_arg(p, id, k)).counters;
    f.axis = f.known ? VY_NO_SIDE : 0;
    x->checks += times(x, f);
}

// Looks at an instruction of a loop.
static bool look_at(vy_ahead *x, uint32_t id)
{
    const vy_program *p = x->w.p;
    const vy_inst *i = &p->insts.data[id];
    if (i->op == VY_OP_LOOP) {
        count_counter(x, id);
    } else if (is_guard(x, id)) {
        x->of[id] = vy_ahead_form_of(x, vy_arg(p, id, 1));
        x->of[id].kept = false; // the first value may be, but not the select
        count_condition(x, vy_arg(p, id, 0));
        x->freed[id] = 1;
        return true;
    } else if (vy_op_infos[i->op].effect == VY_PURE) {
        x->of[id] = form_of_operation(x, id);
    }
    x->freed[id] = is_free_load(x, id);
    return x->freed[id];
}

void vy_look_outside(vy_ahead *x, uint32_t id)
{
    const vy_inst *i = &x->w.p->insts.data[id];
    if (i->op != VY_OP_NONE && i->type != VY_VOID && is_common(x, id))
        x->of[id] = (vy_ahead_form){.known = true, .kept = true, .axis = VY_NO_SIDE};
    else if (vy_op_infos[i->op].effect == VY_PURE)
        x->of[id] = form_of_operation(x, id);
}

// Is it in the second arm of an `if`?
static bool in_second_arm(const vy_ahead *x, uint32_t id)
{
    const vy_program *p = x->w.p;
    for (uint32_t up = x->w.s.parent[id]; up; id = up, up = x->w.s.parent[up])
        if (p->insts.data[up].op == VY_OP_IF && !vy_in_then(&x->w.s, up, id)) return true;
    return false;
}

static bool is_long(const vy_ahead *x, uint32_t loop)
{
    const vy_program *p = x->w.p;
    uint64_t trips;
    if (p->insts.data[loop].op == VY_OP_LOOP && vy_constant_trips(p, loop, &trips)) return false;
    return x->w.s.partner[loop] - loop <= MOST_LOOP && !in_second_arm(x, loop);
}

// Can checks of the outermost loop be left out?  Decides all that is in it.
bool vy_look_inside(vy_ahead *x, uint32_t loop)
{
    bool any = false, suits = is_long(x, loop);
    x->counters = x->checks = 0;
    x->look++;
    for (uint32_t id = loop; id < x->w.s.partner[loop]; id++) {
        any |= look_at(x, id);
        suits &= vy_op_infos[x->w.p->insts.data[id].op].effect != VY_CONV;
    }
    return any && suits && x->checks <= MOST_CHECKS;
}
