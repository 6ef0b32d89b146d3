// SPDX-License-Identifier: MIT
// pipe_kernels.c: the programs with which pipelines copy, fill and add buffers, and set variables.
//
//   program copy_f32_2(x: in f32[n0, n1], y: out f32[n0, n1], n0: u32, n1: u32)
//       over(i0: n0, i1: n1) { y[i0, i1] = x[i0, i1]; }
// They begin `out` parameters of inlined pipelines and move tensors of host programs.  A program of
// the module that is the same is used; where the name has another meaning, they get another one.
#include "ir/build/edit.h"
#include "ir/build/pipe_build.h"
#include "ir/core/pipe.h"

#include <stdio.h>
#include <string.h>

enum { MOST_AXES = 3 }; // of a domain here; further ones are loops

static void name_of(const vy_pipe_kernel *k, char text[80])
{
    static const char *const names[] = {
        [VY_PIPE_COPY] = "copy",   [VY_PIPE_ADD] = "add_to",      [VY_PIPE_FILL] = "fill",
        [VY_PIPE_COUNT] = "count", [VY_PIPE_FLATTEN] = "flatten", [VY_PIPE_SHAPE] = "shape",
        [VY_PIPE_SET] = "set",     [VY_PIPE_MOST] = "most"};
    int n = snprintf(text, 80, "%s_%s_%u", names[k->kind], vy_type_name(k->type), k->rank);
    if (k->kind == VY_PIPE_FILL) snprintf(text + n, 80 - (size_t)n, "_with_%d", (int)k->value);
}

// index: of the element of y; from: of that of x.
static void body(vy_builder *b, const vy_pipe_kernel *k, vy_buffer x, vy_buffer y,
                 const vy_value *index, const vy_value *from)
{
    vy_value v;
    if (x.id)
        v = vy_load(b, x, from);
    else if (k->kind == VY_PIPE_COUNT) {
        const vy_value one = vy_int(b, vy_type_loaded(k->type), 1);
        v = vy_add(b, vy_load(b, y, index), one);
    } else if (vy_type_is_float(k->type))
        v = vy_float(b, vy_type_loaded(k->type), k->value);
    else
        v = vy_int(b, vy_type_loaded(k->type), (int64_t)k->value);
    if (k->kind == VY_PIPE_ADD) v = vy_add(b, vy_load(b, y, index), v);
    vy_store(b, y, index, v);
}

static void build(vy_builder *b, const vy_pipe_kernel *k)
{
    vy_dim dims[VY_MAX_RANK], all = {0};
    vy_value index[VY_MAX_RANK], extents[VY_MAX_RANK], flat = {0};
    const bool flattens = k->kind == VY_PIPE_FLATTEN, shapes = k->kind == VY_PIPE_SHAPE;
    char text[24];
    for (uint32_t i = 0; i < k->rank; i++) {
        snprintf(text, sizeof text, "n%u", i);
        extents[i] = vy_param_scalar(b, text, VY_U32);
        dims[i] = vy_dim_value(b, extents[i]);
        all = i ? vy_dim_binary(b, VY_DIM_MUL, all, dims[i]) : dims[i];
    }
    vy_buffer x = {0};
    const bool takes = k->kind == VY_PIPE_COPY || k->kind == VY_PIPE_ADD || flattens || shapes;
    const bool updates = k->kind == VY_PIPE_ADD || k->kind == VY_PIPE_COUNT;
    if (takes)
        x = vy_param_buffer(b, "x", VY_IN, k->type, shapes ? 1 : k->rank, shapes ? &all : dims);
    const vy_buffer y = vy_param_buffer(b, "y", updates ? VY_INOUT : VY_OUT, k->type,
                                        flattens ? 1 : k->rank, flattens ? &all : dims);
    const uint32_t loops = k->rank > MOST_AXES ? k->rank - MOST_AXES : 0;
    for (uint32_t i = loops; i < k->rank; i++) {
        snprintf(text, sizeof text, "i%u", i);
        index[i] = vy_over(b, text, dims[i]);
    }
    for (uint32_t i = 0; i < loops; i++)
        index[i] = vy_for(b, NULL, vy_int(b, VY_U32, 0), extents[i]);
    for (uint32_t i = 0; i < k->rank; i++)
        flat = i ? vy_add(b, vy_mul(b, flat, extents[i]), index[i]) : index[0];
    body(b, k, x, y, flattens ? &flat : index, shapes ? &flat : index);
    for (uint32_t i = 0; i < loops; i++) vy_end(b);
}

static void build_one(vy_builder *b, const vy_pipe_kernel *k)
{
    const vy_dim one = vy_dim_const(b, 1);
    const bool most = k->kind == VY_PIPE_MOST;
    const vy_buffer y = vy_param_buffer(b, "y", most ? VY_INOUT : VY_OUT, k->type, 1, &one);
    const vy_value v = vy_param_scalar(b, "v", vy_type_loaded(k->type)), i = vy_over(b, "i", one);
    vy_store(b, y, &i, most ? vy_max(b, vy_load(b, y, &i), v) : v);
}

static vy_program *make(vy_pipe *q, const vy_pipe_kernel *k, const char *name)
{
    vy_builder *b = vy_program_begin(q->m, name);
    if (!b) return NULL;
    b->p->order = q->b->p->order;
    if (k->kind >= VY_PIPE_SET)
        build_one(b, k);
    else
        build(b, k);
    return vy_program_end(b);
}

static bool is_taken(const vy_pipe *q, const char *name)
{
    return vy_module_find_pipeline(q->m, name) ||
           (q->names && q->names->is_taken(q->names->user, name));
}

// The program of that name, if it is the kernel; it is compared with a copy that does not stay.
static const vy_program *same_of(vy_pipe *q, const vy_pipe_kernel *k, const char *name)
{
    const vy_program *old = vy_module_find(q->m, name);
    vy_program *made = old ? make(q, k, name) : NULL;
    if (!made) return NULL;
    const bool same = vy_same_program(old, made);
    vy_program_free(q->m->programs.data[--q->m->programs.count]);
    return same ? old : NULL;
}

static const vy_program *find_or_make(vy_pipe *q, const vy_pipe_kernel *k)
{
    char name[80], own[100];
    name_of(k, name);
    snprintf(own, sizeof own, "%s", name);
    for (uint32_t n = 2;; n++) {
        const vy_program *same = same_of(q, k, own);
        if (same || vy_builder_failed(q->b)) return same;
        if (!vy_module_find(q->m, own) && !is_taken(q, own)) return make(q, k, own);
        snprintf(own, sizeof own, "%s_%u", name, n);
    }
}

static const vy_program *kernel_of(vy_pipe *q, vy_pipe_kernel k)
{
    for (uint32_t i = 0; i < q->kernels.count; i++) {
        const vy_pipe_kernel *have = &q->kernels.data[i];
        if (have->kind == k.kind && have->type == k.type && have->rank == k.rank &&
            have->value == k.value)
            return have->program;
    }
    k.program = find_or_make(q, &k);
    if (!k.program) q->b->failed = true;
    if (k.program && !vy_vec_push(&q->kernels, k)) vy_build_oom(q->b);
    return k.program;
}

void vy_pipe_move(vy_pipe *q, vy_pipe_kernel_kind kind, const vy_pipe_arg *x, const vy_pipe_arg *y,
                  double value)
{
    if (vy_builder_failed(q->b)) return;
    const vy_buf *b = &q->b->p->buffers.data[y->buffer.id];
    const vy_buf *from = x ? &q->b->p->buffers.data[x->buffer.id] : NULL;
    const vy_pipe_kernel k = {.kind = kind,
                              .type = b->type,
                              .rank = kind == VY_PIPE_FLATTEN ? from->rank - x->rank
                                                              : b->rank - y->rank,
                              .value = value};
    const vy_program *p = kernel_of(q, k);
    vy_pipe_arg args[2];
    uint32_t n = 0;
    if (x) args[n++] = *x;
    args[n++] = *y;
    if (p) vy_pipeline_dispatch(q, p, n, args, 0, NULL, NULL);
}

void vy_pipe_assign(vy_pipe *q, vy_pipe_kernel_kind kind, const vy_pipe_arg *y, vy_dim v)
{
    if (vy_builder_failed(q->b)) return;
    const vy_type type = q->b->p->buffers.data[y->buffer.id].type;
    const vy_program *p = kernel_of(q, (vy_pipe_kernel){.kind = kind, .type = type, .rank = 1});
    const vy_pipe_scalar given = {.name = "v", .kind = VY_PIPE_DIM, .dim = v};
    if (p) vy_pipeline_dispatch(q, p, 1, y, 1, &given, NULL);
}
