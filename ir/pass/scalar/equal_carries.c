// SPDX-License-Identifier: MIT
// equal_carries.c: of variables of a loop that are always equal, one is carried.
//
//   var a = 0u; var b = 0u;           var a = 0u;
//   for o in 0..n {                   for o in 0..n {
//       let v = seen[o];                  let v = seen[o];
//       a |= v; b |= v;          →        a |= v;
//   }                                 }
//   y[0] = a; y[1] = b;               y[0] = a; y[1] = a;
//
// Masks of a gradient are like this (autodiff/facts/masks.c): a layer uses all elements of a row or
// none, and when `registers` has made values of that row's masks they all have one.
//
// Two are equal if they begin with one value, and their next values are made of the same operations
// on the same values, or on the variables themselves: by induction.  Only operations without
// effects are compared, DEPTH of them one upon the other.  A hash of these finds candidates, so
// this is near-linear.
//
// Needs valid structure; keeps order, lines and names.  The variable is left to dce and cleanup.
#include "ir/pass/pass.h"

enum { DEPTH = 4, OWN = 0x9E3779B9u };

typedef struct equals {
    vy_rewrite w;
    uint32_t *same;  // by CARRY: an earlier one of its loop that is always equal; 0: none
    uint32_t *table; // by hash: a CARRY, or 0
    uint32_t mask;
    bool any;
} equals;

static uint32_t next_of(const equals *x, uint32_t carry)
{
    const vy_program *p = x->w.p;
    return vy_slot_next(p, &x->w.s, vy_arg(p, carry, 0), p->insts.data[carry].aux);
}

static uint32_t initial_of(const equals *x, uint32_t carry)
{
    const vy_program *p = x->w.p;
    return vy_slot_init(p, vy_arg(p, carry, 0), p->insts.data[carry].aux);
}

static bool is_inside(const vy_program *p, uint32_t id, uint32_t carry)
{
    return !VY_IS_LEAF(id) && id > vy_arg(p, carry, 0) &&
           vy_op_infos[p->insts.data[id].op].effect == VY_PURE;
}

static uint32_t mix(uint32_t h, uint32_t v) { return (h ^ v) * 0x01000193u; }

static uint32_t hash(const vy_program *p, uint32_t id, uint32_t carry, int depth)
{
    if (id == carry) return OWN;
    if (!depth || !is_inside(p, id, carry)) return id;
    const vy_inst *i = &p->insts.data[id];
    uint32_t h = mix(mix(mix(0x811C9DC5u, i->op), i->type), i->aux);
    for (uint32_t k = 0; k < i->nargs; k++) h = mix(h, hash(p, vy_arg(p, id, k), carry, depth - 1));
    return h;
}

// Is `a`, of which x is made, what `b` is, of which y is, if the variables x and y are equal?
static bool equal(const vy_program *p, uint32_t a, uint32_t x, uint32_t b, uint32_t y, int depth)
{
    if (a == b || (a == x && b == y)) return true;
    if (!depth || !is_inside(p, a, x) || !is_inside(p, b, y)) return false;
    const vy_inst *i = &p->insts.data[a], *j = &p->insts.data[b];
    if (i->op != j->op || i->type != j->type || i->aux != j->aux || i->nargs != j->nargs ||
        i->flags != j->flags)
        return false;
    for (uint32_t k = 0; k < i->nargs; k++)
        if (!equal(p, vy_arg(p, a, k), x, vy_arg(p, b, k), y, depth - 1)) return false;
    return true;
}

static void find(equals *x, uint32_t carry)
{
    const vy_program *p = x->w.p;
    const uint32_t loop = vy_arg(p, carry, 0), initial = initial_of(x, carry);
    uint32_t at = mix(mix(hash(p, next_of(x, carry), carry, DEPTH), loop), initial);
    for (at &= x->mask; x->table[at]; at = (at + 1) & x->mask) {
        const uint32_t other = x->table[at];
        if (vy_arg(p, other, 0) != loop || initial_of(x, other) != initial ||
            p->insts.data[other].type != p->insts.data[carry].type ||
            !equal(p, next_of(x, other), other, next_of(x, carry), carry, DEPTH))
            continue;
        x->same[carry] = other;
        x->any = true;
        return;
    }
    x->table[at] = carry;
}

static bool find_all(equals *x)
{
    const vy_program *p = x->w.p;
    uint32_t carries = 0, size = 4;
    for (uint32_t id = 1; id < p->insts.count; id++) carries += p->insts.data[id].op == VY_OP_CARRY;
    while (size < 2 * carries) size *= 2;
    x->same = vy_rewrite_ids(&x->w);
    x->table = vy_rewrite_table(&x->w, size * sizeof *x->table);
    x->mask = size - 1;
    if (x->w.oom) return false;
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (p->insts.data[id].op == VY_OP_CARRY) find(x, id);
    return true;
}

static uint32_t one_for_all(void *pass, uint32_t id)
{
    equals *x = pass;
    const vy_program *p = x->w.p;
    const vy_inst *i = &p->insts.data[id];
    vy_rewrite_copy(&x->w, id);
    if (i->op == VY_OP_CARRY && x->same[id]) {
        x->w.map[id] = x->w.map[x->same[id]];
    } else if (i->op == VY_OP_RESULT) {
        const uint32_t opener = vy_opener(p, &x->w.s, id);
        const uint32_t same =
            vy_is_loop((vy_op)p->insts.data[opener].op) ? x->same[vy_carry(opener, i->aux)] : 0;
        if (same) x->w.map[id] = x->w.map[vy_result(p, &x->w.s, opener, same - opener - 1)];
    }
    return id;
}

bool vy_pass_equal_carries(vy_program *p, vy_pass_context *c)
{
    if (!(vy_constructs(p) & VY_LOOPS)) return true;
    equals x = {0};
    const bool ok = vy_rewrite_begin(&x.w, p) && find_all(&x);
    if (ok && x.any) vy_rewrite_run(&x.w, one_for_all, &x);
    return vy_rewrite_end(&x.w, ok, &c->changed);
}
