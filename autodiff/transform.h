// SPDX-License-Identifier: MIT
// transform.h: derivatives in the module of the program they are of.
//
//   const vy_derived *g = vy_transform(m, (vy_ref){0}, &(vy_grad_options){0}, &diag);
//
//   before   program f                    after   program f             untouched, as are its neighbours
//                                                 program f_reverse  ⎫
//                                                 program f_gather_w ⎬ appended
//                                                 pipeline f_grad    ⎭  = g->result
//
// Nothing has to be known of names: g->roles says of each parameter of the result what it is to f.
// A result is a program (or pipeline) of the module like any other, and can be transformed again;
// its order is one higher.  Several derivatives of one program stand side by side.
#ifndef VYRE_TRANSFORM_H
#define VYRE_TRANSFORM_H

#include "autodiff/grad.h"
#include "ir/pipeline.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vy_ref {
    uint32_t index; // vy_module_program, or vy_module_pipeline
    bool pipeline;
} vy_ref;

typedef struct vy_derived {
    vy_ref source, result;
    uint32_t order; // of the result: how many transforms made it
    // By vy_buffer.id of the result (of a pipeline: of its signature); [0] is of none.  Scalars of
    // the result are those of the source, in its order.
    uint32_t role_count;
    const vy_derivative_role *roles;
} vy_derived;

// Differentiates `source`, as vy_grad does, and appends the result to its module.  An equal request
// (the same outputs, inputs and ways, however they are written) finds what an earlier one has made.
// request: NULL for defaults; its `program` is not read.  The result belongs to the module.
//
// Names: SOURCE_grad, with `_of_…`, `_wrt_…` and `_add_…` and what was asked for behind it where
// that is not the default (long lists as a number), and a number where something has that name
// already.
//
// NULL: *diag says why, as for vy_grad, and the module is as it was before, good for all that it was
// good for.  E0503: a pipeline cannot be differentiated yet.  E0003: there is no such `source`.
VY_API const vy_derived *vy_transform(vy_module *m, vy_ref source, const vy_grad_options *request,
                                      vy_diag *diag);
// All there are, in the order they were made; NULL past the end.
VY_API const vy_derived *vy_module_derived(const vy_module *m, uint32_t index);

// A module of `root` alone and of the programs that it dispatches, for files and for vy_grad's
// callers.  False: *diag says why.
VY_API bool vy_module_extract(const vy_module *m, vy_ref root, vy_module **out, vy_diag *diag);

// The role of a parameter of `derived`, a derivative of `source`.  One that is a text has none: what
// its name says then (docs/language.md 9.1).  PARAMETER: nothing of `source`.
VY_API vy_derivative_role vy_role_of(const vy_program *derived, vy_buffer b,
                                     const vy_program *source);
// `x` of grad_x, ct2_x, dot_x, for texts; NULL: no such name.
VY_API const char *vy_text_base(const char *name);

#ifdef __cplusplus
}
#endif
#endif
