// SPDX-License-Identifier: MIT
// implied.c: conditions whose value is known where they are tested.
//
//   over(i: N) { if i < N { a } }                      →   a
//   if i > 0 { if i >= 1 { a } else { b } }            →   if i > 0 { a }
//   if i + 1 < N { y = select(i + 1 < N, a, b) }       →   if i + 1 < N { y = a }
//
// A gather asks for each term whether the invocation that it comes from exists, and then, as this
// invocation would, whether its neighbour does, which is the invocation itself.
//
// Known is what range.c and context.c prove: by the domain, by constant bounds, by the conditions
// around the place.  Lanes beyond a domain, which a program with barriers or subgroup operations
// runs as well, know nothing about their variables: such programs stay as they are.  Linear: each
// proof takes a limited number of steps.  Needs valid structure; keeps order, lines and names.
#include "ir/facts/context.h"
#include "ir/pass/pass.h"

typedef struct implied {
    vy_rewrite w;
    vy_prover q;
    int8_t *value; // by IF, SELECT and comparison: 1 or 0 where known, else −1
} implied;

static bool has_padding_lanes(const vy_program *p)
{
    for (uint32_t id = 1; id < p->insts.count && p->overs.count; id++)
        if (vy_op_infos[p->insts.data[id].op].effect == VY_CONV) return true;
    return false;
}

static bool find_known(implied *x)
{
    const vy_program *p = x->w.p;
    bool any = false;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_op op = (vy_op)p->insts.data[id].op;
        x->value[id] = -1;
        const bool asks = op == VY_OP_IF || op == VY_OP_SELECT;
        const bool compares = op == VY_OP_LT || op == VY_OP_LE || op == VY_OP_EQ || op == VY_OP_NE;
        if (!asks && !compares) continue;
        vy_prover_enter(&x->q, id);
        x->value[id] = (int8_t)vy_condition_value(&x->q, asks ? vy_arg(p, id, 0) : id);
        any |= x->value[id] >= 0;
    }
    return any;
}

static uint32_t instead(void *pass, uint32_t id);

// Copies only the arm that is taken.
static uint32_t take_arm(implied *x, uint32_t id)
{
    const uint32_t middle = x->w.s.partner[id], end = vy_closer(x->w.p, &x->w.s, id);
    const uint32_t marker = x->value[id] ? middle : end, from = (x->value[id] ? id : middle) + 1;
    const uint32_t n = x->w.p->insts.data[end].nargs;
    vy_rewrite_range(&x->w, from, marker, instead, x);
    for (uint32_t k = 0; k < n && !vy_rewrite_stopped(&x->w); k++)
        vy_rewrite_as(&x->w, end + 1 + k, vy_new_arg(&x->w, marker, k));
    return end + n;
}

// Recursion is as deep as `if`s nest.
static uint32_t instead(void *pass, uint32_t id)
{
    implied *x = pass;
    if (x->value[id] < 0) return 0;
    const vy_op op = (vy_op)x->w.p->insts.data[id].op;
    if (op == VY_OP_IF) return take_arm(x, id);
    if (op == VY_OP_SELECT)
        x->w.map[id] = vy_new_arg(&x->w, id, x->value[id] ? 1 : 2);
    else
        x->w.map[id] = vy_bool(x->w.b, x->value[id]).id;
    return id;
}

bool vy_pass_implied(vy_program *p, vy_pass_context *c)
{
    implied x = {0};
    if (has_padding_lanes(p)) return true;
    bool ok = vy_rewrite_begin(&x.w, p) && vy_prover_make(&x.q, p, &x.w.s, &x.w.arena);
    x.value = ok ? vy_rewrite_table(&x.w, p->insts.count) : NULL;
    ok &= x.value != NULL;
    if (ok && find_known(&x)) vy_rewrite_run(&x.w, instead, &x);
    return vy_rewrite_end(&x.w, ok, &c->changed);
}
