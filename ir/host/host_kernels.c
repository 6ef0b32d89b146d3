// SPDX-License-Identifier: MIT
// host_kernels.c: the programs with which lowered host programs move tensors.
//
//   program copy_f32_2(x: in f32[n0, n1], y: out f32[n0, n1], n0: u32, n1: u32)
//       over(i0: n0, i1: n1) { y[i0, i1] = x[i0, i1]; }
//
// Those of one lowering are made once; where a user's program has the name, they get another.
#include "ir/host/lower.h"

#include <stdio.h>
#include <string.h>

enum { MOST_AXES = 3 }; // of a domain here; further ones are loops

static void name_of(const host_kernel *k, char text[80])
{
    static const char *const names[] = {
        [HOST_COPY] = "copy", [HOST_ADD] = "add_to", [HOST_FILL] = "fill"};
    int n = snprintf(text, 80, "%s_%s_%u", names[k->kind], vy_type_name(k->type), k->rank);
    if (k->kind == HOST_FILL) snprintf(text + n, 80 - (size_t)n, "_with_%d", (int)k->value);
}

static void body(vy_builder *b, const host_kernel *k, vy_buffer x, vy_buffer y,
                 const vy_value *index)
{
    vy_value v;
    if (k->kind != HOST_FILL)
        v = vy_load(b, x, index);
    else if (vy_type_is_float(k->type))
        v = vy_float(b, k->type, k->value);
    else
        v = vy_int(b, vy_type_loaded(k->type), (int64_t)k->value);
    if (k->kind == HOST_ADD) v = vy_add(b, vy_load(b, y, index), v);
    vy_store(b, y, index, v);
}

static void build(vy_builder *b, const host_kernel *k)
{
    vy_dim dims[VY_MAX_RANK];
    vy_value index[VY_MAX_RANK], extents[VY_MAX_RANK];
    char text[24];
    for (uint32_t i = 0; i < k->rank; i++) {
        snprintf(text, sizeof text, "n%u", i);
        extents[i] = vy_param_scalar(b, text, VY_U32);
        dims[i] = vy_dim_value(b, extents[i]);
    }
    vy_buffer x = {0};
    if (k->kind != HOST_FILL) x = vy_param_buffer(b, "x", VY_IN, k->type, k->rank, dims);
    const vy_buffer y =
        vy_param_buffer(b, "y", k->kind == HOST_ADD ? VY_INOUT : VY_OUT, k->type, k->rank, dims);
    const uint32_t loops = k->rank > MOST_AXES ? k->rank - MOST_AXES : 0;
    for (uint32_t i = loops; i < k->rank; i++) {
        snprintf(text, sizeof text, "i%u", i);
        index[i] = vy_over(b, text, dims[i]);
    }
    for (uint32_t i = 0; i < loops; i++)
        index[i] = vy_for(b, NULL, vy_int(b, VY_U32, 0), extents[i]);
    body(b, k, x, y, index);
    for (uint32_t i = 0; i < loops; i++) vy_end(b);
}

static vy_program *make(vy_module *m, const host_kernel *k)
{
    char name[80], own[100];
    name_of(k, name);
    snprintf(own, sizeof own, "%s", name);
    for (uint32_t n = 2; vy_module_find(m, own) || vy_module_find_pipeline(m, own); n++)
        snprintf(own, sizeof own, "%s_%u", name, n);
    vy_builder *b = vy_program_begin(m, own);
    if (!b) return NULL;
    build(b, k);
    return vy_program_end(b);
}

const vy_program *host_kernel_of(lowering *w, host_kernel_kind kind, vy_type type, uint32_t rank,
                                 double value)
{
    host_kernel k = {.kind = kind, .type = type, .rank = rank, .value = value};
    if (lower_stopped(w)) return NULL;
    for (uint32_t i = 0; i < w->kernels.count; i++) {
        const host_kernel *have = &w->kernels.data[i];
        if (have->kind == kind && have->type == type && have->rank == rank && have->value == value)
            return have->program;
    }
    k.program = make(w->h->module, &k);
    if (!k.program) w->b->failed = true;
    if (k.program && !vy_vec_push(&w->kernels, k)) w->oom = true;
    return k.program;
}
