// SPDX-License-Identifier: MIT
// sum_order.c: may a loop's iterations run in the opposite order?
//
//   for c in rev(0..C) { adj += exp(x[c]) * g[c]; }       →      for c in 0..C { … }
//
// The reverse sweep runs loops backwards because the derivative of an iteration needs what later
// ones did.  Where a loop only adds up terms that depend on no carried value, it needs nothing, and
// the sums of a derivative have no prescribed order.  What a program computes itself has: so this
// is for derived programs that are not `@exact` (their floats are those of another program).
//
// A derived program also repeats sums of the primal, with the loop as it was written.  Two copies
// of one sum must agree where something is decided by it: whether a branch is taken, an index, what
// is read back from memory.  So a sum of floats, and what is made of it, may only end in additions
// to memory, and in stores to memory that the program does not read.
#include "ir/pass/scalar/sum_order.h"

#include "ir/facts/memory.h"

enum { MAX_TERMS = 16, MAX_USERS = 256 };

// Anything but an addition or a store?
static bool reads(const vy_sum_order *o, uint32_t id)
{
    const vy_op op = (vy_op)o->p->insts.data[id].op;
    const bool adds = op == VY_OP_ATOMIC_ADD && !o->uses[id];
    return vy_op_is_memory(op) && !adds && op != VY_OP_STORE && op != VY_OP_ZERO;
}

static bool make_tables(vy_sum_order *o, vy_arena *arena)
{
    const size_t size = o->p->insts.count * sizeof *o->uses;
    if (o->uses) return true;
    uint32_t *uses = vy_arena_alloc(arena, size);
    o->seen = vy_arena_alloc(arena, size);
    o->work = vy_arena_alloc(arena, size);
    o->read = vy_arena_alloc(arena, o->p->buffers.count);
    if (!uses || !o->seen || !o->work || !o->read || !vy_dataflow_make(&o->flow, o->p, o->s, arena))
        return false;
    vy_count_uses(o->p, uses);
    o->uses = uses;
    for (uint32_t id = 1; id < o->p->insts.count; id++)
        if (reads(o, id)) o->read[vy_memory_of(o->p, o->p->insts.data[id].aux)] = 1;
    return true;
}

// Is slot k of the loop the sum of what it carries and of terms?  The carried value and the sums on
// the way have no other use, and are in no inner construct.
static bool adds_up(const vy_sum_order *o, uint32_t loop, uint32_t k)
{
    const vy_program *p = o->p;
    const uint32_t carry = vy_carry(loop, k);
    uint32_t stack[MAX_TERMS] = {vy_slot_next(p, o->s, loop, k)}, n = 1;
    while (n) {
        const uint32_t id = stack[--n];
        if (VY_IS_LEAF(id) || o->uses[id] != 1) continue;
        if (id == carry) return true;
        const vy_inst *i = &p->insts.data[id];
        if (o->s->parent[id] != loop || n + 2 > MAX_TERMS) continue;
        if (i->op != VY_OP_ADD && i->op != VY_OP_SUB) continue;
        if (i->op == VY_OP_ADD) stack[n++] = vy_arg(p, id, 1);
        stack[n++] = vy_arg(p, id, 0);
    }
    return false;
}

// Does `id`, which has the sum among its operands, pass it on as a float, or put it where it is not
// read?
static bool only_passes(const vy_sum_order *o, uint32_t id)
{
    const vy_inst *i = &o->p->insts.data[id];
    if (i->op == VY_OP_STORE || i->op == VY_OP_ATOMIC_ADD)
        return !o->read[vy_memory_of(o->p, i->aux)];
    if (vy_is_slot((vy_op)i->op)) return true;
    return vy_op_infos[i->op].effect == VY_PURE && vy_type_is_float((vy_type)i->type);
}

static bool decides(vy_sum_order *o, uint32_t loop, uint32_t result)
{
    uint32_t n = 0, steps = 0;
    o->work[n++] = result;
    while (n) {
        const uint32_t id = o->work[--n];
        for (uint32_t k = o->flow.first_user[id]; k < o->flow.first_user[id + 1]; k++) {
            const uint32_t user = o->flow.users[k];
            if (++steps > MAX_USERS || !only_passes(o, user)) return true;
            if (o->seen[user] == loop) continue;
            o->seen[user] = loop;
            o->work[n++] = user;
        }
    }
    return false;
}

bool vy_sums_commute(vy_sum_order *o, uint32_t loop, vy_arena *arena, bool *oom)
{
    const vy_program *p = o->p;
    if (!p->order || p->exact || p->exact_sums) return false;
    if (!make_tables(o, arena)) {
        *oom = true;
        return false;
    }
    const uint32_t n = vy_slot_count(p, o->s, loop);
    for (uint32_t k = 0; k < n; k++)
        if (!adds_up(o, loop, k)) return false;
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t result = vy_result(p, o->s, loop, k);
        if (!vy_type_is_float((vy_type)p->insts.data[result].type)) continue;
        if (decides(o, loop, result)) return false;
    }
    return true;
}
