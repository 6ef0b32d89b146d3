// SPDX-License-Identifier: MIT
// keep_plan.h: part of the storage plan of a host program: values of a dispatch that the forward
// sweep keeps for the reverse, in place of the states that they are computed from.
//
//   repeat t in 0..T { step(s[t % 2], k, s[(t + 1) % 2]); }    its reverse needs f(s[t % 2]) only
//
// The derivative of `step` that computes f(…) again takes the state, so all would be kept.  A
// *form* splits it: the *keeper* writes f(…), and the rest of the derivative reads that.
//
//   keep(s, k, f: out)            step_grad(f: in, ct: in, grad_s: out)
//
// Keepers are dispatched by the primal (driver/keep_values.c), directly before what they belong to,
// so the plan keeps or recomputes what they write like any other tensor.
#ifndef VYRE_KEEP_PLAN_H
#define VYRE_KEEP_PLAN_H

#include "autodiff/transform.h"
#include "ir/core/ir.h"

typedef struct keep_form {
    const vy_derived *made; // what is split
    const uint8_t *states;  // by buffer of its source: need not be kept for the rest
    bool known;             // there is such a form
    uint32_t keeper;        // a program of the module; its roles say what it takes of the source
    uint32_t like;          // the parameter of the source that has the shape of what is kept
    vy_derived rest;        // what the keeper writes it takes as VY_IS_PARAMETER, in this order
} keep_form;
VY_VEC_TYPE(keep_form_vec, keep_form *);

typedef struct keep_plan {
    const vy_derived **made; // by DISPATCH of the primal: its derivative; NULL: not noted
    keep_form_vec forms;
    vy_arena arena; // of the forms
} keep_plan;

#endif
