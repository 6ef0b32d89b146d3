// SPDX-License-Identifier: MIT
// describe.h: the description of a kernel (kernel.h), as it grows.
#ifndef VYRE_DESCRIBE_H
#define VYRE_DESCRIBE_H

#include "spirv/facts/facts.h"

#define VY_WATCH_NAME "loops.left" // not an identifier, so no buffer of a program has it

// Everything is in the result's arena.
VY_VEC_TYPE(vy_expr_vec, vy_expr);
VY_VEC_TYPE(vy_symbol_vec, vy_symbol);
VY_VEC_TYPE(vy_param_vec, vy_kernel_param);
typedef struct vy_place_of {
    uint32_t set, binding;
} vy_place_of;

typedef struct vy_describe {
    const vy_program *p;
    vy_arena *arena;
    vy_kernel *kernel;
    vy_expr_vec exprs;
    vy_symbol_vec symbols;
    vy_param_vec params;
    uint32_t *table;              // exprs by hash: index + 1
    uint32_t table_size;          // a power of two
    uint32_t *dim_exprs;          // by dimension node: expression + 1
    const vy_pipeline *pipeline;  // when p is its signature
    const uint32_t *step_symbols; // by its step: the symbol that VY_DIM_STEP nodes name
    const bool *sliced;    // by buffer id: slices of other buffers are bound to it; NULL: none
    uint32_t *extent_sym;  // by buffer id: symbol + 1, for `?`
    uint32_t group_sym[3]; // by axis: symbol + 1, for num_groups
    uint32_t *domain;      // by over variable: expression, at least 0
    uint32_t param_bytes;
    bool hosted;         // bound as the shader is
    vy_place_of *places; // by buffer id
    vy_place_of free;    // the first place after all of them
    uint32_t number;     // of the kernel among those compiled together
    bool oom;
} vy_describe;
void vy_describe_begin(vy_describe *d, const vy_program *p, vy_arena *arena, vy_kernel *kernel);
uint32_t vy_describe_dim(vy_describe *d, vy_dim dim); // index of its expression
// The stages of vy_describe_begin, for pipelines: scalars and `?` extents as symbols, whose
// expressions have the same numbers; further symbols; then all dimensions as expressions.
bool vy_describe_symbols(vy_describe *d, const vy_program *p, vy_arena *arena); // false: memory
void vy_describe_symbol(vy_describe *d, vy_symbol s);
void vy_describe_dims(vy_describe *d);
uint32_t vy_describe_expr(vy_describe *d, vy_expr e); // index; deduplicated
uint32_t vy_describe_binary(vy_describe *d, vy_expr_op op, uint32_t a, uint32_t b); // folds
// Appends a field to the parameter block unless it is there; returns its index.
uint32_t vy_describe_param(vy_describe *d, const char *name, vy_param_kind kind, vy_type type,
                           uint32_t index);
// ---- places.c
// The first place after all that a host binds for shaders that are compiled together.
vy_place_of vy_describe_free_place(const vy_program *const *programs, uint32_t count);
// After vy_describe_begin.  host: that place, for kernels that are bound as the shader is, or NULL.
bool vy_describe_places(vy_describe *d, const vy_place_of *host); // false: memory
vy_place_of vy_describe_next_place(vy_describe *d);               // of one more binding
bool vy_describe_is_given(const vy_describe *d, const vy_kernel_param *param); // by the host?
const vy_kernel_from *vy_describe_from(vy_describe *d, const vy_layout *l, uint32_t rank,
                                       bool pushed); // NULL: nowhere, or d->oom
void vy_describe_constants(vy_describe *d);          // params and constants of the kernel

bool vy_describe_end(vy_describe *d, const vy_spv *m); // false: memory
// Upper bound on the iterations of its loops (iterations.c); part of vy_describe_end.
void vy_describe_iterations(vy_describe *d, vy_kernel *k);
void vy_describe_free(vy_describe *d);

#endif
