// SPDX-License-Identifier: MIT
// invariant_carries.c: replaces a carried value that the loop never changes by its initial value.
//
//   var used = 1u;  var g = ȳ + 0.0;              let g = ȳ + 0.0;
//   for k in 0..n {                               for k in 0..n {
//       if c {                                        if c {
//           a += used != 0 ? g * b[k] : 0.0;   →          a += g * b[k];
//           used = u32(used != 0);                    }
//           g = g + 0.0;                          }
//       }
//   }
//
// Adjoints of local arrays, and the masks that say whether they are in use
// (autodiff/facts/masks.c), are like this where the primal adds to an element in a loop: x̄ is
// passed through.  Looking at one carry at a time proves nothing: `used` keeps its value only
// because it is 1, and the `if` yields it only because of that.  So all carries that may be
// invariant are optimistically assumed to be: the program is rebuilt with the initial values in
// their place, and where folding does not make the next value equal to the initial one, the
// assumption was wrong.  It is dropped, and the rest is tried again.  At this fixpoint, when all
// assumptions hold at once, they are true by induction over the iterations.
//
// A result of an `if` both of whose arms yield the same value is replaced by it, as in cleanup.c.
//
// Needs valid structure; keeps order, lines and names.  Carries and results that become unused are
// left to cleanup.
#include "ir/pass/pass.h"

enum { ROUNDS = 6 }; // if they do not suffice, nothing is changed: more are not worth their time

typedef struct steady {
    vy_rewrite w;
    uint8_t *assumed; // by CARRY
    uint32_t count;   // number of assumptions
    bool held;        // all of them held in this attempt
} steady;

// Can `next` be the carried value: is it an operation that may fold to one of its operands?
static bool may_pass_through(const vy_program *p, uint32_t next)
{
    if (VY_IS_LEAF(next)) return true;
    const vy_inst *i = &p->insts.data[next];
    const vy_scalar *k;
    switch ((vy_op)i->op) {
    case VY_OP_RESULT:
    case VY_OP_CARRY:
    case VY_OP_SELECT:
    case VY_OP_CAST:
    case VY_OP_OR:
    case VY_OP_AND: return true;
    case VY_OP_ADD: return (k = vy_id_const(p, vy_arg(p, next, 1))) && k->u == 0;
    default: return false;
    }
}

static void assume(steady *x)
{
    const vy_program *p = x->w.p;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        if (p->insts.data[id].op != VY_OP_CARRY) continue;
        uint32_t loop = vy_arg(p, id, 0), k = p->insts.data[id].aux;
        x->assumed[id] = may_pass_through(p, vy_slot_next(p, &x->w.s, loop, k));
        x->count += x->assumed[id];
    }
}

static uint32_t initial_of(const steady *x, uint32_t loop, uint32_t k)
{
    return vy_map(x->w.map, vy_slot_init(x->w.p, loop, k));
}

// Drops assumptions that do not hold for the body just copied.  True if there were any.
static bool drop(steady *x, uint32_t end)
{
    const vy_program *p = x->w.p;
    uint32_t loop = vy_opener(p, &x->w.s, end), n = vy_slot_count(p, &x->w.s, loop);
    bool dropped = false;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t next = vy_map(x->w.map, vy_slot_next(p, &x->w.s, loop, k));
        if (!x->assumed[vy_carry(loop, k)] || next == initial_of(x, loop, k)) continue;
        x->assumed[vy_carry(loop, k)] = 0;
        x->count--;
        dropped = true;
    }
    return dropped;
}

// The known value of RESULT `id`, or 0.
static uint32_t known(const steady *x, uint32_t id)
{
    const vy_program *p = x->w.p;
    uint32_t opener = vy_opener(p, &x->w.s, id), k = p->insts.data[id].aux, then, other;
    if (vy_is_loop((vy_op)p->insts.data[opener].op))
        return x->assumed[vy_carry(opener, k)] ? initial_of(x, opener, k) : 0;
    if (!vy_choice(p, &x->w.s, id, &then, &other)) return 0;
    uint32_t yes = vy_map(x->w.map, then), no = vy_map(x->w.map, other);
    return yes == no && (VY_IS_LEAF(yes) || yes < x->w.map[opener]) ? yes : 0;
}

static uint32_t instead(void *pass, uint32_t id)
{
    steady *x = pass;
    const vy_inst *i = &x->w.p->insts.data[id];
    vy_rewrite_copy(&x->w, id);
    if (i->op == VY_OP_CARRY && x->assumed[id]) {
        x->w.map[id] = initial_of(x, vy_arg(x->w.p, id, 0), i->aux);
    } else if (i->op == VY_OP_ENDLOOP) {
        x->held &= !drop(x, id);
    } else if (i->op == VY_OP_RESULT) {
        uint32_t value = known(x, id);
        if (value) x->w.map[id] = value;
    }
    return id;
}

// Rebuilds the program until all assumptions hold; that last version is kept.
static void settle(steady *x)
{
    for (int round = 0; x->count && round < ROUNDS; round++) {
        x->held = true;
        vy_rewrite_run(&x->w, instead, x);
        if (x->held) return;
        vy_rewrite_drop(&x->w);
        if (x->w.b || x->w.oom) return;
    }
}

bool vy_pass_invariant_carries(vy_program *p, vy_pass_context *c)
{
    if (!(vy_constructs(p) & VY_LOOPS)) return true;
    steady x = {0};
    bool ok = vy_rewrite_begin(&x.w, p) && (x.assumed = vy_rewrite_bytes(&x.w));
    if (ok) assume(&x);
    if (ok) settle(&x);
    return vy_rewrite_end(&x.w, ok, &c->changed);
}
