// SPDX-License-Identifier: MIT
// sum_order.c: may a loop's iterations run in the opposite order?
//
//   for c in rev(0..C) { adj += exp(x[c]) * g[c]; }       →      for c in 0..C { … }
//
// The reverse sweep runs loops backwards because the derivative of an iteration needs what later
// ones did.  Where a loop only adds up terms that depend on no carried value, it needs nothing, and
// the sums of a gradient have no prescribed order (autodiff/gather/gather_iterations.c takes them
// in the order of a gather).  What a program computes itself has: the outputs of a gradient with
// values are those of the program, bit for bit, and programs that share a computation are `@exact`.
//
// A gradient also repeats sums of the program, in loops that look the same.  In another order such
// a sum has other last bits, which is a difference of its own where something is decided by it
// (a branch, an index, floor), or where a function ends (the square root of what must not be
// negative).  What the reverse sweep adds up, in contrast, is used linearly and ends in additions
// to gradients.  So a sum of floats must be used so and no otherwise: it may be added, scaled,
// chosen by something else, carried, and stored in a gradient or added to one.  Sums of integers
// are the same in any order.
//
// Limits: sums in arms of an `if` and in inner loops are not recognised.
#include "ir/pass/scalar/sum_order.h"

enum { MAX_TERMS = 16, MAX_USERS = 256 };

static bool make_tables(vy_sum_order *o, vy_arena *arena)
{
    const size_t size = o->p->insts.count * sizeof *o->uses;
    if (o->uses) return true;
    uint32_t *uses = vy_arena_alloc(arena, size);
    o->seen = vy_arena_alloc(arena, size);
    o->work = vy_arena_alloc(arena, size);
    if (!uses || !o->seen || !o->work || !vy_dataflow_make(&o->flow, o->p, o->s, arena))
        return false;
    vy_count_uses(o->p, uses);
    o->uses = uses;
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

// Is what the operation computes linear in the value x, if the other operands are given?
static bool is_linear(const vy_program *p, uint32_t id, uint32_t x)
{
    switch (p->insts.data[id].op) {
    case VY_OP_ADD:
    case VY_OP_SUB:
    case VY_OP_NEG:
    case VY_OP_MUL:
    case VY_OP_FMA:
    case VY_OP_SELECT: return true; // conditions are no floats
    case VY_OP_DIV: return vy_arg(p, id, 1) != x;
    case VY_OP_CAST: return vy_type_is_float((vy_type)p->insts.data[id].type);
    default: return vy_is_slot((vy_op)p->insts.data[id].op);
    }
}

static bool goes_to_gradient(const vy_program *p, uint32_t id)
{
    const vy_inst *i = &p->insts.data[id];
    if (i->op != VY_OP_STORE && i->op != VY_OP_ATOMIC_ADD) return false;
    return vy_is_gradient(p->buffers.data[i->aux].role.kind);
}

// Does all that depends on the result end in gradients?
static bool is_adjoint(vy_sum_order *o, uint32_t result)
{
    uint32_t n = 0, steps = 0;
    o->work[n++] = result;
    o->stamp++;
    while (n) {
        const uint32_t id = o->work[--n];
        for (uint32_t k = o->flow.first_user[id]; k < o->flow.first_user[id + 1]; k++) {
            const uint32_t user = o->flow.users[k];
            if (++steps > MAX_USERS) return false;
            if (goes_to_gradient(o->p, user)) continue;
            if (!is_linear(o->p, user, id)) return false;
            if (o->seen[user] == o->stamp) continue;
            o->seen[user] = o->stamp;
            o->work[n++] = user;
        }
    }
    return true;
}

bool vy_is_adjoint(vy_sum_order *o, uint32_t id, vy_arena *arena, bool *oom)
{
    if (make_tables(o, arena)) return is_adjoint(o, id);
    *oom = true;
    return false;
}

bool vy_sums_commute(vy_sum_order *o, uint32_t loop, vy_arena *arena, bool *oom)
{
    const vy_program *p = o->p;
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
        if (p->exact || !is_adjoint(o, result)) return false;
    }
    return true;
}
