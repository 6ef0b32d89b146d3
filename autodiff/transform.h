// SPDX-License-Identifier: MIT
// transform.h: derivatives in the module of the program they are of.
//
//   const vy_derived *g = vy_transform(m, (vy_ref){0}, &(vy_grad_options){0}, &diag);
//
//   before   program f         after   program f             unchanged, as are its neighbours
//                                      program f_reverse  ⎫
//                                      program f_gather_w ⎬ appended
//                                      pipeline f_grad    ⎭  = g->result
//
// Callers need not interpret names: g->roles gives the relation of each parameter of the result to
// f.  A result is a program (or pipeline) of the module like any other, and can be transformed
// again; its order is one higher.  A program may have several derivatives in the module.
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
    // By vy_buffer.id of the result (of a pipeline: of its signature); [0] is unused.  The scalars
    // of the result are those of the source, in its order.
    uint32_t role_count;
    const vy_derivative_role *roles;
} vy_derived;

// Differentiates `source`, as vy_grad does, and appends the result to its module.  An equal request
// (the same outputs, inputs and options, however they are written) returns the earlier result.
// request: NULL for defaults; its `program` is not read.  The result belongs to the module.
//
// Names: SOURCE_grad, followed by `_of_…`, `_wrt_…` and `_add_…` with the requested names where
// they are not the default (long lists as a number), and by a number where the name is taken.
//
// NULL: *diag says why, as for vy_grad, and the module is unchanged and remains usable.  E0003:
// there is no such `source`.
VY_API const vy_derived *vy_transform(vy_module *m, vy_ref source, const vy_grad_options *request,
                                      vy_diag *diag);
// The derivatives in the module, in the order they were made; NULL past the end.
VY_API const vy_derived *vy_module_derived(const vy_module *m, uint32_t index);

// A module of `root` and the programs that it dispatches, for files and for vy_grad's callers.
// False: *diag says why.
VY_API bool vy_module_extract(const vy_module *m, vy_ref root, vy_module **out, vy_diag *diag);

// The role of a parameter of `derived`, a derivative of `source`.  A program read from text records
// no roles: there the parameter's name decides (docs/language.md 9.1).  PARAMETER: it is unrelated
// to `source`.
VY_API vy_derivative_role vy_role_of(const vy_program *derived, vy_buffer b,
                                     const vy_program *source);
// The `x` of grad_x, ct2_x, dot_x, for programs read from text; NULL: no such name.
VY_API const char *vy_text_base(const char *name);

#ifdef __cplusplus
}
#endif
#endif
