// SPDX-License-Identifier: MIT
// own_atomics.c: atomics on elements that one invocation owns, as loads, operations and stores,
// where they have no derivative as atomics.
//
//   let old = atomic_add(b[i], v);     →     let old = b[i]; b[i] = old + v;
//   atomic_max(b[i], v);               →     b[i] = max(b[i], v);
//
// The old value of an atomic depends on the order of invocations, so it has no derivative; nor has
// an atomic_max beside loads and stores of the element, and alone it takes programs that find the
// winner (extremum.c).  Where no other invocation touches the element there is no such order, and
// the atomic is a load, an operation and a store, each of which has a derivative.  The proof is
// that of the index maps (injective.c), for each group of accesses that may touch the same elements
// (element_groups.c).  What happens out of range is the same: the load gives zero, the store does
// nothing.
#include "autodiff/facts/facts.h"
#include "autodiff/rewrite/rewrite.h"
#include "ir/build/rewrite.h"

enum { MOST_GROUPS = 8 }; // of one buffer that are looked at

typedef struct own_atomics {
    vy_rewrite w;
    uint8_t *chosen; // by instruction: an atomic that is to be replaced
    uint8_t *owned;  // … and whose element is owned
    uint32_t *group; // by access to a buffer with such an atomic: see element_groups.c
    uint32_t *next;  // by group: its ordinal in the buffer, from 1
} own_atomics;

static bool is_plain(vy_op op)
{
    return vy_op_plain(op) != VY_OP_NONE || op == VY_OP_ATOMIC_EXCHANGE;
}

// Its old value is used, or it has no derivative as an atomic.
static bool is_chosen(const vy_program *p, const uint32_t *uses, uint32_t id)
{
    const vy_inst *i = &p->insts.data[id];
    const vy_op op = (vy_op)i->op;
    if (!is_plain(op) || !vy_is_global(p->buffers.data[i->aux].cls)) return false;
    if (op == VY_OP_ATOMIC_EXCHANGE || uses[id]) return true;
    return vy_is_extremum(op) && vy_type_is_float(p->buffers.data[i->aux].type);
}

// Chooses the atomics, and numbers the groups of accesses to their buffers.
static bool find_groups(own_atomics *o, uint32_t *most)
{
    const vy_program *p = o->w.p;
    uint8_t *buffers = vy_rewrite_table(&o->w, p->buffers.count);
    uint32_t *count = vy_rewrite_table(&o->w, p->buffers.count * sizeof *count);
    const uint32_t *uses = vy_rewrite_uses(&o->w);
    if (o->w.oom) return false;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        o->chosen[id] = is_chosen(p, uses, id);
        if (o->chosen[id]) buffers[p->insts.data[id].aux] = 1;
    }
    if (!vy_element_groups(p, &o->w.s, buffers, o->group)) return false;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        if (o->group[id] != id) continue;
        o->next[id] = ++count[p->insts.data[id].aux];
        if (o->next[id] > *most) *most = o->next[id];
    }
    return true;
}

// Decides about one group of each buffer.
static bool keep_owned(own_atomics *o, uint32_t ordinal, uint8_t *sites, uint8_t *buffers)
{
    const vy_program *p = o->w.p;
    for (uint32_t id = 1; id < p->insts.count; id++)
        sites[id] = o->group[id] && o->next[o->group[id]] == ordinal;
    if (!vy_injective(p, &o->w.s, sites, true, buffers)) return false;
    for (uint32_t id = 1; id < p->insts.count; id++)
        o->owned[id] |= sites[id] && o->chosen[id] && buffers[p->insts.data[id].aux];
    return true;
}

static bool find_owned(own_atomics *o, bool *any)
{
    uint32_t most = 0;
    o->chosen = vy_rewrite_bytes(&o->w);
    o->owned = vy_rewrite_bytes(&o->w);
    o->group = vy_rewrite_ids(&o->w);
    o->next = vy_rewrite_ids(&o->w);
    uint8_t *sites = vy_rewrite_bytes(&o->w);
    uint8_t *buffers = vy_rewrite_table(&o->w, o->w.p->buffers.count);
    if (o->w.oom || !find_groups(o, &most)) return false;
    for (uint32_t k = 1; k <= most && k <= MOST_GROUPS; k++)
        if (!keep_owned(o, k, sites, buffers)) return false;
    for (uint32_t id = 1; id < o->w.p->insts.count; id++) *any |= o->owned[id];
    return true;
}

static uint32_t replace_atomic(void *pass, uint32_t id)
{
    own_atomics *o = pass;
    const vy_inst *i = &o->w.p->insts.data[id];
    if (!o->owned[id]) return 0;
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
    bool ok = vy_rewrite_begin(&o.w, p) && find_owned(&o, &any);
    if (ok && any) vy_rewrite_run(&o.w, replace_atomic, &o);
    return vy_rewrite_end(&o.w, ok, &c->changed);
}
