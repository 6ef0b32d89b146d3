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
// A sum may be added to in arms of an `if`, or by what a condition selects.  A flag that iterations
// set to one and the same value, or join by `||` or by `&&`, is the same in any order, too.
//
// Limits: sums in inner loops are not recognised.
#include "ir/pass/scalar/sum_order.h"

enum { MAX_STEPS = 48, MAX_USERS = 256 };

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

// What an iteration does to the value that it carries.
typedef struct adding {
    uint32_t carry;
    uint32_t kind;  // the operation; 0: none yet
    uint32_t value; // it is set to this leaf; 0: it is not
    uint32_t found; // how many of the carry's uses are those on the way
    uint32_t steps;
} adding;

static bool joins(adding *a, vy_op op)
{
    if (op == VY_OP_SUB) op = VY_OP_ADD;
    if (op != VY_OP_ADD && op != VY_OP_OR && op != VY_OP_AND) return false;
    if (a->kind && a->kind != op) return false;
    a->kind = op;
    return true;
}

static bool is_set(adding *a, uint32_t leaf)
{
    if (a->value && a->value != leaf) return false;
    a->value = leaf;
    return true;
}

static bool adds_along(const vy_sum_order *o, adding *a, uint32_t id, uint32_t place);

// Both alternatives must be what is carried, or that and terms, or the value that it is set to.
static bool either(const vy_sum_order *o, adding *a, const uint32_t to[2], uint32_t place)
{
    for (uint32_t k = 0; k < 2; k++)
        if (VY_IS_LEAF(to[k]) ? !is_set(a, to[k]) : !adds_along(o, a, to[k], place)) return false;
    return true;
}

// Is the value, which stands in the construct `place`, what is carried, and terms?  What is carried
// and the sums on the way have no other use, so that no term depends on them.  Recursion is as deep
// as the number of steps.
static bool adds_along(const vy_sum_order *o, adding *a, uint32_t id, uint32_t place)
{
    const vy_program *p = o->p;
    if (id == a->carry) return ++a->found;
    if (VY_IS_LEAF(id) || o->uses[id] != 1 || ++a->steps > MAX_STEPS) return false;
    const vy_inst *i = &p->insts.data[id];
    if (o->s->parent[id] != place) return false;
    uint32_t to[2];
    const uint32_t branch = vy_choice(p, o->s, id, &to[0], &to[1]);
    if (branch) return either(o, a, to, branch);
    if (i->op == VY_OP_SELECT)
        return either(o, a, (uint32_t[]){vy_arg(p, id, 1), vy_arg(p, id, 2)}, place);
    if (!joins(a, (vy_op)i->op)) return false;
    const adding before = *a;
    if (adds_along(o, a, vy_arg(p, id, 0), place)) return true;
    if (a->found != before.found || i->op == VY_OP_SUB) return false;
    a->value = before.value; // a choice in a term may have said one
    return adds_along(o, a, vy_arg(p, id, 1), place);
}

// Is slot k of the loop the sum of what it carries and of terms, or a flag?
static bool adds_up(const vy_sum_order *o, uint32_t loop, uint32_t k)
{
    const uint32_t carry = vy_carry(loop, k);
    adding a = {.carry = carry};
    return adds_along(o, &a, vy_slot_next(o->p, o->s, loop, k), loop) &&
           a.found == o->uses[carry] && !(a.kind && a.value);
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

// Does all that depends on the result end in gradients?  divisor: the result may be one.
static bool is_adjoint(vy_sum_order *o, uint32_t result, bool divisor)
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
            const bool divides = divisor && id == result && o->p->insts.data[user].op == VY_OP_DIV;
            if (!divides && !is_linear(o->p, user, id)) return false;
            if (o->seen[user] == o->stamp) continue;
            o->seen[user] = o->stamp;
            o->work[n++] = user;
        }
    }
    return true;
}

bool vy_is_adjoint_or_divides(vy_sum_order *o, uint32_t id, bool divides, vy_arena *arena,
                              bool *oom)
{
    if (make_tables(o, arena)) return is_adjoint(o, id, divides);
    *oom = true;
    return false;
}

bool vy_is_adjoint(vy_sum_order *o, uint32_t id, vy_arena *arena, bool *oom)
{
    return vy_is_adjoint_or_divides(o, id, false, arena, oom);
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
        if (p->exact || !is_adjoint(o, result, false)) return false;
    }
    return true;
}
