// SPDX-License-Identifier: MIT
// states.c: states of a repeat that are their own tape.
//
//   repeat t in 0..T { copy(u[t % 2], tape[t]); step(u[t % 2], u[(t + 1) % 2]); }
//   last(u[T % 2], y);
//   repeat t in 0..T { step_grad(tape[T - 1 - t], …); }
//
//   →  buffer u: f32[T + 1, N];                      (and no tape)
//      repeat t in 0..T { step(u[t], u[t + 1]); }
//      last(u[T], y);
//      repeat t in 0..T { step_grad(u[T - 1 - t], …); }
//
// A tape holds copies of slices that the reverse needs.  The copy is not needed where the slice is
// never overwritten: the reverse reads it itself.  That is so if the repeat writes ahead of it
// only, and nothing writes later.  Where a few slices are used in turn (t % 2, t % 3), the
// intermediate gets a slice for each iteration instead, which takes no more memory than the tape
// did.
#include "ir/build/edit.h"
#include "ir/build/pipe_inline.h"
#include "ir/core/pipe.h"
#include "ir/core/pipe_slices.h"
#include "ir/host/host_build.h"

#include <string.h>

typedef struct use {      // of a buffer, by a dispatch
    uint32_t step, block; // block: the step that opens the block around it, + 1
    const vy_pipe_arg *arg;
    bool takes, all; // reads; overwrites as a whole (`out`), else what gives updates
    bool gives;
} use;

// What becomes of a buffer.
typedef struct state {
    uint32_t into;  // a tape: the buffer whose slices it copies; else 0
    int64_t offset; // and by how much these are further
    uint32_t copy;  // the step that does it, + 1
    bool source;    // a tape goes into it
    vy_dim length;  // an intermediate that gets a slice for each iteration: how many, id 0: none
    int64_t more;   // and how many more slices
} state;

typedef struct states {
    inlining c;
    const vy_pipeline *l;
    vy_slices slices;
    uint32_t *first; // by buffer: its uses are uses[first[b]] … uses[first[b + 1] − 1]
    use *uses;
    state *of;       // by buffer
    uint32_t *begun; // by buffer: its BUFFER step, + 1; one that is inside a block counts as 0
    uint8_t *fixed;  // by buffer: used in ways that allow no change
    vy_arena arena;
} states;

// ------------------------------------------------------------------------------------------ tables
static void find_begun(states *w)
{
    const vy_program *sig = w->l->signature;
    uint32_t depth = 0;
    for (uint32_t i = 0; i < w->l->steps.count; i++) {
        const vy_pipe_step *s = &w->l->steps.data[i];
        if (s->kind == VY_PIPE_REPEAT || s->kind == VY_PIPE_CHECKPOINT) depth++;
        if (s->kind == VY_PIPE_END) depth--;
        if (s->kind == VY_PIPE_VALUE) w->fixed[s->buffer.id] = 1;
        if (s->kind != VY_PIPE_BUFFER) continue;
        const vy_buf *b = &sig->buffers.data[s->buffer.id];
        if (!depth && b->init == VY_INIT_NONE) w->begun[s->buffer.id] = i + 1;
        if (b->init == VY_INIT_COPY) w->fixed[vy_program_find_buffer(sig, b->init_from).id] = 1;
    }
}

static void count_uses(states *w)
{
    for (uint32_t i = 0; i < w->l->steps.count; i++) {
        const vy_pipe_step *s = &w->l->steps.data[i];
        for (uint32_t k = 0; s->kind == VY_PIPE_DISPATCH && k < s->arg_count; k++)
            w->first[s->args[k].buffer.id + 1]++;
    }
    for (uint32_t b = 0; b < w->l->signature->buffers.count; b++) w->first[b + 1] += w->first[b];
}

static void add_uses(states *w, const vy_pipe_step *s, uint32_t at, uint32_t block, uint32_t *next)
{
    const vy_program *p = w->l->module->programs.data[s->program];
    for (uint32_t i = 1, n = 0; i < p->buffers.count; i++) {
        const vy_buf *b = &p->buffers.data[i];
        if (!vy_pipe_binds(b)) continue;
        const vy_pipe_arg *a = &s->args[n++];
        w->uses[next[a->buffer.id]++] = (use){.step = at,
                                              .block = block,
                                              .arg = a,
                                              .takes = vy_host_takes(b),
                                              .gives = vy_host_gives(b),
                                              .all = b->cls == VY_OUT};
        if (a->flat || !a->rank) w->fixed[a->buffer.id] = 1;
    }
}

static bool find_uses(states *w)
{
    const uint32_t buffers = w->l->signature->buffers.count;
    w->first = vy_arena_room(&w->arena, buffers + 1, sizeof *w->first);
    if (w->first) count_uses(w);
    w->uses = w->arena.oom ? NULL : vy_arena_room(&w->arena, w->first[buffers], sizeof *w->uses);
    uint32_t *next = vy_arena_room(&w->arena, buffers, sizeof *next);
    uint32_t *outer = vy_arena_room(&w->arena, w->l->steps.count, sizeof *outer), block = 0;
    if (w->arena.oom) return false;
    memcpy(next, w->first, buffers * sizeof *next);
    for (uint32_t i = 0; i < w->l->steps.count; i++) {
        const vy_pipe_step *s = &w->l->steps.data[i];
        if (s->kind == VY_PIPE_DISPATCH) add_uses(w, s, i, block, next);
        if (s->kind == VY_PIPE_REPEAT || s->kind == VY_PIPE_CHECKPOINT) {
            outer[i] = block;
            block = i + 1;
        }
        if (s->kind == VY_PIPE_END) block = outer[s->partner];
    }
    return true;
}

// ---------------------------------------------------------------------------------------- the tape
// The only LOAD and the only STORE of a program without control flow; false: it is another one.
static bool find_move(const vy_program *p, uint32_t *load, uint32_t *store)
{
    *load = *store = 0;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_op op = (vy_op)p->insts.data[id].op;
        uint32_t *at = op == VY_OP_LOAD ? load : op == VY_OP_STORE ? store : NULL;
        if (at && !*at)
            *at = id;
        else if (at || vy_op_infos[op].effect != VY_PURE)
            return false;
    }
    return *load && *store;
}

// Does the program copy x to y, element by element, and nothing else?
static bool is_copy(const vy_program *p)
{
    uint32_t load, store;
    const uint32_t rank = p->overs.count;
    if (!find_move(p, &load, &store) || vy_arg(p, store, rank) != load) return false;
    const vy_buf *from = &p->buffers.data[p->insts.data[load].aux];
    const vy_buf *to = &p->buffers.data[p->insts.data[store].aux];
    if (from->cls != VY_IN || to->cls != VY_OUT || from->type != to->type || from->rank != rank ||
        to->rank != rank)
        return false;
    for (uint32_t k = 0; k < rank; k++) {
        const uint32_t a = vy_arg(p, load, k);
        const vy_leaf *l = VY_IS_LEAF(a) ? &p->leaves.data[VY_LEAF_INDEX(a)] : NULL;
        if (!l || l->kind != VY_LEAF_OVER || l->index != k || vy_arg(p, store, k) != a ||
            !vy_equal_dims(p, to->dims[k], p->overs.data[k].extent))
            return false;
    }
    return true;
}

// The only use that writes to the tape: a copy in iteration t of an outermost repeat from 0, to
// slice t; all others read after that repeat.  NULL: there is none.
static const use *find_copy(const states *w, uint32_t tape)
{
    const vy_pipe_step *steps = w->l->steps.data;
    const use *copy = NULL;
    int64_t offset;
    for (uint32_t i = w->first[tape]; i < w->first[tape + 1]; i++) {
        const use *u = &w->uses[i];
        if (u->gives && (copy || !u->all)) return NULL;
        if (u->gives) copy = u;
    }
    if (!copy || !copy->block || !vy_slice_counts(&w->slices, copy->block - 1)) return NULL;
    const uint32_t repeat = copy->block - 1, end = steps[repeat].partner;
    if (copy->arg->rank != 1 || !is_copy(w->l->module->programs.data[steps[copy->step].program]) ||
        !vy_slice_turn(&w->slices, repeat, copy->arg->index[0], &offset) || offset)
        return NULL;
    for (uint32_t i = w->first[tape]; i < w->first[tape + 1]; i++)
        if (&w->uses[i] != copy && w->uses[i].step <= end) return NULL;
    return copy;
}

// ------------------------------------------------------------------------------- never overwritten
// Is the slice that the copy reads in an iteration never written again, by `u`?  Outside of the
// repeat no index has its counter.
static bool leaves_alone(const states *w, const use *copy, int64_t offset, const use *u)
{
    const uint32_t repeat = copy->block - 1;
    int64_t at;
    if (!u->gives || u->step < repeat) return true;
    return vy_slice_turn(&w->slices, repeat, u->arg->index[0], &at) &&
           (at > offset || (at == offset && u->step < copy->step && u->block == copy->block));
}

// The buffer is written ahead of the slices that the tape copies: they are their own tape.
static bool is_appended(const states *w, const use *copy, const vy_pipe_arg *from, int64_t *offset)
{
    const uint32_t b = from->buffer.id;
    const bool lives = !w->l->signature->buffers.data[b].workspace || w->begun[b];
    if (!lives || !vy_slice_turn(&w->slices, copy->block - 1, from->index[0], offset)) return false;
    for (uint32_t i = w->first[b]; i < w->first[b + 1]; i++)
        if (!leaves_alone(w, copy, *offset, &w->uses[i])) return false;
    return true;
}

// ------------------------------------------------------------------------------ used in turn
// The e of an index e % count; id 0: it is none.
static vy_dim turned(const states *w, vy_dim index, int64_t count)
{
    const vy_program *sig = w->l->signature;
    const vy_dim_node *d = &sig->dims.data[index.id];
    int64_t by;
    const bool is = d->op == VY_DIM_REM && vy_slice_const(&w->slices, (vy_dim){d->b}, &by);
    return is && by == count ? (vy_dim){d->a} : (vy_dim){0};
}

// What one pass over the uses of a rotating buffer finds.
typedef struct rotation {
    uint32_t buffer, repeat;
    int64_t count; // of slices
    int64_t ahead; // the slice that iteration t writes is t + ahead
    uint32_t write;
} rotation;

static bool find_write(const states *w, rotation *r)
{
    const uint32_t end = w->l->steps.data[r->repeat].partner;
    r->write = 0;
    for (uint32_t i = w->first[r->buffer]; i < w->first[r->buffer + 1]; i++) {
        const use *u = &w->uses[i];
        if (!u->gives || u->step < r->repeat) continue;
        const vy_dim e = turned(w, u->arg->index[0], r->count);
        if (r->write || u->step > end || !u->all || u->takes || u->block != r->repeat + 1 ||
            !e.id || !vy_slice_turn(&w->slices, r->repeat, e, &r->ahead))
            return false;
        r->write = u->step;
    }
    return r->write && r->ahead > 0 && r->ahead < r->count;
}

// Does the use name the slice that it would name if there were one for each iteration?
static bool is_in_turn(const states *w, const rotation *r, const use *u)
{
    int64_t at;
    if (u->arg->rank != 1) return false;
    if (u->step < r->repeat) // slices that the first iterations read
        return vy_slice_const(&w->slices, u->arg->index[0], &at) && at >= 0 && at < r->ahead;
    const vy_dim e = turned(w, u->arg->index[0], r->count);
    if (!e.id) return false;
    if (u->step > w->l->steps.data[r->repeat].partner) // slices that the last iterations wrote
        return vy_slice_end(&w->slices, r->repeat, e, &at) && at >= 0 && at < r->ahead;
    if (!vy_slice_turn(&w->slices, r->repeat, e, &at) || at < 0) return false;
    return at < r->ahead || (at == r->ahead && u->step >= r->write);
}

// The intermediate's slices are used in turn; *offset: in iteration t the tape copies t + offset.
static bool is_rotating(const states *w, const use *copy, const vy_pipe_arg *from, rotation *r,
                        int64_t *offset)
{
    const vy_buf *b = &w->l->signature->buffers.data[from->buffer.id];
    *r = (rotation){.buffer = from->buffer.id, .repeat = copy->block - 1};
    if (!w->begun[r->buffer] || !vy_slice_const(&w->slices, b->dims[0], &r->count)) return false;
    const vy_dim e = turned(w, from->index[0], r->count);
    if (!e.id || !vy_slice_turn(&w->slices, r->repeat, e, offset) || !find_write(w, r))
        return false;
    for (uint32_t i = w->first[r->buffer]; i < w->first[r->buffer + 1]; i++)
        if (!is_in_turn(w, r, &w->uses[i])) return false;
    return true;
}

// ------------------------------------------------------------------------------------ the decision
// Is it a scalar parameter, more or less, which is known where an intermediate begins?
static bool is_constant_length(const states *w, vy_dim d)
{
    const vy_program *sig = w->l->signature;
    if (!vy_host_natural(w->l, d)) return false;
    for (uint32_t n = 0; n < 64; n++) {
        const vy_dim_node *x = &sig->dims.data[d.id];
        if (x->op == VY_DIM_SCALAR || x->op == VY_DIM_CONST) return true;
        int64_t c;
        if ((x->op != VY_DIM_ADD && x->op != VY_DIM_SUB) ||
            !vy_slice_const(&w->slices, (vy_dim){x->b}, &c))
            return false;
        d = (vy_dim){x->a};
    }
    return false;
}

static void decide(states *w, uint32_t tape)
{
    const bool may = w->begun[tape] && !w->fixed[tape] && !w->of[tape].source;
    const use *copy = may ? find_copy(w, tape) : NULL;
    if (!copy) return;
    const vy_pipe_step *s = &w->l->steps.data[copy->step];
    const vy_pipe_arg *from = &s->args[0] == copy->arg ? &s->args[1] : &s->args[0];
    const vy_dim to = w->l->steps.data[copy->block - 1].to;
    const uint32_t b = from->buffer.id;
    rotation r;
    int64_t offset;
    if (from->rank != 1 || w->fixed[b] || w->of[b].into) return;
    if (!is_appended(w, copy, from, &offset)) {
        if (!is_constant_length(w, to) || !is_rotating(w, copy, from, &r, &offset)) return;
        w->of[b].length = to, w->of[b].more = r.ahead;
    }
    w->of[tape] = (state){.into = b, .offset = offset, .copy = copy->step + 1};
    w->of[b].source = true;
}

// ------------------------------------------------------------------------------------- the rewrite
static vy_pipe_arg map_arg(states *w, const vy_pipe_arg *a)
{
    const state *s = &w->of[a->buffer.id];
    vy_builder *b = w->c.q->b;
    vy_pipe_arg made = inline_place(&w->c, a);
    vy_dim *index = (vy_dim *)made.index; // inline_place has made it
    if (s->into) {
        made.buffer.id = s->into;
        index[0] = vy_dim_binary(b, VY_DIM_ADD, index[0], vy_dim_const(b, s->offset));
    } else if (s->length.id) {
        const vy_dim_node *d = &w->l->signature->dims.data[a->index[0].id];
        if (d->op == VY_DIM_REM) index[0] = inline_dim(&w->c, (vy_dim){d->a});
    }
    return made;
}

static void dispatch(states *w, const vy_pipe_step *s)
{
    vy_pipe_arg *args = inline_room(&w->c, s->arg_count, sizeof *args);
    for (uint32_t k = 0; args && k < s->arg_count && !inline_stopped(&w->c); k++)
        args[k] = map_arg(w, &s->args[k]);
    if (args && !inline_stopped(&w->c)) inline_dispatch(&w->c, s, args);
}

static void begin_buffer(states *w, uint32_t buffer)
{
    const state *s = &w->of[buffer];
    vy_builder *b = w->c.q->b;
    if (s->into) return;
    vy_rewrite_buffer(&w->c, buffer);
    if (!s->length.id || inline_stopped(&w->c)) return;
    vy_buf *made = &b->p->buffers.data[buffer];
    vy_dim *dims = (vy_dim *)made->dims; // vy_rewrite_buffer has made it
    made->made = VY_MADE_TAPE;
    const vy_dim more = vy_dim_const(b, s->more);
    dims[0] = vy_dim_binary(b, VY_DIM_ADD, inline_dim(&w->c, s->length), more);
}

static bool rewrite(states *w, uint32_t number)
{
    if (!vy_rewrite_steps(&w->c, w->l)) return false;
    for (uint32_t i = 0; i < w->l->steps.count && !inline_stopped(&w->c); i++) {
        const vy_pipe_step *s = &w->l->steps.data[i];
        bool copies = false;
        for (uint32_t k = 0; s->kind == VY_PIPE_DISPATCH && k < s->arg_count; k++)
            copies |= w->of[s->args[k].buffer.id].copy == i + 1;
        if (copies) continue;
        vy_at(w->c.q->b, s->line, s->column);
        if (s->kind == VY_PIPE_BUFFER)
            begin_buffer(w, s->buffer.id);
        else if (s->kind == VY_PIPE_DISPATCH)
            dispatch(w, s);
        else
            inline_step(&w->c, i);
    }
    vy_pipe_drop_buffers(w->c.q);
    return vy_rewrite_steps_end(&w->c, number);
}

bool vy_host_keep_states(vy_module *m, uint32_t number,
                         void (*moved)(void *user, const char *tape, const char *into), void *user)
{
    states w = {.l = m->pipelines.data[number]};
    const uint32_t buffers = w.l->signature->buffers.count;
    w.of = vy_arena_room(&w.arena, buffers, sizeof *w.of);
    w.begun = vy_arena_room(&w.arena, buffers, sizeof *w.begun);
    w.fixed = vy_arena_room(&w.arena, buffers, 1);
    bool ok = !w.arena.oom && find_uses(&w) && vy_slices_make(&w.slices, w.l, &w.arena),
         any = false;
    if (ok) find_begun(&w);
    for (uint32_t b = 1; ok && b < buffers; b++) {
        decide(&w, b);
        any |= w.of[b].into != 0;
        if (w.of[b].into && moved)
            moved(user, w.l->signature->buffers.data[b].name,
                  w.l->signature->buffers.data[w.of[b].into].name);
    }
    if (!ok) vy_fail_oom(m);
    if (any) ok = rewrite(&w, number);
    vy_arena_free(&w.arena);
    return ok;
}
