// SPDX-License-Identifier: MIT
// explain_build.h: an explanation while it is made, shared by the files of this room.
#ifndef VYRE_EXPLAIN_BUILD_H
#define VYRE_EXPLAIN_BUILD_H

#include "autodiff/gather/gather.h"
#include "ir/facts/count.h"
#include "autodiff/explain/notes.h"

typedef struct explain_memory { // vy_explanation.memory
    vy_arena arena;
    vy_count forward, gradient;
} explain_memory;

typedef struct explain_name {
    const char *name;
    uint32_t id;
} explain_name;

typedef struct explain_role { // of a workspace
    vy_work_kind kind;
    const char *of;
    uint32_t values; // noted values that share the tape
} explain_role;

typedef struct explaining {
    vy_explanation *e;
    explain_memory *memory;
    notes notes;
    vy_gather_notes gathers;
    const vy_module *derived;           // optimised
    const vy_program *forward, *result; // optimised; result: the program that reverses
    const vy_program *signature;        // of a result in several steps; else NULL
    const vy_pipeline *steps;           // … these, or those of the ordered result
    const vy_poly *signature_dims;      // in memory->gradient
    const vy_pipeline *pipeline;        // whose signature vy_explain_shape is called for, or NULL
    struct explain_name *names;         // buffers of the result, sorted
    struct explain_role *roles;         // by buffer of the result
    vy_poly work;                       // bytes of all workspaces
    bool failed;                        // memory
} explaining;

// explain.c
void vy_explain_release(explain_memory *memory); // NULL is fine
// Sizes of the forward program, for a program whose scalars and buffers are others: by name; a
// gradient has the length of its buffer.  False: memory.
bool vy_explain_sizes(explaining *x, const vy_program *r, const vy_sizes *from, vy_sizes *to);

// explain_text.c
// An array of the explanation; NULL when memory is out (or count is 0).
void *vy_explain_array(explaining *x, size_t count, size_t size);
const char *vy_explain_text(explaining *x, const char *s);
const char *vy_explain_shape(explaining *x, const vy_program *p, uint32_t buffer);
void vy_explain_index(explaining *x); // makes names and roles
// Buffer of the result with that name, or 0.
uint32_t vy_explain_find(const explaining *x, const char *name);

// explain_result.c
// How an optimised program fills a buffer; *places: instructions that write it.
vy_sum_kind vy_explain_sum(const vy_program *p, uint32_t buffer, uint32_t *places);
// TERMS, EXACT, WIDE: the program makes totals of ordered sums; else ZERO.
vy_sum_kind vy_explain_ordered_kind(const vy_program *p);
void vy_explain_gradients(explaining *x);
void vy_explain_buffers(explaining *x);
void vy_explain_storage(explaining *x);
// Adds the workspaces that only the signature of the ordered result has; dims: in memory->gradient.
void vy_explain_ordered(explaining *x, const vy_program *signature, const vy_poly *dims);
void vy_explain_loops(explaining *x);    // explain_loops.c
void vy_explain_accesses(explaining *x); // explain_access.c

// The caller's options, as this version has them; NULL where none are given.
typedef struct explain_options {
    const vy_grad_options *derivative; // &own
    const vy_opt_options *optimize;
    vy_grad_options own;
    vy_opt_options own_optimize;
} explain_options;
bool vy_explain_take(explain_options *to, const vy_grad_options *derivative,
                     const vy_opt_options *optimize, vy_diag *diag);

#endif
