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
// Values leave loops only, never the arm of an IF, which may guard an expensive computation.
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
    bool unchecked;                // a load out of range is undefined
    vy_prover prover;              // if unchecked
    bool any;
} licm;

// May the element be undefined, another invocation's, or none, if the loop runs no iteration?
static bool needs_iteration(licm *l, uint32_t load, uint32_t loop)
{
    const vy_buf *b = &l->w.p->buffers.data[l->w.p->insts.data[load].aux];
    if (vy_loop_surely_runs(l->w.p, loop)) return false;
    return b->cls == VY_SHARED || b->owned ||
           (l->unchecked && !vy_is_in_range_at(&l->prover, load, loop));
}

// Would it have the same value before the loop?
static bool invariant(licm *l, uint32_t id, uint32_t loop)
{
    const vy_program *p = l->w.p;
    const vy_inst *i = &p->insts.data[id];
    for (uint32_t k = 0; k < i->nargs; k++) {
        uint32_t v = vy_arg(p, id, k);
        if (!VY_IS_LEAF(v) && (v == loop || l->place[v] == loop)) return false;
    }
    return i->op != VY_OP_LOAD ||
           (!vy_written_between(&l->writes, i->aux, loop, l->w.s.partner[loop]) &&
            !needs_iteration(l, id, loop));
}

static void find_invariants(licm *l)
{
    const vy_program *p = l->w.p;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        vy_op op = (vy_op)p->insts.data[id].op;
        uint32_t place = l->w.s.parent[id];
        l->place[id] = place;
        if (vy_op_infos[op].effect != VY_PURE && op != VY_OP_LOAD) continue;
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
    uint32_t **tables[] = {&l->place, &l->before, &l->first, &l->last, &l->next};
    for (size_t k = 0; k < sizeof tables / sizeof *tables; k++) *tables[k] = vy_rewrite_ids(&l->w);
    if (l->unchecked && !vy_prover_make(&l->prover, l->w.p, &l->w.s, &l->w.arena)) return false;
    return !l->w.oom && vy_writes_make(&l->writes, l->w.p, VY_COUNT_WRITES, &l->w.arena);
}

bool vy_pass_licm(vy_program *p, vy_pass_context *c)
{
    if (!(vy_constructs(p) & VY_LOOPS)) return true;
    licm l = {.unchecked = c->options && c->options->unchecked};
    bool ok = vy_rewrite_begin(&l.w, p) && prepare_hoisting(&l);
    if (ok) find_invariants(&l);
    if (ok && l.any) vy_rewrite_run(&l.w, instead, &l);
    return vy_rewrite_end(&l.w, ok, &c->changed);
}
