// SPDX-License-Identifier: MIT
// bind.h: the data of one run: every scalar and buffer of a program with its value and shape.
#ifndef VYRE_TOOL_BIND_H
#define VYRE_TOOL_BIND_H

#include "tools/data.h"
#include "tools/options.h"
#include "tools/runnable.h"

#include "ir/cost.h"

typedef enum shape_state {
    SHAPE_NONE, // nothing said: it follows from the declaration
    SHAPE_FLAT, // so many elements
    SHAPE_FULL,
} shape_state;

typedef struct bound_buffer {
    vy_buffer_info info;
    spec *given; // NULL: none
    shape_state state;
    uint64_t flat; // SHAPE_FLAT
    array value;
} bound_buffer;

typedef struct bound_scalar {
    vy_scalar_info info;
    bool known, chosen; // chosen: by binding_choose
    vy_scalar value;
    const bound_buffer *from; // inferred from this axis; NULL: --set
    uint32_t axis;
} bound_scalar;

typedef struct binding {
    runnable what;
    const vy_program *program; // its parameters
    uint64_t limit;            // of workspaces, in bytes; 0: none
    uint64_t kept;             // what they take; 0 for a pipeline
    int64_t groups[3];         // what the caller says num_groups is; -1: it does not
    bool f64;                  // floats are kept in double
    bound_buffer *buffers;     // parameters, workspaces excepted
    uint32_t buffer_count;
    bound_scalar *scalars;
    uint32_t scalar_count;
    spec fallback;   // of binding_specs
    int64_t *values; // of the scalars
    bool *known;
    int64_t *lengths; // of buffers with one dimension, by vy_buffer.id; -1: not known yet
    int64_t *dims;    // of the dimensions, by vy_dim.id
    vy_dim_state *dim_states;
} binding;

// What is known of the launch, for formulas (sizes.c); refers to the binding.
typedef struct launch_sizes {
    vy_sizes sizes;
    uint64_t *lengths;
} launch_sizes;
bool sizes_of(launch_sizes *z, const binding *b, vy_diag *d);
void sizes_free(launch_sizes *z);

typedef struct specs {
    spec *data;
    uint32_t count;
} specs;
bool specs_parse(specs *s, const char *option, const names *arguments, vy_diag *d);
void specs_free(specs *s);
spec *specs_find(const specs *s, const char *name); // NULL: none

// Lists the parameters.  binding_free in every case.
bool binding_create(binding *b, runnable what, bool f64, vy_diag *d);
void binding_free(binding *b);
// For runnable.h; refers to the binding.
static inline launch_values binding_values(const binding *b)
{
    return (launch_values){b->values, b->lengths, b->groups, b->dims, b->known, b->dim_states};
}
// After the program has got dimensions of its own (the optimiser).
bool binding_refresh(binding *b, vy_diag *d);
bound_buffer *binding_find(const binding *b, const char *name);

// --set NAME=VALUE
bool binding_set(binding *b, const names *assignments, vy_diag *d);
// --groups X[,Y[,Z]] (NULL: not given), for a program without `over`, a pipeline that names num_groups, and
// only for them (groups.c).
bool binding_groups(binding *b, const char *option, vy_diag *d);
// What it took, in 32 bits; false: nothing, and `groups` is left alone.
bool binding_has_groups(const binding *b, uint32_t groups[3]);
// Takes the SPECs.  `fallback`: what float buffers without one get ("normal:0:1:1"; others: zeros), or
// NULL: that is an error.
bool binding_specs(binding *b, specs *in, const char *fallback, vy_diag *d);
// Gives a value to each scalar that nothing decides, and CHOSEN_LENGTH elements to `?` buffers of which
// nothing says how long they are.  A scalar for which flat data waits is left alone.
enum { CHOSEN_LENGTH = 5 };
typedef vy_scalar (*choose_scalar)(void *user, const binding *b, uint32_t scalar);
bool binding_choose(binding *b, choose_scalar choose, void *user, vy_diag *d);
// Infers scalars and shapes, allocates, fills.
bool binding_fill(binding *b, vy_diag *d);

bool binding_infer(binding *b, vy_diag *d); // the first step of binding_fill (shape.c)
// The same, leaving open what nothing decides.
bool binding_infer_some(binding *b, vy_diag *d);

// Fills the binding of a derived program: scalars and buffers of the same name start as in `forward`,
// cotangents as `ct` says, else as ones.
bool binding_derive(binding *b, const binding *forward, specs *ct, vy_diag *d);
// Refuses a derived program whose compiler-made buffers need more than `limit` bytes (0: 1 GiB), once
// shapes are known.  What a pipeline needs is found out while it runs: the engine refuses then.
bool binding_tape(binding *b, uint64_t limit, vy_diag *d);
// The buffer of `b` that a derived one called `name` belongs to: x for grad_x, ct_x, grad2_grad_x; NULL.
const bound_buffer *binding_base(const binding *b, const char *name);
// The SPEC meant for cotangent buffer `grad_o` or `ct_o` (of any order), or NULL.
spec *specs_find_seed(const specs *ct, const char *buffer);

#endif
