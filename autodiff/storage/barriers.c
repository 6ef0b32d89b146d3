// SPDX-License-Identifier: MIT
// barriers.c: removes redundant barriers.
//
//   barrier();
//   (dead stores, removed)
//   barrier();               →  one barrier
//
// The reverse copies the primal's barriers, and so do replays; once dead code is removed, some of
// them order nothing.
//
// A barrier is needed if some memory is touched both since the preceding barrier, on any path to
// it, and up to the following one, on any path from it, unless both sides only load, or both only
// update atomically.  Removing one merges the phases around it, so barriers are tried one after the
// other, each with the earlier ones removed.
//
// Memory in which each invocation has its own elements (tapes), `in` buffers and local arrays need
// no barriers.
#include "ir/core/phases.h"
#include "autodiff/core/reverse.h"
#include "autodiff/storage/storage.h"
#include "ir/build/rewrite.h"

#include <string.h>

enum {
    BITS = 64,           // memories that are distinguished; the last bit stands for all others
    MOST_WORK = 1 << 26, // instructions visited
};

typedef struct barriers {
    vy_rewrite w;
    uint8_t *bit; // by buffer: + 1; 0: needs no barriers
    vy_phases phases;
} barriers;

static bool conflict(vy_phase_access x, vy_phase_access y)
{
    return (x.stores & (y.loads | y.stores | y.updates)) | (y.stores & (x.loads | x.updates)) |
           (x.loads & y.updates) | (x.updates & y.loads);
}

static void note_accesses(barriers *b)
{
    for (uint32_t id = 1; id < b->w.p->insts.count; id++) {
        const vy_inst *i = &b->w.p->insts.data[id];
        if (!vy_op_is_memory((vy_op)i->op) || !b->bit[i->aux]) continue;
        uint64_t bit = UINT64_C(1) << (b->bit[i->aux] - 1);
        vy_phase_access *t = &b->phases.touch[id];
        *(i->op == VY_OP_LOAD             ? &t->loads
          : vy_op_is_atomic((vy_op)i->op) ? &t->updates
                                          : &t->stores) = bit;
    }
}

// The first redundant barrier, or 0.
static uint32_t find_redundant(barriers *b)
{
    vy_phases *f = &b->phases;
    vy_phases_find(f);
    for (uint32_t id = 1; id < b->w.p->insts.count; id++)
        if (b->w.p->insts.data[id].op == VY_OP_BARRIER && !f->removed[id] &&
            !conflict(f->before[id], f->after[id]))
            return id;
    return 0;
}

// -------------------------------------------------------------------------------- which memories
// The axes on which the index of access `id` is domain variable `v` itself.
static uint32_t axes_of(const vy_program *p, uint32_t id, uint32_t v)
{
    uint32_t axes = 0;
    for (uint32_t k = 0; k < p->buffers.data[p->insts.data[id].aux].rank; k++) {
        uint32_t a = vy_arg(p, id, k);
        const vy_leaf *l = VY_IS_LEAF(a) ? &p->leaves.data[VY_LEAF_INDEX(a)] : NULL;
        if (l && l->kind == VY_LEAF_OVER && l->index == v) axes |= 1u << k;
    }
    return axes;
}

// By buffer: does each invocation have its own elements, that is, is for each domain variable some
// axis that variable in all accesses?  (As in ir/pass/sums/mark_owned.c.)
static bool find_owned(const barriers *b, uint8_t *own)
{
    const vy_program *p = b->w.p;
    uint32_t overs = p->overs.count;
    uint32_t *axes = vy_realloc(NULL, ((size_t)p->buffers.count * overs + 1) * sizeof *axes);
    if (!axes) return false;
    memset(axes, 0xFF, (size_t)p->buffers.count * overs * sizeof *axes);
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (!vy_op_is_memory((vy_op)i->op) || i->op == VY_OP_ZERO) continue;
        for (uint32_t v = 0; v < overs; v++) axes[i->aux * overs + v] &= axes_of(p, id, v);
    }
    for (uint32_t i = 1; i < p->buffers.count && overs; i++) {
        own[i] = 1;
        for (uint32_t v = 0; v < overs; v++) own[i] &= axes[i * overs + v] != 0;
    }
    vy_free(axes);
    return true;
}

static bool number_memories(const reverse *r, barriers *b, uint8_t *own)
{
    const vy_program *p = b->w.p;
    uint32_t next = 0;
    if (!find_owned(b, own)) return false;
    for (uint32_t id = 1; id < r->p->insts.count && !vy_is_ahead(r->build.purpose); id++)
        if (r->build.tape[id]) own[r->build.tape[id]] = 1;
    for (uint32_t i = 1; i < r->p->buffers.count && !vy_is_ahead(r->build.purpose); i++)
        if (r->facts.buffers[i].exclusive && r->p->buffers.data[i].cls == VY_IN)
            own[r->build.buffers[i].adjoint] = 1;
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        bool shared = p->buffers.data[i].cls == VY_SHARED;
        if (shared || (!vy_memory_private(p, i) && !own[i]))
            b->bit[i] = (uint8_t)(next < BITS ? ++next : BITS);
    }
    for (uint32_t i = 1; i < p->buffers.count; i++) // aliases: not distinguished
        if (p->buffers.data[i].view_of) b->bit[i] = b->bit[p->buffers.data[i].view_of] = BITS;
    return true;
}

static bool find_phases(const reverse *r, barriers *b)
{
    uint8_t *own = vy_rewrite_table(&b->w, b->w.p->buffers.count);
    b->bit = vy_rewrite_table(&b->w, b->w.p->buffers.count);
    if (b->w.oom || !vy_phases_make(&b->phases, b->w.p, &b->w.s, &b->w.arena)) return false;
    if (!number_memories(r, b, own)) return false;
    note_accesses(b);
    return true;
}

static uint32_t omit_removed(void *pass, uint32_t id)
{
    const barriers *b = pass;
    return b->phases.removed[id] ? id : 0;
}

bool vy_reverse_barriers(const reverse *r, vy_program *p)
{
    barriers b = {0};
    bool any = false, changed = false;
    if (!r->facts.phased) return true;
    bool ok = vy_rewrite_begin(&b.w, p) && find_phases(r, &b);
    while (ok && b.phases.work < MOST_WORK) {
        uint32_t id = find_redundant(&b);
        if (!id) break;
        b.phases.removed[id] = any = true;
    }
    if (any) vy_rewrite_run(&b.w, omit_removed, &b);
    return vy_rewrite_end(&b.w, ok, &changed);
}
