// SPDX-License-Identifier: MIT
// run_ahead.c: a loop of a pipeline once more, ahead of itself, to count iterations.
//
// It runs on copies of what it changes, and of its body only what numbers are read from: the
// conditions, and the bounds of loops inside.  What that is follows from the dispatches backwards.
// A dispatch that runs for the sake of one buffer writes its others too: what they have is not
// needed, but as that must not be the loop's own, they are scratch buffers meanwhile.
#include "ir/build/edit.h"
#include "ir/core/pipe.h"
#include "ir/host/counting.h"

// Of a buffer, for one loop.
enum {
    WRITTEN = 1,
    INSIDE = 2,
    NEEDED = 4,  // its contents
    TOUCHED = 8, // written by a dispatch that is needed, for another buffer perhaps
};

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

// A dispatch that writes what is needed needs what it reads.
static bool need_operands(const inlining *c, const vy_pipe_step *s, uint8_t *flags)
{
    if (!writes(c, s, flags, NEEDED)) return false;
    const bool touched = mark(c, s, false, flags, TOUCHED);
    return mark(c, s, true, flags, NEEDED) || touched;
}

// A buffer that runs ahead, too, needs what it begins with a copy of.
static bool need_source(const inlining *c, const vy_pipe_step *s, uint8_t *flags)
{
    const vy_buf *b = &c->sig->buffers.data[s->buffer.id];
    if (b->init != VY_INIT_COPY || !(flags[s->buffer.id] & (NEEDED | TOUCHED))) return false;
    uint8_t *from = &flags[vy_program_find_buffer(c->sig, b->init_from).id];
    const bool fresh = !(*from & NEEDED);
    *from |= NEEDED;
    return fresh;
}

// The flags of all buffers.  Needed is what a value is read from, and what computes that.
static void find_flags(const inlining *c, uint32_t at, uint8_t *flags)
{
    const vy_pipe_step *steps = c->l->steps.data;
    bool fresh = true;
    for (uint32_t i = at + 1; i < steps[at].partner; i++) {
        if (steps[i].kind == VY_PIPE_BUFFER) flags[steps[i].buffer.id] |= INSIDE;
        if (steps[i].kind == VY_PIPE_VALUE) flags[steps[i].buffer.id] |= NEEDED;
        if (steps[i].kind == VY_PIPE_DISPATCH) mark(c, &steps[i], false, flags, WRITTEN);
    }
    while (fresh) {
        fresh = false;
        for (uint32_t i = steps[at].partner; i-- > at + 1;) {
            const vy_pipe_step *s = &steps[i];
            if (s->kind == VY_PIPE_DISPATCH) fresh |= need_operands(c, s, flags);
            if (s->kind == VY_PIPE_BUFFER) fresh |= need_source(c, s, flags);
        }
    }
}

static void clear_flags(counting *w, const loop_frame *f)
{
    for (uint32_t i = 0; i < f->count; i++) w->flags[f->buffers[i]] = 0;
}

vy_buffer counting_number(counting *w, const char *name, const char *of)
{
    char text[320];
    const vy_dim one = vy_dim_const(w->c.q->b, 1);
    if (counting_stopped(w)) return (vy_buffer){0};
    const char *own = vy_free_name(w->c.q->b->p, name, of, text);
    const vy_buffer made = vy_pipeline_buffer(w->c.q, own, VY_U32, 1, &one);
    if (made.id) w->c.q->b->p->buffers.data[made.id].made = VY_MADE_COUNT;
    return made;
}

vy_dim counting_value(counting *w, vy_buffer b)
{
    const vy_dim zero = vy_dim_const(w->c.q->b, 0);
    return counting_stopped(w) ? zero : vy_pipeline_value(w->c.q, b, &zero);
}

// Another buffer for what the loop changes: a copy as it is now if a number needs the contents.
static void begin_trial(counting *w, uint32_t buffer)
{
    char text[320];
    vy_builder *b = w->c.q->b;
    const vy_buf was = b->p->buffers.data[w->c.places[buffer].buffer.id];
    const char *name = vy_free_name(b->p, "trial", was.name, text);
    const vy_buffer made = vy_pipeline_buffer(w->c.q, name, was.type, was.rank, was.dims);
    if (!made.id) return;
    if (w->flags[buffer] & NEEDED) vy_buffer_init(b, made, VY_INIT_COPY, was.name);
    w->c.places[buffer].buffer = made;
}

bool counting_from_constant(const vy_pipeline *l, const vy_pipe_step *s)
{
    const vy_dim_node *from = &l->signature->dims.data[s->from.id];
    return from->op == VY_DIM_CONST && from->value >= 0;
}

vy_dim counting_end(counting *w, const vy_pipe_step *s)
{
    vy_builder *b = w->c.q->b;
    const bool from_constant = counting_from_constant(w->c.l, s);
    const vy_dim to = inline_dim(&w->c, s->to), from = inline_dim(&w->c, s->from);
    if (counting_stopped(w) || (from_constant && vy_host_natural(w->c.l, s->to))) return to;
    const vy_dim end = from_constant ? to : vy_dim_binary(b, VY_DIM_SUB, to, from);
    return vy_dim_binary(b, VY_DIM_MAX, end, vy_dim_const(b, 0));
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

// Is it a buffer from outside that the run ahead would change?
static bool is_changed(uint8_t flags)
{
    return (flags & WRITTEN) && !(flags & INSIDE) && (flags & (NEEDED | TOUCHED));
}

static void append_loop(counting *w, const loop_frame *f)
{
    const vy_pipe_step *steps = w->c.l->steps.data;
    const uint8_t *flags = w->flags;
    for (uint32_t i = 0; !counting_stopped(w) && i < f->count; i++)
        if (is_changed(flags[f->buffers[i]])) begin_trial(w, f->buffers[i]);
    for (uint32_t i = f->at; !counting_stopped(w) && i < f->end; i++) {
        const vy_pipe_step *s = &steps[i];
        vy_at(w->c.q->b, s->line, s->column);
        if (s->kind == VY_PIPE_DISPATCH && !writes(&w->c, s, flags, NEEDED)) continue;
        if (s->kind == VY_PIPE_BUFFER && !(flags[s->buffer.id] & (NEEDED | TOUCHED))) continue;
        if (s->kind == VY_PIPE_REPEAT)
            open_ahead(w, i);
        else if (s->kind == VY_PIPE_END)
            close_ahead(w, s->partner);
        else
            inline_step(&w->c, i);
        counting_numbers_known(w, i);
    }
}

bool counting_writes_outside(counting *w, const loop_frame *f)
{
    const vy_pipe_step *steps = w->c.l->steps.data;
    bool any = false;
    for (uint32_t i = f->at + 1; i < steps[f->at].test; i++) {
        if (steps[i].kind == VY_PIPE_BUFFER) w->flags[steps[i].buffer.id] |= INSIDE;
        if (steps[i].kind == VY_PIPE_DISPATCH) mark(&w->c, &steps[i], false, w->flags, WRITTEN);
    }
    for (uint32_t i = 0; i < f->count; i++) any |= w->flags[f->buffers[i]] == WRITTEN;
    clear_flags(w, f);
    return any;
}

void counting_run_ahead(counting *w, uint32_t at)
{
    loop_frame f;
    if (!counting_frame_begin(w, at, &f)) return;
    find_flags(&w->c, at, w->flags);
    append_loop(w, &f);
    clear_flags(w, &f);
    counting_frame_end(w, &f);
}
