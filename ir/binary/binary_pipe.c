// SPDX-License-Identifier: MIT
// binary_pipe.c: pipelines in the binary form, written and read.
//
// A step is kind, line, column, and then
//   BUFFER      buffer
//   VALUE       buffer, index ×rank
//   REPEAT      counter, from, to, keep, count if it has one
//   CHECKPOINT, END  nothing: blocks are paired by counting
//   DISPATCH    program, arguments (buffer, rank, index ×rank), per scalar of the program
//               (kind, dimension | scalar | bits), groups? (0 or 1, 3 dimensions)
//
// Reading trusts nothing; vy_check_pipeline checks what the numbers refer to, except where the next
// number cannot be read without.
#include "ir/binary/binary.h"
#include "ir/core/pipe.h"

#include <string.h>

// ---------------------------------------------------------------------------------------- writing
typedef struct pipe_writer {
    vy_binary_writer *w;
    const vy_pipeline *l;
    uint32_t *dims; // their numbers in the file
} pipe_writer;

static void mark(void *user, vy_dim d) { ((pipe_writer *)user)->dims[d.id] = 1; }

static void put_dims(const pipe_writer *q, uint32_t n, const vy_dim *dims)
{
    for (uint32_t i = 0; i < n; i++) vy_binary_put(q->w, q->dims[dims[i].id]);
}

static void put_scalar(const pipe_writer *q, vy_type type, const vy_pipe_scalar *s)
{
    vy_binary_put(q->w, s->kind);
    if (s->kind == VY_PIPE_DIM) {
        put_dims(q, 1, &s->dim);
    } else if (s->kind == VY_PIPE_PARAM) {
        vy_binary_put(q->w, s->scalar);
    } else {
        bool nan = vy_type_is_float(type) && s->value.f != s->value.f;
        vy_binary_put(q->w, nan ? 0x7FF8000000000000u : s->value.u);
    }
}

enum { FLAT = VY_MAX_RANK + 1 }; // is added to the rank of what is passed flat

static void put_dispatch(const pipe_writer *q, const vy_pipe_step *s)
{
    const vy_program *p = q->l->module->programs.data[s->program];
    vy_binary_put(q->w, s->program);
    vy_binary_put(q->w, s->arg_count);
    for (uint32_t i = 0; i < s->arg_count; i++) {
        vy_binary_put(q->w, s->args[i].buffer.id);
        vy_binary_put(q->w, s->args[i].rank + (s->args[i].flat ? FLAT : 0));
        put_dims(q, s->args[i].rank, s->args[i].index);
        if (s->args[i].flat) put_dims(q, 1, &s->args[i].elements);
    }
    for (uint32_t i = 0; i < p->scalars.count; i++)
        put_scalar(q, p->scalars.data[i].type, &s->scalars[i]);
    vy_binary_put(q->w, s->groups != NULL);
    if (s->groups) put_dims(q, 3, s->groups);
}

static void put_step(const pipe_writer *q, const vy_pipe_step *s)
{
    vy_binary_put(q->w, s->kind);
    vy_binary_put(q->w, s->line);
    vy_binary_put(q->w, s->column);
    switch (s->kind) {
    case VY_PIPE_BUFFER: vy_binary_put(q->w, s->buffer.id); break;
    case VY_PIPE_VALUE:
        vy_binary_put(q->w, s->buffer.id);
        put_dims(q, s->index_count, s->index);
        break;
    case VY_PIPE_DISPATCH: put_dispatch(q, s); break;
    case VY_PIPE_REPEAT:
        vy_binary_put_string(q->w, s->counter);
        put_dims(q, 2, (vy_dim[]){s->from, s->to});
        vy_binary_put(q->w, s->keep);
        if (s->keep == VY_KEEP_EVERY || s->keep == VY_KEEP_REVOLVE) put_dims(q, 1, &s->keep_count);
        break;
    case VY_PIPE_TEST: put_dims(q, 1, &s->from); break;
    case VY_PIPE_CHECKPOINT:
    case VY_PIPE_END: break;
    }
}

void vy_binary_put_pipeline(vy_binary_writer *w, const vy_pipeline *l)
{
    size_t size = l->signature->dims.count * sizeof(uint32_t);
    pipe_writer q = {.w = w, .l = l, .dims = vy_realloc(NULL, size)};
    if (!q.dims) {
        w->failed = true;
        return;
    }
    memset(q.dims, 0, size);
    for (uint32_t i = 0; i < l->steps.count; i++)
        vy_pipe_each_dim(l, &l->steps.data[i], true, &q, mark);
    vy_binary_put_declarations(w, l->signature, q.dims);
    vy_binary_put(w, l->steps.count);
    for (uint32_t i = 0; i < l->steps.count; i++) put_step(&q, &l->steps.data[i]);
    vy_free(q.dims);
}

// ---------------------------------------------------------------------------------------- reading
typedef struct pipe_reader {
    vy_binary_reader *r;
    vy_pipeline *l;
    vy_id_vec open;
} pipe_reader;

static void bad(pipe_reader *q, const char *what)
{
    if (!q->r->wrong) q->r->wrong = what;
}

static uint32_t get32(pipe_reader *q) { return (uint32_t)vy_binary_get_max(q->r, UINT32_MAX); }

// Room for n elements of `size` bytes, each of which has at least `least` bytes in the file; NULL:
// an error.
static void *room(pipe_reader *q, uint32_t n, size_t size, uint32_t least)
{
    if (n > (uint64_t)(q->r->end - q->r->at) / least) bad(q, "it ends too early");
    if (!vy_binary_ok(q->r)) return NULL;
    void *memory = vy_arena_alloc(&q->r->m->arena, n * size + 1);
    if (!memory) q->r->no_memory = true;
    return memory;
}

static vy_dim get_dim(pipe_reader *q)
{
    uint32_t id = get32(q);
    if (!id || id >= q->l->signature->dims.count) bad(q, "a step names no dimension");
    return (vy_dim){id};
}

static const vy_dim *get_dims(pipe_reader *q, uint32_t n)
{
    vy_dim *dims = room(q, n, sizeof *dims, 1);
    for (uint32_t i = 0; i < n && vy_binary_ok(q->r); i++) dims[i] = get_dim(q);
    return dims;
}

static vy_buffer get_buffer(pipe_reader *q)
{
    uint32_t id = get32(q);
    if (!id || id >= q->l->signature->buffers.count) bad(q, "a step names no buffer");
    return (vy_buffer){id};
}

static void get_scalar(pipe_reader *q, const char *name, vy_pipe_scalar *s)
{
    s->name = name;
    switch (vy_binary_get_max(q->r, VY_PIPE_CONST)) {
    case VY_PIPE_DIM:
        s->kind = VY_PIPE_DIM;
        s->dim = get_dim(q);
        break;
    case VY_PIPE_PARAM:
        s->kind = VY_PIPE_PARAM;
        s->scalar = get32(q);
        break;
    case VY_PIPE_CONST:
        s->kind = VY_PIPE_CONST;
        s->value.u = vy_binary_get(q->r);
        break;
    default: bad(q, "a scalar has no value");
    }
}

static void get_dispatch(pipe_reader *q, vy_pipe_step *s)
{
    s->program = get32(q);
    s->arg_count = vy_binary_get_count(q->r, 2);
    if (s->program >= q->r->m->programs.count) bad(q, "a step names no program");
    vy_pipe_arg *args = room(q, s->arg_count, sizeof *args, 2);
    for (uint32_t i = 0; i < s->arg_count && vy_binary_ok(q->r); i++) {
        args[i].buffer = get_buffer(q);
        args[i].rank = (uint32_t)vy_binary_get_max(q->r, FLAT + VY_MAX_RANK);
        args[i].flat = args[i].rank >= FLAT;
        args[i].rank -= args[i].flat ? FLAT : 0;
        if (vy_binary_ok(q->r)) args[i].index = get_dims(q, args[i].rank);
        args[i].elements = args[i].flat ? get_dim(q) : (vy_dim){0};
    }
    s->args = args;
    if (!vy_binary_ok(q->r)) return;
    const vy_program *p = q->r->m->programs.data[s->program];
    vy_pipe_scalar *scalars = room(q, p->scalars.count, sizeof *scalars, 2);
    for (uint32_t i = 0; i < p->scalars.count && vy_binary_ok(q->r); i++)
        get_scalar(q, p->scalars.data[i].name, &scalars[i]);
    s->scalars = scalars;
    if (vy_binary_get_max(q->r, 1)) s->groups = get_dims(q, 3);
}

static void get_repeat(pipe_reader *q, vy_pipe_step *s)
{
    s->counter = vy_binary_get_name(q->r);
    s->from = get_dim(q);
    s->to = get_dim(q);
    s->keep = (vy_keep_states)vy_binary_get_max(q->r, VY_KEEP_REVOLVE);
    if (s->keep == VY_KEEP_EVERY || s->keep == VY_KEEP_REVOLVE) s->keep_count = get_dim(q);
}

static void pair_blocks(pipe_reader *q, vy_pipe_step *s, uint32_t at)
{
    vy_pipe_step_vec *steps = &q->l->steps;
    if (s->kind == VY_PIPE_END) {
        if (!q->open.count) {
            bad(q, "a block ends that did not begin");
            return;
        }
        s->partner = q->open.data[--q->open.count];
        steps->data[s->partner].partner = at;
    } else if (s->kind == VY_PIPE_TEST) {
        if (!q->open.count || steps->data[q->open.data[q->open.count - 1]].test) {
            bad(q, "a test is in no `while`");
            return;
        }
        s->partner = q->open.data[q->open.count - 1];
        steps->data[s->partner].test = at;
    } else if (s->kind == VY_PIPE_REPEAT || s->kind == VY_PIPE_CHECKPOINT) {
        if (q->open.count >= VY_MAX_NESTING) bad(q, "its blocks are nested too deep");
        if (vy_binary_ok(q->r) && !vy_vec_push(&q->open, at)) q->r->no_memory = true;
    }
}

static void get_step(pipe_reader *q)
{
    vy_pipe_step s = {.kind = (vy_pipe_kind)vy_binary_get_max(q->r, VY_PIPE_END)};
    s.line = get32(q);
    s.column = get32(q);
    if (s.kind == VY_PIPE_BUFFER || s.kind == VY_PIPE_VALUE) s.buffer = get_buffer(q);
    if (s.kind == VY_PIPE_VALUE && vy_binary_ok(q->r)) {
        s.index_count = q->l->signature->buffers.data[s.buffer.id].rank;
        s.index = get_dims(q, s.index_count);
    }
    if (s.kind == VY_PIPE_DISPATCH) get_dispatch(q, &s);
    if (s.kind == VY_PIPE_REPEAT) get_repeat(q, &s);
    if (s.kind == VY_PIPE_TEST) s.from = get_dim(q);
    if (vy_binary_ok(q->r)) pair_blocks(q, &s, q->l->steps.count);
    if (vy_binary_ok(q->r) && !vy_vec_push(&q->l->steps, s)) q->r->no_memory = true;
}

void vy_binary_get_pipeline(vy_binary_reader *r)
{
    vy_program *signature = vy_binary_get_declarations(r);
    if (!signature) return;
    signature->signature = true;
    vy_pipeline *l = vy_realloc(NULL, sizeof *l);
    if (!l) {
        r->no_memory = true;
        vy_program_free(signature);
        return;
    }
    *l = (vy_pipeline){r->m, signature->name, signature, {0}, signature->line};
    pipe_reader q = {.r = r, .l = l};
    uint32_t n = vy_binary_get_count(r, 3);
    for (uint32_t i = 0; i < n && vy_binary_ok(r); i++) get_step(&q);
    if (q.open.count) bad(&q, "a block does not end");
    vy_vec_free(&q.open);
    if (vy_binary_ok(r) && vy_vec_push(&r->m->pipelines, l)) return;
    if (vy_binary_ok(r)) r->no_memory = true;
    vy_pipeline_free(l);
}
