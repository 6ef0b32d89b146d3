// SPDX-License-Identifier: MIT
// find_counter.c: which loops count, and how; see find_counter.h.
#include "ir/pass/scalar/find_counter.h"

enum { DEEPEST = 16 };

static const vy_inst *inst(const vy_rewrite *w, uint32_t id)
{
    return &w->p->insts.data[VY_IS_LEAF(id) ? 0 : id];
}

uint32_t vy_counting_ahead(vy_rewrite *w, uint32_t loop, uint32_t id)
{
    if (VY_IS_LEAF(id) || id < loop) return vy_new(w, id);
    const vy_inst *i = inst(w, id);
    uint32_t args[VY_MAX_RANK];
    for (uint32_t k = 0; k < i->nargs; k++)
        args[k] = vy_counting_ahead(w, loop, vy_arg(w->p, id, k));
    return vy_emit(w->b, (vy_op)i->op, (vy_type)i->type, i->aux, i->nargs, args);
}

// Does the program assume that this unsigned scalar is a number of the signed type of its size?
static bool is_assumed_signed(const vy_program *p, uint32_t scalar)
{
    const int64_t greatest = p->scalars.data[scalar].type == VY_U32 ? INT32_MAX : INT64_MAX;
    for (uint32_t k = 0; k < p->assumes.count; k++) {
        const vy_dim_node *least = &p->dims.data[p->assumes.data[k].least.id];
        const vy_dim_node *most = &p->dims.data[p->assumes.data[k].most.id];
        if (least->op == VY_DIM_SCALAR && least->value == (int64_t)scalar &&
            most->op == VY_DIM_CONST && most->value <= greatest)
            return true;
    }
    return false;
}

// Does the program assume that this scalar is positive?
static bool is_assumed(const vy_program *p, uint32_t scalar)
{
    for (uint32_t k = 0; k < p->assumes.count; k++) {
        const vy_dim_node *least = &p->dims.data[p->assumes.data[k].least.id];
        const vy_dim_node *most = &p->dims.data[p->assumes.data[k].most.id];
        if (least->op == VY_DIM_CONST && least->value >= 1 && most->op == VY_DIM_SCALAR &&
            most->value == (int64_t)scalar)
            return true;
    }
    return false;
}

static bool is_positive(const vy_rewrite *w, uint32_t id, uint32_t depth)
{
    const vy_program *p = w->p;
    const vy_scalar *c = vy_id_const(p, id);
    if (c) return c->i > 0;
    if (VY_IS_LEAF(id)) {
        const vy_leaf *l = &p->leaves.data[VY_LEAF_INDEX(id)];
        if (l->kind == VY_LEAF_SCALAR) return is_assumed(p, l->index);
        return l->kind == VY_LEAF_BUILTIN &&
               (l->index == VY_NUM_GROUPS || l->index == VY_SUBGROUP_SIZE);
    }
    const vy_op op = (vy_op)inst(w, id)->op;
    return depth < DEEPEST && (op == VY_OP_MUL || op == VY_OP_ADD || op == VY_OP_BITCAST) &&
           is_positive(w, vy_counting_plain(w, vy_arg(p, id, 0)), depth + 1) &&
           (op == VY_OP_BITCAST ||
            is_positive(w, vy_counting_plain(w, vy_arg(p, id, 1)), depth + 1));
}

// ---------------------------------------------------------------------------------------- the step
// A step that is not known: positive surely, or if it is assumed of the scalar that it is.  Large
// unsigned numbers are negative ones to a counter with a sign.
static bool goes_ahead(const vy_rewrite *w, uint32_t step, vy_counting_loop *c)
{
    const vy_leaf *l = VY_IS_LEAF(step) ? &w->p->leaves.data[VY_LEAF_INDEX(step)] : NULL;
    if (!l || l->kind != VY_LEAF_SCALAR) return is_positive(w, step, 0);
    const vy_type t = vy_id_type(w->p, step);
    if (vy_type_size(t) != vy_type_size(c->type)) return false;
    c->wide =
        vy_type_is_signed(c->type) && !vy_type_is_signed(t) && !is_assumed_signed(w->p, l->index);
    c->unsure = c->wide || !is_positive(w, step, 0) ? step : 0;
    return true;
}

static bool find_step(const vy_rewrite *w, uint32_t loop, vy_counting_loop *c)
{
    const vy_program *p = w->p;
    vy_known goes_on = {0};
    const uint32_t keep = vy_keep(p, &w->s, loop);
    if (keep) vy_learn(w, &goes_on, keep, true, 0);
    const vy_change by =
        vy_change_of(w, vy_carry(loop, c->slot), vy_slot_next(p, &w->s, loop, c->slot), &goes_on);
    if (!by.known || !by.step) return false;
    const vy_scalar *k = vy_id_const(p, vy_counting_plain(w, by.step));
    const bool negative =
        k && vy_id_type(p, vy_counting_plain(w, by.step)) == VY_U32 ? k->u >> 31 : k && k->i < 0;
    c->step = by.step;
    c->down = by.down != negative;
    return k ? k->u != 0 : goes_ahead(w, vy_counting_plain(w, by.step), c);
}

// ---------------------------------------------------------------------------------------- the test
static bool is_counter(const vy_rewrite *w, uint32_t loop, uint32_t id)
{
    id = vy_counting_plain(w, id);
    return inst(w, id)->op == VY_OP_CARRY && vy_arg(w->p, id, 0) == loop;
}

// Is everything ahead of the test without effect, and outside of constructs?
static bool only_tests(const vy_rewrite *w, uint32_t loop)
{
    for (uint32_t id = loop + 1; id < w->s.test[loop]; id++) {
        const vy_op op = (vy_op)inst(w, id)->op;
        const vy_effect effect = vy_op_infos[op].effect;
        if (op != VY_OP_CARRY && effect != VY_PURE && effect != VY_READ) return false;
    }
    return true;
}

// The counter that `id` is; at the end of an iteration it may have made its step.
static bool find_slot(const vy_rewrite *w, uint32_t loop, uint32_t id, vy_counting_loop *c)
{
    const uint32_t n = c->last ? vy_slot_count(w->p, &w->s, loop) : 0;
    c->moved = !is_counter(w, loop, id);
    if (!c->moved) c->slot = inst(w, vy_counting_plain(w, id))->aux;
    for (uint32_t k = 0; c->moved && k < n; k++) {
        c->slot = k;
        if (vy_same_value(w, vy_counting_plain(w, vy_slot_next(w->p, &w->s, loop, k)),
                          vy_counting_plain(w, id)))
            return true;
    }
    return !c->moved;
}

// k < bound and the like, with the sides as they are.
static bool find_compare(const vy_rewrite *w, uint32_t loop, uint32_t id, vy_counting_loop *c,
                         bool *above)
{
    const vy_program *p = w->p;
    const vy_op op = (vy_op)inst(w, id)->op;
    if (op != VY_OP_LT && op != VY_OP_LE && op != VY_OP_NE && op != VY_OP_EQ) return false;
    const bool second = !find_slot(w, loop, vy_arg(p, id, 0), c);
    const uint32_t bound = vy_arg(p, id, !second);
    if ((second && !find_slot(w, loop, vy_arg(p, id, 1), c)) ||
        !vy_counting_invariant(w, loop, bound))
        return false;
    c->type = vy_id_type(p, bound);
    c->compare = id;
    c->bound = bound;
    c->differs = op == VY_OP_NE || op == VY_OP_EQ;
    c->reaches = !c->differs && (op == VY_OP_LE) == c->sense;
    *above = second == c->sense; // k > bound
    return vy_counts_in(c->type) && (!c->differs || c->sense == (op == VY_OP_NE));
}

static bool find_first_test(const vy_rewrite *w, uint32_t loop, vy_counting_loop *c, bool *above)
{
    uint32_t id = vy_arg(w->p, w->s.test[loop], 0);
    c->sense = true;
    for (; inst(w, id)->op == VY_OP_NOT; id = vy_arg(w->p, id, 0)) c->sense = !c->sense;
    return find_compare(w, loop, id, c, above);
}

// do { … } while (k < n): the loop has no test ahead, and goes on only where the comparison holds.
static bool find_last_test(const vy_rewrite *w, uint32_t loop, vy_counting_loop *c, bool *above)
{
    const vy_scalar *test = vy_id_const(w->p, vy_arg(w->p, w->s.test[loop], 0));
    vy_known goes_on = {0};
    if (!test || !test->u || !vy_exits(w->p, loop)) return false;
    vy_learn(w, &goes_on, vy_keep(w->p, &w->s, loop), true, 0);
    c->last = true;
    for (uint32_t i = 0; i < goes_on.count; i++) {
        c->sense = goes_on.data[i].sense;
        if (find_compare(w, loop, goes_on.data[i].id, c, above)) return true;
    }
    return false;
}

static bool find_test(const vy_rewrite *w, uint32_t loop, vy_counting_loop *c, bool *above)
{
    return find_first_test(w, loop, c, above) || find_last_test(w, loop, c, above);
}

// ---------------------------------------------------------------------------------------- the form
vy_scalar vy_greatest(vy_type t)
{
    const unsigned bits = 8 * vy_type_size(t) - (vy_type_is_signed(t) ? 1 : 0);
    return (vy_scalar){.u = bits == 64 ? UINT64_MAX : (1ull << bits) - 1};
}

// The constant of a step as a positive number; 0: it is none.
uint64_t vy_counting_step(const vy_rewrite *w, const vy_counting_loop *c)
{
    const uint32_t id = vy_counting_plain(w, c->step);
    const vy_scalar *k = vy_id_const(w->p, id);
    if (!k) return 0;
    const bool wide = vy_type_size(vy_id_type(w->p, id)) == 8;
    const int64_t n = wide ? k->i : (int64_t)(int32_t)(uint32_t)k->u;
    return n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
}

static bool less(vy_type t, vy_scalar a, uint64_t b)
{
    return vy_type_is_signed(t) ? a.i < (int64_t)b : a.u < b;
}

// Up: a bound that is known is so far below the greatest number that no step passes that.
static vy_counting_form form_up(const vy_rewrite *w, const vy_counting_loop *c, uint64_t by)
{
    const vy_scalar *n = vy_id_const(w->p, vy_counting_plain(w, c->bound));
    if (c->differs) return by == 1 ? VY_COUNTS_TRIPS : VY_COUNTS_NOT;
    if (!n) return VY_COUNTS_UP;
    const vy_scalar v = *n;
    const uint64_t room = by ? by - !c->reaches : 0;
    return less(c->type, vy_wrap(c->type, v), vy_greatest(c->type).u - room + 1) ? VY_COUNTS_UP
                                                                                 : VY_COUNTS_NOT;
}

static bool is_one_less(const vy_rewrite *w, uint32_t id) // x - 1
{
    const vy_op op = (vy_op)inst(w, id)->op;
    const vy_scalar *c =
        op == VY_OP_ADD || op == VY_OP_SUB ? vy_id_const(w->p, vy_arg(w->p, id, 1)) : NULL;
    return c && c->i == (op == VY_OP_SUB ? 1 : -1);
}

// Down: unsigned numbers must not pass zero, which steps that are not known might.
static vy_counting_form form_down(const vy_rewrite *w, uint32_t loop, const vy_counting_loop *c,
                                  uint64_t by)
{
    const vy_program *p = w->p;
    const vy_scalar *n = vy_id_const(p, vy_counting_plain(w, c->bound));
    const uint32_t init = vy_counting_plain(w, vy_slot_init(p, loop, c->slot));
    if (!by) return vy_type_is_signed(c->type) && !c->differs ? VY_COUNTS_TRIPS : VY_COUNTS_NOT;
    if (c->differs) return by == 1 ? VY_COUNTS_TRIPS : VY_COUNTS_NOT;
    if (!vy_type_is_signed(c->type)) {
        const uint64_t least = by - !c->reaches;
        return least == 0 || (n && vy_wrap(c->type, *n).u >= least) ? VY_COUNTS_TRIPS
                                                                    : VY_COUNTS_NOT;
    }
    const vy_scalar *k = vy_id_const(p, init);
    const bool in_range = k ? k->i != vy_greatest(c->type).i : is_one_less(w, init);
    return by == 1 && n && in_range && n->i != vy_greatest(c->type).i ? VY_COUNTS_DOWN
                                                                      : VY_COUNTS_TRIPS;
}

// Where a first step that is not tested passes no end of the type, the numbers are a range that has
// one number at least.
static vy_counting_form form_last(const vy_rewrite *w, uint32_t loop, const vy_counting_loop *c)
{
    const vy_scalar *init =
        vy_id_const(w->p, vy_counting_plain(w, vy_slot_init(w->p, loop, c->slot)));
    const uint64_t by = vy_counting_step(w, c);
    const bool range = c->form == VY_COUNTS_UP && c->moved && init && by &&
                       less(c->type, vy_wrap(c->type, *init), vy_greatest(c->type).u - by);
    return c->form == VY_COUNTS_NOT || range ? c->form : VY_COUNTS_TRIPS;
}

bool vy_counting_test(const vy_rewrite *w, uint32_t loop, vy_counting_loop *c)
{
    bool above;
    return only_tests(w, loop) && find_first_test(w, loop, c, &above);
}

bool vy_find_counter(const vy_rewrite *w, uint32_t loop, vy_counting_loop *c)
{
    bool above = false;
    if (!only_tests(w, loop) || !find_test(w, loop, c, &above) || !find_step(w, loop, c) ||
        (!c->differs && above != c->down))
        return false;
    const uint64_t by = vy_counting_step(w, c);
    c->form = c->down ? form_down(w, loop, c, by) : form_up(w, c, by);
    c->idle = c->last && !c->moved && vy_ends_idle(w, loop, c->compare, !c->sense);
    if (c->idle) c->last = false;
    if (c->last) c->form = form_last(w, loop, c);
    return c->form != VY_COUNTS_NOT;
}
