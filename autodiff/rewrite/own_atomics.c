// SPDX-License-Identifier: MIT
// own_atomics.c: atomics whose old value is wanted, on elements that one invocation owns, as plain
// steps.
//
//   let old = atomic_add(b[i], v);     →     let old = b[i]; b[i] = old + v;
//
// The old value of an atomic depends on the order of invocations, so it has no derivative.  Where
// no other invocation touches the element there is no such order, and the atomic is a load, an
// operation and a store, each of which has one.  The proof is that of the index maps (injective.c).
// What happens out of range is the same: the load gives zero, the store does nothing.

#include "autodiff/facts/facts.h"
#include "autodiff/rewrite/rewrite.h"

#include <string.h>

static vy_op plain(vy_op atomic)
{
    switch (atomic) {
    case VY_OP_ATOMIC_ADD: return VY_OP_ADD;
    case VY_OP_ATOMIC_MIN: return VY_OP_MIN;
    case VY_OP_ATOMIC_MAX: return VY_OP_MAX;
    case VY_OP_ATOMIC_AND: return VY_OP_AND;
    case VY_OP_ATOMIC_OR: return VY_OP_OR;
    case VY_OP_ATOMIC_XOR: return VY_OP_XOR;
    default: return VY_OP_NONE;
    }
}

static bool is_plain(vy_op op) { return plain(op) != VY_OP_NONE || op == VY_OP_ATOMIC_EXCHANGE; }

// By instruction: an atomic whose value somebody wants, or which has no derivative as it stands.
static void mark_wanted(const vy_program *p, uint8_t *wanted)
{
    for (uint32_t id = 1; id < p->insts.count; id++)
        wanted[id] = p->insts.data[id].op == VY_OP_ATOMIC_EXCHANGE;
    for (uint32_t id = 1; id < p->insts.count; id++)
        for (uint32_t k = 0; k < p->insts.data[id].nargs; k++) {
            const uint32_t a = vy_arg(p, id, k);
            if (!VY_IS_LEAF(a) && is_plain((vy_op)p->insts.data[a].op)) wanted[a] = 1;
        }
}

static uint32_t write_out(vy_builder *b, const vy_program *p, uint32_t id, const uint32_t *map)
{
    const vy_inst *i = &p->insts.data[id];
    const uint32_t rank = p->buffers.data[i->aux].rank;
    const vy_op op = plain((vy_op)i->op);
    uint32_t args[VY_MAX_RANK + 1];
    vy_pass_at(b, p, id);
    for (uint32_t k = 0; k <= rank; k++) args[k] = vy_map(map, vy_arg(p, id, k));
    const uint32_t old = vy_emit(b, VY_OP_LOAD, (vy_type)i->type, i->aux, rank, args);
    if (op != VY_OP_NONE)
        args[rank] = vy_emit(b, op, (vy_type)i->type, 0, 2, (uint32_t[]){old, args[rank]});
    vy_emit(b, VY_OP_STORE, VY_VOID, i->aux, rank + 1, args);
    return old;
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

// Takes from chosen[] what stands in buffers whose elements several invocations may touch.
static bool keep_owned(const vy_program *p, uint8_t *chosen)
{
    vy_structure s = {0};
    uint8_t *owned = vy_realloc(NULL, p->buffers.count), *sites = vy_realloc(NULL, p->insts.count);
    bool ok = owned && sites && vy_structure_make(p, &s);
    if (ok) {
        memset(owned, 0, p->buffers.count);
        memset(sites, 0, p->insts.count);
        mark_accesses(p, chosen, owned, sites);
        ok = vy_injective(p, &s, sites, true, owned);
    }
    for (uint32_t id = 1; ok && id < p->insts.count; id++)
        chosen[id] = chosen[id] && owned[p->insts.data[id].aux];
    vy_structure_free(&s);
    vy_free(owned);
    vy_free(sites);
    return ok;
}

bool vy_pass_own_atomics(vy_program *p, vy_pass_context *c)
{
    const uint32_t n = p->insts.count;
    bool any = false;
    for (uint32_t id = 1; id < n; id++) any |= is_plain((vy_op)p->insts.data[id].op);
    if (!any || !p->overs.count) return true;
    uint8_t *chosen = vy_realloc(NULL, n);
    uint32_t *map = vy_realloc(NULL, n * sizeof *map);
    if (chosen) memset(chosen, 0, n);
    if (chosen) mark_wanted(p, chosen);
    bool ok = chosen && map && keep_owned(p, chosen);
    if (!ok) vy_fail_oom(p->module);
    any = false;
    for (uint32_t id = 1; ok && id < n; id++) any |= chosen[id];
    vy_builder *b = ok && any ? vy_rebuild_begin(p) : NULL;
    for (uint32_t id = 1; b && id < n && !vy_builder_failed(b); id++) {
        if (chosen[id])
            map[id] = write_out(b, p, id, map);
        else
            vy_copy_inst(b, p, id, map);
    }
    if (ok && any) ok = b && vy_pass_finish(b, p);
    vy_free(chosen);
    vy_free(map);
    c->changed |= any && ok;
    return ok;
}
