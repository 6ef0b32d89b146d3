// SPDX-License-Identifier: MIT
// invariant_results.c: a variable that every iteration of a loop sets to the same value need not be
// carried through the loop.
//
//   var any = false;                        for c in 0..C { … }
//   for c in 0..C { …; any = true; }   →    let any = 0 < C;
//
// Masks of a gradient are like this (autodiff/facts/masks.c): a value was used if the loop ran at
// all.  After the loop, the variable is that value if there was an iteration, else its value before
// the loop; the pass emits this select and leaves the slot, now unused, to dce and cleanup.
//
// Also, a variable that can only be reset to its initial value is replaced by it: `v = c` before
// the loop, `v = c || v` inside.
//
// The former applies only to counted loops that are not left early, values from before the loop,
// and variables that the body does not read (else the first iteration would read another value than
// the rest).  Needs valid structure; keeps order, lines and names.
#include "ir/pass/pass.h"

typedef struct settle {
    vy_rewrite w;
    uint8_t *used; // by instruction: it has a use
} settle;

// Is the slot of RESULT `id` set to the same value in every iteration?
static bool settled(const settle *x, uint32_t id)
{
    const vy_program *p = x->w.p;
    uint32_t loop = vy_opener(p, &x->w.s, id), k = p->insts.data[id].aux;
    if (p->insts.data[loop].op != VY_OP_LOOP || vy_exits(p, loop)) return false;
    uint32_t next = vy_slot_next(p, &x->w.s, loop, k);
    return (VY_IS_LEAF(next) || next < loop) && !x->used[vy_carry(loop, k)];
}

// Does CARRY `id` always keep its initial value: x = c, then x = c || x?
static bool constant(const settle *x, uint32_t id)
{
    const vy_program *p = x->w.p;
    uint32_t loop = vy_arg(p, id, 0), k = p->insts.data[id].aux;
    uint32_t initial = vy_slot_init(p, loop, k), next = vy_slot_next(p, &x->w.s, loop, k);
    if (VY_IS_LEAF(next)) return false;
    vy_op op = (vy_op)p->insts.data[next].op;
    if (op != VY_OP_OR && op != VY_OP_AND) return false;
    uint32_t a = vy_arg(p, next, 0), b = vy_arg(p, next, 1);
    return (a == initial && b == id) || (a == id && b == initial);
}

// Does instruction `id` use operand k?  A loop uses an initial value only if its body reads the
// CARRY or anything reads the RESULT.
static bool reads(const settle *x, uint32_t id, uint32_t k)
{
    const vy_program *p = x->w.p;
    if (!vy_is_loop((vy_op)p->insts.data[id].op) || k < vy_init_arg(p, id)) return true;
    uint32_t slot = k - vy_init_arg(p, id);
    return x->used[vy_carry(id, slot)] || x->used[vy_result(p, &x->w.s, id, slot)];
}

static void find_used(settle *x)
{
    for (uint32_t id = x->w.p->insts.count; id-- > 1;)
        for (uint32_t k = 0; k < x->w.p->insts.data[id].nargs; k++) {
            uint32_t a = vy_arg(x->w.p, id, k);
            if (!VY_IS_LEAF(a) && reads(x, id, k)) x->used[a] = 1;
        }
}

// After the RESULTs of a loop: emits the values of the settled ones.
static void replace(settle *x, uint32_t loop)
{
    vy_builder *b = x->w.b;
    uint32_t end = x->w.s.partner[loop], count = vy_slot_count(x->w.p, &x->w.s, loop);
    for (uint32_t k = 0; k < count && !vy_builder_failed(b); k++) {
        if (!settled(x, end + 1 + k)) continue;
        vy_value next = {vy_new_arg(&x->w, end, k)};
        vy_value initial = {vy_new(&x->w, vy_slot_init(x->w.p, loop, k))};
        vy_value v = vy_select(b, vy_new_runs(&x->w, loop), next, initial);
        vy_rewrite_as(&x->w, end + 1 + k, v.id);
    }
}

static uint32_t instead(void *pass, uint32_t id)
{
    settle *x = pass;
    const vy_inst *i = &x->w.p->insts.data[id];
    vy_rewrite_copy(&x->w, id);
    if (i->op == VY_OP_CARRY && constant(x, id))
        x->w.map[id] = vy_new(&x->w, vy_slot_init(x->w.p, vy_arg(x->w.p, id, 0), i->aux));
    uint32_t loop = vy_rewrite_ended(&x->w, id);
    if (loop) replace(x, loop);
    return id;
}

static bool has_work(const settle *x)
{
    bool any = false;
    for (uint32_t id = 1; id < x->w.p->insts.count; id++) {
        vy_op op = (vy_op)x->w.p->insts.data[id].op;
        any |= op == VY_OP_RESULT && x->used[id] && settled(x, id);
        any |= op == VY_OP_CARRY && x->used[id] && constant(x, id);
    }
    return any;
}

// One round; *any is set if it changed anything.
static bool round_of(vy_program *p, bool *any)
{
    settle x = {0};
    bool ok = vy_rewrite_begin(&x.w, p) && (x.used = vy_rewrite_bytes(&x.w));
    if (ok) find_used(&x);
    if (ok && has_work(&x)) vy_rewrite_run(&x.w, instead, &x);
    return vy_rewrite_end(&x.w, ok, any);
}

// One round for each loop of a nest, from the inside, at most 4.
bool vy_pass_invariant_results(vy_program *p, vy_pass_context *c)
{
    if (!(vy_constructs(p) & VY_LOOPS)) return true;
    bool any = true, ok = true;
    for (int round = 0; ok && any && round < 4; round++) {
        any = false;
        ok = round_of(p, &any);
        c->changed |= any;
    }
    return ok;
}
