// SPDX-License-Identifier: MIT
// coarsen_memory.c: what the copies of an invocation may do to memory.
//
// unroll_and_jam.c makes a step of each copy: copy 0 runs from one marker to the next, then copy 1
// does.  A copy beyond the end of the domain repeats what copy 0 of its invocation does.
//
// memory                                 its copies
// local arrays                           have one each if it differs (domain_dependence.h)
// parameters that are only loaded        load
// parameters that are only stored, or    store after the step of the last copy, unless beyond the
//   updated by their owner alone         end
// parameters only added to atomically    likewise; to an element that is the same for all copies
//                                        their sum is added, by one addition.  (The additions of
//                                        several invocations to one element have no fixed order.)
// owned parameters that are loaded and   store within their step, also beyond the end: there copy
//   stored: tapes, and what a gather     0 has stored the same value just before.  The repetition
//   begins with and then stores          sees what copy 0 saw as long as no step stores what it
//                                        has loaded before.
// `@owned` parameters that are only      likewise: there is no `if` around each store, and copies
//   stored (what a gather needs)         of many stores stay within the limits of coarsen.c
//
// Owned is what is declared so, or what ir/facts/owner_axes.c proves to be.  The proof is by
// indices, which copies no longer have, so what it found is declared before the first is made.
//
// Anything else is left alone: other atomics, whose results or order can be observed; elements of
// several invocations that are loaded and stored.
#include "ir/pass/device/coarsen.h"
#include "ir/core/access.h"
#include "ir/core/flow.h"

enum { LOADED = 1, STORED = 2, UPDATED = 4, ADDED = 8 };

static uint32_t memory_of(const vy_program *p, uint32_t access)
{
    const uint32_t buffer = p->insts.data[access].aux, of = p->buffers.data[buffer].view_of;
    return of ? of : buffer;
}

static bool is_access(const vy_program *p, uint32_t id)
{
    const vy_inst *i = &p->insts.data[id];
    return vy_op_is_memory((vy_op)i->op) && vy_is_global(p->buffers.data[i->aux].cls);
}

static bool is_shared_addition(const vy_program *p, uint32_t id)
{
    return p->insts.data[id].op == VY_OP_ATOMIC_ADD && vy_strength_of(p, id) == VY_STRENGTH_ATOMIC;
}

static uint8_t use_of(const vy_program *p, uint32_t id)
{
    const vy_op op = (vy_op)p->insts.data[id].op;
    if (is_shared_addition(p, id)) return ADDED;
    return vy_op_is_atomic(op) ? UPDATED : op == VY_OP_LOAD ? LOADED : STORED;
}

static bool access_suits(const vy_program *p, uint32_t id)
{
    const vy_inst *i = &p->insts.data[id];
    if (p->buffers.data[i->aux].cls == VY_LOCAL) return true;
    if (!vy_is_global(p->buffers.data[i->aux].cls)) return false;
    return vy_strength_of(p, id) != VY_STRENGTH_ATOMIC || is_shared_addition(p, id);
}

static bool uses_an_atomic(const vy_program *p, uint32_t id)
{
    for (uint32_t k = 0; k < p->insts.data[id].nargs; k++) {
        const uint32_t v = vy_arg(p, id, k);
        if (!VY_IS_LEAF(v) && vy_op_is_atomic((vy_op)p->insts.data[v].op)) return true;
    }
    return false;
}

bool vy_copies_suit(const vy_program *p, const bool *owned, uint8_t *use)
{
    for (uint32_t id = 1; id < p->insts.count; id++) {
        if (uses_an_atomic(p, id)) return false;
        if (vy_op_is_memory((vy_op)p->insts.data[id].op) && !access_suits(p, id)) return false;
        if (!is_access(p, id)) continue;
        const uint32_t memory = memory_of(p, id);
        use[memory] |= use_of(p, id);
        const bool tape = use[memory] == (LOADED | STORED) && owned[memory];
        const bool written = !(use[memory] & (LOADED | ADDED));
        if (!tape && !written && use[memory] != LOADED && use[memory] != ADDED) return false;
    }
    return true;
}

// ------------------------------------------------------------------------------------------ steps
typedef struct steps {
    const vy_along *a;
    const uint8_t *use;
    uint32_t now, *loaded, *stored; // by buffer: the last step that did
    bool loops;                     // the step has a loop
} steps;

static bool repeated(const steps *t, uint32_t id)
{
    return is_access(t->a->p, id) && t->use[memory_of(t->a->p, id)] == (LOADED | STORED);
}

static bool step_suits(steps *t, uint32_t id)
{
    if (!repeated(t, id)) return true;
    const uint32_t memory = memory_of(t->a->p, id);
    const bool load = t->a->p->insts.data[id].op == VY_OP_LOAD;
    (load ? t->loaded : t->stored)[memory] = t->now;
    return t->loaded[memory] != t->now || t->stored[memory] != t->now || (load && !t->loops);
}

// An `if` that diverges is one step.  In a loop within it, what is loaded after a store may be
// stored by the next iteration, so there the order does not count.
bool vy_steps_suit(const vy_along *a, const uint8_t *use, vy_arena *arena, bool *oom)
{
    const vy_program *p = a->p;
    steps t = {.a = a, .use = use, .now = 1};
    t.loaded = vy_arena_alloc(arena, p->buffers.count * sizeof *t.loaded);
    t.stored = vy_arena_alloc(arena, p->buffers.count * sizeof *t.stored);
    if ((*oom = !t.loaded || !t.stored)) return false;
    for (uint32_t id = 1, end = 0; id < p->insts.count; id++) {
        const vy_op op = (vy_op)p->insts.data[id].op;
        if (id > end && op == VY_OP_IF && a->of[id]) end = vy_last_result(p, a->s, id), t.now++;
        if (id > end && vy_is_marker(op)) t.now++;
        t.loops = id <= end && (t.loops || vy_is_loop(op));
        if (!step_suits(&t, id)) return false;
        t.now += id == end;
    }
    return true;
}

// ----------------------------------------------------------------------------------------- writes
void vy_declare_owned(vy_program *p, const bool *owned, const uint8_t *use)
{
    for (uint32_t b = 1; b < p->buffers.count; b++)
        p->buffers.data[b].owned |= owned[b] && use[b] == (LOADED | STORED);
}

bool vy_writes_at_once(const vy_program *p, const uint8_t *use, uint32_t id)
{
    if (!is_access(p, id)) return true;
    const uint8_t of = use[memory_of(p, id)];
    return of == (LOADED | STORED) || (of == STORED && p->buffers.data[memory_of(p, id)].owned);
}

uint8_t vy_written_along(const vy_along *a, uint32_t id)
{
    return is_shared_addition(a->p, id) ? vy_along_element(a, id) : a->of[id];
}
