// SPDX-License-Identifier: MIT
// cleanup.c: removes structure without effect.
//
// A front end carries every variable that a loop might assign and yields every variable that an arm
// assigned.  Most of those turn out to keep their value or to have no use.  Considering one carry
// at a time misses nests, where the inner loop's carry is invariant only if the outer one is; so
// values are followed through results in execution order, inner loops first, before anything is
// rebuilt.
//
//   LOOP [0, n, 1, a, b]                    LOOP [0, n, 1, b]
//     CARRY 0   CARRY 1                       CARRY 0
//     IF [true]                               s = add c0 x
//       s = add c1 x               →        ENDLOOP [s]
//     ELSE [s]  ENDIF [c1]  RESULT 0        RESULT 0
//   ENDLOOP [c0, r0]
//
// Also: loops that never run, WHILEs whose condition is constant, `keep` that is always true, empty
// constructs.  Everything that is not structure stays, even if unused (see dce.c), because
// vy_program_end runs this and a program must print as it was written.
//
// Needs valid structure.  Runs until nothing is left to do: the result is a fixpoint.
#include "ir/build/live.h"

#include "ir/core/dataflow.h"

#include <assert.h>

static bool set_same(vy_sweep *w, uint32_t id, uint32_t value)
{
    if (w->same[id] == value) return false;
    w->same[id] = value;
    return true;
}

// Is it a value from before the construct, which is visible wherever the results are?
static bool from_outside(uint32_t id, uint32_t opener) { return VY_IS_LEAF(id) || id < opener; }

// Can `next` only be the carried value itself, or the initial one?
static bool settles(const vy_sweep *w, uint32_t next, uint32_t carry, uint32_t init, int depth)
{
    const vy_program *p = w->w.p;
    next = vy_same(w, next);
    if (next == carry || next == init || next == vy_same(w, carry)) return true;
    if (VY_IS_LEAF(next) || depth == 0) return false;
    if (p->insts.data[next].op == VY_OP_SELECT)
        return settles(w, vy_arg(p, next, 1), carry, init, depth - 1) &&
               settles(w, vy_arg(p, next, 2), carry, init, depth - 1);
    uint32_t then, other;
    if (!vy_choice(p, &w->w.s, next, &then, &other)) return false;
    return settles(w, then, carry, init, depth - 1) && settles(w, other, carry, init, depth - 1);
}

// Slot k of the construct that `end` closes: is it one value all the time?
static bool close_loop(vy_sweep *w, uint32_t end, uint32_t k)
{
    const vy_program *p = w->w.p;
    const uint32_t loop = w->w.s.partner[end], carry = vy_carry(loop, k);
    const uint32_t init = vy_same(w, vy_slot_init(p, loop, k));
    if (!settles(w, vy_slot_next(p, &w->w.s, loop, k), carry, init, 4)) return false;
    const bool changed = set_same(w, carry, init);
    return set_same(w, end + 1 + k, init) || changed;
}

static bool close_if(vy_sweep *w, uint32_t end, uint32_t k)
{
    const vy_program *p = w->w.p;
    const uint32_t opener = vy_opener(p, &w->w.s, end);
    const uint32_t x = vy_same(w, vy_slot_then(p, &w->w.s, opener, k));
    const uint32_t y = vy_same(w, vy_slot_yield(p, &w->w.s, opener, k));
    return x == y && from_outside(x, opener) && set_same(w, end + 1 + k, x);
}

static bool close_checkpoint(vy_sweep *w, uint32_t end, uint32_t k)
{
    const uint32_t opener = w->w.s.partner[end];
    const uint32_t x = vy_same(w, vy_slot_yield(w->w.p, &w->w.s, opener, k));
    return from_outside(x, opener) && set_same(w, end + 1 + k, x);
}

static bool close_slot(vy_sweep *w, uint32_t end, uint32_t k)
{
    switch ((vy_op)w->w.p->insts.data[end].op) {
    case VY_OP_ENDLOOP: return close_loop(w, end, k);
    case VY_OP_ENDIF: return close_if(w, end, k);
    case VY_OP_ENDCHECKPOINT: return close_checkpoint(w, end, k);
    default: return false;
    }
}

// In execution order, inner constructs first.
static bool close_all(vy_sweep *w)
{
    const vy_program *p = w->w.p;
    bool changed = false;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const uint32_t value = w->same[id];
        if (value != id) changed |= set_same(w, id, vy_same(w, value)); // follow the chain
        if (!vy_op_closes((vy_op)p->insts.data[id].op)) continue;
        const uint32_t opener = vy_opener(p, &w->w.s, id), n = vy_slot_count(p, &w->w.s, opener);
        for (uint32_t k = 0; k < n; k++) changed |= close_slot(w, id, k);
    }
    return changed;
}

// `id` takes over something that has changed.  Is that news for its users?
static bool visit(vy_sweep *w, vy_dataflow *flow, uint32_t id)
{
    const vy_program *p = w->w.p;
    const vy_op op = (vy_op)p->insts.data[id].op;
    if (!vy_is_slot(op)) return op == VY_OP_SELECT; // settles() looks through it
    const uint32_t opener = vy_opener(p, &w->w.s, id), end = vy_closer(p, &w->w.s, opener);
    const bool loop = vy_is_loop((vy_op)p->insts.data[opener].op);
    const uint32_t k = op == VY_OP_CARRY ? id - opener - 1 : id - end - 1;
    if (!close_slot(w, end, k)) return !loop;
    if (loop) vy_dataflow_push_users(flow, vy_carry(opener, k));
    vy_dataflow_push_users(flow, end + 1 + k);
    return false;
}

// The rest, where what one slot is follows from another, as in a row of slots each of which takes
// over the next one: only what depends on something new is looked at again.
static bool close_rest(vy_sweep *w)
{
    enum { MOST_LOOKED_THROUGH = 4 };
    vy_dataflow flow;
    uint8_t *looked = vy_rewrite_bytes(&w->w);
    if (!looked || !vy_dataflow_make(&flow, w->w.p, &w->w.s, &w->w.arena)) return false;
    for (uint32_t id = 1; id < w->w.p->insts.count; id++)
        if (w->same[id] != id) vy_dataflow_push_users(&flow, id);
    for (uint32_t id; (id = vy_dataflow_pop(&flow));)
        if (visit(w, &flow, id) && looked[id] < MOST_LOOKED_THROUGH) {
            looked[id]++;
            vy_dataflow_push_users(&flow, id);
        }
    return true;
}

// A carry found invariant may serve an arm that was looked at before it: a second round finds
// most of those.  False: memory.
static bool find_same(vy_sweep *w)
{
    if (close_all(w) && close_all(w) && !close_rest(w)) return false;
    // Chains lead to earlier ids, so one scan compresses them all.
    for (uint32_t id = 1; id < w->w.p->insts.count; id++) w->same[id] = vy_same(w, w->same[id]);
    return true;
}

static bool sweep_once(vy_program *p, bool keep_all, bool *changed)
{
    vy_sweep w;
    bool ok = vy_sweep_begin(&w, p);
    ok = ok && find_same(&w) && vy_sweep_mark(&w, keep_all);
    return vy_sweep_end(&w, ok, changed);
}

// Removes what there is to remove, until nothing is left.
static bool sweep(vy_program *p, bool *any)
{
    bool changed = true;
    while (changed) {
        changed = false;
        if (!sweep_once(p, true, &changed)) return false;
        *any |= changed;
    }
    return true;
}

bool vy_sweep_dead(vy_program *p)
{
    bool changed = false;
    return sweep_once(p, false, &changed);
}

#ifdef VY_CHECKS
enum { TRUSTS = false }; // a clean program is looked at all the same
#else
enum { TRUSTS = true };
#endif

bool vy_pass_cleanup(vy_program *p, vy_pass_context *c)
{
    bool any = false;
    if (!vy_constructs(p)) return true;
    const bool was_clean = p->clean, ok = (TRUSTS && was_clean) || sweep(p, &any);
    assert(!(was_clean && any) && "a program was changed in place so that it is not clean");
    p->clean |= ok;
    c->changed |= any;
    return ok;
}
