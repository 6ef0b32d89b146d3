// SPDX-License-Identifier: MIT
// invariant_carries.c: what a loop carries without ever changing it is what it was before.
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
// Adjoints of local arrays, and the masks that say whether they are in use (autodiff/facts/masks.c), are like
// this where the primal adds to an element in a loop: x̄ is handed through.  One carry at a time shows
// nothing, since `used` keeps its value only because it is 1, and the arm is what it is only because of
// that.  So all carries that may be steady are assumed to be: the program is rebuilt with the initial
// values in their place, and where folding does not make the next value equal to that, the assumption
// was wrong.  It is dropped, and the rest is tried again.  What is left when all assumptions hold at
// once is true by induction over the iterations.
//
// A result of an `if` whose arms yield the same is that value here, as in cleanup.c.
//
// Needs valid structure; keeps order, lines and names.  Carries and results nobody reads any more are
// left to cleanup.
#include "ir/pass/pass.h"
#include "ir/core/flow.h"

#include <string.h>

enum { ROUNDS = 6 }; // more are not worth their time; nothing is changed then

typedef struct steady {
    const vy_program *p;
    vy_structure s;
    uint8_t *assumed; // by CARRY
    uint32_t *map;
    uint32_t count; // of assumptions
} steady;

// Can `next` be what was carried: is it made by something that may hand an operand through?
static bool may_hand_on(const vy_program *p, uint32_t next)
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
    const vy_program *p = x->p;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        if (p->insts.data[id].op != VY_OP_CARRY) continue;
        uint32_t loop = vy_arg(p, id, 0), k = p->insts.data[id].aux;
        x->assumed[id] = may_hand_on(p, vy_arg(p, x->s.partner[loop], vy_next_arg(p, loop) + k));
        x->count += x->assumed[id];
    }
}

static uint32_t initial_of(const steady *x, uint32_t loop, uint32_t k)
{
    return vy_map(x->map, vy_arg(x->p, loop, vy_init_arg(x->p, loop) + k));
}

// Drops assumptions that the body just copied does not keep.  True if there were any.
static bool drop(steady *x, uint32_t end)
{
    const vy_program *p = x->p;
    uint32_t loop = x->s.partner[end], n = vy_slot_count(p, &x->s, loop);
    bool dropped = false;
    for (uint32_t k = 0; k < n; k++) {
        if (!x->assumed[loop + 1 + k]) continue;
        if (vy_map(x->map, vy_arg(p, end, vy_next_arg(p, loop) + k)) == initial_of(x, loop, k))
            continue;
        x->assumed[loop + 1 + k] = 0;
        x->count--;
        dropped = true;
    }
    return dropped;
}

// What RESULT `id` is known to be, or 0.
static uint32_t known(const steady *x, uint32_t id)
{
    const vy_program *p = x->p;
    uint32_t end = vy_arg(p, id, 0), k = p->insts.data[id].aux, opener = x->s.partner[end];
    if (p->insts.data[end].op == VY_OP_ENDLOOP)
        return x->assumed[opener + 1 + k] ? initial_of(x, opener, k) : 0;
    if (p->insts.data[end].op != VY_OP_ENDIF) return 0;
    uint32_t yes = vy_map(x->map, vy_arg(p, x->s.partner[opener], k));
    uint32_t no = vy_map(x->map, vy_arg(p, end, k));
    return yes == no && (VY_IS_LEAF(yes) || yes < x->map[opener]) ? yes : 0;
}

// One attempt.  *held: all assumptions hold, and the program is what was built.  NULL: see the diag.
static vy_builder *attempt(steady *x, bool *held)
{
    const vy_program *p = x->p;
    vy_builder *b = vy_rebuild_begin(p);
    *held = true;
    for (uint32_t id = 1; b && id < p->insts.count && !vy_builder_failed(b); id++) {
        vy_copy_inst(b, p, id, x->map);
        vy_op op = (vy_op)p->insts.data[id].op;
        if (op == VY_OP_CARRY && x->assumed[id])
            x->map[id] = initial_of(x, vy_arg(p, id, 0), p->insts.data[id].aux);
        else if (op == VY_OP_ENDLOOP)
            *held &= !drop(x, id);
        else if (op == VY_OP_RESULT) {
            uint32_t value = known(x, id);
            if (value) x->map[id] = value;
        }
    }
    return b;
}

static bool settle(steady *x, vy_program *p, bool *changed)
{
    for (int round = 0; x->count && round < ROUNDS; round++) {
        bool held;
        vy_builder *b = attempt(x, &held);
        if (!b || vy_builder_failed(b) || held) {
            *changed = true;
            return b && vy_pass_finish(b, p);
        }
        vy_program_abandon(b);
    }
    return true;
}

bool vy_pass_steady(vy_program *p, vy_pass_context *c)
{
    steady x = {.p = p};
    x.assumed = vy_realloc(NULL, p->insts.count);
    x.map = vy_realloc(NULL, p->insts.count * sizeof *x.map);
    bool ok = x.assumed && x.map && vy_structure_make(p, &x.s);
    if (ok) {
        memset(x.assumed, 0, p->insts.count);
        memset(x.map, 0, p->insts.count * sizeof *x.map);
        assume(&x);
        ok = settle(&x, p, &c->changed);
    }
    if (!ok) vy_fail_oom(p->module); // unless something else was said before
    vy_structure_free(&x.s);
    vy_free(x.assumed);
    vy_free(x.map);
    return ok;
}
