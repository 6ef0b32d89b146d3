// SPDX-License-Identifier: MIT
// dse.c: removes stores that cannot be observed.
//
//   y[i] = a;   (no read of y)   y[i] = b      →   y[i] = b
//   local v: f32[8];  v[j] = a;  never read    →
//   local v: f32[8];  …  v[j] = 0;  not read from here on, in no loop    →
//
// In a host program (ir/core/host.h) elements are slices.
//
// That the same element is stored again later is not enough: the second store must execute whenever
// the first does, and nothing between them may read the element.  So each region is walked
// backwards with a list of the stores that certainly follow in it; a construct on the way removes
// those whose memory it reads from the list, and a barrier, after which other invocations may read,
// removes all stores to memory that others can access.
//
// Needs valid structure; keeps everything else.  The list is short, so the pass is near-linear.
#include "ir/core/access.h"
#include "ir/facts/memory.h"
#include "ir/host/host_build.h"
#include "ir/pass/pass.h"

enum { MAX_LATER = 64 };

typedef struct later {
    uint32_t count, at[MAX_LATER]; // stores that follow in the region, nearest last
} later;

typedef struct dse {
    vy_rewrite w;
    vy_writes reads;
    uint8_t *dead;   // by instruction
    uint8_t *unread; // by buffer: a local or shared array that is never read
    later now;
    later **saved; // by depth
    bool any;
} dse;

static void find_unread(dse *d)
{
    const vy_program *p = d->w.p;
    for (uint32_t b = 1; b < p->buffers.count; b++)
        d->unread[b] = p->buffers.data[b].cls >= VY_SHARED && !p->buffers.data[b].view_of;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (i->op == VY_OP_LOAD || vy_op_is_atomic((vy_op)i->op)) d->unread[i->aux] = 0;
    }
}

// Is it a store to a local array that nothing reads from here on?
static bool is_last(const dse *d, uint32_t id)
{
    const vy_program *p = d->w.p;
    const vy_inst *i = &p->insts.data[id];
    if (i->op != VY_OP_STORE || p->buffers.data[i->aux].cls != VY_LOCAL) return false;
    for (uint32_t up = d->w.s.parent[id]; up; up = d->w.s.parent[up])
        if (vy_is_loop((vy_op)p->insts.data[up].op)) return false;
    return !vy_written_between(&d->reads, i->aux, id, p->insts.count);
}

static void kill(dse *d, uint32_t id)
{
    d->dead[id] = 1;
    d->any = true;
}

static bool may_read(const vy_program *p, uint32_t reader, uint32_t store)
{
    uint32_t x = p->insts.data[reader].aux, y = p->insts.data[store].aux;
    if (vy_memory_of(p, x) != vy_memory_of(p, y)) return false;
    if (p->host) return !vy_host_other_slice(p, reader, store);
    return x != y ||
           vy_indices_meet(p, p->buffers.data[x].rank, vy_args(p, reader), vy_args(p, store));
}

static void forget_read(dse *d, uint32_t reader)
{
    uint32_t kept = 0;
    for (uint32_t n = 0; n < d->now.count; n++)
        if (!may_read(d->w.p, reader, d->now.at[n])) d->now.at[kept++] = d->now.at[n];
    d->now.count = kept;
}

// Removes stores that the code between `from` and `to` reads; with from == to, stores that a
// barrier makes visible to others.
static void forget_between(dse *d, uint32_t from, uint32_t to)
{
    uint32_t kept = 0;
    for (uint32_t n = 0; n < d->now.count; n++) {
        uint32_t buffer = d->w.p->insts.data[d->now.at[n]].aux;
        bool seen = from == to ? !vy_memory_private(d->w.p, buffer)
                               : vy_written_between(&d->reads, buffer, from, to);
        if (!seen) d->now.at[kept++] = d->now.at[n];
    }
    d->now.count = kept;
}

static void store(dse *d, uint32_t id)
{
    for (uint32_t n = 0; n < d->now.count; n++) {
        const bool same = d->w.p->host ? vy_host_same_slice(d->w.p, id, d->now.at[n])
                                       : vy_same_element(d->w.p, id, d->now.at[n]);
        if (!same) continue;
        kill(d, id);
        return;
    }
    if (d->now.count == MAX_LATER) {
        for (uint32_t n = 1; n < MAX_LATER; n++) d->now.at[n - 1] = d->now.at[n];
        d->now.count--;
    }
    d->now.at[d->now.count++] = id;
}

// A region's end, reached walking backwards.  What follows an IF follows its arms; the end of a
// loop's body may be followed by its next iteration, of which nothing is known.
static bool enter(dse *d, uint32_t id)
{
    later **slot = &d->saved[d->w.s.depth[id]];
    if (!*slot) *slot = vy_arena_alloc(&d->w.arena, sizeof **slot);
    if (!*slot) return false;
    **slot = d->now;
    if (d->w.p->insts.data[id].op == VY_OP_ENDLOOP) d->now.count = 0;
    return true;
}

static bool visit(dse *d, uint32_t id)
{
    const vy_inst *i = &d->w.p->insts.data[id];
    vy_op op = (vy_op)i->op;
    if (vy_op_closes(op)) return enter(d, id);
    if (vy_op_opens(op)) {
        d->now = *d->saved[d->w.s.depth[id]];
        forget_between(d, id, vy_closer(d->w.p, &d->w.s, id));
    } else if (op == VY_OP_ELSE) {
        d->now = *d->saved[d->w.s.depth[id]];
    } else if (op == VY_OP_TEST) {
        d->now.count = 0; // either the body or the code after the loop follows
    } else if (op == VY_OP_BARRIER) {
        forget_between(d, id, id);
    } else if (vy_op_is_memory(op)) {
        if (op == VY_OP_ZERO && d->w.p->host)
            return true; // it says what extents are (ir/core/host.h)
        if (d->unread[i->aux] || is_last(d, id))
            kill(d, id);
        else if (op == VY_OP_STORE)
            store(d, id);
        else if (op == VY_OP_LOAD || vy_op_is_atomic(op))
            forget_read(d, id);
    }
    return true;
}

static bool find_dead(dse *d)
{
    const vy_program *p = d->w.p;
    d->dead = vy_rewrite_bytes(&d->w);
    d->unread = vy_rewrite_table(&d->w, p->buffers.count);
    d->saved = vy_rewrite_table(&d->w, ((size_t)d->w.s.deepest + 1) * sizeof *d->saved);
    if (d->w.oom || !vy_writes_make(&d->reads, p, VY_COUNT_READS, &d->w.arena)) return false;
    find_unread(d);
    for (uint32_t id = p->insts.count; id-- > 1;)
        if (!visit(d, id)) return false;
    return true;
}

static uint32_t leave_out_dead(void *pass, uint32_t id) { return ((dse *)pass)->dead[id] ? id : 0; }

bool vy_pass_dse(vy_program *p, vy_pass_context *c)
{
    dse d = {0};
    bool ok = vy_rewrite_begin(&d.w, p) && find_dead(&d);
    if (ok && d.any) vy_rewrite_run(&d.w, leave_out_dead, &d);
    return vy_rewrite_end(&d.w, ok, &c->changed);
}
