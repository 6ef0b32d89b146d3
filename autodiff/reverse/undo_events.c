// SPDX-License-Identifier: MIT
// undo_events.c: when loads of buffers that the reverse sweep undoes can be executed again.
//
//   L = LOAD u;  d = DISPATCH walls L, g;  STORE u ← PICK 0 d;  M = LOAD u;  DISPATCH energy M
//
// When the reverse sweep has undone the store, the buffer holds what L read, so L can be executed
// again for all reverses between the two: the store is its *event*.  The event of M is the end of
// its block.  A use behind the event is not served that way, nor is a replay, which comes before
// it: there the value is poison, and gets a tape as ever.
#include "autodiff/reverse/undo.h"
#include "ir/core/flow.h"

#include <string.h>

typedef struct listing {
    const reverse *r;
    undo_plan *u;
    uint32_t *store; // by buffer: the next store after the instruction looked at, from the end
} listing;

bool vy_undo_in_loops(const reverse *r, uint32_t id)
{
    for (uint32_t up = r->facts.s.parent[id]; up; up = r->facts.s.parent[up])
        if (r->p->insts.data[up].op != VY_OP_LOOP || vy_exits(r->p, up) || !r->facts.busy[up])
            return false;
    return true;
}

static bool make_tables(undo_plan *u, const vy_program *p)
{
    const size_t n = p->insts.count + (size_t)1;
    u->log = vy_arena_alloc(&u->arena, n * sizeof *u->log);
    u->taken = vy_arena_alloc(&u->arena, n * sizeof *u->taken);
    u->event = vy_arena_alloc(&u->arena, n * sizeof *u->event);
    u->first = vy_arena_alloc(&u->arena, n * sizeof *u->first);
    u->next = vy_arena_alloc(&u->arena, n * sizeof *u->next);
    return u->log && u->taken && u->event && u->first && u->next;
}

static void list_logs(undo_plan *u, const vy_program *p)
{
    for (uint32_t k = 0; k < u->logs.count; k++) {
        undo_log *l = &u->logs.data[k];
        if (!u->undone[p->insts.data[l->store].aux]) continue;
        const uint32_t at = l->dispatch ? l->dispatch : l->store;
        l->next = u->taken[at];
        u->taken[at] = u->log[l->store] = k + 1;
    }
}

// ------------------------------------------------------------------------------------- the events
// When the buffer of LOAD `id` holds again what it read.
static uint32_t event_of_load(const listing *f, uint32_t id)
{
    const vy_structure *s = &f->r->facts.s;
    const uint32_t block = s->parent[id];
    const uint32_t end = block ? s->partner[block] : f->r->p->insts.count;
    uint32_t store = f->store[f->r->p->insts.data[id].aux];
    if (!store || store > end) return end;
    while (s->parent[store] != block) store = s->parent[store];
    return store;
}

static void find_load_events(listing *f)
{
    for (uint32_t id = f->r->p->insts.count; id-- > 1;) {
        const vy_inst *i = &f->r->p->insts.data[id];
        if (!vy_op_is_memory((vy_op)i->op) || !f->u->undone[i->aux]) continue;
        if (i->op == VY_OP_STORE) f->store[i->aux] = id;
        if (i->op == VY_OP_LOAD && vy_undo_in_loops(f->r, id))
            f->u->event[id] = event_of_load(f, id);
    }
}

static void list_events(listing *f)
{
    const vy_program *p = f->r->p;
    for (uint32_t id = p->insts.count; id-- > 1;) { // so that lists ascend
        const uint32_t event = f->u->event[id];
        if (!event) continue;
        f->u->next[id] = f->u->first[event];
        f->u->first[event] = id;
    }
}

bool vy_undo_list(reverse *r)
{
    listing f = {.r = r, .u = &r->plan.undo};
    f.store = vy_arena_alloc(&f.u->arena, r->p->buffers.count * sizeof *f.store);
    if (!f.store || !make_tables(f.u, r->p)) return false;
    list_logs(f.u, r->p);
    find_load_events(&f);
    list_events(&f);
    return true;
}
