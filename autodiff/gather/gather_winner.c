// SPDX-License-Identifier: MIT
// gather_winner.c: what is added where a maximum was, as additions that the analysis can read.
//
//   if any { atomic_add(g[y * w + at], v); }        at: the iteration of a loop over 0..w that won
//                                            →
//   if any { for k in 0..w { if k == at { atomic_add(g[y * w + k], v); } } }
//
// `at` is data, which no map of indices has (rewrite/argmax.c makes it).  But it is one of the
// numbers that the loop's variable had, if any iteration won: so the second form adds the same, and
// its index is affine.  A gather has no loop for it, as the element says which k that is: it looks
// whether that one won.  Of nested loops, each of which has a part of the place, all are repeated.
// Unless all these additions are gathered the reverse program is left as it was, and so it is where
// conditions of the launch do not hold (gather_as_it_is).
#include "autodiff/gather/gather_attempts.h"
#include "autodiff/gather/gather_won.h"
#include "ir/core/flow.h"

#include <string.h>

enum { MOST_STEPS = 1024, MOST_LEAVING = 64, MOST_ARGS = 8 };

// A winner that the arms of `if`s yield, so that an addition behind them has it.
typedef struct leaving {
    uint32_t at, from; // from: the outermost `if` that yields it
    uint32_t fresh;    // what it is in the new program, as far out as has been built
} leaving;

typedef struct winning {
    vy_rewrite w;
    uint8_t *chosen; // by instruction: an addition that is rewritten
    bool shared;     // also of elements that all have
    gather_numbers numbers;
    leaving leave[MOST_LEAVING];
    uint32_t leaves;
    // Of the addition at hand:
    uint32_t site, steps;
    gather_won won;
    uint32_t counter[GATHER_DEEPEST], counters; // variables of the new loops, as many as there are
    vy_known known;
} winning;

static const vy_inst *inst(const winning *c, uint32_t id) { return &c->w.p->insts.data[id]; }

// ---------------------------------------------------------------------------------- the expression
// Can the addition use the value as it is?
static bool in_scope(const winning *c, uint32_t id)
{
    if (inst(c, id)->op == VY_OP_LOOP)
        return id < c->site && c->site < vy_closer(c->w.p, &c->w.s, id);
    const uint32_t up = c->w.s.parent[id];
    if (!up) return id < c->site;
    if (id > c->site || c->site < up || c->site > vy_closer(c->w.p, &c->w.s, up)) return false;
    return inst(c, up)->op != VY_OP_IF ||
           vy_in_then(&c->w.s, up, id) == vy_in_then(&c->w.s, up, c->site);
}

// The arm that an `if` which the value is a result of has taken; 0: it is none, or may be either.
static uint32_t taken(const winning *c, uint32_t id)
{
    uint32_t yes, no;
    const uint32_t choice = vy_choice(c->w.p, &c->w.s, id, &yes, &no);
    const int truth = choice ? vy_truth(&c->w, &c->known, vy_arg(c->w.p, choice, 0)) : -1;
    return truth < 0 ? 0 : truth ? yes : no;
}

static bool is_pure(const winning *c, uint32_t id)
{
    return vy_op_infos[inst(c, id)->op].effect == VY_PURE;
}

// Does it need the winner?  Notes which that is.
static bool needs_winner(winning *c, uint32_t id)
{
    bool several = false;
    if (VY_IS_LEAF(id) || c->steps == MOST_STEPS) return false;
    c->steps++;
    if (gather_see_won(&c->won, &c->w, &c->known, id, &several)) {
        if (several) c->steps = MOST_STEPS; // refused
        return true;
    }
    const uint32_t arm = taken(c, id);
    if (arm) return needs_winner(c, arm);
    bool any = false;
    for (uint32_t k = 0; is_pure(c, id) && k < inst(c, id)->nargs; k++)
        any |= needs_winner(c, vy_arg(c->w.p, id, k));
    return any;
}

// Can it be computed where the addition is, with another number for the winner?
static bool can_copy(winning *c, uint32_t id)
{
    if (VY_IS_LEAF(id) || gather_won_at(&c->won, id) < c->counters) return true;
    if (c->steps == MOST_STEPS) return false;
    if (!needs_winner(c, id) && in_scope(c, id)) return c->steps < MOST_STEPS;
    const uint32_t arm = taken(c, id);
    if (arm) return can_copy(c, arm);
    bool all = is_pure(c, id) && inst(c, id)->nargs <= MOST_ARGS;
    for (uint32_t k = 0; all && k < inst(c, id)->nargs; k++)
        all = can_copy(c, vy_arg(c->w.p, id, k));
    return all;
}

static uint32_t copied(winning *c, uint32_t id)
{
    if (VY_IS_LEAF(id)) return vy_new(&c->w, id);
    if (gather_won_at(&c->won, id) < c->counters) return c->counter[gather_won_at(&c->won, id)];
    if (!needs_winner(c, id) && in_scope(c, id)) return vy_new(&c->w, id);
    const uint32_t arm = taken(c, id);
    if (arm) return copied(c, arm);
    const vy_inst i = *inst(c, id);
    uint32_t args[MOST_ARGS];
    for (uint32_t k = 0; k < i.nargs && k < MOST_ARGS; k++)
        args[k] = copied(c, vy_arg(c->w.p, id, k));
    return vy_emit(c->w.b, (vy_op)i.op, (vy_type)i.type, i.aux, i.nargs, args);
}

// -------------------------------------------------------------------------------------- the places
// What is known where the addition is.
static void see_place(winning *c, uint32_t site)
{
    const vy_structure *s = &c->w.s;
    c->site = site;
    c->won = (gather_won){0};
    c->steps = 0;
    c->known.count = 0;
    for (uint32_t up = s->parent[site]; up; up = s->parent[up])
        if (inst(c, up)->op == VY_OP_IF)
            vy_learn(&c->w, &c->known, vy_arg(c->w.p, up, 0), vy_in_then(s, up, site), 0);
}

static bool is_wanted(winning *c, uint32_t site)
{
    const vy_program *p = c->w.p;
    const vy_buf *b = &p->buffers.data[inst(c, site)->aux];
    bool any = false, all = true;
    if (!vy_is_global(b->cls) || b->workspace || !vy_type_is_float(b->type)) return false;
    see_place(c, site);
    for (uint32_t k = 0; k < b->rank; k++) any |= needs_winner(c, vy_arg(p, site, k));
    if (!any) return false;
    c->counters = c->won.loops;
    for (uint32_t k = 0; k < b->rank; k++) all = all && can_copy(c, vy_arg(p, site, k));
    // Their loops are repeated, with the bounds that they had.
    for (uint32_t l = 0; l < c->won.loops && all; l++) {
        c->counters = l;
        for (uint32_t k = 0; k < 3 && all; k++)
            all = !needs_winner(c, vy_arg(p, c->won.loop[l], k)) &&
                  can_copy(c, vy_arg(p, c->won.loop[l], k));
    }
    return all && c->steps < MOST_STEPS;
}

// ------------------------------------------------------------------------------ winners that leave
static leaving *leaving_of(winning *c, uint32_t at)
{
    for (uint32_t k = 0; k < c->leaves; k++)
        if (c->leave[k].at == at) return &c->leave[k];
    return NULL;
}

// The outermost construct around the winner that is not around the addition, all up to which are
// `if`s; 0: there is none, or something else is on the way.
static uint32_t leaves_from(const winning *c, uint32_t at)
{
    const vy_structure *s = &c->w.s;
    uint32_t from = 0;
    for (uint32_t up = s->parent[at]; up; up = s->parent[up]) {
        const bool around = up < c->site && c->site < vy_closer(c->w.p, s, up);
        if (around) return vy_in_then(s, up, at) == vy_in_then(s, up, c->site) ? from : 0;
        if (inst(c, up)->op != VY_OP_IF) return 0;
        from = up;
    }
    return from;
}

// Has the addition that place, or can it be given it?
static bool reach_one(winning *c, uint32_t at)
{
    if (in_scope(c, at)) return true;
    const uint32_t from = leaves_from(c, at);
    leaving *l = leaving_of(c, at);
    if (!from || at > c->site || (!l && c->leaves == MOST_LEAVING)) return false;
    if (!l) {
        l = &c->leave[c->leaves++];
        *l = (leaving){.at = at, .from = from};
    }
    if (from < l->from) l->from = from;
    return true;
}

static bool reach(winning *c)
{
    bool all = true;
    for (uint32_t k = 0; k < c->won.loops && all; k++) all = reach_one(c, c->won.at[k]);
    return all;
}

// Does the `if` yield the winner?
static bool passes(const winning *c, const leaving *l, uint32_t opener)
{
    return l->from <= opener && opener < l->at && l->at < vy_closer(c->w.p, &c->w.s, opener);
}

static uint32_t replace(void *pass, uint32_t id);

// What the arm at hand yields of the winners that leave.
static void yield(winning *c, vy_remade *l, const uint32_t *which, uint32_t n, bool then)
{
    for (uint32_t k = 0; k < n; k++) {
        const leaving *v = &c->leave[which[k]];
        const bool here = vy_in_then(&c->w.s, l->opener, v->at) == then;
        const uint32_t fresh = v->fresh ? v->fresh : here ? vy_new(&c->w, v->at) : 0;
        l->in[l->own + k] = here ? fresh : vy_zero(c->w.b, (vy_type)inst(c, v->at)->type).id;
    }
}

static uint32_t remake_if(winning *c, uint32_t id, const uint32_t *which, uint32_t n)
{
    vy_remade l;
    if (!vy_remake(&c->w, &l, id, n)) return id;
    vy_remake_begin(&c->w, &l);
    vy_remake_body(&c->w, &l, replace, c);
    vy_remake_then(&c->w, &l);
    yield(c, &l, which, n, true);
    vy_remake_else(&c->w, &l);
    vy_remake_other(&c->w, &l, replace, c);
    vy_remake_next(&c->w, &l);
    yield(c, &l, which, n, false);
    vy_remake_end(&c->w, &l);
    for (uint32_t k = 0; k < n; k++) c->leave[which[k]].fresh = l.out[l.own + k];
    return vy_remake_last(&c->w, &l);
}

// ----------------------------------------------------------------------------------- the rewriting
// Opens the loop again and, unless all loops have one number, an `if` that it is in the iteration
// that won.
static void open_loop(winning *c, uint32_t k, bool numbered)
{
    const uint32_t loop = c->won.loop[k];
    const leaving *left = leaving_of(c, c->won.at[k]);
    const vy_inst of = *inst(c, loop);
    vy_builder *b = c->w.b;
    uint32_t bound[3];
    c->counters = k;
    for (uint32_t n = 0; n < 3; n++) bound[n] = copied(c, vy_arg(c->w.p, loop, n));
    c->counter[k] =
        vy_begin_loop(b, (vy_type)of.type, of.flags, bound[0], bound[1], bound[2], 0, NULL, NULL);
    const vy_value won = {left ? left->fresh : vy_new(&c->w, c->won.at[k])};
    if (!numbered) vy_begin_if(b, vy_eq(b, (vy_value){c->counter[k]}, won).id);
    c->counters = k + 1;
}

static void close_if(winning *c)
{
    vy_begin_else(c->w.b, 0, NULL);
    vy_end_if(c->w.b, 0, NULL, NULL);
}

static void repeat(winning *c, uint32_t id)
{
    const vy_inst i = *inst(c, id);
    const gather_numbered *n = gather_made_number(&c->numbers, &c->won);
    uint32_t args[VY_MAX_RANK + 1];
    vy_rewrite_at(&c->w, id);
    for (uint32_t k = 0; k < c->won.loops; k++) open_loop(c, k, n != NULL);
    if (n) vy_begin_if(c->w.b, gather_is_number(&c->w, n, c->counter));
    for (uint32_t k = 0; k + 1 < i.nargs; k++) args[k] = copied(c, vy_arg(c->w.p, id, k));
    args[i.nargs - 1] = vy_new_arg(&c->w, id, i.nargs - 1u);
    vy_emit(c->w.b, VY_OP_ATOMIC_ADD, (vy_type)i.type, i.aux, i.nargs, args);
    if (n) close_if(c);
    for (uint32_t k = c->won.loops; k-- > 0;) {
        if (!n) close_if(c);
        vy_end_loop(c->w.b, 0, 0, NULL, NULL);
    }
}

static uint32_t replace(void *pass, uint32_t id)
{
    winning *c = pass;
    uint32_t which[MOST_LEAVING], n = 0;
    if (c->chosen[id] && is_wanted(c, id)) {
        c->steps = 0;
        repeat(c, id);
        return id;
    }
    if (inst(c, id)->op != VY_OP_IF) return gather_make_numbers(&c->numbers, &c->w, id);
    for (uint32_t k = 0; k < c->leaves; k++)
        if (passes(c, &c->leave[k], id)) which[n++] = k;
    return n ? remake_if(c, id, which, n) : 0;
}

static bool has_winners(const vy_program *p)
{
    bool adds = false, takes = false;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        adds |= i->op == VY_OP_ATOMIC_ADD;
        if (i->op != VY_OP_SELECT || !vy_type_is_integer((vy_type)i->type)) continue;
        for (uint32_t k = 1; k < 3; k++) {
            const uint32_t a = vy_arg(p, id, k);
            takes |= !VY_IS_LEAF(a) && p->insts.data[a].op == VY_OP_LOOP;
        }
    }
    return adds && takes;
}

// Does it depend on the place in the domain, besides by the winner?
static bool needs_place(winning *c, uint32_t id)
{
    if (VY_IS_LEAF(id)) {
        const vy_leaf_kind kind = (vy_leaf_kind)c->w.p->leaves.data[VY_LEAF_INDEX(id)].kind;
        return kind == VY_LEAF_OVER || kind == VY_LEAF_BUILTIN;
    }
    if (gather_won_at(&c->won, id) < GATHER_DEEPEST || c->steps++ >= MOST_STEPS) return false;
    const uint32_t arm = taken(c, id);
    if (arm) return needs_place(c, arm);
    bool any = false;
    for (uint32_t k = 0; !any && is_pure(c, id) && k < inst(c, id)->nargs; k++)
        any = needs_place(c, vy_arg(c->w.p, id, k));
    return any;
}

// Do all invocations add to the same elements?  Then each element has all of them as its points,
// which costs more than adding.
static bool is_shared(winning *c, uint32_t site)
{
    bool any = false;
    c->steps = 0;
    for (uint32_t k = 0; k + 1 < inst(c, site)->nargs; k++)
        any |= needs_place(c, vy_arg(c->w.p, site, k));
    return !any;
}

// Finds the additions; false: there are none, or memory ran out.  A buffer of which one is in vain
// has none.
static bool find(winning *c, uint8_t *buffers)
{
    enum { SOME = 1, NONE = 2 };
    const vy_program *p = c->w.p;
    bool any = false;
    c->chosen = vy_rewrite_bytes(&c->w);
    for (uint32_t id = 1; c->chosen && id < p->insts.count; id++) {
        if (inst(c, id)->op != VY_OP_ATOMIC_ADD || !is_wanted(c, id)) continue;
        uint8_t *b = &buffers[inst(c, id)->aux];
        if (*b != NONE) *b = !c->shared && is_shared(c, id) ? NONE : SOME;
        c->chosen[id] = *b == SOME && reach(c);
    }
    for (uint32_t id = 1; c->chosen && id < p->insts.count; id++) {
        c->chosen[id] = c->chosen[id] && buffers[inst(c, id)->aux] == SOME;
        any |= c->chosen[id];
        if (c->chosen[id] && is_wanted(c, id))
            c->w.oom |= !gather_see_number(&c->numbers, &c->w, &c->won, id);
    }
    for (uint32_t i = 0; i < p->buffers.count; i++) buffers[i] &= SOME;
    return any;
}

bool gather_try_winners(vy_program *p, bool shared, gather_winners *all)
{
    winning c = {.shared = shared};
    bool changed = false;
    memset(all, 0, sizeof *all);
    if (!has_winners(p)) return true;
    all->buffers = vy_realloc(NULL, p->buffers.count);
    if (all->buffers) memset(all->buffers, 0, p->buffers.count);
    bool ok = vy_rewrite_begin(&c.w, p) && all->buffers;
    if (ok && find(&c, all->buffers)) {
        all->before = vy_program_clone(p, p->module);
        ok = all->before != NULL;
        if (ok && !c.w.oom) vy_rewrite_run(&c.w, replace, &c);
    }
    vy_vec_free(&c.numbers);
    return vy_rewrite_end(&c.w, ok, &changed);
}

bool gather_wins_in_vain(const gather *g)
{
    bool vain = false;
    for (uint32_t i = 1; g->winners && i < g->r->buffers.count && !vain; i++) {
        uint32_t gathered = 0, all = 0;
        for (uint32_t k = 0; k < g->site_count; k++)
            if (g->sites[k].access.buffer == i) all++, gathered += g->sites[k].gathered;
        vain = g->winners->buffers[i] && (!all || gathered < all);
    }
    return vain;
}

void gather_free_winners(gather_winners *all)
{
    vy_program_free(all->before);
    vy_free(all->buffers);
    *all = (gather_winners){0};
}
