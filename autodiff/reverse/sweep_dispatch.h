// SPDX-License-Identifier: MIT
// sweep_dispatch.h: a dispatch of a host program that is being reversed: what the files of
// sweep_dispatch.c share.
#ifndef VYRE_SWEEP_DISPATCH_H
#define VYRE_SWEEP_DISPATCH_H

#include "autodiff/reverse/sweeps.h"
#include "autodiff/transform.h"

typedef enum add_mode {
    ADD_NOTHING,  // overwritten; a contribution to the operand's adjoint
    ADD_TO_SLICE, // of the buffer from which the operand was loaded
    SET_SLICE,    // the same, where its adjoint is 0
} add_mode;

// What a parameter of the callee is here; by its buffer id.
typedef struct bound_param {
    const vy_tensor *shape;
    uint32_t operand; // of the primal, or 0
    uint32_t pick;    // of the primal: the result, or 0
    uint32_t adjoint; // of the result
    bool wrt;
    add_mode add;
} bound_param;

typedef struct dispatch {
    reverse *r;
    uint32_t id;
    const vy_host_call *call;
    const vy_program *callee;
    bound_param *params;
    const vy_derived *made;
    const vy_program *derived; // its parameters
    uint32_t keeper;           // the DISPATCH that writes what it takes of kept values; 0: none
    vy_arena arena;
} dispatch;

// ---- dispatch_modes.c
// Fills `add` of the operands that are active.
void vy_dispatch_modes(dispatch *d);

#endif
