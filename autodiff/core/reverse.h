// SPDX-License-Identifier: MIT
// reverse.h: one differentiation, shared by the files of autodiff/.
//
//   facts   of the primal: constant once the analyses are done (facts.h)
//   plan    what is taped for the reverse sweep: changes from one build to the next (plan.h)
//   build   of one program of the result: reset by the next build (build.h)
//
// A program of the result is built front to back by one builder: first a *forward sweep*, a copy of
// the primal, then the *reverse sweep* over the same instructions backwards.  See docs/autodiff.md.
#ifndef VYRE_REVERSE_H
#define VYRE_REVERSE_H

#include "autodiff/core/build.h"
#include "autodiff/core/keep_plan.h"
#include "autodiff/transform.h"
#include "ir/build/edit.h"

// vy_transform, as a parameter of what it calls.
typedef const vy_derived *vy_derive_call(vy_module *m, vy_ref source,
                                         const vy_grad_options *request, vy_diag *diag);

typedef struct reverse {
    const vy_program *p; // the primal
    const vy_grad_options *options;
    vy_module *out;
    vy_builder *b; // of the program being built
    grad_facts facts;
    storage_plan plan;
    build_state build;
    uint32_t links; // the first of those that all builds share; 0: none yet
    // Of a host program (ir/core/host.h): derives what it dispatches, in `out`; see vy_transform.
    vy_derive_call *derive;
    keep_plan *keep; // or NULL: of it nothing is kept in place of states
    bool forward;    // forward mode: tangents, not adjoints
    bool failed;
    bool lacks_bound;    // the error is that nothing bounds a trip count (vy_tape_no_bound)
    bool varies_in_size; // or that a tape would have entries of different sizes (vy_tape_is_steady)
} reverse;

// ---- state.c
// `count` + 1 zeroed elements; NULL: memory, and r->failed is set.
void *vy_reverse_zeroed(reverse *r, size_t count, size_t size);
bool vy_reverse_tables(reverse *r); // of facts and plan; vy_build_make makes the build's
void vy_reverse_free(reverse *r);
// The leaf of the result that corresponds to one of the primal.
uint32_t vy_reverse_leaf(reverse *r, uint32_t leaf_id);
// Fails the differentiation at instruction `id` of the primal; 0: at the program's head.
void vy_reverse_fail(reverse *r, vy_code code, uint32_t id, const char *fix, const char *format,
                     ...) __attribute__((format(printf, 5, 6)));
// The type of the adjoints of arrays and outputs, which are sums: halves are summed as f32.  (The
// programs that a host program dispatches take and give halves.)
static inline vy_type vy_adjoint_type(const reverse *r, vy_type t)
{
    return t == VY_F16 && !r->p->host ? VY_F32 : t;
}
static inline uint32_t vy_primal(reverse *r, uint32_t id)
{
    return VY_IS_LEAF(id) ? vy_reverse_leaf(r, id) : r->build.map[id];
}
// A buffer's or program's name for messages.
static inline const char *vy_buffer_name(const reverse *r, uint32_t buffer)
{
    return r->p->buffers.data[buffer].name;
}

#endif
