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
    if (p->insts.data[next].op != VY_OP_RESULT) return false;
    uint32_t end = vy_arg(p, next, 0), k = p->insts.data[next].aux;
    if (p->insts.data[end].op != VY_OP_ENDIF) return false;
    uint32_t middle = w->w.s.partner[w->w.s.partner[end]];
    return settles(w, vy_arg(p, middle, k), carry, init, depth - 1) &&
           settles(w, vy_arg(p, end, k), carry, init, depth - 1);
}

static bool close_loop(vy_sweep *w, uint32_t end)
{
    const vy_program *p = w->w.p;
    uint32_t loop = w->w.s.partner[end], n = vy_slot_count(p, &w->w.s, loop);
    bool changed = false;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t carry = loop + 1 + k;
        uint32_t init = vy_same(w, vy_arg(p, loop, vy_init_arg(p, loop) + k));
        if (!settles(w, vy_arg(p, end, vy_next_arg(p, loop) + k), carry, init, 4)) continue;
        changed |= set_same(w, carry, init);
        changed |= set_same(w, end + 1 + k, init);
    }
    return changed;
}

static bool close_if(vy_sweep *w, uint32_t end)
{
    const vy_program *p = w->w.p;
    uint32_t opener = w->w.s.partner[end], middle = w->w.s.partner[opener];
    bool changed = false;
    for (uint32_t k = 0; k < p->insts.data[end].nargs; k++) {
        uint32_t x = vy_same(w, vy_arg(p, middle, k)), y = vy_same(w, vy_arg(p, end, k));
        if (x == y && from_outside(x, opener)) changed |= set_same(w, end + 1 + k, x);
    }
    return changed;
}

static bool close_checkpoint(vy_sweep *w, uint32_t end)
{
    const vy_program *p = w->w.p;
    bool changed = false;
    for (uint32_t k = 0; k < p->insts.data[end].nargs; k++) {
        uint32_t x = vy_same(w, vy_arg(p, end, k));
        if (from_outside(x, w->w.s.partner[end])) changed |= set_same(w, end + 1 + k, x);
    }
    return changed;
}

// A carry found invariant may make an arm redundant that was visited before it, so there are a few
// rounds.  Each keeps what the previous ones proved, so stopping early is safe.
static void find_same(vy_sweep *w)
{
    bool changed = true;
    for (int round = 0; changed && round < 4; round++) {
        changed = false;
        for (uint32_t id = 1; id < w->w.p->insts.count; id++) {
            vy_op op = (vy_op)w->w.p->insts.data[id].op;
            uint32_t value = w->same[id];
            if (value != id) changed |= set_same(w, id, vy_same(w, value)); // follow the chain
            if (op == VY_OP_ENDLOOP)
                changed |= close_loop(w, id);
            else if (op == VY_OP_ENDIF)
                changed |= close_if(w, id);
            else if (op == VY_OP_ENDCHECKPOINT)
                changed |= close_checkpoint(w, id);
        }
    }
    // Chains lead to earlier ids, so one scan compresses them all.
    for (uint32_t id = 1; id < w->w.p->insts.count; id++) w->same[id] = vy_same(w, w->same[id]);
}

bool vy_pass_cleanup(vy_program *p, vy_pass_context *c)
{
    bool changed = true;
    while (changed) {
        vy_sweep w;
        changed = false;
        bool ok = vy_sweep_begin(&w, p);
        if (ok) find_same(&w);
        ok = ok && vy_sweep_mark(&w, true);
        if (!vy_sweep_end(&w, ok, &changed)) return false;
        c->changed |= changed;
    }
    return true;
}
