// SPDX-License-Identifier: MIT
// pipe_slices.c: which slices of a buffer the steps of a pipeline name.
#include "ir/core/pipe_slices.h"

bool vy_slices_make(vy_slices *s, const vy_pipeline *l, vy_arena *arena)
{
    const vy_program *p = l->signature;
    *s = (vy_slices){.l = l};
    s->counter = vy_arena_alloc(arena, (l->steps.count + 1) * sizeof *s->counter);
    if (!s->counter || !vy_dim_facts_make(&s->facts, p, arena)) return false;
    for (uint32_t i = 1; i < p->dims.count; i++) {
        const vy_dim_node *d = &p->dims.data[i];
        if (d->op == VY_DIM_STEP && l->steps.data[d->value].kind == VY_PIPE_REPEAT)
            s->counter[d->value] = s->facts.form[i].base;
    }
    return true;
}

bool vy_slice_const(const vy_slices *s, vy_dim index, int64_t *at)
{
    const vy_extent e = s->facts.form[index.id];
    *at = e.offset;
    return e.base == 0;
}

bool vy_slice_turn(const vy_slices *s, uint32_t repeat, vy_dim index, int64_t *offset)
{
    const vy_extent e = s->facts.form[index.id];
    *offset = e.offset;
    return s->counter[repeat] && e.base == s->counter[repeat];
}

bool vy_slice_end(const vy_slices *s, uint32_t repeat, vy_dim index, int64_t *offset)
{
    const vy_extent e = s->facts.form[index.id];
    const vy_extent to = s->facts.form[s->l->steps.data[repeat].to.id];
    *offset = e.offset - to.offset;
    return e.base == to.base;
}

bool vy_slice_counts(const vy_slices *s, uint32_t repeat)
{
    int64_t from;
    const vy_pipe_step *r = &s->l->steps.data[repeat];
    return r->kind == VY_PIPE_REPEAT && !r->test && vy_slice_const(s, r->from, &from) && from == 0;
}
