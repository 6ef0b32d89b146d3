// SPDX-License-Identifier: MIT
// gather_iterations.c: may a loop that a gather copies whole run its iterations in another order?
//
//   for j in rev(0..N) { if j != i { adj -= f(i, j); } }      →      for j in 0..N { … }
//
// The reverse sweep runs iterations backwards because the derivative of a loop needs what later
// iterations did.  Where a gather needs nothing of the loop but sums, whose terms depend on no
// carried value, the order does not matter: a gradient's sums have no prescribed order, and a
// forward loop may be fused with the walk over what other invocations contribute, which is forward
// too (ir/pass/scalar/fuse_loops.c).
//
// A chain is the carried value and what is made of it by additions, in either arm of an `if` and in
// inner loops.  Every use of a chain must be in the chain itself, and its end must be the value
// carried to the next iteration: then each iteration adds something that depends on no other
// iteration.  What the program adds to memory from within the loop, where it has elements of its
// own, is such a use: a carried value that it is made of is what later iterations did.  Nothing
// else in a copied loop has an order: the memory that it reads has its final contents.
#include "autodiff/gather/gather_build.h"
#include "ir/core/flow.h"

typedef struct iterations {
    const gather *g;
    uint32_t loop;
    uint32_t *chain; // by instruction, from `loop` on: 1 + slot whose chain it belongs to; 0: none
    const uint8_t *needed;
    gather_site *const *sites; // of the program
    uint32_t count;
} iterations;

static uint32_t chain_of(const iterations *t, uint32_t id)
{
    return VY_IS_LEAF(id) || id < t->loop ? 0 : t->chain[id - t->loop];
}

// A kept value is loaded: it is whatever the reverse program computed.
static void set_chain(iterations *t, uint32_t id, uint32_t chain)
{
    t->chain[id - t->loop] = t->g->keep[id] ? 0 : chain;
}

static bool free_of_chains(const iterations *t, uint32_t id, uint32_t from, uint32_t to)
{
    for (uint32_t k = from; k < to; k++)
        if (chain_of(t, vy_arg(t->g->r, id, k))) return false;
    return true;
}

// x + y, x − y, x || y.
static bool extend(iterations *t, uint32_t id, bool swaps)
{
    uint32_t x = chain_of(t, vy_arg(t->g->r, id, 0)), y = chain_of(t, vy_arg(t->g->r, id, 1));
    if (y && (x || !swaps)) return false;
    set_chain(t, id, x ? x : y);
    return true;
}

static bool is_site(const iterations *t, uint32_t id)
{
    for (uint32_t k = 0; k < t->count; k++)
        if (t->sites[k]->id == id) return true;
    return false;
}

static bool open(iterations *t, uint32_t id)
{
    const vy_program *p = t->g->r;
    vy_op op = (vy_op)p->insts.data[id].op;
    uint32_t end = vy_closer(p, &t->g->s, id), n = vy_slot_count(p, &t->g->s, id);
    if (op == VY_OP_IF) return free_of_chains(t, id, 0, 1);
    if (op == VY_OP_CHECKPOINT) return true;
    for (uint32_t k = 0; k < n; k++)
        if (t->needed[end + 1 + k])
            set_chain(t, vy_carry(id, k), chain_of(t, vy_slot_init(p, id, k)));
    return free_of_chains(t, id, 0, vy_init_arg(p, id));
}

static bool close(iterations *t, uint32_t id)
{
    const vy_program *p = t->g->r;
    uint32_t opener = t->g->s.partner[id], n = vy_slot_count(p, &t->g->s, opener);
    vy_op op = (vy_op)p->insts.data[id].op;
    for (uint32_t k = 0; k < n; k++) {
        if (!t->needed[id + 1 + k]) continue;
        uint32_t x = chain_of(t, vy_slot_yield(p, &t->g->s, opener, k)), y = x;
        if (op == VY_OP_ENDIF) y = chain_of(t, vy_slot_then(p, &t->g->s, opener, k));
        if (op == VY_OP_ENDLOOP) y = chain_of(t, vy_carry(opener, k));
        if (x != y) return false;
        set_chain(t, id + 1 + k, x);
    }
    return free_of_chains(t, id, 0, vy_control_args(p, &t->g->s, id));
}

static bool visit(iterations *t, uint32_t id)
{
    vy_op op = (vy_op)t->g->r->insts.data[id].op;
    if (op == VY_OP_CARRY || op == VY_OP_RESULT || op == VY_OP_ELSE)
        return true; // by their markers
    if (vy_op_opens(op)) return !t->needed[id] || open(t, id);
    if (vy_op_closes(op)) return !t->needed[t->g->s.partner[id]] || close(t, id);
    if (op == VY_OP_TEST) return free_of_chains(t, id, 0, 1);
    if (is_site(t, id)) return free_of_chains(t, id, 0, t->g->r->insts.data[id].nargs);
    if (!t->needed[id] || t->g->keep[id]) return true;
    if (op == VY_OP_ADD || op == VY_OP_OR) return extend(t, id, true);
    if (op == VY_OP_SUB) return extend(t, id, false);
    return free_of_chains(t, id, 0, t->g->r->insts.data[id].nargs);
}

bool gather_iterations_commute(gather *g, const uint8_t *needed, gather_site *const *sites,
                               uint32_t count, uint32_t loop)
{
    const vy_program *p = g->r;
    uint32_t end = g->s.partner[loop], n = vy_slot_count(p, &g->s, loop);
    if (p->insts.data[loop].op != VY_OP_LOOP || vy_exits(p, loop)) return false;
    iterations t = {.g = g, .loop = loop, .needed = needed, .sites = sites, .count = count};
    t.chain = vy_arena_alloc(&g->arena, (end + 1 + n - loop) * sizeof *t.chain);
    if (!t.chain) {
        g->failed = true;
        return false;
    }
    for (uint32_t k = 0; k < n; k++)
        if (needed[end + 1 + k]) set_chain(&t, loop + 1 + k, 1 + k);
    for (uint32_t id = loop + 1 + n; id < end; id++)
        if (!visit(&t, id)) return false;
    for (uint32_t k = 0; k < n; k++)
        if (needed[end + 1 + k] && chain_of(&t, vy_slot_next(p, &g->s, loop, k)) != 1 + k)
            return false;
    return true;
}
