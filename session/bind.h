// SPDX-License-Identifier: MIT
// bind.h: the data of one run: every scalar and buffer of a program with its value and shape.
//
// The caller states for each buffer what is known of its shape (`state`) and the source of its
// contents (`given`), gives scalars, and calls vys_binding_fill: it infers scalars from shapes and
// shapes from scalars, reports contradictions, allocates, and lets `fill` write the contents.
#ifndef VYRE_SESSION_BIND_H
#define VYRE_SESSION_BIND_H

#include "session/array.h"
#include "session/entry.h"
#include "session/words.h"

#include "ir/cost.h"

#include "vkrt/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum vys_shape_state {
    VYS_SHAPE_NONE, // not given: it follows from the declaration
    VYS_SHAPE_FLAT, // only the number of elements is given
    VYS_SHAPE_FULL,
} vys_shape_state;

typedef struct vys_bound {
    vy_buffer_info info;
    void *given; // from which `fill` makes the contents; NULL: zeros
    bool ones;   // without `given`: ones
    vys_shape_state state;
    uint64_t flat;      // VYS_SHAPE_FLAT
    bool chosen_length; // by vys_binding_choose
    vys_array value;
    bool borrowed;         // value.data is the caller's: not allocated, filled or freed
    vkrt_storage *storage; // where it is on the device, instead of value.data; NULL: not there
    uint64_t storage_offset;
} vys_bound;

typedef struct vys_bound_scalar {
    vy_scalar_info info;
    bool known, chosen; // chosen: by vys_binding_choose
    vy_scalar value;
    const vys_bound *from; // inferred from this axis; NULL: it was given
    uint32_t axis;
} vys_bound_scalar;

typedef struct vys_binding {
    vys_entry what;
    const vy_program *program; // its parameters
    const vys_words *words;
    bool derived;           // its parameters have roles: it is a derivative, and no text
    uint64_t limit;         // of workspaces, in bytes; 0: none
    uint64_t kept;          // bytes that they take, as far as that is known beforehand
    int64_t groups[3];      // num_groups as the caller gives it; -1: not given
    uint64_t chosen_length; // for vys_binding_choose; 0: VYS_CHOSEN_LENGTH
    bool f64;               // floats are kept in double
    vys_bound *buffers;     // parameters, workspaces excepted
    uint32_t buffer_count;
    // By vy_buffer.id: which of them + 1, 0: none.  `place` by the numbers at the beginning, which
    // roles refer to; `now` by those after optimising, which renumbers buffers.
    uint32_t *place, *now;
    vys_bound_scalar *scalars;
    uint32_t scalar_count;
    // Writes the contents of an allocated buffer from its `given`, which has as many elements or
    // suits any number; false with *d.
    bool (*fill)(vys_bound *b, vy_diag *d);
    int64_t *values; // of the scalars
    bool *known;
    int64_t *lengths; // of buffers with one dimension, by vy_buffer.id; -1: not known yet
    int64_t *dims;    // of the dimensions, by vy_dim.id
    vy_dim_state *dim_states;
} vys_binding;

// The known sizes of the launch, for formulas (sizes.c); refers to the binding.
typedef struct vys_sizes {
    vy_sizes sizes;
    uint64_t *lengths;
} vys_sizes;
VYS_API bool vys_sizes_of(vys_sizes *z, const vys_binding *b, vy_diag *d);
VYS_API void vys_sizes_free(vys_sizes *z);

// Lists the parameters.  f64: floats are kept in double.  `words` NULL: a library's.
// vys_binding_free in every case.
VYS_API bool vys_binding_create(vys_binding *b, vys_entry what, bool f64, const vys_words *words,
                                vy_diag *d);
VYS_API void vys_binding_free(vys_binding *b);
// For entry.h; refers to the binding.
static inline vys_launch vys_binding_values(const vys_binding *b)
{
    const vys_launch launch = {b->values, b->lengths, b->groups, b->dims, b->known, b->dim_states};
    return launch;
}
// To be called after the optimiser has added dimensions to the program.
VYS_API bool vys_binding_refresh(vys_binding *b, vy_diag *d);
VYS_API vys_bound *vys_binding_find(const vys_binding *b, const char *name);
// NULL with *d, which lists those that exist.  `how`: the option that names it ("--in") or "".
VYS_API vys_bound *vys_binding_buffer(const vys_binding *b, const char *how, const char *name,
                                      vy_diag *d);
VYS_API vys_bound_scalar *vys_binding_scalar(const vys_binding *b, const char *how,
                                             const char *name, vy_diag *d);

// How many workgroups run, for a program without `over` or a pipeline that names num_groups, and
// only for them.  NULL: not given.
VYS_API bool vys_binding_groups(vys_binding *b, const uint32_t groups[3], vy_diag *d);
// Whether group counts can be given.
VYS_API bool vys_binding_takes_groups(const vys_binding *b);
// The counts given; false: none, and `groups` is left alone.
VYS_API bool vys_binding_has_groups(const vys_binding *b, uint32_t groups[3]);
// Chooses a value for each scalar that nothing decides, and chosen_length elements for `?` buffers
// of unknown length.  A scalar that the length of flat data will decide is left alone.
enum { VYS_CHOSEN_LENGTH = 5 };
typedef vy_scalar (*vys_choose)(void *user, const vys_binding *b, uint32_t scalar);
VYS_API bool vys_binding_choose(vys_binding *b, vys_choose choose, void *user, vy_diag *d);
// Whether every buffer that needs contents has `given` (E0805).
VYS_API bool vys_binding_given(const vys_binding *b, vy_diag *d);
// Infers scalars and all shapes.
VYS_API bool vys_binding_settle(vys_binding *b, vy_diag *d);
// The same; then allocates and fills.
VYS_API bool vys_binding_fill(vys_binding *b, vy_diag *d);

// The first step of vys_binding_fill.
VYS_API bool vys_binding_infer(vys_binding *b, vy_diag *d);
// The same, leaving open what nothing decides.
VYS_API bool vys_binding_infer_some(vys_binding *b, vy_diag *d);

// Fills the binding of a derived program: scalars and buffers that are those of `forward` start as
// there, cotangents from the `given` that `seed` returns (NULL: ones).
typedef void *(*vys_seed)(void *user, const vy_buffer_info *cotangent);
// Its first half: scalars, groups and shapes.
VYS_API void vys_binding_follow(vys_binding *b, const vys_binding *forward);
VYS_API bool vys_binding_derive(vys_binding *b, const vys_binding *forward, vys_seed seed,
                                void *user, vy_diag *d);
bool vys_begins_as_ones(const vys_bound *b); // of a derived program; not given: ones, else zeros
// Refuses a derived program whose compiler-made buffers need more than `limit` bytes (0: 1 GiB),
// once shapes are known (E0811).  The needs of a pipeline are known only while it runs: then the
// engine refuses.
VYS_API bool vys_binding_tape(vys_binding *b, uint64_t limit, vy_diag *d);
// The buffer of `b`, the program that was differentiated (first), that a parameter of a derivative
// is itself; NULL: none, it belongs to a derivative of one.
VYS_API const vys_bound *vys_binding_source(const vys_binding *b, const vy_buffer_info *info);
// The parameter of the source that a parameter of a derivative belongs to: x for grad_x and ct_x;
// NULL: to none.  In a program that was parsed, only names tell (docs/language.md 9.1).
VYS_API const char *vys_source_name(const vy_buffer_info *info);
// The buffer of `b` whose shape a parameter of a derivative has: x for grad_x, ct_x, grad2_grad_x;
// NULL.
VYS_API const vys_bound *vys_binding_base(const vys_binding *b, const vy_buffer_info *info);

#ifdef __cplusplus
}
#endif
#endif
