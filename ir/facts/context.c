// SPDX-License-Identifier: MIT
// context.c: the facts that the constructs around a place say about integers and conditions.
//
//   if i + 1 < N && on { … }     inside:  i + 1 < N,  on
//   while k < n { … }            inside, after the test:  k < n
//
// A condition that follows from the facts, from the extents of the domain or from constant bounds
// is known: `j < W` in a domain `j: W`, `i > 0` inside `if i >= 1`.
#include "ir/facts/context.h"
#include "ir/core/flow.h"

enum { MAX_PARENTS = 32, DEPTH = 4 };

static const vy_inst *inst(const vy_prover *q, uint32_t id) { return vy_prover_inst(q, id); }
static uint32_t arg(const vy_prover *q, uint32_t id, uint32_t k) { return vy_arg(q->p, id, k); }
static vy_interval bounds(const vy_prover *q, uint32_t id) { return vy_interval_of(&q->v, id); }

static void add_fact(vy_prover *q, uint32_t less, uint32_t more, bool strict)
{
    vy_type t = vy_id_type(q->p, less);
    if (!vy_type_is_integer(t) || q->fact_count == VY_MOST_FACTS) return;
    // From 2^63 on, the order of u64 is not that of indices.
    if (t == VY_U64 && (bounds(q, less).lo < 0 || bounds(q, more).lo < 0)) return;
    q->facts[q->fact_count++] = (vy_fact){less, more, strict};
}

static void learn(vy_prover *q, uint32_t cond, bool holds, int depth);

// A bool RESULT is `holds`, and one arm yields the constant !holds: the other was taken.
static void learn_result(vy_prover *q, uint32_t id, bool holds, int depth)
{
    uint32_t yes, no, opener = vy_choice(q->p, q->s, id, &yes, &no);
    for (int arm = 0; opener && arm < 2; arm++) {
        uint32_t other = arm ? yes : no, taken = arm ? no : yes;
        const vy_scalar *c = vy_id_const(q->p, other);
        if (!c || (c->u != 0) == holds) continue;
        learn(q, arg(q, opener, 0), arm == 0, depth);
        learn(q, taken, holds, depth);
    }
}

// Adds the facts that follow from `cond` being `holds`.
static void learn(vy_prover *q, uint32_t cond, bool holds, int depth)
{
    const vy_inst *i = inst(q, cond);
    if (q->known_count < VY_MOST_FACTS) q->known[q->known_count++] = (vy_known){cond, holds};
    if (!i || depth == 0) return;
    vy_op op = (vy_op)i->op;
    if (op == VY_OP_NOT) learn(q, arg(q, cond, 0), !holds, depth - 1);
    if (op == VY_OP_RESULT) learn_result(q, cond, holds, depth - 1);
    if (i->nargs < 2) return;
    uint32_t x = arg(q, cond, 0), y = arg(q, cond, 1);
    if (op == (holds ? VY_OP_AND : VY_OP_OR) && i->type == VY_BOOL) {
        learn(q, x, holds, depth - 1);
        learn(q, y, holds, depth - 1);
    } else if (op == VY_OP_LT || op == VY_OP_LE) {
        if (holds)
            add_fact(q, x, y, op == VY_OP_LT);
        else
            add_fact(q, y, x, op == VY_OP_LE); // !(x < y) is y ≤ x; integers only
    } else if (op == (holds ? VY_OP_EQ : VY_OP_NE)) {
        add_fact(q, x, y, false);
        add_fact(q, y, x, false);
    } else if (op == (holds ? VY_OP_NE : VY_OP_EQ)) { // x ≠ 0 and x ≥ 0: 0 < x
        int64_t k;
        if (vy_id_int(q->p, y, &k) && k == 0 && bounds(q, x).lo >= 0) add_fact(q, y, x, true);
    }
}

void vy_prover_enter(vy_prover *q, uint32_t id)
{
    uint32_t inner = q->s->parent[id];
    uint32_t arm = inner;
    if (inner && inst(q, inner)->op == VY_OP_IF && !vy_in_then(q->s, inner, id))
        arm = q->s->partner[inner];
    if (inner && inst(q, inner)->op == VY_OP_WHILE && id > q->s->test[inner])
        arm = q->s->test[inner];
    if (arm == q->facts_for) return;
    q->facts_for = arm;
    q->fact_count = q->known_count = 0;
    uint32_t at = id;
    for (int n = 0; n < MAX_PARENTS && q->s->parent[at]; n++) {
        uint32_t up = q->s->parent[at];
        vy_op op = (vy_op)inst(q, up)->op;
        if (op == VY_OP_IF) learn(q, arg(q, up, 0), vy_in_then(q->s, up, at), 4);
        if (op == VY_OP_WHILE && at > q->s->test[up]) learn(q, arg(q, q->s->test[up], 0), true, 4);
        at = up;
    }
}

// ------------------------------------------------------------------------------------- conditions
static bool is_fact(const vy_prover *q, uint32_t less, uint32_t more, bool strict)
{
    for (uint32_t n = 0; n < q->fact_count; n++) {
        const vy_fact *f = &q->facts[n];
        if (f->less == less && f->more == more && (f->strict || !strict)) return true;
    }
    return false;
}

// Is x < y, or x ≤ y if not strict, in the order of their type?
static bool is_less(const vy_prover *q, uint32_t x, uint32_t y, bool strict)
{
    int64_t k;
    if (is_fact(q, x, y, strict) || vy_is_below_value(q, x, y, strict)) return true;
    return vy_id_int(q->p, x, &k) && k <= UINT32_MAX && k >= -(int64_t)UINT32_MAX &&
           vy_is_at_least(q, y, k + strict);
}

static int comparison_value(const vy_prover *q, vy_op op, uint32_t x, uint32_t y)
{
    const vy_type t = vy_id_type(q->p, x);
    if (!vy_type_is_integer(t)) return -1;
    if (t == VY_U64 && (bounds(q, x).lo < 0 || bounds(q, y).lo < 0)) return -1;
    if (op == VY_OP_EQ || op == VY_OP_NE)
        return is_less(q, x, y, true) || is_less(q, y, x, true) ? op == VY_OP_NE : -1;
    if (is_less(q, x, y, op == VY_OP_LT)) return 1;
    return is_less(q, y, x, op == VY_OP_LE) ? 0 : -1;
}

static int value(const vy_prover *q, uint32_t cond, int depth)
{
    const vy_inst *i = inst(q, cond);
    const vy_scalar *c = vy_id_const(q->p, cond);
    if (c) return c->u != 0;
    for (uint32_t n = 0; n < q->known_count; n++)
        if (q->known[n].condition == cond) return q->known[n].holds;
    if (!i || depth == 0) return -1;
    const vy_op op = (vy_op)i->op;
    if (op == VY_OP_LT || op == VY_OP_LE || op == VY_OP_EQ || op == VY_OP_NE)
        return comparison_value(q, op, arg(q, cond, 0), arg(q, cond, 1));
    if (op == VY_OP_NOT) {
        const int v = value(q, arg(q, cond, 0), depth - 1);
        return v < 0 ? v : !v;
    }
    if (op != VY_OP_AND && op != VY_OP_OR) return -1;
    const int x = value(q, arg(q, cond, 0), depth - 1), y = value(q, arg(q, cond, 1), depth - 1);
    const int decisive = op == VY_OP_OR; // one operand of this value decides
    if (x == decisive || y == decisive) return decisive;
    return x < 0 || y < 0 ? -1 : !decisive;
}

int vy_condition_value(const vy_prover *q, uint32_t condition)
{
    return value(q, condition, DEPTH);
}
