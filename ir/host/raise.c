// SPDX-License-Identifier: MIT
// raise.c: the steps of a pipeline as a host program (ir/core/host.h).
//
// Parameters, scalars and dimensions keep their numbers.  Slice positions, counts and integer
// scalars, which are dimension expressions of the pipeline, become i64 instructions.
#include "ir/build/build.h"
#include "ir/host/host_build.h"

#include <string.h>

typedef struct raising {
    const vy_pipeline *l;
    vy_builder *b;
    vy_arena arena;
    uint32_t *steps; // by REPEAT and VALUE: the number
    uint32_t *known; // by dimension: its number, where that is visible
} raising;

// ------------------------------------------------------------------------------------ instructions
uint32_t vy_host_append(vy_builder *b, vy_op op, vy_type type, uint32_t buffer, uint32_t nargs,
                        const uint32_t *args)
{
    if (vy_builder_failed(b)) return 0;
    const vy_inst inst = {.op = (uint16_t)op, .type = (uint8_t)type, .nargs = nargs, .aux = buffer};
    if (vy_op_infos[op].effect == VY_WRITE) return vy_emit(b, op, type, buffer, nargs, args);
    return vy_append(b, inst, args, 0);
}

uint32_t vy_host_dispatch(vy_builder *b, const vy_host_call *call, const uint32_t *args,
                          uint32_t *picks)
{
    if (vy_builder_failed(b)) return 0;
    const uint32_t nargs = call->tensors + call->scalars + (call->groups ? 3 : 0);
    vy_host_call *kept = vy_arena_alloc(&b->m->arena, sizeof *kept);
    if (!kept || !vy_vec_push(&b->p->calls, kept)) {
        vy_build_oom(b);
        return 0;
    }
    *kept = *call;
    const uint32_t d =
        vy_host_append(b, VY_OP_DISPATCH, VY_F32, b->p->calls.count - 1, nargs, args);
    const vy_program *p = vy_host_callee(b->m, call);
    for (uint32_t i = 1, n = 0, k = 0; i < p->buffers.count; i++) {
        const vy_buf *buf = &p->buffers.data[i];
        if (!vy_pipe_binds(buf)) continue;
        if (vy_host_gives(buf)) {
            picks[k] = vy_host_append(b, VY_OP_PICK, call->shapes[n].type, k, 1, &d);
            k++;
        }
        n++;
    }
    return vy_builder_failed(b) ? 0 : d;
}

// ----------------------------------------------------------------------------------------- numbers
static vy_value number(raising *r, vy_dim d);

static vy_value binary(raising *r, const vy_dim_node *d)
{
    vy_builder *b = r->b;
    const vy_value x = number(r, (vy_dim){d->a}), y = number(r, (vy_dim){d->b});
    switch (d->op) {
    case VY_DIM_ADD: return vy_add(b, x, y);
    case VY_DIM_SUB: return vy_sub(b, x, y);
    case VY_DIM_MUL: return vy_mul(b, x, y);
    case VY_DIM_DIV: return vy_div(b, x, y);
    case VY_DIM_REM: return vy_rem(b, x, y);
    case VY_DIM_MIN: return vy_min(b, x, y);
    case VY_DIM_MAX: return vy_max(b, x, y);
    default:
        return vy_cast(b, VY_I64, vy_call(b, "sqrt", 1, &(vy_value){vy_cast(b, VY_F64, x).id}));
    }
}

static vy_value make_number(raising *r, vy_dim dim)
{
    const vy_dim_node d = r->l->signature->dims.data[dim.id];
    switch (d.op) {
    case VY_DIM_CONST: return vy_int(r->b, VY_I64, d.value);
    case VY_DIM_STEP: return (vy_value){r->steps[d.value]};
    case VY_DIM_UNKNOWN:
        return vy_cast(r->b, VY_I64, vy_len(r->b, (vy_buffer){(uint32_t)d.value}, 0));
    case VY_DIM_GROUPS:
        return vy_cast(r->b, VY_I64, vy_builtin_value(r->b, VY_NUM_GROUPS, (uint32_t)d.value));
    case VY_DIM_SCALAR: {
        const vy_type own = r->l->signature->scalars.data[d.value].type;
        const uint32_t leaf = vy_leaf_other(r->b, VY_LEAF_SCALAR, own, (uint32_t)d.value, 0);
        return vy_cast(r->b, VY_I64, (vy_value){leaf});
    }
    default: return binary(r, &d);
    }
}

static vy_value number(raising *r, vy_dim dim)
{
    uint32_t *known = &r->known[dim.id];
    if (vy_builder_failed(r->b)) return (vy_value){0};
    if (!*known || !vy_visible(r->b, *known)) *known = make_number(r, dim).id;
    return (vy_value){*known};
}

static uint32_t numbers(raising *r, uint32_t n, const vy_dim *dims, uint32_t *out)
{
    for (uint32_t k = 0; k < n; k++) out[k] = number(r, dims[k]).id;
    return n;
}

// ------------------------------------------------------------------------------------------- steps
static void load(raising *r, const vy_pipe_arg *a, uint32_t *value)
{
    uint32_t index[VY_MAX_RANK];
    const vy_type type = r->l->signature->buffers.data[a->buffer.id].type;
    numbers(r, a->rank, a->index, index);
    *value = vy_host_append(r->b, VY_OP_LOAD, type, a->buffer.id, a->rank, index);
}

static void store(raising *r, const vy_pipe_arg *a, uint32_t value)
{
    uint32_t args[VY_MAX_RANK + 1];
    numbers(r, a->rank, a->index, args);
    args[a->rank] = value;
    vy_emit(r->b, VY_OP_STORE, VY_VOID, a->buffer.id, a->rank + 1, args);
}

static uint32_t scalar(raising *r, const vy_pipe_scalar *s, vy_type type)
{
    switch (s->kind) {
    case VY_PIPE_DIM: return number(r, s->dim).id;
    case VY_PIPE_PARAM: return vy_leaf_other(r->b, VY_LEAF_SCALAR, type, s->scalar, 0);
    default: return vy_leaf_const(r->b, type, s->value);
    }
}

static void dispatch(raising *r, const vy_pipe_step *s)
{
    const vy_program *p = r->l->module->programs.data[s->program];
    const uint32_t most = s->arg_count + p->scalars.count + 3;
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
        numbers(r, a->rank, a->index, index);
    }
    uint32_t *rest = args + call.tensors;
    for (uint32_t k = 0; k < p->scalars.count; k++)
        *rest++ = scalar(r, &s->scalars[k], p->scalars.data[k].type);
    if (s->groups) numbers(r, 3, s->groups, rest);
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
            extents[n++] = number(r, r->l->signature->buffers.data[buffer].dims[k]).id;
    vy_emit(r->b, VY_OP_ZERO, VY_VOID, buffer, n, extents);
}

static void start(raising *r, uint32_t buffer)
{
    const vy_buf b = vy_builder_program(r->b)->buffers.data[buffer];
    uint32_t value = 0;
    if (b.init == VY_INIT_ONES) value = vy_float(r->b, b.type, 1).id;
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
    numbers(r, s->index_count, s->index, index);
    const uint32_t v = vy_host_append(r->b, VY_OP_LOAD, type, s->buffer.id, s->index_count, index);
    if (v) r->steps[at] = vy_cast(r->b, VY_I64, (vy_value){v}).id;
}

static void repeat(raising *r, const vy_pipe_step *s, uint32_t at)
{
    const uint32_t from = number(r, s->from).id, to = number(r, s->to).id;
    const uint32_t one = vy_int(r->b, VY_I64, 1).id;
    r->steps[at] = vy_begin_loop(r->b, VY_I64, 0, from, to, one, 0, NULL, NULL);
    vy_name(r->b, (vy_value){r->steps[at]}, s->counter);
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
    case VY_PIPE_CHECKPOINT: vy_begin_checkpoint(r->b); break;
    case VY_PIPE_END:
        if (r->l->steps.data[s->partner].kind == VY_PIPE_REPEAT)
            vy_end_loop(r->b, 0, 0, NULL, NULL);
        else
            vy_end_checkpoint(r->b, 0, NULL, NULL);
        break;
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

// The builder of the host program: parameters as they are, intermediates as local arrays.
static vy_builder *begin(const vy_pipeline *l)
{
    vy_program *p = vy_program_clone(l->signature, l->module);
    if (!p) return NULL;
    p->signature = false;
    p->host = true;
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        vy_buf *b = &p->buffers.data[i];
        if (!b->workspace) continue;
        b->workspace = false;
        b->cls = VY_LOCAL;
    }
    vy_builder *b = separate_extents(p) ? vy_rebuild_begin(p) : NULL;
    vy_program_free(p);
    return b;
}

vy_program *vy_host_raise(const vy_pipeline *l)
{
    raising r = {.l = l};
    if (!(r.b = begin(l))) return NULL;
    r.steps = vy_arena_alloc(&r.arena, l->steps.count * sizeof *r.steps + 1);
    r.known = vy_arena_alloc(&r.arena, l->signature->dims.count * sizeof *r.known);
    if (!r.steps || !r.known) vy_build_oom(r.b);
    for (uint32_t i = 1; i < l->signature->buffers.count && !vy_builder_failed(r.b); i++)
        if (!l->signature->buffers.data[i].workspace) start(&r, i);
    for (uint32_t i = 0; i < l->steps.count && !vy_builder_failed(r.b); i++) step(&r, i);
    vy_arena_free(&r.arena);
    return vy_rebuild_end(r.b);
}
