// SPDX-License-Identifier: MIT
// raise.c: the steps of a pipeline as a host program (ir/core/host.h).
//
// Parameters, scalars and dimensions keep their numbers.  Slice positions, counts and integer
// scalars, which are dimension expressions of the pipeline, become i64 instructions.
#include "ir/host/raise.h"

#include <string.h>

// ------------------------------------------------------------------------------------------- steps

// ------------------------------------------------------------------------------------------- steps
static void load(raising *r, const vy_pipe_arg *a, uint32_t *value)
{
    uint32_t index[VY_MAX_RANK];
    const vy_type type = r->l->signature->buffers.data[a->buffer.id].type;
    raise_numbers(r, a->rank, a->index, index);
    *value = vy_host_append(r->b, VY_OP_LOAD, type, r->current[a->buffer.id], a->rank, index);
}

static void store(raising *r, const vy_pipe_arg *a, uint32_t value)
{
    uint32_t args[VY_MAX_RANK + 1];
    raise_numbers(r, a->rank, a->index, args);
    args[a->rank] = value;
    vy_emit(r->b, VY_OP_STORE, VY_VOID, r->current[a->buffer.id], a->rank + 1, args);
}

static uint32_t scalar(raising *r, const vy_pipe_scalar *s, vy_type type)
{
    switch (s->kind) {
    case VY_PIPE_DIM: return raise_number(r, s->dim);
    case VY_PIPE_PARAM: return vy_leaf_other(r->b, VY_LEAF_SCALAR, type, s->scalar, 0);
    default: return vy_leaf_const(r->b, type, s->value);
    }
}

// Extents of results that only the run decides, and only what is passed tells: as operands.
static void add_extents(raising *r, const vy_pipe_step *s, vy_host_call *call, uint32_t *args)
{
    const vy_program *p = r->l->module->programs.data[s->program];
    uint32_t *keys = vy_arena_alloc(&r->l->module->arena, (s->arg_count + 1) * sizeof *keys);
    call->keys = keys;
    if (!keys) vy_build_oom(r->b);
    for (uint32_t i = 1, n = 0; keys && i < p->buffers.count; i++) {
        const vy_buf *b = &p->buffers.data[i];
        if (!vy_pipe_binds(b)) continue;
        const vy_pipe_arg *a = &s->args[n];
        const vy_tensor *shape = &call->shapes[n++];
        if (!vy_host_gives(b) || !b->rank || p->dims.data[b->dims[0].id].op != VY_DIM_UNKNOWN)
            continue;
        const vy_dim_node extent = vy_builder_program(r->b)->dims.data[shape->dims[0].id];
        if (extent.op != VY_DIM_STEP) continue;
        const vy_dim own = r->l->signature->buffers.data[a->buffer.id].dims[a->rank];
        keys[call->extents] = (uint32_t)extent.value;
        args[call->extents++] = raise_number(r, own);
    }
}

static void dispatch(raising *r, const vy_pipe_step *s)
{
    const vy_program *p = r->l->module->programs.data[s->program];
    const uint32_t most = 2 * s->arg_count + p->scalars.count + 3;
    vy_tensor *shapes = vy_arena_alloc(&r->l->module->arena, (s->arg_count + 1) * sizeof *shapes);
    uint32_t *args = vy_arena_alloc(&r->arena, (most + s->arg_count) * sizeof *args);
    if (!shapes || !args) {
        vy_build_oom(r->b);
        return;
    }
    vy_host_call call = {.callee = s->program,
                         .groups = s->groups != NULL,
                         .scalars = p->scalars.count,
                         .count = s->arg_count,
                         .shapes = shapes};
    uint32_t *picks = args + most;
    for (uint32_t i = 1, n = 0; i < p->buffers.count; i++) {
        if (!vy_pipe_binds(&p->buffers.data[i])) continue;
        const vy_pipe_arg *a = &s->args[n];
        const vy_buf *from = &vy_builder_program(r->b)->buffers.data[a->buffer.id];
        shapes[n++] = (vy_tensor){from->type, from->rank - a->rank, from->dims + a->rank};
        if (vy_host_takes(&p->buffers.data[i])) load(r, a, &args[call.tensors++]);
        uint32_t index[VY_MAX_RANK]; // the result is written there at once: known beforehand
        raise_numbers(r, a->rank, a->index, index);
    }
    uint32_t *rest = args + call.tensors;
    for (uint32_t k = 0; k < p->scalars.count; k++)
        *rest++ = scalar(r, &s->scalars[k], p->scalars.data[k].type);
    if (s->groups) rest += raise_numbers(r, 3, s->groups, rest);
    add_extents(r, s, &call, rest);
    if (!vy_host_dispatch(r->b, &call, args, picks)) return;
    for (uint32_t i = 1, n = 0, k = 0; i < p->buffers.count; i++) {
        if (!vy_pipe_binds(&p->buffers.data[i])) continue;
        if (vy_host_gives(&p->buffers.data[i])) store(r, &s->args[n], picks[k++]);
        n++;
    }
}

// The lifetime of an intermediate begins.
static void clear(raising *r, uint32_t buffer)
{
    uint32_t extents[VY_MAX_RANK], n = 0;
    const vy_buf b = vy_builder_program(r->b)->buffers.data[buffer];
    for (uint32_t k = 0; k < b.rank; k++)
        if (vy_builder_program(r->b)->dims.data[b.dims[k].id].op == VY_DIM_STEP)
            extents[n++] = raise_number(r, r->l->signature->buffers.data[buffer].dims[k]);
    vy_emit(r->b, VY_OP_ZERO, VY_VOID, buffer, n, extents);
    if (b.made != VY_MADE_EXTENT) return;
    vy_dim *extent = &r->extent[r->l->signature->buffers.data[buffer].dims[0].id];
    if (!extent->id) *extent = b.dims[0]; // the first one, which comes before all its uses
}

static void start(raising *r, uint32_t buffer)
{
    const vy_buf b = vy_builder_program(r->b)->buffers.data[buffer];
    uint32_t value = 0;
    if (b.init == VY_INIT_ONES)
        value = (vy_type_is_float(b.type) ? vy_float(r->b, b.type, 1) : vy_int(r->b, b.type, 1)).id;
    if (b.init == VY_INIT_COPY)
        load(r, &(vy_pipe_arg){.buffer = vy_program_find_buffer(r->l->signature, b.init_from)},
             &value);
    if (value) vy_emit(r->b, VY_OP_STORE, VY_VOID, buffer, 1, &value);
    vy_buffer_init(r->b, (vy_buffer){buffer}, VY_INIT_NONE, NULL);
}

static void value(raising *r, const vy_pipe_step *s, uint32_t at)
{
    uint32_t index[VY_MAX_RANK];
    const vy_type type = vy_type_loaded(r->l->signature->buffers.data[s->buffer.id].type);
    raise_numbers(r, s->index_count, s->index, index);
    const uint32_t v =
        vy_host_append(r->b, VY_OP_LOAD, type, r->current[s->buffer.id], s->index_count, index);
    if (v) r->steps[at] = vy_cast(r->b, VY_I64, (vy_value){v}).id;
}

static void open_repeat(raising *r, const vy_pipe_step *s, uint32_t at)
{
    const uint32_t from = raise_number(r, s->from), to = raise_number(r, s->to);
    raise_hint_extent(r, to, s->to);
    const uint32_t one = vy_int(r->b, VY_I64, 1).id;
    r->steps[at] = vy_begin_loop(r->b, VY_I64, 0, from, to, one, 0, NULL, NULL);
    vy_name(r->b, (vy_value){r->steps[at]}, s->counter);
}

static void repeat(raising *r, const vy_pipe_step *s, uint32_t at)
{
    const bool segments = r->segments && !s->test && raise_open_segments(r, at);
    r->open++;
    if (s->test) {
        vy_begin_while(r->b, 0, 0, NULL, NULL);
        return;
    }
    if (!segments) open_repeat(r, s, at);
    if (r->own && r->own[at]) vy_begin_checkpoint(r->b);
}

static void end(raising *r, uint32_t opener)
{
    const bool loop = r->l->steps.data[opener].kind == VY_PIPE_REPEAT;
    r->open -= loop;
    if (!loop || (r->own && r->own[opener])) vy_end_checkpoint(r->b, 0, NULL, NULL);
    if (r->segments && r->segments[opener])
        raise_close_segments(r, opener);
    else if (loop)
        vy_end_loop(r->b, 0, 0, NULL, NULL);
}

static void test(raising *r, const vy_pipe_step *s)
{
    const vy_value goes_on = {raise_number(r, s->from)};
    if (goes_on.id) vy_loop_test(r->b, vy_ne(r->b, goes_on, vy_int(r->b, VY_I64, 0)).id);
}

static void step(raising *r, uint32_t at)
{
    const vy_pipe_step *s = &r->l->steps.data[at];
    vy_at(r->b, s->line, s->column);
    switch (s->kind) {
    case VY_PIPE_BUFFER:
        clear(r, s->buffer.id);
        start(r, s->buffer.id);
        break;
    case VY_PIPE_DISPATCH: dispatch(r, s); break;
    case VY_PIPE_VALUE: value(r, s, at); break;
    case VY_PIPE_REPEAT: repeat(r, s, at); break;
    case VY_PIPE_TEST: test(r, s); break;
    case VY_PIPE_CHECKPOINT: vy_begin_checkpoint(r->b); break;
    case VY_PIPE_END: end(r, s->partner); break;
    }
}

// ---------------------------------------------------------------------------------------- together
// Marks the dimensions that depend on a counter or a value.  NULL: memory.
static uint8_t *find_unknown(const vy_program *p)
{
    uint8_t *unknown = vy_realloc(NULL, p->dims.count + 1);
    for (uint32_t i = 0; unknown && i < p->dims.count; i++) {
        const vy_dim_node *d = &p->dims.data[i];
        unknown[i] =
            d->op == VY_DIM_STEP || (d->op >= VY_DIM_ADD && (unknown[d->a] || unknown[d->b]));
    }
    return unknown;
}

// Gives each extent that only the run decides a dimension of its own.
static bool separate_extents(vy_program *p)
{
    const uint32_t known = p->dims.count;
    uint8_t *unknown = find_unknown(p);
    bool ok = unknown != NULL;
    for (uint32_t i = 1; ok && i < p->buffers.count; i++)
        for (uint32_t k = 0; ok && k < p->buffers.data[i].rank; k++) {
            vy_dim *d = &p->buffers.data[i].dims[k];
            if (d->id >= known || !unknown[d->id]) continue;
            const vy_dim_node key = {.op = VY_DIM_STEP, .value = p->dims.count};
            d->id = p->dims.count;
            ok = vy_vec_push(&p->dims, key);
        }
    for (uint32_t i = 1; ok && i < known; i++) // those of no shape
        if (p->dims.data[i].op == VY_DIM_STEP) p->dims.data[i] = (vy_dim_node){.op = VY_DIM_CONST};
    vy_free(unknown);
    if (!ok) vy_fail_oom(p->module);
    return ok;
}

// Of each scalar there is a leaf, as in a program, also where no step takes it: what is
// differentiated by it finds it there (autodiff/reverse/request.c).
static vy_builder *with_scalar_leaves(vy_builder *b)
{
    const vy_program *p = b ? vy_builder_program(b) : NULL;
    for (uint32_t k = 0; p && k < p->scalars.count; k++)
        vy_leaf_other(b, VY_LEAF_SCALAR, p->scalars.data[k].type, k, 0);
    return b;
}

// The builder of the host program: parameters as they are, intermediates as local arrays.
static vy_builder *begin_host(const vy_pipeline *l)
{
    vy_program *p = vy_program_clone(l->signature, l->module);
    if (!p) return NULL;
    p->signature = false;
    p->host = true;
    p->rules[VY_DERIVE_AS] = NULL; // of the source, not of what is made of it
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        vy_buf *b = &p->buffers.data[i];
        if (!b->workspace) continue;
        b->workspace = false;
        b->cls = VY_LOCAL;
    }
    vy_builder *b = separate_extents(p) ? with_scalar_leaves(vy_rebuild_begin(p)) : NULL;
    vy_program_free(p);
    return b;
}

// Does the step begin an intermediate whose size only the run knows?
static bool begins_open(const raising *r, const vy_pipe_step *s)
{
    bool open = false;
    if (s->kind != VY_PIPE_BUFFER) return false;
    const vy_buf *b = &r->l->signature->buffers.data[s->buffer.id];
    for (uint32_t k = 0; k < b->rank; k++) open |= r->unknown[b->dims[k].id];
    return open && b->made != VY_MADE_EXTENT;
}

// Finds the repeats in whose iterations such an intermediate begins.
static void find_own(raising *r)
{
    const uint32_t n = r->l->steps.count;
    uint32_t *outer = raise_room(r, n, sizeof *outer), block = 0; // its opener + 1
    r->own = raise_room(r, n, sizeof *r->own);
    for (uint32_t i = 0; r->own && outer && i < n; i++) {
        const vy_pipe_step *s = &r->l->steps.data[i];
        if (block && begins_open(r, s))
            r->own[block - 1] = r->l->steps.data[block - 1].kind == VY_PIPE_REPEAT &&
                                !r->l->steps.data[block - 1].test;
        if (s->kind == VY_PIPE_REPEAT || s->kind == VY_PIPE_CHECKPOINT) {
            outer[i] = block;
            block = i + 1;
        }
        if (s->kind == VY_PIPE_END) block = outer[s->partner];
    }
}

static bool make_tables(raising *r, bool segments, bool own)
{
    const vy_program *p = r->l->signature;
    r->steps = raise_room(r, r->l->steps.count, sizeof *r->steps);
    r->known = raise_room(r, p->dims.count, sizeof *r->known);
    r->current = raise_room(r, p->buffers.count, sizeof *r->current);
    r->segments = segments ? raise_room(r, r->l->steps.count, sizeof *r->segments) : NULL;
    r->extent = raise_room(r, p->dims.count, sizeof *r->extent);
    r->unknown = find_unknown(p);
    if (!r->unknown) vy_build_oom(r->b);
    if (r->unknown && own) find_own(r);
    for (uint32_t i = 0; r->current && i < p->buffers.count; i++) r->current[i] = i;
    return !vy_builder_failed(r->b);
}

vy_program *vy_host_raise(const vy_pipeline *l, bool all, bool revolve, bool own, uint32_t **hints)
{
    raising r = {.l = l, .b = begin_host(l), .all = all, .revolve = revolve};
    if (!r.b) return NULL;
    if (make_tables(&r, hints != NULL, own)) {
        for (uint32_t i = 1; i < l->signature->buffers.count; i++)
            if (!l->signature->buffers.data[i].workspace) start(&r, i);
        for (uint32_t i = 0; i < l->steps.count && !vy_builder_failed(r.b); i++) step(&r, i);
        for (uint32_t n = vy_builder_program(r.b)->insts.count; hints && r.hints.count <= n;)
            if (!vy_vec_push(&r.hints, 0u)) {
                vy_build_oom(r.b);
                break;
            }
    }
    vy_free(r.unknown);
    vy_arena_free(&r.arena);
    vy_program *p = vy_rebuild_end(r.b);
    if (p && hints)
        *hints = r.hints.data;
    else
        vy_vec_free(&r.hints);
    return p;
}
