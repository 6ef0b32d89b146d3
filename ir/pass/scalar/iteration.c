// SPDX-License-Identifier: MIT
// iteration.c: see iteration.h.
#include "ir/pass/scalar/iteration.h"

enum { DEEPEST = 16, MOST_CHOICES = 8 }; // of which both arms are followed

static const vy_inst *inst(const vy_rewrite *w, uint32_t id)
{
    return &w->p->insts.data[VY_IS_LEAF(id) ? 0 : id];
}

uint32_t vy_counting_plain(const vy_rewrite *w, uint32_t id)
{
    while (inst(w, id)->op == VY_OP_BITCAST && vy_counts_in((vy_type)inst(w, id)->type) &&
           vy_counts_in(vy_id_type(w->p, vy_arg(w->p, id, 0))))
        id = vy_arg(w->p, id, 0);
    return id;
}

static bool is_invariant(const vy_rewrite *w, uint32_t loop, uint32_t id, uint32_t depth)
{
    if (VY_IS_LEAF(id) || id < loop) return true;
    const vy_inst *i = inst(w, id);
    const vy_effect effect = vy_op_infos[i->op].effect;
    if (depth == DEEPEST || i->nargs > VY_MAX_RANK ||
        (effect != VY_PURE && (effect != VY_READ || w->p->buffers.data[i->aux].cls != VY_IN)))
        return false;
    for (uint32_t k = 0; k < i->nargs; k++)
        if (!is_invariant(w, loop, vy_arg(w->p, id, k), depth + 1)) return false;
    return true;
}

bool vy_counting_invariant(const vy_rewrite *w, uint32_t loop, uint32_t id)
{
    return is_invariant(w, loop, id, 0);
}

// Equal values: also results of one `if` whose arms yield the same for both.
bool vy_same_value(const vy_rewrite *w, uint32_t x, uint32_t y)
{
    uint32_t a, b, c, d;
    if (x == y) return true;
    const uint32_t one = vy_choice(w->p, &w->s, x, &a, &b);
    return one && one == vy_choice(w->p, &w->s, y, &c, &d) && a == c && b == d;
}

static int truth(const vy_rewrite *w, const vy_known *k, uint32_t id,
                 uint32_t depth) // -1: not known
{
    const vy_scalar *c = vy_id_const(w->p, id);
    if (c) return c->u != 0;
    if (inst(w, id)->op == VY_OP_NOT && depth < DEEPEST) {
        const int t = truth(w, k, vy_arg(w->p, id, 0), depth + 1);
        return t < 0 ? t : !t;
    }
    for (uint32_t i = k->count; i-- > 0;)
        if (vy_same_value(w, k->data[i].id, id)) return k->data[i].sense;
    return -1;
}

int vy_truth(const vy_rewrite *w, const vy_known *k, uint32_t id) { return truth(w, k, id, 0); }

void vy_learn(const vy_rewrite *w, vy_known *k, uint32_t id, bool sense, uint32_t depth)
{
    const vy_inst *i = inst(w, id);
    uint32_t yes, no;
    if (VY_IS_LEAF(id) || depth == DEEPEST || k->count == VY_MOST_KNOWN) return;
    k->data[k->count].id = id;
    k->data[k->count++].sense = sense;
    if (i->op == VY_OP_NOT) vy_learn(w, k, vy_arg(w->p, id, 0), !sense, depth + 1);
    for (uint32_t n = 0; n < 2 && i->op == (sense ? VY_OP_AND : VY_OP_OR); n++)
        vy_learn(w, k, vy_arg(w->p, id, n), sense, depth + 1);
    const uint32_t choice = vy_choice(w->p, &w->s, id, &yes, &no);
    if (!choice) return;
    const uint32_t condition = vy_arg(w->p, choice, 0);
    const int if_yes = yes == condition ? 1 : truth(w, k, yes, 0);
    const int if_no = no == condition ? 0 : truth(w, k, no, 0);
    if (if_yes == !sense) {
        vy_learn(w, k, condition, false, depth + 1);
        vy_learn(w, k, no, sense, depth + 1);
    } else if (if_no == !sense) {
        vy_learn(w, k, condition, true, depth + 1);
        vy_learn(w, k, yes, sense, depth + 1);
    }
}

static bool same_change(const vy_change *a, const vy_change *b)
{
    return a->known && b->known && a->step == b->step && a->down == b->down;
}

static vy_change change_of(const vy_rewrite *w, uint32_t carry, uint32_t next, const vy_known *k,
                           uint32_t depth);

static vy_change in_arm(const vy_rewrite *w, uint32_t carry, uint32_t next, const vy_known *k,
                        uint32_t condition, bool sense, uint32_t depth)
{
    vy_known more = *k;
    vy_learn(w, &more, condition, sense, 0);
    return change_of(w, carry, next, &more, depth);
}

// `next` as what is added to it by the way.
static uint32_t addend(const vy_rewrite *w, uint32_t loop, uint32_t next, bool *down,
                       uint32_t *step)
{
    const vy_inst *i = inst(w, next);
    for (uint32_t k = 0; k < 2 && (i->op == VY_OP_ADD || (i->op == VY_OP_SUB && k == 0)); k++) {
        *step = vy_arg(w->p, next, 1 - k);
        *down = i->op == VY_OP_SUB;
        if (vy_counting_invariant(w, loop, *step)) return vy_arg(w->p, next, k);
    }
    return 0;
}

// What an iteration adds to the carried value: nothing, step = 0, or what it adds once.
static vy_change change_of(const vy_rewrite *w, uint32_t carry, uint32_t next, const vy_known *k,
                           uint32_t depth)
{
    const vy_program *p = w->p;
    vy_change c = {.known = true};
    uint32_t yes, no;
    next = vy_counting_plain(w, next);
    if (next == carry) return c;
    const uint32_t rest = addend(w, vy_arg(p, carry, 0), next, &c.down, &c.step);
    const uint32_t choice = vy_choice(p, &w->s, next, &yes, &no);
    if (depth == MOST_CHOICES || (!rest && !choice)) return (vy_change){0};
    if (rest) {
        const vy_change before = change_of(w, carry, rest, k, depth + 1);
        return before.known && !before.step ? c : (vy_change){0};
    }
    const uint32_t condition = vy_arg(p, choice, 0);
    const int known = truth(w, k, condition, 0);
    if (known >= 0) return change_of(w, carry, known ? yes : no, k, depth + 1);
    const vy_change a = in_arm(w, carry, yes, k, condition, true, depth + 1);
    const vy_change b = in_arm(w, carry, no, k, condition, false, depth + 1);
    return same_change(&a, &b) ? a : (vy_change){0};
}

vy_change vy_change_of(const vy_rewrite *w, uint32_t carry, uint32_t next, const vy_known *k)
{
    return change_of(w, carry, next, k, 0);
}

// ------------------------------------------------------------------------------ the last iteration
// Is `id` in an arm that is not taken where that is known?
static bool is_left_out(const vy_rewrite *w, uint32_t loop, const vy_known *k, uint32_t id)
{
    for (uint32_t up = w->s.parent[id]; up && up != loop; up = w->s.parent[up]) {
        if (inst(w, up)->op != VY_OP_IF) continue;
        const int taken = truth(w, k, vy_arg(w->p, up, 0), 0);
        if (taken >= 0 && (taken == 1) != vy_in_then(&w->s, up, id)) return true;
    }
    return false;
}

bool vy_ends_idle(const vy_rewrite *w, uint32_t loop, uint32_t condition, bool sense)
{
    const vy_program *p = w->p;
    vy_known ends = {0};
    if (w->s.parent[condition] != loop) return false;
    vy_learn(w, &ends, condition, sense, 0);
    for (uint32_t k = 0; k < vy_slot_count(p, &w->s, loop); k++) {
        const vy_change c =
            vy_change_of(w, vy_carry(loop, k), vy_slot_next(p, &w->s, loop, k), &ends);
        if (!c.known || c.step) return false;
    }
    for (uint32_t id = loop + 1; id < vy_closer(p, &w->s, loop); id++) {
        const vy_effect effect = vy_op_infos[inst(w, id)->op].effect;
        const bool acts =
            effect == VY_WRITE || effect == VY_CONV || vy_is_loop((vy_op)inst(w, id)->op);
        if (acts && !is_left_out(w, loop, &ends, id)) return false;
    }
    return true;
}
