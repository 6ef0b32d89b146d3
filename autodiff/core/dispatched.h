// SPDX-License-Identifier: MIT
// dispatched.h: derivatives of what a host program dispatches (ir/core/host.h), which both modes
// of differentiation need.
#ifndef VYRE_DISPATCHED_H
#define VYRE_DISPATCHED_H

#include "autodiff/core/reverse.h"
#include "ir/core/host.h"

// Derives what DISPATCH `id` of the primal calls, in the result's module; *derived has the
// derivative's parameters.  NULL: the differentiation has failed, at the dispatch.
const vy_derived *vy_derive_dispatched(reverse *r, uint32_t id, const vy_host_call *call,
                                       const vy_grad_options *request, const vy_program **derived);
// What the derivative is called by.
static inline vy_host_call vy_made_call(const vy_derived *made)
{
    return (vy_host_call){.callee = made->result.index, .pipeline = made->result.pipeline};
}

#endif
