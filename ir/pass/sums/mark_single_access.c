// SPDX-License-Identifier: MIT
// mark_single_access.c: an addition that is the only access to an element of an output need not
// read it.
//
//   over(i: N), g: out f32[N, 3]
//   atomic_add(g[i, 0] @owned, a)         →    atomic_add(g[i, 0] @owned @once, a)
//   atomic_add(g[i, 1] @owned, b)              atomic_add(g[i, 1] @owned @once, b)
//
// Outputs begin as zero, so 0 + a is stored (not a itself: a may be −0, and the bits must be those
// without this pass).  A gradient whose last axis is fully unrolled (positions, colours, a row of a
// Jacobian) is made of such additions, each of which would read back the zero that the buffer was
// cleared to.
//
// One invocation must own the element (`mark_owned`, which runs before), reach the addition once,
// and have no other access that may alias the element: indices must differ by a constant.
// Accesses of one buffer are compared pairwise, so a buffer with many is left alone.  The counter
// of each loop around the addition must be one of the indices, as in `g[i, c]`, so that another
// iteration adds to another element.  Then only constant indices prove other accesses distinct:
// c + 1 is the next iteration's c.
//
// Sets VY_STRENGTH_ONLY (docs/language.md 16); keeps all else.
#include "ir/facts/addition.h"
#include "ir/pass/pass.h"

enum { MAX_ACCESSES = 64 };

typedef struct once {
    const vy_program *p;
    vy_structure s;
    vy_addition_facts a;
    vy_arena arena;
    uint8_t *viewed; // by buffer: another one is a view of its memory
} once;

static bool may_alias(const once *o, uint32_t site, uint32_t other, bool iterations)
{
    uint32_t rank = vy_rank_of(o->p, site);
    if (o->p->insts.data[other].op == VY_OP_ZERO) return true;
    if (!iterations) return vy_indices_meet(o->p, rank, vy_args(o->p, site), vy_args(o->p, other));
    for (uint32_t k = 0; k < rank; k++) {
        uint32_t x = vy_arg(o->p, site, k), y = vy_arg(o->p, other, k);
        if (vy_id_const(o->p, x) && vy_id_const(o->p, y) && vy_values_differ(o->p, x, y))
            return false;
    }
    return true;
}

// Can no other access alias the element?
static bool is_only_access(const once *o, uint32_t site, bool iterations)
{
    uint32_t buffer = o->p->insts.data[site].aux;
    const uint32_t *at = o->a.touched.at, *start = o->a.touched.start;
    if (start[buffer + 1] - start[buffer] > MAX_ACCESSES) return false;
    for (uint32_t n = start[buffer]; n < start[buffer + 1]; n++)
        if (at[n] != site && may_alias(o, site, at[n], iterations)) return false;
    return true;
}

static bool find_single(once *o)
{
    const vy_program *p = o->p;
    o->viewed = vy_arena_alloc(&o->arena, p->buffers.count);
    if (!o->viewed || !vy_structure_make(p, &o->s)) return false;
    if (!vy_addition_facts_make(&o->a, p, &o->s, &o->arena)) return false;
    for (uint32_t i = 1; i < p->buffers.count; i++)
        if (p->buffers.data[i].view_of) o->viewed[i] = o->viewed[p->buffers.data[i].view_of] = 1;
    return true;
}

bool vy_pass_mark_single_access(vy_program *p, vy_pass_context *c)
{
    once o = {.p = p};
    bool ok = find_single(&o);
    if (!ok) vy_fail_oom(p->module);
    for (uint32_t id = 1; ok && id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (!vy_adds_silently(&o.a, id) || vy_strength_of(p, id) < VY_STRENGTH_OWNED) continue;
        const vy_buf *b = &p->buffers.data[i->aux]; // one that begins as ones or a copy is not zero
        if (b->cls != VY_OUT || b->init != VY_INIT_NONE || o.viewed[i->aux]) continue;
        bool iterations;
        if (vy_reached_once(p, &o.s, id, &iterations) && is_only_access(&o, id, iterations))
            c->changed |= vy_set_strength(p, id, VY_STRENGTH_ONLY);
    }
    vy_structure_free(&o.s);
    vy_arena_free(&o.arena);
    return ok;
}
