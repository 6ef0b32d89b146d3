// SPDX-License-Identifier: MIT
// revolve.c: the binomial schedule of Griewank and Walther for `repeat … checkpoint(revolve, k)`.
//
// With s snapshots, n sweeps reverse f(s, n) = C(n + s − 1, s) iterations.  Let n be the least
// number with len ≤ f(s, n + 1).  Then cut [0, len) at
//
//   c(j) = min(f(s, j + 1), len − f(s, n) + f(s, j)),  j = 0 … n          c(−1) = 0, c(n) = len
//
// and reverse the segments [c(j − 1), c(j)) from the last one to the first: advance a copy of the
// snapshot by c(j − 1), which is the next snapshot, and reverse the segment with the s − 1 that are
// left.  With one snapshot each iteration is a segment.  This makes as few steps as any schedule
// with k snapshots can (compared with the optimum for all len ≤ 200, k ≤ 8).  So revolve is a nest
// of k levels whose bounds are integer expressions, and needs neither a stack nor a table, nor
// control by the host (docs/autodiff.md 15.2):
//
//   repeat sweeps in 0..isqrt(2·len) + 1 {            the n with f(s, n) < len ≤ f(s, n + 1),
//     repeat once in 0..min(…)·min(…) {               found by trying
//       repeat j in 0..sweeps + 1 {                   segment sweeps − j
//         repeat from in c…c + 1 {                    names for numbers
//           repeat len in c' − c…c' − c + 1 {
//             repeat once in 0..min(from, 1) {
//               copy(tape[slot], tape[slot + 1]); repeat t in 0..from { BODY on tape[slot + 1] }
//             }
//             …the next level, with slot + min(from, 1)
//
// The tape of all iterations becomes one of k.  f is never larger than it has to be for a
// comparison with len: its factors stop there, so that nothing overflows.
#include "ir/host/host_build.h"
#include "ir/host/revolve_build.h"

#include <string.h>

static bool stopped(const revolving *r) { return vy_builder_failed(r->b); }
static vy_dim constant_dim(revolving *r, int64_t v) { return vy_dim_const(r->b, v); }
static vy_dim two(revolving *r, vy_dim_op op, vy_dim x, vy_dim y)
{
    return vy_dim_binary(r->b, op, x, y);
}
static vy_dim plus(revolving *r, vy_dim x, int64_t v)
{
    return two(r, VY_DIM_ADD, x, constant_dim(r, v));
}
static vy_dim minus(revolving *r, vy_dim x, vy_dim y) { return two(r, VY_DIM_SUB, x, y); }
static vy_dim natural(revolving *r, vy_dim x) { return two(r, VY_DIM_MAX, x, constant_dim(r, 0)); }
static vy_dim repeat(revolving *r, const char *name, vy_dim from, vy_dim to)
{
    return vy_pipeline_repeat(r->q, name, from, to, VY_KEEP_ALL, (vy_dim){0});
}
static vy_dim repeat_to(revolving *r, const char *name, vy_dim to)
{
    return repeat(r, name, constant_dim(r, 0), to);
}
// A name for a number: a repeat of one iteration.
static vy_dim let(revolving *r, const char *name, vy_dim value)
{
    return repeat(r, name, value, plus(r, value, 1));
}
static void close(revolving *r, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) vy_pipeline_close(r->q);
}

// ------------------------------------------------------------------------------------ the advance
// The snapshot in a slot; slot id 0: the working state.
static vy_pipe_arg snapshot(revolving *r, const revolve_state *s, vy_dim slot)
{
    if (!slot.id) return (vy_pipe_arg){.buffer = s->work};
    vy_dim *index = revolve_room(r, &r->x.l->module->arena, 1, sizeof *index);
    if (index) *index = slot;
    return (vy_pipe_arg){.buffer = {s->tape}, .rank = 1, .index = index};
}

static void begin_scratch(revolving *r, uint32_t buffer)
{
    if (!r->scratch[buffer].id) { // the run decides its size: it begins here
        const vy_buf b = r->x.l->signature->buffers.data[buffer];
        vy_dim dims[VY_MAX_RANK];
        char text[320];
        for (uint32_t k = 0; k < b.rank; k++) dims[k] = revolve_dim(r, b.dims[k]);
        const vy_buffer made =
            vy_pipeline_buffer(r->q, vy_free_name(r->b->p, "again", b.name, text), b.type, b.rank,
                               dims);
        r->places[buffer] = (vy_pipe_arg){.buffer = made};
        return;
    }
    r->places[buffer] = (vy_pipe_arg){.buffer = r->scratch[buffer]};
    if (r->cleared[buffer]) vy_pipe_move(r->q, VY_PIPE_FILL, NULL, &r->places[buffer], 0);
}

// Runs the forward body on the states in `slot`, in iteration t.
static void advance(revolving *r, vy_dim slot, vy_dim t)
{
    const uint32_t end = r->x.l->steps.data[r->x.forward].partner;
    const uint32_t buffers = r->x.l->signature->buffers.count;
    vy_pipe_arg *was = revolve_room(r, r->arena, buffers, sizeof *was);
    if (!was) return;
    memcpy(was, r->places, buffers * sizeof *was);
    revolve_set_step(r, r->x.forward, t);
    for (uint32_t i = 0; i < r->x.state_count; i++)
        r->places[r->x.states[i].buffer] = snapshot(r, &r->x.states[i], slot);
    for (uint32_t i = r->x.body; i < end && !stopped(r); i++) {
        const vy_pipe_step *s = &r->x.l->steps.data[i];
        if (r->x.skipped[i]) continue;
        if (s->kind == VY_PIPE_BUFFER)
            begin_scratch(r, s->buffer.id);
        else
            revolve_step(r, i);
    }
    memcpy(r->places, was, buffers * sizeof *was);
}

// Copies the snapshot of one slot to another, and advances it by n iterations from `at`.
static void advance_copy(revolving *r, vy_dim from, vy_dim to, vy_dim at, vy_dim n)
{
    for (uint32_t i = 0; i < r->x.state_count; i++) {
        const vy_pipe_arg x = snapshot(r, &r->x.states[i], from);
        const vy_pipe_arg y = snapshot(r, &r->x.states[i], to);
        vy_pipe_move(r->q, VY_PIPE_COPY, &x, &y, 0);
    }
    const vy_dim t = repeat_to(r, "t", n);
    advance(r, to, two(r, VY_DIM_ADD, at, t));
    close(r, 1);
}

// ----------------------------------------------------------------------------------- the schedule
// min(C(n + s − 1, s), len) or more; exact below len.
static vy_dim sweeps_reach(revolving *r, uint32_t s, vy_dim n, vy_dim len)
{
    vy_dim f = n;
    for (uint32_t j = 2; j <= s; j++) {
        const vy_dim factor = plus(r, n, j - 1);
        f = two(r, VY_DIM_MUL, two(r, VY_DIM_MIN, f, len), factor);
        f = two(r, VY_DIM_DIV, f, constant_dim(r, j));
    }
    return f;
}

// 1 if x < y, else 0.
static vy_dim is_below(revolving *r, vy_dim x, vy_dim y)
{
    const vy_dim one = constant_dim(r, 1);
    return two(r, VY_DIM_MIN, natural(r, minus(r, y, x)), one);
}

// Where segment j ends.
static vy_dim cut(revolving *r, uint32_t s, vy_dim j, vy_dim n, vy_dim len)
{
    const vy_dim rest = minus(r, len, sweeps_reach(r, s, n, len));
    const vy_dim later = two(r, VY_DIM_ADD, rest, sweeps_reach(r, s, j, len));
    return natural(r, two(r, VY_DIM_MIN, sweeps_reach(r, s, plus(r, j, 1), len), later));
}

// One iteration of the reverse: the state is computed from the snapshot.
static void reverse_each(revolving *r, vy_dim len, vy_dim at, vy_dim slot)
{
    const revolve_loop *x = &r->x;
    const vy_dim i = repeat_to(r, "back", len), j = minus(r, plus(r, len, -1), i);
    const vy_dim t = two(r, VY_DIM_ADD, at, j);
    advance_copy(r, slot, (vy_dim){0}, at, j);
    // The old counter runs the other way.
    revolve_set_step(r, x->reverse, minus(r, plus(r, x->count, -1), t));
    for (uint32_t k = 0; k < x->state_count; k++) {
        r->places[x->states[k].tape] = (vy_pipe_arg){.buffer = x->states[k].work};
        r->forgotten[x->states[k].tape] = 1;
    }
    revolve_steps(r, x->reverse + 1, x->l->steps.data[x->reverse].partner);
    close(r, 1);
}

// 1 if the run keeps s states or more, else 0; id 0: it does in any case.
static vy_dim has_level(revolving *r, uint32_t s)
{
    return r->states.id ? is_below(r, constant_dim(r, s - 1), r->states) : (vy_dim){0};
}

// x on a level that there is, else y (id 0: 0): then it passes all of `len` on as one segment.
static vy_dim if_level(revolving *r, vy_dim on, vy_dim x, vy_dim y)
{
    if (!on.id) return x;
    const vy_dim yes = two(r, VY_DIM_MUL, on, x);
    if (!y.id) return yes;
    const vy_dim no = two(r, VY_DIM_MUL, minus(r, constant_dim(r, 1), on), y);
    return two(r, VY_DIM_ADD, yes, no);
}

static void reverse(revolving *r, uint32_t s, vy_dim len, vy_dim at, vy_dim slot)
{
    if (stopped(r)) return;
    if (s == 1) {
        reverse_each(r, len, at, slot);
        return;
    }
    const vy_dim twice = two(r, VY_DIM_MUL, len, constant_dim(r, 2));
    const vy_dim root = two(r, VY_DIM_SQRT, twice, twice), on = has_level(r, s);
    const vy_dim n = repeat_to(r, "sweeps", plus(r, if_level(r, on, root, (vy_dim){0}), 1));
    const vy_dim enough = plus(r, sweeps_reach(r, s, plus(r, n, 1), len), 1);
    const vy_dim reaches = is_below(r, len, enough);
    const vy_dim least = two(r, VY_DIM_MUL, is_below(r, sweeps_reach(r, s, n, len), len), reaches);
    repeat_to(r, "once", if_level(r, on, least, constant_dim(r, 1)));
    const vy_dim i = repeat_to(r, "segment", plus(r, n, 1)), j = minus(r, n, i);
    const vy_dim begin = cut(r, s, plus(r, j, -1), n, len);
    const vy_dim from = let(r, "from", if_level(r, on, begin, (vy_dim){0}));
    const vy_dim length = minus(r, cut(r, s, j, n, len), from);
    const vy_dim part = let(r, "len", if_level(r, on, length, len));
    const vy_dim moves = two(r, VY_DIM_MIN, from, constant_dim(r, 1));
    repeat_to(r, "once", moves);
    advance_copy(r, slot, plus(r, slot, 1), at, from);
    close(r, 1);
    const vy_dim next = two(r, VY_DIM_ADD, slot, moves);
    reverse(r, s - 1, part, two(r, VY_DIM_ADD, at, from), next);
    close(r, 5);
}

// ------------------------------------------------------------------------------------ the pipeline
static bool varies_in_size(const revolving *r, uint32_t buffer)
{
    const vy_buf *b = &r->x.l->signature->buffers.data[buffer];
    bool varies = false;
    for (uint32_t k = 0; k < b->rank; k++) varies |= r->x.varies[b->dims[k].id];
    return varies;
}

// The tapes hold k states; other buffers of the schedule begin before the forward repeat.
static void declare_snapshots(revolving *r)
{
    vy_program *p = r->b->p;
    char text[320];
    for (uint32_t i = 0; i < r->x.state_count && !stopped(r); i++) {
        revolve_state *s = &r->x.states[i];
        const uint32_t rank = p->buffers.data[s->tape].rank;
        vy_dim *dims = revolve_room(r, &r->x.l->module->arena, rank, sizeof *dims);
        if (!dims) return;
        memcpy(dims, p->buffers.data[s->tape].dims, rank * sizeof *dims);
        dims[0] = r->states.id ? r->states : constant_dim(r, r->x.levels);
        p->buffers.data[s->tape].dims = dims;
        const vy_buf b = p->buffers.data[s->tape];
        s->work = vy_pipeline_buffer(r->q, vy_free_name(p, "state", b.name, text), b.type, rank - 1,
                                     dims + 1);
        r->scratch[s->buffer] = s->work;
    }
    for (uint32_t i = 1; i < r->x.l->signature->buffers.count && !stopped(r); i++) {
        const vy_buf b = p->buffers.data[i];
        if (r->x.inner[i] && !varies_in_size(r, i))
            r->scratch[i] = vy_pipeline_buffer(r->q, vy_free_name(p, "again", b.name, text), b.type,
                                               b.rank, b.dims);
    }
}

static void forward(revolving *r)
{
    const revolve_loop *x = &r->x;
    const vy_dim first = constant_dim(r, 0);
    vy_at(r->b, x->l->steps.data[x->forward].line, x->l->steps.data[x->forward].column);
    declare_snapshots(r);
    for (uint32_t i = 0; i < x->state_count && !stopped(r); i++) {
        const vy_pipe_arg from = {.buffer = {x->states[i].buffer}};
        const vy_pipe_arg to = snapshot(r, &x->states[i], first);
        vy_pipe_move(r->q, VY_PIPE_COPY, &from, &to, 0);
    }
    if (x->replays) return;
    revolve_step(r, x->forward);
    revolve_steps(r, x->body, x->l->steps.data[x->forward].partner + 1);
}

// The steps before the forward repeat, with their numbers.
static void prefix(revolving *r)
{
    for (uint32_t i = 0; i < r->x.forward && !stopped(r); i++) {
        const vy_pipe_step *s = &r->x.l->steps.data[i];
        revolve_push(r, *s);
        if (s->kind == VY_PIPE_END) r->q->open.count--;
        const bool opens = s->kind == VY_PIPE_REPEAT || s->kind == VY_PIPE_CHECKPOINT;
        if (opens && !vy_vec_push(&r->q->open, i)) vy_build_oom(r->b);
    }
}

// A k of scalars: from 1 up, and at most the levels that there are.
static vy_dim count_states(revolving *r)
{
    const vy_dim k = revolve_copy(r, r->x.source, r->x.states_node), one = constant_dim(r, 1);
    const vy_dim most = constant_dim(r, r->x.levels), least = two(r, VY_DIM_MAX, k, one);
    return two(r, VY_DIM_MIN, least, most);
}

static void all(revolving *r)
{
    const revolve_loop *x = &r->x;
    const uint32_t after = x->l->steps.data[x->reverse].partner + 1;
    prefix(r);
    if (x->states_node) r->states = count_states(r);
    forward(r);
    revolve_steps(r, x->l->steps.data[x->forward].partner + 1, x->reverse);
    vy_at(r->b, x->l->steps.data[x->reverse].line, x->l->steps.data[x->reverse].column);
    const vy_dim len = let(r, "len", x->count);
    const vy_dim slot = constant_dim(r, 0);
    reverse(r, x->levels, len, constant_dim(r, 0), slot);
    close(r, 1);
    revolve_steps(r, after, x->l->steps.count);
    if (!stopped(r)) vy_pipe_drop_buffers(r->q); // those of a forward repeat that is left out
}

// A pipe with the signature of `l`, in which numbers of the old steps mean nothing.
static bool begin_revolving(revolving *r)
{
    const vy_pipeline *l = r->x.l;
    r->b = vy_rebuild_begin(l->signature);
    r->q = r->b ? vy_realloc(NULL, sizeof *r->q) : NULL;
    if (!r->q) return false;
    *r->q = (vy_pipe){.m = l->module, .b = r->b};
    r->b->p->signature = true;
    for (uint32_t i = 1; i < r->b->p->dims.count; i++)
        if (r->b->p->dims.data[i].op == VY_DIM_STEP &&
            r->b->p->dims.data[i].value >= (int64_t)r->x.forward)
            r->b->p->dims.data[i] = (vy_dim_node){.op = VY_DIM_CONST};
    const uint32_t buffers = l->signature->buffers.count;
    r->steps = revolve_room(r, r->arena, l->steps.count, sizeof *r->steps);
    r->made = revolve_room(r, r->arena, l->signature->dims.count, sizeof *r->made);
    r->made_in = revolve_room(r, r->arena, l->signature->dims.count, sizeof *r->made_in);
    r->context = 1;
    r->places = revolve_room(r, r->arena, buffers, sizeof *r->places);
    r->forgotten = revolve_room(r, r->arena, buffers, sizeof *r->forgotten);
    r->scratch = revolve_room(r, r->arena, buffers, sizeof *r->scratch);
    r->cleared = revolve_room(r, r->arena, buffers, 1);
    if (stopped(r) || !vy_pipe_cleared(l, r->arena, r->cleared)) return false;
    for (uint32_t i = 1; i < buffers; i++) r->places[i] = (vy_pipe_arg){.buffer = {i}};
    return true;
}

bool revolve_schedule(vy_module *m, const revolve_loop *x, vy_arena *arena)
{
    vy_pipeline *l = m->pipelines.data[m->pipelines.count - 1];
    revolving r = {.x = *x, .arena = arena};
    bool ok = begin_revolving(&r);
    if (ok) {
        all(&r);
        m->pipelines.count--; // the new one has its name and takes its place
        ok = vy_pipeline_end(r.q) != NULL;
        if (ok)
            vy_pipeline_free(l);
        else
            m->pipelines.count++;
    } else if (r.q) {
        vy_pipeline_abandon(r.q);
    } else if (r.b) {
        vy_program_abandon(r.b);
    }
    return ok;
}
