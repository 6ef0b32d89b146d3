// SPDX-License-Identifier: MIT
// pipe_uses.c: which intermediates of a pipeline must be cleared where their lifetime begins.
//
//   buffer u: f32[N];  init(x, u);        init has u as `out`: it overwrites all of it, no clear
//   buffer v: f32[2, N];  init(x, v[0]);  cleared: only a slice is overwritten
//   buffer w: f32[N];  repeat … { init(x, w); step(w, …); }    cleared: may run no iteration
//
// Nor is what no use reads before it has stored it (vy_buf.stored_first), nor what is overwritten
// slice by slice, and read only where it has been:
//
//   buffer s: f32[T + 1, N];
//   init(x, s[0]);
//   repeat t in 0..T { step(s[t], s[t + 1]); }
//   last(s[T], y);
#include "ir/core/pipe.h"
#include "ir/core/pipe_slices.h"

// How far the slices of an intermediate are overwritten, along its first axis.
typedef enum filling {
    FILL_FIRST,  // slices 0 … count − 1
    FILL_TURNS,  // in a repeat: slices up to its counter + count
    FILL_ALL,    // all of them
    FILL_BROKEN, // something was read before, or not all will be overwritten
} filling;

typedef struct first_use { // of an intermediate
    uint32_t block;        // of the step that makes it
    uint32_t step;         // of the first use, + 1; 0: none so far
    bool overwrites;       // the use overwrites all of it, in the same block; true without a use
    bool mixed;            // a use may read what it has not stored before
    filling filled;
    int64_t count;
    uint32_t repeat; // TURNS: that repeat, + 1; FIRST: one that has read further, + 1, or 0
} first_use;

typedef struct uses {
    const vy_pipeline *l;
    first_use *first; // by buffer of the signature
    uint32_t block;   // blocks are numbered by the steps that open them, + 1
    uint32_t *outer;  // by block − 1: the block around it
    vy_slices slices;
} uses;

// Records the first use of a buffer; all: it overwrites all of it.
static void use_buffer(uses *w, uint32_t buffer, uint32_t step, bool all)
{
    first_use *u = &w->first[buffer];
    if (u->step && u->step != step + 1) return;
    u->overwrites = all && !u->step && u->block == w->block;
    u->step = step + 1;
}

// --------------------------------------------------------------------------------- slice by slice
// Is the buffer's block the one around the repeat that the step is in?
static bool is_one_deep(const uses *w, const first_use *u)
{
    return w->block && w->block != u->block && w->outer[w->block - 1] == u->block &&
           vy_slice_counts(&w->slices, w->block - 1);
}

// The repeat in the buffer's block that the step is in, + 1; 0: none.
static uint32_t repeat_around(const uses *w, const first_use *u)
{
    uint32_t block = w->block;
    while (block && block != u->block && w->outer[block - 1] != u->block)
        block = w->outer[block - 1];
    return block == u->block ? 0 : block;
}

// A slice is overwritten as a whole.
static bool overwrite(const uses *w, uint32_t buffer, vy_dim index)
{
    int64_t at;
    first_use *u = &w->first[buffer];
    if (vy_slice_const(&w->slices, index, &at) && u->block == w->block && at == u->count &&
        u->filled == FILL_FIRST && !u->repeat) {
        const vy_dim length = w->l->signature->buffers.data[buffer].dims[0];
        u->count++;
        if (vy_slice_const(&w->slices, length, &at) && at == u->count) u->filled = FILL_ALL;
        return true;
    }
    if (u->filled != FILL_FIRST || !is_one_deep(w, u) || (u->repeat && u->repeat != w->block) ||
        !vy_slice_turn(&w->slices, w->block - 1, index, &at) || at != u->count)
        return false;
    u->filled = FILL_TURNS;
    u->repeat = w->block;
    return true;
}

// Is the slice, or a part of it, used where it has been overwritten?
static bool is_filled(const uses *w, first_use *u, vy_dim index)
{
    int64_t at;
    if (u->filled == FILL_ALL) return true;
    if (vy_slice_const(&w->slices, index, &at) && at >= 0 && at < u->count) return true;
    const uint32_t around = repeat_around(w, u);
    if (!around || (u->repeat && u->repeat != around) ||
        !vy_slice_turn(&w->slices, around - 1, index, &at) || at < 0)
        return false;
    if (u->filled == FILL_TURNS) return at <= u->count;
    u->repeat = around; // what it reads is written in this repeat, if at all
    return at < u->count;
}

static void use_slice(uses *w, const vy_pipe_arg *a, bool all)
{
    first_use *u = &w->first[a->buffer.id];
    if (u->filled == FILL_BROKEN || u->filled == FILL_ALL) return;
    const bool whole = all && a->rank == 1 && !a->flat;
    if (whole && overwrite(w, a->buffer.id, a->index[0])) return;
    if (!a->rank || !is_filled(w, u, a->index[0])) u->filled = FILL_BROKEN;
}

// A repeat ends: does it leave all slices overwritten?
static void end_repeat(const uses *w, uint32_t buffer, uint32_t repeat)
{
    int64_t beyond;
    const vy_buf *b = &w->l->signature->buffers.data[buffer];
    first_use *u = &w->first[buffer];
    if (u->filled == FILL_BROKEN || u->filled == FILL_ALL || u->repeat != repeat + 1) return;
    const bool all = u->filled == FILL_TURNS && b->rank &&
                     vy_slice_end(&w->slices, repeat, b->dims[0], &beyond) && beyond == u->count;
    u->filled = all ? FILL_ALL : FILL_BROKEN;
}

// ------------------------------------------------------------------------------------------- steps
static void use_args(uses *w, const vy_pipe_step *s, uint32_t step)
{
    const vy_program *p = w->l->module->programs.data[s->program];
    for (uint32_t id = 1, n = 0; id < p->buffers.count; id++) {
        const vy_buf *b = &p->buffers.data[id];
        if (!vy_pipe_binds(b)) continue;
        const vy_pipe_arg *a = &s->args[n++];
        use_buffer(w, a->buffer.id, step, b->cls == VY_OUT && a->rank == 0);
        w->first[a->buffer.id].mixed |= b->cls != VY_INOUT || !b->stored_first;
        if (b->cls != VY_OUT) use_slice(w, a, false);
    }
    for (uint32_t id = 1, n = 0; id < p->buffers.count; id++) // after what is read
        if (vy_pipe_binds(&p->buffers.data[id])) {
            if (p->buffers.data[id].cls == VY_OUT) use_slice(w, &s->args[n], true);
            n++;
        }
}

static void use_all(uses *w, uint32_t buffer, uint32_t step)
{
    use_buffer(w, buffer, step, false);
    w->first[buffer].mixed = true;
    if (w->first[buffer].filled != FILL_ALL) w->first[buffer].filled = FILL_BROKEN;
}

static void begin_buffer(uses *w, const vy_pipe_step *s, uint32_t step)
{
    const vy_program *signature = w->l->signature;
    const vy_buf *b = &signature->buffers.data[s->buffer.id];
    if (b->init == VY_INIT_COPY)
        use_all(w, vy_program_find_buffer(signature, b->init_from).id, step);
    w->first[s->buffer.id] = (first_use){.block = w->block, .overwrites = true};
}

// What is used in the repeat as slices is looked at once more where it ends.
static void end_block(uses *w, uint32_t opener)
{
    const vy_program *m = w->l->signature;
    for (uint32_t i = opener + 1; i < w->l->steps.data[opener].partner; i++) {
        const vy_pipe_step *s = &w->l->steps.data[i];
        for (uint32_t k = 0; s->kind == VY_PIPE_DISPATCH && k < s->arg_count; k++)
            if (m->buffers.data[s->args[k].buffer.id].workspace)
                end_repeat(w, s->args[k].buffer.id, opener);
    }
    w->block = w->outer[opener];
}

bool vy_pipe_cleared(const vy_pipeline *l, vy_arena *arena, uint8_t *cleared)
{
    const uint32_t buffers = l->signature->buffers.count;
    uses w = {.l = l, .first = vy_arena_alloc(arena, buffers * sizeof *w.first)};
    w.outer = vy_arena_alloc(arena, (l->steps.count + 1) * sizeof *w.outer);
    if (!w.first || !w.outer || !vy_slices_make(&w.slices, l, arena)) return false;
    for (uint32_t i = 0; i < l->steps.count; i++) {
        const vy_pipe_step *s = &l->steps.data[i];
        switch (s->kind) {
        case VY_PIPE_BUFFER: begin_buffer(&w, s, i); break;
        case VY_PIPE_DISPATCH: use_args(&w, s, i); break;
        case VY_PIPE_VALUE: use_all(&w, s->buffer.id, i); break;
        case VY_PIPE_REPEAT:
        case VY_PIPE_CHECKPOINT:
            w.outer[i] = w.block;
            w.block = i + 1;
            break;
        case VY_PIPE_END: end_block(&w, s->partner); break;
        case VY_PIPE_TEST: break;
        }
    }
    for (uint32_t i = 1; i < buffers; i++)
        cleared[i] = w.first[i].mixed && !w.first[i].overwrites && w.first[i].filled != FILL_ALL;
    return true;
}
