// SPDX-License-Identifier: MIT
// mark_stored.c: marks workspaces of which nothing is loaded that the program has not stored, and
// outputs all of which it stores, so that nobody has to clear them.
//
//   @workspace tape: inout f32[T, N]        tape: stored first
//   over(i: N)
//   for s in 0..T { tape[s, i] = v; … }     each load is behind a store of the same invocation
//   for s in rev(0..T) { … tape[s, i] … }   to the same element
//
//   y: out f32[N, D]                        y: stored first
//   for k in 0..D { y[i, k] = …; }          all of it, before anything else is done with it
//
// Both begin as zeros, which a runtime has to write before each dispatch: as many bytes as the
// program stores.  What is marked may hold anything, NaN included.
//
// Of each load of a workspace a store is looked for that surely precedes it
// (ir/facts/stored_before.h).  Not marked is a buffer that has any other access (an atomic),
// contents to begin with, a view, or another one that begins as its copy.  Where an index is out of
// range the store does nothing, but then the load, at the same index, gives zero.  Of outputs see
// ir/facts/filled.h.
//
// Of a parameter that is not a workspace the same is known: an intermediate of a pipeline that only
// such programs use is not cleared either (ir/build/pipe_uses.c).
//
// Sets vy_buf.stored_first; vy_optimize unsets it beforehand.  Later passes move no load ahead of a
// store, and leave no store out (`coarsen`: neighbours beyond the end repeat what is there).
#include "ir/facts/filled.h"
#include "ir/facts/stored_before.h"
#include "ir/pass/pass.h"

#include <string.h>

static bool may_be_marked(const vy_buf *b) { return b->cls == VY_INOUT && b->init == VY_INIT_NONE; }

// Buffers to which nothing but loads and stores happens.
static void find_candidates(const vy_program *p, uint8_t *marks)
{
    bool views = false;
    for (uint32_t i = 1; i < p->buffers.count; i++) marks[i] = may_be_marked(&p->buffers.data[i]);
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        const vy_buf *b = &p->buffers.data[i];
        views |= b->view_of != 0;
        if (b->init_from) marks[vy_program_find_buffer(p, b->init_from).id] = 0;
    }
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        const bool plain = i->op == VY_OP_LOAD || i->op == VY_OP_STORE;
        if (vy_op_is_memory((vy_op)i->op) && !plain) marks[i->aux] = 0;
    }
    if (views) memset(marks, 0, p->buffers.count); // two of one memory: nothing is known
}

static bool mark(vy_program *p, vy_pass_context *c, uint8_t *marks, vy_arena *arena)
{
    vy_stored_before s;
    uint8_t *filled = vy_arena_alloc(arena, p->buffers.count);
    if (!filled || !vy_stored_before_make(&s, p, arena)) return false;
    vy_find_filled(p, &s.s, filled);
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (i->op == VY_OP_LOAD && marks[i->aux]) marks[i->aux] = vy_is_stored_before(&s, id);
    }
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        c->changed |= (marks[i] || filled[i]) && !p->buffers.data[i].stored_first;
        p->buffers.data[i].stored_first = marks[i] || filled[i];
    }
    vy_stored_before_free(&s);
    return true;
}

bool vy_pass_mark_stored(vy_program *p, vy_pass_context *c)
{
    vy_arena arena = {0};
    uint8_t *marks = vy_arena_alloc(&arena, p->buffers.count);
    if (marks && !p->host) find_candidates(p, marks);
    const bool ok = marks && (p->host || mark(p, c, marks, &arena));
    if (!ok) vy_fail_oom(p->module);
    vy_arena_free(&arena);
    return ok;
}
