// SPDX-License-Identifier: MIT
// own_atomics.c: atomics whose old value is used, on elements that one invocation owns, as loads,
// operations and stores.
//
//   let old = atomic_add(b[i], v);     →     let old = b[i]; b[i] = old + v;
//
// The old value of an atomic depends on the order of invocations, so it has no derivative.  Where
// no other invocation touches the element there is no such order, and the atomic is a load, an
// operation and a store, each of which has one.  The proof is that of the index maps (injective.c).
// What happens out of range is the same: the load gives zero, the store does nothing.
#include "autodiff/facts/facts.h"
#include "autodiff/rewrite/rewrite.h"
#include "ir/build/rewrite.h"

typedef struct own_atomics {
    vy_rewrite w;
    const uint8_t *chosen; // by instruction: an atomic that is replaced
} own_atomics;

static bool is_plain(vy_op op)
{
    return vy_op_plain(op) != VY_OP_NONE || op == VY_OP_ATOMIC_EXCHANGE;
}

// Marks all accesses to buffers in which an atomic is chosen.
static void mark_accesses(const vy_program *p, const uint8_t *chosen, uint8_t *buffers,
                          uint8_t *sites)
{
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (chosen[id]) buffers[p->insts.data[id].aux] = 1;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        const bool accesses = vy_op_is_memory((vy_op)i->op) && i->op != VY_OP_ZERO;
        sites[id] = accesses && buffers[i->aux] && p->buffers.data[i->aux].cls <= VY_INOUT;
    }
}

// Chooses the atomics on buffers whose elements are touched by one invocation each.
static bool keep_owned(own_atomics *o, bool *any)
{
    const vy_program *p = o->w.p;
    uint8_t *chosen = vy_rewrite_bytes(&o->w), *sites = vy_rewrite_bytes(&o->w);
    uint8_t *owned = vy_rewrite_table(&o->w, p->buffers.count);
    const uint32_t *uses = vy_rewrite_uses(&o->w);
    if (o->w.oom) return false;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_op op = (vy_op)p->insts.data[id].op;
        // Its old value is used, or it has no derivative as an atomic.
        chosen[id] = op == VY_OP_ATOMIC_EXCHANGE || (is_plain(op) && uses[id]);
    }
    mark_accesses(p, chosen, owned, sites);
    if (!vy_injective(p, &o->w.s, sites, true, owned)) return false;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        chosen[id] = chosen[id] && owned[p->insts.data[id].aux];
        *any |= chosen[id];
    }
    o->chosen = chosen;
    return true;
}

static uint32_t replace_atomic(void *pass, uint32_t id)
{
    own_atomics *o = pass;
    const vy_inst *i = &o->w.p->insts.data[id];
    if (!o->chosen[id]) return 0;
    uint32_t args[VY_MAX_RANK + 1];
    vy_rewrite_at(&o->w, id);
    vy_new_args(&o->w, id, i->nargs, args);
    o->w.map[id] = vy_emit_update(o->w.b, (vy_op)i->op, VY_STRENGTH_PLAIN, i->aux, i->nargs, args);
    return id;
}

bool vy_pass_own_atomics(vy_program *p, vy_pass_context *c)
{
    own_atomics o = {0};
    bool any = false;
    for (uint32_t id = 1; id < p->insts.count; id++) any |= is_plain((vy_op)p->insts.data[id].op);
    if (!any || !p->overs.count) return true;
    any = false;
    bool ok = vy_rewrite_begin(&o.w, p) && keep_owned(&o, &any);
    if (ok && any) vy_rewrite_run(&o.w, replace_atomic, &o);
    return vy_rewrite_end(&o.w, ok, &c->changed);
}
