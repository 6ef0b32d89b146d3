// SPDX-License-Identifier: MIT
// run_ahead.c: a loop of a pipeline once more, ahead of itself, to count iterations.
//
// It runs on copies of what it changes, and of its body only what numbers are read from: the
// conditions, and the bounds of loops inside.  What that is follows from the dispatches backwards.
#include "ir/build/edit.h"
#include "ir/core/pipe.h"
#include "ir/host/counting.h"

#include <string.h>

enum { WRITTEN = 1, INSIDE = 2, NEEDED = 4 }; // of a buffer, for one `while`

// Does the dispatch write a buffer with this flag?
static bool writes(const inlining *c, const vy_pipe_step *s, const uint8_t *flags, uint8_t flag)
{
    const vy_program *p = c->l->module->programs.data[s->program];
    for (uint32_t i = 1, n = 0; i < p->buffers.count; i++) {
        if (!vy_pipe_binds(&p->buffers.data[i])) continue;
        const vy_pipe_arg *a = &s->args[n++];
        if (vy_host_gives(&p->buffers.data[i]) && (flags[a->buffer.id] & flag)) return true;
    }
    return false;
}

// Sets a flag of the buffers that the dispatch reads, or writes.  True: one did not have it.
static bool mark(const inlining *c, const vy_pipe_step *s, bool reads, uint8_t *flags, uint8_t flag)
{
    const vy_program *p = c->l->module->programs.data[s->program];
    bool fresh = false;
    for (uint32_t i = 1, n = 0; i < p->buffers.count; i++) {
        const vy_buf *b = &p->buffers.data[i];
        if (!vy_pipe_binds(b)) continue;
        uint8_t *f = &flags[s->args[n++].buffer.id];
        if (!(reads ? vy_host_takes(b) : vy_host_gives(b))) continue;
        fresh |= !(*f & flag);
        *f |= flag;
    }
    return fresh;
}

// The flags of all buffers.  Needed is what a value is read from, and what computes that.
static uint8_t *find_flags(inlining *c, uint32_t at)
{
    const vy_pipe_step *steps = c->l->steps.data;
    uint8_t *flags = inline_room(c, c->sig->buffers.count, 1);
    bool fresh = flags != NULL;
    for (uint32_t i = at + 1; flags && i < steps[at].partner; i++) {
        if (steps[i].kind == VY_PIPE_BUFFER) flags[steps[i].buffer.id] |= INSIDE;
        if (steps[i].kind == VY_PIPE_VALUE) flags[steps[i].buffer.id] |= NEEDED;
        if (steps[i].kind == VY_PIPE_DISPATCH) mark(c, &steps[i], false, flags, WRITTEN);
    }
    while (fresh) {
        fresh = false;
        for (uint32_t i = steps[at].partner; i-- > at + 1;) {
            const vy_pipe_step *s = &steps[i];
            const vy_buf *b = &c->sig->buffers.data[s->buffer.id];
            if (s->kind == VY_PIPE_DISPATCH && writes(c, s, flags, NEEDED))
                fresh |= mark(c, s, true, flags, NEEDED);
            if (s->kind != VY_PIPE_BUFFER || b->init != VY_INIT_COPY ||
                !(flags[s->buffer.id] & NEEDED))
                continue;
            uint8_t *from = &flags[vy_program_find_buffer(c->sig, b->init_from).id];
            fresh |= !(*from & NEEDED);
            *from |= NEEDED;
        }
    }
    return flags;
}

vy_buffer counting_number(counting *w, const char *name, const char *of)
{
    char text[320];
    const vy_dim one = vy_dim_const(w->c.q->b, 1);
    if (counting_stopped(w)) return (vy_buffer){0};
    return vy_pipeline_buffer(w->c.q, vy_free_name(w->c.q->b->p, name, of, text), VY_U32, 1, &one);
}

vy_dim counting_value(counting *w, vy_buffer b)
{
    const vy_dim zero = vy_dim_const(w->c.q->b, 0);
    return counting_stopped(w) ? zero : vy_pipeline_value(w->c.q, b, &zero);
}

// A copy of what the loop changes and a number needs, as it is now.
static void begin_copy(counting *w, uint32_t buffer)
{
    char text[320];
    vy_builder *b = w->c.q->b;
    const vy_buf was = b->p->buffers.data[w->c.places[buffer].buffer.id];
    const char *name = vy_free_name(b->p, "trial", was.name, text);
    const vy_buffer made = vy_pipeline_buffer(w->c.q, name, was.type, was.rank, was.dims);
    if (!made.id) return;
    vy_buffer_init(b, made, VY_INIT_COPY, was.name);
    w->c.places[buffer].buffer = made;
}

static void *copy_of(inlining *c, const void *data, size_t count, size_t size)
{
    void *copy = inline_room(c, count, size);
    if (copy) memcpy(copy, data, count * size);
    return copy;
}

// The end of a repeat from a number that is not negative; never negative itself, as extents are.
vy_dim counting_end(counting *w, const vy_pipe_step *s)
{
    const vy_dim to = inline_dim(&w->c, s->to), zero = vy_dim_const(w->c.q->b, 0);
    if (counting_stopped(w) || vy_host_natural(w->c.l, s->to)) return to;
    return vy_dim_binary(w->c.q->b, VY_DIM_MAX, to, zero);
}

static void raise_most(counting *w, uint32_t at, vy_dim n)
{
    vy_pipe_assign(w->c.q, VY_PIPE_MOST, &(vy_pipe_arg){.buffer = w->most[at]}, n);
}

// Opens a loop that runs ahead: nothing of it is kept.
static void open_ahead(counting *w, uint32_t at)
{
    const vy_pipe_step *s = &w->c.l->steps.data[at];
    const vy_dim none = {0};
    if (s->test) {
        if (w->most[at].id) w->count[at] = counting_number(w, "trial", "count");
        vy_pipeline_while(w->c.q, VY_KEEP_ALL, none);
        return;
    }
    const vy_dim from = inline_dim(&w->c, s->from), to = inline_dim(&w->c, s->to);
    if (w->most[at].id) raise_most(w, at, counting_end(w, s));
    if (!counting_stopped(w))
        w->c.steps[at] = vy_pipeline_repeat(w->c.q, s->counter, from, to, VY_KEEP_ALL, none);
}

static void close_ahead(counting *w, uint32_t opener)
{
    const vy_buffer count = w->count[opener];
    if (count.id && !counting_stopped(w))
        vy_pipe_move(w->c.q, VY_PIPE_COUNT, NULL, &(vy_pipe_arg){.buffer = count}, 0);
    vy_pipeline_close(w->c.q);
    if (count.id && w->most[opener].id) raise_most(w, opener, counting_value(w, count));
}

// The steps of the loop at `at`, with the tables of `w`.
static void append_loop(counting *w, uint32_t at)
{
    inlining *c = &w->c;
    const vy_pipe_step *steps = c->l->steps.data;
    const uint8_t *flags = find_flags(c, at);
    for (uint32_t i = 1; !counting_stopped(w) && i < c->sig->buffers.count; i++)
        if (flags[i] == (WRITTEN | NEEDED)) begin_copy(w, i);
    for (uint32_t i = at; !counting_stopped(w) && i <= steps[at].partner; i++) {
        const vy_pipe_step *s = &steps[i];
        vy_at(c->q->b, s->line, s->column);
        if (s->kind == VY_PIPE_DISPATCH && !writes(c, s, flags, NEEDED)) continue;
        if (s->kind == VY_PIPE_BUFFER && !(flags[s->buffer.id] & NEEDED)) continue;
        if (s->kind == VY_PIPE_REPEAT)
            open_ahead(w, i);
        else if (s->kind == VY_PIPE_END)
            close_ahead(w, s->partner);
        else
            inline_step(c, i);
    }
}

// The first dimension that is a number of a step from `at` on, or the number of dimensions.
static uint32_t first_dim(const inlining *c, uint32_t at)
{
    uint32_t i = 1;
    for (; i < c->sig->dims.count; i++)
        if (c->sig->dims.data[i].op == VY_DIM_STEP && c->sig->dims.data[i].value >= at) break;
    return i;
}

bool counting_copy_tables(inlining *c, const inlining *own, uint32_t at)
{
    c->arena = (vy_arena){0};
    c->places = copy_of(c, own->places, c->sig->buffers.count, sizeof *c->places);
    c->dims = copy_of(c, own->dims, c->sig->dims.count, sizeof *c->dims);
    c->steps = copy_of(c, own->steps, c->l->steps.count, sizeof *c->steps);
    // What contains numbers of these steps is made again, as the steps are; it comes after them.
    c->known = first_dim(c, at);
    for (uint32_t i = c->known; c->dims && i < c->sig->dims.count; i++)
        if (c->dims[i].id != i) c->dims[i].id = 0;
    return !vy_builder_failed(c->q->b);
}

bool counting_writes_outside(inlining *c, uint32_t at)
{
    const vy_pipe_step *steps = c->l->steps.data;
    uint8_t *flags = inline_room(c, c->sig->buffers.count, 1);
    for (uint32_t i = at + 1; flags && i < steps[at].test; i++) {
        if (steps[i].kind == VY_PIPE_BUFFER) flags[steps[i].buffer.id] |= INSIDE;
        if (steps[i].kind == VY_PIPE_DISPATCH) mark(c, &steps[i], false, flags, WRITTEN);
    }
    for (uint32_t i = 1; flags && i < c->sig->buffers.count; i++)
        if (flags[i] == WRITTEN) return true;
    return false;
}

void counting_run_ahead(const counting *own, uint32_t at)
{
    counting w = *own;
    if (counting_copy_tables(&w.c, &own->c, at)) append_loop(&w, at);
    vy_arena_free(&w.c.arena);
}
