// SPDX-License-Identifier: MIT
// licm.c: moves loop-invariant values before the loop.
//
//   for k in 0..K {                          s = load scale[j]
//     c[k] = load scale[j] * x[k]     →      for k in 0..K { c[k] = s * x[k] }
//   }
//
// A value may leave a loop that never runs: all pure operations are total here and a load out of
// range gives zero, so speculation costs time but is never wrong.  The loop must not write what a
// load reads, and a barrier in the loop counts as a write of everything that others can write.  A
// load from a shared array leaves only loops that certainly run: else the element may never have
// been filled (E0711, E0715); nor does one from an `@owned` buffer: else the element may be another
// invocation's; nor, where no access is checked (`unchecked`), does one that is not proved in range
// before the loop.  Subgroup operations depend on which lanes are active and stay.
// Values leave loops only, never the arm of an IF, which may guard an expensive computation; but
// for loads from read-only buffers, proved in range before the loop, which leave arms on their way:
//
//   for k in 0..K {                             w = load v[i]
//     if near(k) { s += load v[i] }     →       for k in 0..K { if near(k) { s += w } }
//   }
//
// One load more, where no iteration takes the arm, against one in each that does.  And the adjoint
// of what stands before the loop is summed in it and added to memory once, where that of a load in
// the arm would be another program's sum over all iterations (autodiff/gather/gather.c).
//
// Needs valid structure; keeps lines and names.  Each value moves out of as many loops as it can at
// once.  A proof that an access is in range does not hold at the new place, so the flag is dropped.
#include "ir/facts/context.h"
#include "ir/facts/memory.h"
#include "ir/pass/pass.h"

typedef struct licm {
    vy_rewrite w;
    vy_writes writes;
    uint32_t *place;               // by instruction: innermost construct around its new place
    uint32_t *before;              // by instruction: loop before which it moves, or 0
    uint32_t *first, *last, *next; // by loop: list of what moves before it
    uint32_t *early;               // by loop: how many loads leave arms for the place before it
    bool unchecked;                // a load out of range is undefined
    bool can_prove;
    vy_prover prover; // if can_prove
    bool any;
} licm;

static bool in_range_before(licm *l, uint32_t load, uint32_t loop)
{
    if (!l->can_prove && !l->w.oom) {
        l->can_prove = vy_prover_make(&l->prover, l->w.p, &l->w.s, &l->w.arena);
        l->w.oom = !l->can_prove;
    }
    return l->can_prove && vy_is_in_range_at(&l->prover, load, loop);
}

// May the element be undefined, another invocation's, or none, if the loop runs no iteration?
static bool needs_iteration(licm *l, uint32_t load, uint32_t loop)
{
    const vy_buf *b = &l->w.p->buffers.data[l->w.p->insts.data[load].aux];
    if (vy_loop_surely_runs(l->w.p, loop)) return false;
    return b->cls == VY_SHARED || b->owned || (l->unchecked && !in_range_before(l, load, loop));
}

// Does an operand stand directly in the construct?
static bool made_in(const licm *l, uint32_t id, uint32_t construct)
{
    const vy_program *p = l->w.p;
    for (uint32_t k = 0; k < p->insts.data[id].nargs; k++) {
        uint32_t v = vy_arg(p, id, k);
        if (!VY_IS_LEAF(v) && (v == construct || l->place[v] == construct)) return true;
    }
    return false;
}

// Would it have the same value before the loop?
static bool invariant(licm *l, uint32_t id, uint32_t loop)
{
    const vy_inst *i = &l->w.p->insts.data[id];
    return !made_in(l, id, loop) &&
           (i->op != VY_OP_LOAD ||
            (!vy_written_between(&l->writes, i->aux, loop, l->w.s.partner[loop]) &&
             !needs_iteration(l, id, loop)));
}

// The loop around the arms of IFs that a load at `place` stands in, if it may leave them for the
// place before that loop; else 0.
static uint32_t around_arms(licm *l, uint32_t id, uint32_t place)
{
    enum {
        MOST_EARLY = 16, // of a loop: they occupy registers all the while
        MOST_ARMS = 16,  // around one load: each is looked at for each
    };
    const vy_program *p = l->w.p;
    const vy_inst *i = &p->insts.data[id];
    if (i->op != VY_OP_LOAD || p->buffers.data[i->aux].cls != VY_IN) return 0;
    for (int n = 0; n < MOST_ARMS && place && p->insts.data[place].op == VY_OP_IF; n++) {
        if (made_in(l, id, place)) return 0;
        place = l->w.s.parent[place];
    }
    if (!place || !vy_is_loop((vy_op)p->insts.data[place].op) || l->early[place] == MOST_EARLY)
        return 0;
    if (!invariant(l, id, place) || !in_range_before(l, id, place)) return 0;
    l->early[place]++;
    return place;
}

static void find_invariants(licm *l)
{
    const vy_program *p = l->w.p;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        vy_op op = (vy_op)p->insts.data[id].op;
        uint32_t place = l->w.s.parent[id];
        l->place[id] = place;
        if (vy_op_infos[op].effect != VY_PURE && op != VY_OP_LOAD) continue;
        if (place && p->insts.data[place].op == VY_OP_IF) {
            const uint32_t loop = around_arms(l, id, place);
            if (loop) place = loop;
        }
        while (place && vy_is_loop((vy_op)p->insts.data[place].op) && invariant(l, id, place)) {
            l->before[id] = place;
            place = l->w.s.parent[place];
        }
        l->place[id] = place;
        uint32_t loop = l->before[id];
        if (!loop) continue;
        l->any = true;
        if (l->last[loop])
            l->next[l->last[loop]] = id;
        else
            l->first[loop] = id;
        l->last[loop] = id;
    }
}

static uint32_t instead(void *pass, uint32_t id)
{
    licm *l = pass;
    if (l->before[id]) return id;
    for (uint32_t m = l->first[id]; m; m = l->next[m]) vy_rewrite_moved(&l->w, m, NULL, l->w.map);
    return 0;
}

static bool prepare_hoisting(licm *l)
{
    uint32_t **tables[] = {&l->place, &l->before, &l->first, &l->last, &l->next, &l->early};
    for (size_t k = 0; k < sizeof tables / sizeof *tables; k++) *tables[k] = vy_rewrite_ids(&l->w);
    return !l->w.oom && vy_writes_make(&l->writes, l->w.p, VY_COUNT_WRITES, &l->w.arena);
}

bool vy_pass_licm(vy_program *p, vy_pass_context *c)
{
    if (!(vy_constructs(p) & VY_LOOPS)) return true;
    licm l = {.unchecked = c->options && c->options->unchecked};
    bool ok = vy_rewrite_begin(&l.w, p) && prepare_hoisting(&l);
    if (ok) find_invariants(&l);
    ok &= !l.w.oom;
    if (ok && l.any) vy_rewrite_run(&l.w, instead, &l);
    return vy_rewrite_end(&l.w, ok, &c->changed);
}
