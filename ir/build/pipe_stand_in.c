// SPDX-License-Identifier: MIT
// pipe_stand_in.c: what a pipeline is differentiated as that dispatches one with a stand-in.
//
//   @derive_as(g_plain) pipeline g(x: inout f32[N], …) { … }
//   pipeline f(x: inout f32[N], …) { step(x); g(x); }
//
//     →  pipeline f_plain(x: inout f32[N], …) { step(x); the steps of g_plain }
//        @derive_as(f_plain) pipeline f(x: inout f32[N], …) { step(x); the steps of g }
//
// The steps of g are steps of f, in which nothing says what they are differentiated as: the
// schedule of revolve would have tapes as long as the product of its bounds, and sums of integers
// the derivative 0.  So what is differentiated is made here, where the calls are known, and the
// module says the rest: texts, binary forms and extracted modules need nothing else.
//
// None is made where the stand-in is not in the module yet, needs @groups that the call does not
// give, or would be too long: then f is differentiated as it is, or refused.
#include "ir/build/edit.h"
#include "ir/build/pipe_inline.h"
#include "ir/core/derive_as.h"
#include "ir/core/pipe.h"

#include <stdio.h>
#include <string.h>

const char *vy_stand_in_name(vy_module *m, const vy_pipe_names *names, const char *name)
{
    char text[340];
    snprintf(text, sizeof text, "%.300s_plain", name);
    for (uint32_t n = 2; vy_module_find(m, text) || vy_module_find_pipeline(m, text) ||
                         (names && names->is_taken(names->user, text));
         n++)
        snprintf(text, sizeof text, "%.300s_plain%u", name, n);
    return vy_arena_strdup(&m->arena, text, strlen(text));
}

// ----------------------------------------------------------------------------------- is it needed?
// The pipeline that was looked at last: calls of one follow each other.
typedef struct looked_up {
    const vy_pipeline *of, *other;
} looked_up;

// What is differentiated in the place of l; NULL: itself, or one with other parameters (which the
// check of the module reports).
static const vy_pipeline *stand_in_of(const vy_pipeline *l)
{
    const vy_pipeline *other = vy_derived_as(l);
    char text[240];
    for (const vy_pipeline *x = l; x != other; x = vy_named_as(x))
        if (vy_derive_as_mismatch(x, text)) return NULL;
    return other == l ? NULL : other;
}

// The same of what is called, if it fits there.
static const vy_pipeline *stand_in(const vy_module *m, const vy_pipe_step *call, looked_up *last)
{
    const vy_pipeline *l = m->pipelines.data[call->program];
    if (last->of != l) *last = (looked_up){l, stand_in_of(l)};
    const bool lacks = last->other && !call->groups && vy_pipeline_takes_groups(last->other);
    return lacks ? NULL : last->other;
}

static bool is_needed(const vy_pipe *q, const vy_pipeline *l)
{
    uint64_t steps = l->steps.count;
    bool any = false;
    looked_up last = {0};
    for (uint32_t k = 0; k < q->calls.count && !l->signature->rules[VY_DERIVE_AS]; k++) {
        const vy_pipeline *other = stand_in(q->m, &q->calls.data[k], &last);
        if (other) any = true, steps += other->steps.count;
    }
    return any && steps <= VY_MAX_INLINED_STEPS;
}

// ------------------------------------------------------------------------------------------- steps
static void copy_steps(inlining *c, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to && !inline_stopped(c); i++) {
        const vy_pipe_step *s = &c->l->steps.data[i];
        c->q->b->line = s->line, c->q->b->column = s->column;
        if (s->kind == VY_PIPE_BUFFER)
            vy_rewrite_buffer(c, s->buffer.id);
        else
            inline_step(c, i);
    }
}

static void call(inlining *c, const vy_pipe_step *s, const vy_pipeline *other)
{
    const uint32_t n = other->signature->scalars.count;
    vy_pipe_arg *args = inline_room(c, s->arg_count, sizeof *args);
    vy_pipe_scalar *scalars = inline_room(c, n, sizeof *scalars);
    vy_dim groups[3];
    if (!args || !scalars || inline_stopped(c)) return;
    c->q->b->line = s->line, c->q->b->column = s->column;
    for (uint32_t k = 0; k < s->arg_count; k++) args[k] = inline_place(c, &s->args[k]);
    for (uint32_t k = 0; k < n; k++) scalars[k] = inline_scalar(c, &s->scalars[k]);
    for (uint32_t k = 0; s->groups && k < 3; k++) groups[k] = inline_dim(c, s->groups[k]);
    if (!inline_stopped(c))
        vy_pipeline_call(c->q, other, s->arg_count, args, n, scalars, s->groups ? groups : NULL);
}

static void copy_all(inlining *c, const vy_pipe_step_vec *calls)
{
    uint32_t at = 0;
    looked_up last = {0};
    for (uint32_t k = 0; k < calls->count; k++) {
        const vy_pipe_step *s = &calls->data[k];
        const vy_pipeline *other = stand_in(c->q->m, s, &last);
        if (!other) continue;
        copy_steps(c, at, s->partner);
        call(c, s, other);
        at = s->test;
    }
    copy_steps(c, at, c->l->steps.count);
}

// Adds what is differentiated in the place of l, which q has become, if that is another one.
static bool add_stand_in(const vy_pipe *q, vy_pipeline *l)
{
    if (!is_needed(q, l)) return true;
    const char *name = vy_stand_in_name(q->m, q->names, l->name);
    inlining c;
    if (!name || !vy_rewrite_steps(&c, l)) return vy_fail_oom(q->m), false;
    c.q->names = q->names;
    c.q->b->p->name = name;
    copy_all(&c, &q->calls);
    c.q->calls.count = 0; // as those of l, which are right; their buffers get other numbers
    if (!inline_stopped(&c)) vy_pipe_drop_buffers(c.q);
    vy_arena_free(&c.arena);
    vy_pipeline *made = vy_pipe_end(c.q, NULL);
    if (!made) return false;
    if (!vy_pipe_order_buffers(made)) return vy_fail_oom(q->m), false;
    l->signature->rules[VY_DERIVE_AS] = name;
    return true;
}

vy_pipeline *vy_pipeline_end(vy_pipe *q) { return vy_pipe_end(q, add_stand_in); }
