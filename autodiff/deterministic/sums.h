// SPDX-License-Identifier: MIT
// sums.h: sums of floats whose order, or rounding, is not left to the device.
#ifndef VYRE_GRAD_SUMS_H
#define VYRE_GRAD_SUMS_H

#include "autodiff/core/reverse.h"

// deterministic.c: replaces all atomic additions of floats in the module, which is optimised
// before.
bool vy_order_sums(vy_module *m, bool lean);
// wide.c: makes sums of half floats that are derivatives sums of f32, rounded once; the module is
// optimised before if there are any.
typedef struct vy_adjoint_buffers {
    const bool *holds; // by link: does the buffer of the result hold adjoints?
    uint32_t count;    // of links
    bool own; // only those that an invocation adds to in a loop; the others' sums have an order
} vy_adjoint_buffers;
// Finds the buffers in `p`, just built; in the module's arena.  False: memory.
bool vy_wide_find(reverse *r, const vy_program *p, vy_adjoint_buffers *names);
bool vy_widen_sums(vy_module *m, const vy_adjoint_buffers *names);

#endif
