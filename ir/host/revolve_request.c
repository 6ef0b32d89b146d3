// SPDX-License-Identifier: MIT
// revolve_request.c: which repeats of a pipeline `checkpoint(revolve, k)` requests the binomial
// schedule for, and which of them get it.
//
// k is a constant, or an expression of scalars; not a number that the pipeline reads or counts:
// the tape of k states begins before that is known.  A repeat inside of another one is a
// checkpoint (raise_states.c): its reverse begins with one state, and runs it again from there.
//
// Nothing is replaced silently: a repeat whose derivative has no form for the schedule is marked to
// keep √n states, and reported with the reason.
#include "ir/host/host_build.h"
#include "ir/host/revolve.h"

// Is it of scalars and constants alone?
static bool is_given(const vy_program *p, vy_dim d, uint32_t depth)
{
    enum { DEEP = 64 };
    const vy_dim_node *n = &p->dims.data[d.id];
    if (n->op == VY_DIM_CONST || n->op == VY_DIM_SCALAR) return true;
    return n->op >= VY_DIM_ADD && depth < DEEP && is_given(p, (vy_dim){n->a}, depth + 1) &&
           is_given(p, (vy_dim){n->b}, depth + 1);
}

static bool is_requested(const vy_pipe_step *s)
{
    return s->kind == VY_PIPE_REPEAT && s->keep == VY_KEEP_REVOLVE;
}

bool vy_host_revolves(const vy_pipeline *l, uint32_t at)
{
    const vy_pipe_step *s = &l->steps.data[at];
    return is_requested(s) && !s->test && is_given(l->signature, s->keep_count, 0);
}

uint32_t vy_host_block_of(const vy_pipeline *l, uint32_t at)
{
    for (uint32_t i = at; i-- > 0;) {
        const vy_pipe_step *s = &l->steps.data[i];
        if (s->kind == VY_PIPE_END)
            i = s->partner;
        else if (s->kind == VY_PIPE_REPEAT || s->kind == VY_PIPE_CHECKPOINT)
            return i + 1;
    }
    return 0;
}

bool vy_host_request_revolve(vy_pipeline *l, uint32_t k)
{
    vy_program *p = l->signature;
    const vy_dim states = {p->dims.count};
    if (!vy_vec_push(&p->dims, ((vy_dim_node){.op = VY_DIM_CONST, .value = k}))) return false;
    for (uint32_t at = 0; at < l->steps.count; at++) {
        vy_pipe_step *s = &l->steps.data[at];
        if (s->kind != VY_PIPE_REPEAT) continue;
        s->keep = VY_KEEP_REVOLVE, s->keep_count = states;
        at = s->partner; // what is inside is no outermost one
    }
    return true;
}

// What is known of k.
static void take_states(revolve_loop *x, const vy_pipeline *source, const vy_pipe_step *s)
{
    const vy_dim_node *k = &source->signature->dims.data[s->keep_count.id];
    const bool constant = k->op == VY_DIM_CONST;
    x->levels = constant && k->value < VY_REVOLVE_MOST ? (uint32_t)k->value : VY_REVOLVE_MOST;
    x->states_node = constant ? NULL : k;
    x->source = source->signature;
}

static const char *revolve(vy_module *m, const vy_pipeline *source, const vy_pipe_step *s)
{
    static const char *const other = "the steps of its schedule are too many";
    vy_arena arena = {0};
    revolve_loop x = {0};
    take_states(&x, source, s);
    const char *why = revolve_match(&x, m->pipelines.data[m->pipelines.count - 1], s, &arena);
    if (!why && !revolve_schedule(m, &x, &arena)) why = other;
    vy_arena_free(&arena);
    return why;
}

bool vy_host_revolve(vy_module *m, vy_pipeline *source, vy_host_revolved *report, void *user)
{
    bool all = true;
    for (uint32_t at = source->steps.count; at-- > 0;) { // inner ones first
        vy_pipe_step *s = &source->steps.data[at];
        if (!vy_host_revolves(source, at)) continue;
        const char *why = revolve(m, source, s);
        if (!why) continue;
        if (report) report(user, s->line, why);
        s->keep = VY_KEEP_SQRT;
        all = false;
    }
    return all;
}

void vy_host_refuse_revolve(vy_pipeline *source, const char *why, vy_host_revolved *report,
                            void *user)
{
    static const char *const reads = "its number of states is none of scalars alone";
    for (uint32_t at = 0; at < source->steps.count; at++) {
        vy_pipe_step *s = &source->steps.data[at];
        if (!is_requested(s) || (!why && vy_host_revolves(source, at))) continue;
        if (report) report(user, s->line, why ? why : s->test ? "it is a `while`" : reads);
        s->keep = VY_KEEP_SQRT;
    }
}

void vy_host_limit_revolve(const vy_pipeline *source, vy_host_revolved *report, void *user)
{
    for (uint32_t at = 0; report && at < source->steps.count; at++) {
        const vy_pipe_step *s = &source->steps.data[at];
        const vy_dim_node *k = &source->signature->dims.data[s->keep_count.id];
        if (!vy_host_revolves(source, at)) continue;
        if (k->op != VY_DIM_CONST || k->value > VY_REVOLVE_MOST) report(user, s->line, NULL);
    }
}
