// SPDX-License-Identifier: MIT
// pipeline.c: which kernels a pipeline needs: one per program it dispatches, whatever is bound to
// it.
//
// A slice begins at any element, but a descriptor only at a multiple of the device's alignment.  A
// kernel to which slices are bound in some dispatch therefore adds an offset to its addresses
// (VY_PARAM_OFFSET), which is 0 where an entire buffer is bound.
#include "spirv/plan/make.h"

static uint32_t add_program(vy_pipe_kernels *k, const vy_program *p, uint32_t index,
                            vy_arena *arena)
{
    if (k->index[index] != UINT32_MAX) return k->index[index];
    bool *sliced = vy_arena_alloc(arena, p->buffers.count * sizeof *sliced);
    if (!sliced) return UINT32_MAX;
    k->programs[k->count] = p;
    k->sliced[k->count] = sliced;
    return k->index[index] = k->count++;
}

static void note_slices(const vy_program *p, const vy_pipe_step *s, bool *sliced)
{
    uint32_t n = 0;
    for (uint32_t id = 1; id < p->buffers.count; id++) {
        const vy_buf *b = &p->buffers.data[id];
        if (!vy_is_global(b->cls) || b->workspace) continue;
        sliced[id] |= s->args[n++].rank > 0;
    }
}

bool vy_pipe_kernels_make(const vy_pipeline *p, vy_arena *arena, vy_pipe_kernels *k)
{
    const vy_program_vec *programs = &p->module->programs;
    *k = (vy_pipe_kernels){0};
    k->programs = vy_arena_alloc(arena, (programs->count + 1) * sizeof *k->programs);
    k->sliced = vy_arena_alloc(arena, (programs->count + 1) * sizeof *k->sliced);
    k->index = vy_arena_alloc(arena, (programs->count + 1) * sizeof *k->index);
    if (!k->programs || !k->sliced || !k->index) return false;
    for (uint32_t i = 0; i < programs->count; i++) k->index[i] = UINT32_MAX;
    for (uint32_t i = 0; i < p->steps.count; i++) {
        const vy_pipe_step *s = &p->steps.data[i];
        if (s->kind != VY_PIPE_DISPATCH) continue;
        const vy_program *program = programs->data[s->program];
        const uint32_t kernel = add_program(k, program, s->program, arena);
        if (kernel == UINT32_MAX) return false;
        note_slices(program, s, k->sliced[kernel]);
    }
    return true;
}
