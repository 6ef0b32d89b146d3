// SPDX-License-Identifier: MIT
// pipe_uses.c: which intermediates of a pipeline must be cleared where their lifetime begins.
//
//   buffer u: f32[N];  init(x, u);        init has u as `out`: it overwrites all of it, no clear
//   buffer v: f32[2, N];  init(x, v[0]);  cleared: only a slice is overwritten
//   buffer w: f32[N];  repeat … { init(x, w); step(w, …); }    cleared: may run no iteration
#include "ir/core/pipe.h"

typedef struct first_use { // of an intermediate
    uint32_t block;        // of the step that makes it
    uint32_t step;         // of the first use, + 1; 0: none so far
    bool overwrites;       // the use overwrites all of it, in the same block; true without a use
} first_use;

typedef struct uses {
    const vy_pipeline *l;
    first_use *first; // by buffer of the signature
    uint32_t block;   // blocks are numbered by the steps that open them, + 1
} uses;

// Records the first use of a buffer; all: it overwrites all of it.
static void use_buffer(uses *w, uint32_t buffer, uint32_t step, bool all)
{
    first_use *u = &w->first[buffer];
    if (u->step && u->step != step + 1) return;
    u->overwrites = all && !u->step && u->block == w->block;
    u->step = step + 1;
}

static void use_args(uses *w, const vy_pipe_step *s, uint32_t step)
{
    const vy_program *p = w->l->module->programs.data[s->program];
    uint32_t n = 0;
    for (uint32_t id = 1; id < p->buffers.count; id++) {
        if (!vy_pipe_binds(&p->buffers.data[id])) continue;
        const vy_pipe_arg *a = &s->args[n++];
        use_buffer(w, a->buffer.id, step, p->buffers.data[id].cls == VY_OUT && a->rank == 0);
    }
}

static void begin_buffer(uses *w, const vy_pipe_step *s, uint32_t step)
{
    const vy_program *signature = w->l->signature;
    const vy_buf *b = &signature->buffers.data[s->buffer.id];
    if (b->init == VY_INIT_COPY)
        use_buffer(w, vy_program_find_buffer(signature, b->init_from).id, step, false);
    w->first[s->buffer.id] = (first_use){.block = w->block, .overwrites = true};
}

bool vy_pipe_cleared(const vy_pipeline *l, vy_arena *arena, uint8_t *cleared)
{
    const uint32_t buffers = l->signature->buffers.count;
    uses w = {.l = l, .first = vy_arena_alloc(arena, buffers * sizeof *w.first)};
    uint32_t *outer = vy_arena_alloc(arena, (l->steps.count + 1) * sizeof *outer);
    if (!w.first || !outer) return false;
    for (uint32_t i = 0; i < l->steps.count; i++) {
        const vy_pipe_step *s = &l->steps.data[i];
        switch (s->kind) {
        case VY_PIPE_BUFFER: begin_buffer(&w, s, i); break;
        case VY_PIPE_DISPATCH: use_args(&w, s, i); break;
        case VY_PIPE_VALUE: use_buffer(&w, s->buffer.id, i, false); break;
        case VY_PIPE_REPEAT:
        case VY_PIPE_CHECKPOINT:
            outer[i] = w.block;
            w.block = i + 1;
            break;
        case VY_PIPE_END: w.block = outer[s->partner]; break;
        case VY_PIPE_TEST: break;
        }
    }
    for (uint32_t i = 1; i < buffers; i++) cleared[i] = !w.first[i].overwrites;
    return true;
}
