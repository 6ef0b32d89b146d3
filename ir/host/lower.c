// SPDX-License-Identifier: MIT
// lower.c: a host program (ir/core/host.h) as the steps of a pipeline.
//
// Instructions become steps in their order; what only names a value becomes nothing:
//
//   ZERO h                      buffer h: …; or a dispatch that fills it
//   LOAD u[t]                   nothing, or a copy (lower_places.c)
//   LOAD n[i] of one element    value(n[i])
//   DISPATCH P …                P(…), after copies of what it updates in place
//   STORE y[t] ← PICK 0         nothing, if the dispatch writes there; else a copy
//   LOOP, ENDLOOP               repeat; backwards, t is from + to − 1 − its counter
//   WHILE, TEST                 while, the condition a number that is 0 or 1
//   integers                    nothing: they are dimension expressions
#include "ir/core/flow.h"
#include "ir/host/lower.h"

#include <stdio.h>
#include <string.h>

// ----------------------------------------------------------------------------------------- buffers
static vy_tensor shape_of(const lowering *w, uint32_t buffer)
{
    const vy_buf *b = &w->h->buffers.data[buffer];
    return (vy_tensor){b->type, b->rank, b->dims};
}

// A lifetime of the buffer begins: the first as the buffer of that number, others as new ones.
static void begin_buffer(lowering *w, uint32_t buffer)
{
    const vy_buf *b = &w->h->buffers.data[buffer];
    const vy_tensor all = shape_of(w, buffer);
    char text[320];
    if (lower_stopped(w)) return;
    const vy_tensor shape = lower_shape(w, &all);
    if (w->begun[buffer]) {
        const char *name = vy_free_name(w->b->p, "again", b->name, text);
        w->current[buffer] = vy_pipeline_buffer(w->q, name, b->type, b->rank, shape.dims).id;
        return;
    }
    const vy_pipe_step s = {.kind = VY_PIPE_BUFFER, .buffer = {buffer}};
    w->begun[buffer] = 1;
    w->current[buffer] = buffer; // a loop before may have had its contents in what it carries
    if (shape.dims != b->dims)   // else shared with the host program
        memcpy(&w->b->p->buffers.data[buffer].dims, &shape.dims, sizeof shape.dims);
    if (!vy_vec_push(&w->q->steps, s)) w->oom = true;
}

// An intermediate that lives from here to the end: once its extents are known.
static void begin_known(lowering *w, uint32_t buffer)
{
    const vy_buf *b = &w->h->buffers.data[buffer];
    const vy_tensor shape = shape_of(w, buffer);
    if ((b->cls == VY_LOCAL || b->workspace) && !w->scoped[buffer] && !w->begun[buffer] &&
        lower_is_known(w, &shape))
        begin_buffer(w, buffer);
}

static lower_place whole(const lowering *w, uint32_t buffer)
{
    const vy_buf *b = &w->h->buffers.data[buffer];
    return (lower_place){.buffer = buffer, .shape = {b->type, b->rank, b->dims}};
}

// The parameters of a pipeline have no @init: what they begin with is the first steps.
static void begin_parameters(lowering *w)
{
    for (uint32_t i = 1; i < w->h->buffers.count && !lower_stopped(w); i++) {
        const vy_buf *b = &w->h->buffers.data[i];
        const lower_place to = whole(w, i);
        if (!vy_is_global(b->cls) || b->workspace || b->init == VY_INIT_NONE) continue;
        vy_buffer_init(w->b, (vy_buffer){i}, VY_INIT_NONE, NULL);
        if (b->init == VY_INIT_ONES) lower_fill(w, &to, 1);
        if (b->init != VY_INIT_COPY) continue;
        const lower_place from = whole(w, vy_program_find_buffer(w->h, b->init_from).id);
        lower_copy(w, &from, &to);
    }
}

// Notes the extents that ZERO gives its array.
static void know_extents(lowering *w, uint32_t id)
{
    const vy_program *h = w->h;
    const vy_buf *b = &h->buffers.data[h->insts.data[id].aux];
    lower_know_extents(w, id);
    for (uint32_t k = 0; k < b->rank && h->insts.data[id].nargs && !w->s.parent[id]; k++) {
        const vy_dim_node *d = &h->dims.data[b->dims[k].id];
        uint32_t use = d->op == VY_DIM_STEP ? w->first_use[d->value] : 0;
        for (; use; use = w->next_use[use]) begin_known(w, w->used_by[use]);
    }
}

static void zero(lowering *w, uint32_t id)
{
    const uint32_t buffer = w->h->insts.data[id].aux;
    if (w->nothing[id]) return;
    know_extents(w, id);
    if (w->h->buffers.data[buffer].made == VY_MADE_EXTENT) return;
    if (w->scope[id]) {
        begin_buffer(w, buffer);
        return;
    }
    if (w->dead[id]) return;
    const lower_place all = lower_slice(w, id);
    lower_fill(w, &all, 0);
}

// ------------------------------------------------------------------------------------------ memory
static void load(lowering *w, uint32_t id)
{
    const vy_inst *i = &w->h->insts.data[id];
    if (!lower_is_tensor(w, id)) {
        vy_dim index[VY_MAX_RANK];
        for (uint32_t k = 0; k < i->nargs; k++) index[k] = lower_number(w, vy_arg(w->h, id, k));
        const vy_buffer b = {w->current[i->aux]};
        if (!lower_stopped(w)) w->number[id] = vy_pipeline_value(w->q, b, index);
        return;
    }
    if (!w->last[id]) return; // unused
    const lower_place slice = lower_slice(w, id);
    w->place[id] = slice;
    if (!w->copied[id]) return;
    w->place[id] = lower_temporary(w, &slice.shape);
    lower_copy(w, &slice, &w->place[id]);
}

// A number, which is kept on a tape: to one element, the last axis has no other.
static void store_number(lowering *w, uint32_t id, uint32_t v)
{
    const vy_inst *i = &w->h->insts.data[id];
    vy_pipe_arg to = {.buffer = {w->current[i->aux]}, .rank = i->nargs - 2};
    vy_dim *index = vy_arena_alloc(&w->h->module->arena, i->nargs * sizeof *index);
    if (!index) w->oom = true;
    for (uint32_t k = 0; index && k < to.rank; k++) index[k] = lower_number(w, vy_arg(w->h, id, k));
    to.index = index;
    const vy_dim n = lower_number(w, v);
    if (!lower_stopped(w)) vy_pipe_assign(w->q, VY_PIPE_SET, &to, n);
}

static void store(lowering *w, uint32_t id)
{
    if (w->dead[id] || w->nothing[id]) return;
    const uint32_t v = vy_arg(w->h, id, w->h->insts.data[id].nargs - 1);
    if (w->is_direct[id]) { // else the tape would stay without a writer, and gradients wrong
        if (w->place[v].buffer != w->current[w->h->insts.data[id].aux])
            vy_build_fail(w->b, VY_E_INTERNAL, "a result was not written where it is stored");
        return;
    }
    const lower_place to = lower_slice(w, id);
    const vy_scalar *c = vy_id_const(w->h, v);
    const bool is_float = vy_type_is_float((vy_type)to.shape.type);
    const bool whole = w->h->insts.data[id].nargs == 1; // integers of tapes are single elements
    if (c && (is_float || whole)) {
        lower_fill(w, &to, is_float ? c->f : (double)c->i);
        return;
    }
    if (!lower_is_tensor(w, v)) {
        store_number(w, id, v);
        return;
    }
    const lower_place from = lower_place_of(w, v, &to.shape);
    if (!lower_same_place(&from, &to)) lower_copy(w, &from, &to);
}

// ------------------------------------------------------------------------------------------- loops
// The STOREs that were put off until after instruction `id`.
static void catch_up(lowering *w, uint32_t id)
{
    for (uint32_t s = w->put_off[id]; s; s = w->next_off[s]) store(w, s);
}

static void loop(lowering *w, uint32_t id)
{
    const vy_inst *i = &w->h->insts.data[id];
    const vy_dim from = lower_number(w, vy_arg(w->h, id, 0)),
                 to = lower_number(w, vy_arg(w->h, id, 1));
    int64_t by;
    if (!vy_id_int(w->h, vy_arg(w->h, id, 2), &by) || by != 1)
        vy_build_fail(w->b, VY_E_INTERNAL, "a loop of a host program is no repeat");
    lower_open_carries(w, id);
    catch_up(w, id); // before the first iteration, which there may not be
    if (lower_stopped(w)) return;
    const char *name = vy_string(&w->h->module->names, i->name);
    const vy_dim t =
        vy_pipeline_repeat(w->q, *name ? name : "t", from, to, VY_KEEP_ALL, (vy_dim){0});
    w->number[id] = t;
    if (!(i->flags & VY_FLAG_REVERSE)) return;
    const vy_dim last = vy_dim_binary(w->b, VY_DIM_SUB, to, vy_dim_const(w->b, 1));
    const vy_dim both = vy_dim_binary(w->b, VY_DIM_ADD, last, from); // last, if from is 0
    w->number[id] = vy_dim_binary(w->b, VY_DIM_SUB, both, t);
}

static void close_block(lowering *w, uint32_t end)
{
    vy_pipeline_close(w->q);
    lower_forget_extents(w, w->s.partner[end]);
}

static void lower(lowering *w, uint32_t id)
{
    const vy_inst *i = &w->h->insts.data[id];
    vy_at(w->b, i->line, i->column);
    switch ((vy_op)i->op) {
    case VY_OP_ZERO: zero(w, id); break;
    case VY_OP_LOAD: load(w, id); break;
    case VY_OP_STORE:
        if (!w->after[id]) store(w, id);
        break;
    case VY_OP_DISPATCH: lower_dispatch(w, id); break;
    case VY_OP_LOOP: loop(w, id); break;
    case VY_OP_WHILE:
        lower_open_carries(w, id);
        catch_up(w, id);
        vy_pipeline_while(w->q, VY_KEEP_ALL, (vy_dim){0});
        break;
    case VY_OP_TEST: vy_pipeline_test(w->q, lower_test(w, vy_arg(w->h, id, 0))); break;
    case VY_OP_CHECKPOINT: vy_pipeline_checkpoint(w->q); break;
    case VY_OP_ENDLOOP:
        lower_close_carries(w, id);
        close_block(w, id);
        break;
    case VY_OP_ENDCHECKPOINT: close_block(w, id); break;
    case VY_OP_PICK:
    case VY_OP_CARRY:
    case VY_OP_RESULT: break;
    default:
        if (lower_is_tensor(w, id))
            lower_add(w, id);
        else if (vy_op_infos[i->op].effect != VY_PURE)
            vy_build_fail(w->b, VY_E_INTERNAL, "`%s` of a host program is no step",
                          vy_op_infos[i->op].text);
    }
    if (!vy_is_loop((vy_op)i->op)) catch_up(w, id);
}

// ---------------------------------------------------------------------------------------- together
// Arrays of a program may have equal names, intermediates not: later ones get their number.
static void name_apart(vy_program *p)
{
    char text[320];
    vy_names_drop(p);
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        vy_buf *b = &p->buffers.data[i];
        if (!b->workspace || vy_program_find_buffer(p, b->name).id == i) continue;
        int n = snprintf(text, sizeof text, "%.290s_%u", b->name, i);
        if (vy_program_find_buffer(p, text).id)
            n = snprintf(text, sizeof text, "%.280s_%u_%u", b->name, i, p->buffers.count);
        const char *own = vy_arena_strdup(&p->module->arena, text, (size_t)n);
        if (own) b->name = own;
    }
    vy_names_drop(p);
}

// The pipe: its signature has the buffers, scalars and dimensions of the host program.
static vy_pipe *begin_pipe(const vy_program *h, const char *name)
{
    vy_pipe *q = vy_realloc(NULL, sizeof *q);
    vy_builder *b = q ? vy_rebuild_begin(h) : NULL;
    if (!b) {
        if (!q) vy_fail_oom(h->module);
        vy_free(q);
        return NULL;
    }
    vy_program *p = b->p;
    *q = (vy_pipe){.m = h->module, .b = b};
    p->host = false;
    p->signature = true;
    p->has_workgroup = false;
    p->stem = NULL;
    p->calls.count = 0;
    for (int k = 0; k < 3; k++) p->workgroup[k] = 1;
    for (uint32_t i = 1; i < p->dims.count; i++) // keys of extents
        if (p->dims.data[i].op == VY_DIM_STEP) p->dims.data[i] = (vy_dim_node){.op = VY_DIM_CONST};
    p->name = vy_arena_strdup(&h->module->arena, name, strlen(name));
    if (!p->name) vy_build_oom(b);
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        vy_buf *buf = &p->buffers.data[i];
        if (buf->cls != VY_LOCAL) continue;
        buf->cls = VY_INOUT;
        buf->workspace = true;
        buf->role.kind = VY_IS_WORKSPACE;
    }
    name_apart(p);
    return q;
}

vy_pipeline *vy_host_lower(const vy_program *h, const char *name)
{
    lowering w = {.h = h, .q = begin_pipe(h, name)};
    if (!w.q) return NULL;
    w.b = w.q->b;
    if (lower_make_tables(&w) && lower_decide(&w)) {
        for (uint32_t i = 1; i < h->buffers.count; i++) begin_known(&w, i);
        begin_parameters(&w);
        for (uint32_t id = 1; id < h->insts.count && !lower_stopped(&w); id++) lower(&w, id);
        if (!lower_stopped(&w)) vy_pipe_drop_buffers(w.q);
    }
    if (w.oom) vy_build_oom(w.b);
    vy_structure_free(&w.s);
    vy_arena_free(&w.arena);
    return vy_pipeline_end(w.q);
}
