// SPDX-License-Identifier: MIT
// gather_once.c: additions that one invocation of all makes, as others add zero.
//
//   var v = 0.0; if k == 0 && i == 0 { v = g[…]; }     as spirv/read/once.c leaves a store
//   if any { atomic_add(x[at], v); }                 →   if k == 0 && i == 0 { … }
//
// Under the condition it is plain that no two invocations add to an element (gather_own.c), and
// that an element has one point.
#include "autodiff/gather/gather_attempts.h"
#include "ir/build/rewrite.h"
#include "ir/pass/scalar/iteration.h"

enum { MOST_CHOICES = 16 }; // of which what is added is one

static const vy_inst *inst(const vy_rewrite *w, uint32_t id) { return &w->p->insts.data[id]; }

// The domain variable that is a constant where `id` is `sense`; the number of them: none.
static uint32_t fixed(const vy_rewrite *w, uint32_t id, bool sense)
{
    const vy_program *p = w->p;
    int64_t c;
    if (!VY_IS_LEAF(id) && inst(w, id)->op == (sense ? VY_OP_EQ : VY_OP_NE))
        for (uint32_t k = 0; k < 2; k++) {
            const uint32_t x = vy_counting_plain(w, vy_arg(p, id, k));
            const vy_leaf *l = VY_IS_LEAF(x) ? &p->leaves.data[VY_LEAF_INDEX(x)] : NULL;
            if (l && l->kind == VY_LEAF_OVER && vy_id_int(p, vy_arg(p, id, 1 - k), &c))
                return l->index;
        }
    return p->overs.count;
}

// Is one invocation of the domain where these conditions hold?
static bool is_once(const vy_rewrite *w, const vy_known *known)
{
    const uint32_t n = w->p->overs.count;
    uint64_t at = 0;
    for (uint32_t k = 0; k < known->count; k++) {
        const uint32_t of = fixed(w, known->data[k].id, known->data[k].sense);
        if (of < n && of < 64) at |= (uint64_t)1 << of;
    }
    return n && n < 64 && at == ((uint64_t)1 << n) - 1;
}

static bool is_zero(const vy_program *p, uint32_t id)
{
    const vy_scalar *c = vy_id_const(p, id);
    return c && c->f == 0;
}

// The condition by which `v` is chosen from two values; 0: it is not.
static uint32_t chosen_by(const vy_rewrite *w, uint32_t v, uint32_t *yes, uint32_t *no)
{
    const uint32_t opener = vy_choice(w->p, &w->s, v, yes, no);
    if (opener) return vy_arg(w->p, opener, 0);
    if (inst(w, v)->op != VY_OP_SELECT) return 0;
    *yes = vy_arg(w->p, v, 1);
    *no = vy_arg(w->p, v, 2);
    return vy_arg(w->p, v, 0);
}

// What is known of conditions where the addition is.
static vy_known around(const vy_rewrite *w, uint32_t site)
{
    vy_known known = {0};
    for (uint32_t up = w->s.parent[site]; up; up = w->s.parent[up])
        if (inst(w, up)->op == VY_OP_IF)
            vy_learn(w, &known, vy_arg(w->p, up, 0), vy_in_then(&w->s, up, site), 0);
    return known;
}

// The condition under which, if it is *sense, one invocation makes the addition, where others add
// zero; 0: it is under such a condition already, or there is none.
static uint32_t guard_of(const vy_rewrite *w, uint32_t site, bool *sense)
{
    const vy_program *p = w->p;
    uint32_t v = vy_arg(p, site, inst(w, site)->nargs - 1u), yes, no;
    vy_known known = around(w, site);
    if (is_once(w, &known)) return 0;
    for (uint32_t k = 0; k < MOST_CHOICES && !VY_IS_LEAF(v); k++) {
        const uint32_t condition = chosen_by(w, v, &yes, &no);
        if (!condition || (!is_zero(p, yes) && !is_zero(p, no))) return 0;
        vy_known more = known;
        *sense = is_zero(p, no);
        vy_learn(w, &more, condition, *sense, 0);
        if (is_once(w, &more)) return condition;
        v = *sense ? yes : no;
    }
    return 0;
}

static uint32_t guarded(void *pass, uint32_t id)
{
    vy_rewrite *w = pass;
    bool sense;
    const uint32_t guard = inst(w, id)->op == VY_OP_ATOMIC_ADD ? guard_of(w, id, &sense) : 0;
    if (!guard) return 0;
    const vy_value holds = {vy_new(w, guard)};
    vy_begin_if(w->b, sense ? holds.id : vy_not(w->b, holds).id);
    vy_rewrite_copy(w, id);
    vy_begin_else(w->b, 0, NULL);
    vy_end_if(w->b, 0, NULL, NULL);
    return id;
}

bool gather_guard_once(vy_program *p)
{
    vy_rewrite w;
    bool ok = vy_rewrite_begin(&w, p), any = false, sense;
    for (uint32_t id = 1; ok && id < p->insts.count && !any; id++)
        any = inst(&w, id)->op == VY_OP_ATOMIC_ADD && guard_of(&w, id, &sense);
    if (any) vy_rewrite_run(&w, guarded, &w);
    return vy_rewrite_end(&w, ok, &any);
}
