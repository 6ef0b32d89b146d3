// SPDX-License-Identifier: MIT
// count_whiles.c: each `while` of a pipeline as a repeat of as many iterations as it takes.
//
//   while c { body }    →    buffer count: u32[1];
//                            @init(x) buffer trial_x: f32[N];        for each x that body changes
//                            while c' { body'; count_u32_1(count); } on the copies
//                            let n = value(count[0]);
//                            repeat turn in 0..n { body }
//
// (The steps that compute c run in each iteration, and where they change something once more.)
//
// The reverse of a loop needs the number of its iterations before the first one: for the room that
// its states take, and for where to begin.  So the loop runs once more, ahead, on copies, and in
// that run only what the condition depends on.  (Programs count in the same way,
// autodiff/storage/counter.c.)
//
// Memory for a tape is allocated once, before the outermost loop, where it is not known yet how
// often the loops inside will run.  Where the reverse tapes states of theirs (VY_COUNT_INNER), the
// entire outermost loop runs ahead, which finds the most iterations that each of them takes:
//
//   repeat t in 0..T { while c { body } }    →    … let m = value(most[0]);
//                                                 repeat t in 0..T {
//                                                     … repeat turn in 0..min(n, m) { body } }
//
// So may repeats whose bounds only depend on counters (VY_COUNT_ALL), where nothing bounds how
// far apart these are (autodiff/facts/trip_bound.c).  They then begin at 0, and s is from + turn.
//
// A number that the run decides becomes a dimension, for tapes: the extent of a buffer of which
// nothing else is made (VY_MADE_EXTENT).
#include "ir/build/edit.h"
#include "ir/core/pipe.h"
#include "ir/host/counting.h"

static void walk(counting *w, uint32_t from, uint32_t to);

// Does the run decide how often the loop runs?
static bool is_open_loop(const vy_pipeline *l, uint32_t at)
{
    const vy_pipe_step *s = &l->steps.data[at];
    if (s->kind != VY_PIPE_REPEAT) return false;
    return s->test || (counting_from_constant(l, s) && vy_host_open(l, s->to));
}

static bool varies(const counting *w, const vy_pipe_step *s)
{
    return s->test || vy_host_varies(w->c.l, s->from) || vy_host_varies(w->c.l, s->to);
}

// Is the number of its iterations found before the outermost loop begins?
static bool is_counted(const counting *w, uint32_t at)
{
    const vy_pipe_step *s = &w->c.l->steps.data[at];
    if (is_open_loop(w->c.l, at)) return w->which != VY_COUNT_OUTERMOST;
    return w->which == VY_COUNT_ALL && s->kind == VY_PIPE_REPEAT && varies(w, s);
}

// Does it become a repeat of as many iterations as it has?
static bool is_opened(const counting *w, uint32_t at)
{
    const vy_pipe_step *s = &w->c.l->steps.data[at];
    if (is_open_loop(w->c.l, at) || is_counted(w, at)) return true;
    return w->which == VY_COUNT_ALL && s->kind == VY_PIPE_REPEAT &&
           !counting_from_constant(w->c.l, s);
}

// Makes a number a dimension.
static void begin_extent(counting *w, vy_dim n)
{
    char text[320];
    vy_builder *b = w->c.q->b;
    if (counting_stopped(w)) return;
    const char *name = vy_free_name(b->p, "room", "iterations", text);
    const vy_buffer made = vy_pipeline_buffer(w->c.q, name, VY_U32, 1, &n);
    if (made.id) b->p->buffers.data[made.id].made = VY_MADE_EXTENT;
}

// --------------------------------------------------------------------------------------- the loops
// Finds the most iterations of the loops inside the outermost one at `at`.
static void bound_nested(counting *w, uint32_t at)
{
    const vy_pipeline *l = w->c.l;
    bool any = false;
    for (uint32_t i = at + 1; i < l->steps.data[at].partner; i++) {
        if (!is_counted(w, i)) continue;
        w->most[i] = counting_number(w, "most", "iterations");
        any = true;
    }
    if (!any || counting_stopped(w)) return;
    counting_run_ahead(w, at);
    for (uint32_t i = at + 1; i < l->steps.data[at].partner && !counting_stopped(w); i++) {
        if (!w->most[i].id) continue;
        w->bound[i] = counting_value(w, w->most[i]);
        w->most[i] = w->count[i] = (vy_buffer){0};
        begin_extent(w, w->bound[i]);
    }
}

static vy_dim times_of(counting *w, uint32_t at)
{
    const vy_pipe_step *s = &w->c.l->steps.data[at];
    if (!s->test) return counting_end(w, s);
    w->count[at] = counting_number(w, "count", "iterations");
    if (!counting_stopped(w)) counting_run_ahead(w, at);
    vy_at(w->c.q->b, s->line, s->column);
    const vy_dim times = counting_value(w, w->count[at]);
    w->count[at] = (vy_buffer){0}; // steps that are appended again count anew
    return times;
}

static void open_loop(counting *w, uint32_t at)
{
    const vy_pipe_step *s = &w->c.l->steps.data[at];
    vy_builder *b = w->c.q->b;
    const bool counts = s->keep == VY_KEEP_EVERY || s->keep == VY_KEEP_REVOLVE;
    const vy_dim keep = counts ? inline_dim(&w->c, s->keep_count) : (vy_dim){0};
    vy_dim times = times_of(w, at);
    if (!w->outer && varies(w, s)) begin_extent(w, times);
    if (counting_stopped(w)) return;
    if (w->bound[at].id) times = vy_dim_binary(b, VY_DIM_MIN, times, w->bound[at]);
    const bool shifted = !s->test && !counting_from_constant(w->c.l, s);
    const vy_dim from = s->test ? vy_dim_const(b, 0) : inline_dim(&w->c, s->from);
    const vy_dim first = shifted ? vy_dim_const(b, 0) : from;
    const vy_dim counter = vy_pipeline_repeat(w->c.q, s->counter, first, times, s->keep, keep);
    w->c.steps[at] = shifted ? vy_dim_binary(b, VY_DIM_ADD, from, counter) : counter;
}

// A condition is computed once more than its loop has iterations; what its steps write outside of
// themselves may be used later.  What begins in them begins anew.
static void evaluate_again(counting *w, uint32_t at)
{
    loop_frame f;
    if (!counting_frame_begin(w, at, &f)) return;
    if (counting_writes_outside(w, &f)) {
        const bool again = w->again;
        w->again = true;
        walk(w, at + 1, w->c.l->steps.data[at].test);
        w->again = again;
    }
    counting_frame_end(w, &f);
}

static void loop(counting *w, uint32_t at)
{
    const vy_pipe_step *s = &w->c.l->steps.data[at];
    if (w->which != VY_COUNT_OUTERMOST && !w->outer) bound_nested(w, at);
    if (counting_stopped(w)) return;
    vy_at(w->c.q->b, s->line, s->column);
    if (is_opened(w, at))
        open_loop(w, at);
    else
        inline_step(&w->c, at);
    w->outer++;
    walk(w, at + 1, s->test ? s->test : s->partner);
    if (s->test) walk(w, s->test + 1, s->partner);
    w->outer--;
    vy_pipeline_close(w->c.q);
    if (s->test) evaluate_again(w, at);
}

// ----------------------------------------------------------------------------------- the pipeline
static void walk(counting *w, uint32_t from, uint32_t to)
{
    const vy_pipe_step *steps = w->c.l->steps.data;
    for (uint32_t i = from; i < to && !counting_stopped(w); i++) {
        vy_at(w->c.q->b, steps[i].line, steps[i].column);
        if (steps[i].kind == VY_PIPE_BUFFER && !w->again) {
            vy_rewrite_buffer(&w->c, steps[i].buffer.id);
        } else if (steps[i].kind == VY_PIPE_REPEAT) {
            loop(w, i);
            i = steps[i].partner;
        } else {
            inline_step(&w->c, i);
        }
        if (w->again) counting_numbers_known(w, i);
    }
}

static void begin_counting(counting *w)
{
    const uint32_t steps = w->c.l->steps.count;
    w->count = inline_room(&w->c, steps, sizeof *w->count);
    w->most = inline_room(&w->c, steps, sizeof *w->most);
    w->bound = inline_room(&w->c, steps, sizeof *w->bound);
    w->flags = inline_room(&w->c, w->c.sig->buffers.count, 1);
    counting_find_dims(w);
}

bool vy_host_count_whiles(vy_module *m, uint32_t number, vy_counted_loops which)
{
    const vy_pipeline *l = m->pipelines.data[number];
    bool any = which == VY_COUNT_ALL;
    for (uint32_t i = 0; i < l->steps.count && !any; i++) any = is_open_loop(l, i);
    if (!any) return true;
    counting w = {.which = which};
    if (!vy_rewrite_steps(&w.c, l)) return false;
    begin_counting(&w);
    walk(&w, 0, l->steps.count);
    return vy_rewrite_steps_end(&w.c, number);
}
