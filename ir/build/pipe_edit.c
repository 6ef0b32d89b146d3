// SPDX-License-Identifier: MIT
// pipe_edit.c: replaces one step of a finished pipeline by a sequence of steps.
//
// Steps are referred to by number (a VALUE or REPEAT by the dimensions that use it, a REPEAT and
// its END by each other), so those after the replaced one are renumbered.  Intermediates and
// dimensions that the new steps need are appended to the signature; nothing in it is renumbered.
#include "ir/build/pipe_build.h"
#include "ir/build/edit.h"
#include "ir/core/pipe.h"

// While the pipeline is open, the steps after the replaced one are numbered from here, so that no
// new step is mistaken for one of them.
enum { LATER = 1 << 30 };

vy_pipe *vy_pipeline_reopen(const vy_pipeline *l, uint32_t at)
{
    vy_pipe *q = vy_realloc(NULL, sizeof *q);
    vy_builder *b = q ? vy_rebuild_begin(l->signature) : NULL;
    if (!b) {
        if (!q) vy_fail_oom(l->module);
        vy_free(q);
        return NULL;
    }
    b->p->signature = true;
    for (uint32_t i = 1; i < b->p->dims.count; i++) {
        vy_dim_node *d = &b->p->dims.data[i];
        if (d->op == VY_DIM_STEP && d->value > at) d->value += LATER;
    }
    *q = (vy_pipe){.m = l->module, .b = b};
    for (uint32_t i = 0; i < at; i++) {
        const vy_pipe_step *s = &l->steps.data[i];
        bool opens = s->kind == VY_PIPE_REPEAT || s->kind == VY_PIPE_CHECKPOINT;
        bool ok = vy_vec_push(&q->steps, *s);
        if (opens && ok) ok = vy_vec_push(&q->open, i);
        if (s->kind == VY_PIPE_END) q->open.count--;
        if (!ok) {
            vy_fail_oom(l->module);
            vy_pipeline_abandon(q);
            return NULL;
        }
    }
    return q;
}

// Appends the steps of `l` after `at`, renumbered by the number of steps that were added.
static bool append_rest(vy_pipe *q, const vy_pipeline *l, uint32_t at)
{
    const uint32_t first = q->steps.count;
    for (uint32_t i = at + 1; i < l->steps.count; i++)
        if (!vy_vec_push(&q->steps, l->steps.data[i])) return false;
    for (uint32_t i = 0; i < q->steps.count; i++) {
        vy_pipe_step *s = &q->steps.data[i];
        bool old = i < at || i >= first; // the partners of new steps are right already
        if (old && s->partner > at) s->partner = s->partner - (at + 1) + first;
        if (old && s->test > at) s->test = s->test - (at + 1) + first;
    }
    for (uint32_t i = 1; i < q->b->p->dims.count; i++) {
        vy_dim_node *d = &q->b->p->dims.data[i];
        if (d->op == VY_DIM_STEP && d->value > LATER)
            d->value = d->value - LATER - (at + 1) + first;
    }
    return true;
}

bool vy_pipeline_resume(vy_pipe *q, vy_pipeline *l, uint32_t at)
{
    if (!q) return false;
    vy_module *m = q->m;
    bool ok = !vy_builder_failed(q->b);
    if (ok && !append_rest(q, l, at)) {
        vy_fail_oom(m);
        ok = false;
    }
    vy_program *signature = NULL;
    if (ok) {
        signature = vy_rebuild_end(q->b);
        q->b = NULL;
    }
    if (!signature) {
        if (q->b) vy_program_abandon(q->b);
        vy_pipe_free(q);
        return false;
    }
    signature->leaves.count = 0;
    vy_program_free(l->signature);
    vy_vec_free(&l->steps);
    l->signature = signature;
    l->steps = q->steps;
    q->steps = (vy_pipe_step_vec){0};
    vy_pipe_free(q);
    return vy_check_pipeline(l);
}

bool vy_pipe_remove_steps(vy_pipeline *l, const uint8_t *gone)
{
    uint32_t *to = vy_realloc(NULL, (l->steps.count + 1) * sizeof *to), kept = 0;
    if (!to) return false;
    for (uint32_t i = 0; i < l->steps.count; i++) {
        to[i] = kept;
        if (!gone[i]) l->steps.data[kept++] = l->steps.data[i];
    }
    l->steps.count = kept;
    for (uint32_t i = 0; i < kept; i++) {
        vy_pipe_step *s = &l->steps.data[i];
        s->partner = to[s->partner];
        s->test = to[s->test];
    }
    for (uint32_t i = 1; i < l->signature->dims.count; i++) {
        vy_dim_node *d = &l->signature->dims.data[i];
        if (d->op == VY_DIM_STEP) d->value = to[d->value];
    }
    vy_free(to);
    return true;
}
