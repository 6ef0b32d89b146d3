// SPDX-License-Identifier: MIT
// gather_won.c: see gather_won.h.
//
//   for k in … { …; at = won ? k : at; any = any || won; }
//
// is what rewrite/argmax.c makes of a maximum over k, or what a program says itself.  Of nested
// loops the outer ones carry what the inner one found, and their own variable:
//
//   for j in … {
//       var here = false;
//       for k in … { …; at_k = won ? k : at_k; here = here || won; }
//       at_j = here ? j : at_j; any = any || here;
//   }
#include "autodiff/gather/gather_won.h"

static const vy_inst *inst(const vy_rewrite *w, uint32_t id) { return &w->p->insts.data[id]; }

// The condition under which an iteration of the loop makes carried value k its variable, which it
// leaves as it is otherwise; *sense: the condition is true then.  0: it does something else.
static uint32_t taking(const vy_rewrite *w, uint32_t loop, uint32_t k, bool *sense)
{
    const vy_program *p = w->p;
    const uint32_t carry = vy_carry(loop, k), next = vy_slot_next(p, &w->s, loop, k);
    if (VY_IS_LEAF(next) || inst(w, next)->op != VY_OP_SELECT) return 0;
    const uint32_t x = vy_arg(p, next, 1), y = vy_arg(p, next, 2);
    *sense = x == loop;
    return (x == loop && y == carry) || (x == carry && y == loop) ? vy_arg(p, next, 0) : 0;
}

static bool is_negation(const vy_rewrite *w, uint32_t x, uint32_t y)
{
    return !VY_IS_LEAF(x) && inst(w, x)->op == VY_OP_NOT && vy_arg(w->p, x, 0) == y;
}

// Is `truth` true where `won` is `sense`, and nowhere else?
static bool is_same_choice(const vy_rewrite *w, uint32_t truth, uint32_t won, bool sense)
{
    return sense ? truth == won : is_negation(w, truth, won);
}

// If carried value k begins as false, and becomes true where something is: that; else 0.
static uint32_t becomes_true(const vy_rewrite *w, uint32_t loop, uint32_t k)
{
    const vy_program *p = w->p;
    const uint32_t carry = vy_carry(loop, k), next = vy_slot_next(p, &w->s, loop, k);
    const vy_scalar *begins = vy_id_const(p, vy_slot_init(p, loop, k));
    if (!begins || begins->u || VY_IS_LEAF(next) || inst(w, next)->op != VY_OP_OR) return 0;
    const uint32_t x = vy_arg(p, next, 0), y = vy_arg(p, next, 1);
    if (inst(w, next)->type != VY_BOOL || (x != carry && y != carry)) return 0;
    return x == carry ? y : x;
}

// The loop in this one that `id` is a result of, all that an iteration of this one does to it; the
// number of the result is *k.  0: it is none.
static uint32_t loop_of(const vy_rewrite *w, uint32_t loop, uint32_t id, uint32_t *k)
{
    if (VY_IS_LEAF(id) || inst(w, id)->op != VY_OP_RESULT) return 0;
    const uint32_t inner = vy_opener(w->p, &w->s, id);
    *k = inst(w, id)->aux;
    return inst(w, inner)->op == VY_OP_LOOP && w->s.parent[inner] == loop ? inner : 0;
}

// The loop whose variable carried value k of this one is, from that iteration in which carried
// value `any` became true last; 0: it is something else.
static uint32_t won_in(const vy_rewrite *w, uint32_t loop, uint32_t k, uint32_t any)
{
    for (;;) {
        bool sense;
        uint32_t at, here;
        const uint32_t truth = becomes_true(w, loop, any), won = taking(w, loop, k, &sense);
        if (!truth) return 0;
        if (won) return is_same_choice(w, truth, won, sense) ? loop : 0;
        const uint32_t inner = loop_of(w, loop, vy_slot_next(w->p, &w->s, loop, k), &at);
        if (!inner || loop_of(w, loop, truth, &here) != inner) return 0;
        if (vy_slot_init(w->p, inner, at) != vy_carry(loop, k)) return 0;
        loop = inner;
        k = at;
        any = here;
    }
}

// The loop of which value `id` is that; 0: it is something else.  *any: the value, known to be
// true, that says that one has won.
static uint32_t known_in(const vy_rewrite *w, const vy_known *known, uint32_t id, uint32_t *any)
{
    if (inst(w, id)->op != VY_OP_RESULT) return 0;
    const uint32_t loop = vy_opener(w->p, &w->s, id);
    if (inst(w, loop)->op != VY_OP_LOOP) return 0;
    for (uint32_t k = 0, n = vy_slot_count(w->p, &w->s, loop); k < n; k++) {
        const uint32_t of = won_in(w, loop, inst(w, id)->aux, k);
        *any = of ? vy_result(w->p, &w->s, loop, k) : 0;
        if (of && vy_truth(w, known, *any) == 1) return of;
    }
    return 0;
}

uint32_t gather_won_at(const gather_won *won, uint32_t id)
{
    uint32_t k = 0;
    while (k < won->loops && won->at[k] != id && won->loop[k] != id) k++;
    return k < won->loops ? k : GATHER_DEEPEST;
}

bool gather_see_won(gather_won *won, const vy_rewrite *w, const vy_known *known, uint32_t id,
                    bool *several)
{
    uint32_t any, k = won->loops;
    const uint32_t loop = known_in(w, known, id, &any), old = gather_won_at(won, loop);
    if (!loop) return false;
    // Values with one `any` are of one iteration of the innermost loop.
    *several = (won->any && won->any != any) ||
               (old < GATHER_DEEPEST ? won->at[old] != id : k == GATHER_DEEPEST);
    if (*several || old < GATHER_DEEPEST) return true;
    for (; k > 0 && won->loop[k - 1] > loop; k--) {
        won->loop[k] = won->loop[k - 1];
        won->at[k] = won->at[k - 1];
    }
    won->loop[k] = loop;
    won->at[k] = id;
    won->loops++;
    won->any = any;
    return true;
}
