// SPDX-License-Identifier: MIT
// host.h: host programs: pipelines in the form in which they are differentiated.
//
//   pipeline f(x: in f32[T, N], y: out f32[N], T: u32, N: u32) {      program of one invocation
//       buffer u: f32[N];                                             ZERO u
//       repeat t in 0..T { step(x[t], u, s=t); }                      LOOP t = 0..T
//                                                              →        a = LOAD x t;  b = LOAD u
//                                                                       d = DISPATCH step a b, t
//                                                                       STORE u ← PICK 0 d
//       last(u, y);                                                   …
//   }
//
// A host program is an ordinary program of one invocation in which a slice of a buffer is a value:
// LOAD and STORE with fewer indices than the buffer has axes move a *tensor*, and DISPATCH is a
// pure operation from tensors and scalars to tensors.  So what is known about values holds for
// tensors: activity, storage plans, tapes, checkpoints, dead code.  Shapes are no part of a value:
// a tensor has the type of its elements.
//
//   DISPATCH [tensors…, scalars…, (3 groups), extents…]  aux: number of its vy_host_call
//   PICK k   [dispatch]                                  its k-th `out` or `inout`, as it is now
//
// The tensors are one for each bound `in` or `inout` parameter, the scalars all of the callee, in
// their order; an integer one is an i64.  An extent that is known only while the pipeline runs is
// a dimension of its own, VY_DIM_STEP with a number as key; ZERO has its value as an operand, one
// for each such axis of the array, in their order.  So has DISPATCH, of results that the callee
// declares with a length `?`: neither scalars nor other arguments tell those.  Intermediates are
// local arrays, cleared by ZERO where their lifetime begins.  Steps are the form in which pipelines
// are written, checked and run: ir/host/raise.c and lower.c convert between the two.
#ifndef VYRE_HOST_H
#define VYRE_HOST_H

#include "ir/core/ir.h"
#include "ir/core/pipe.h"

// The program whose parameters a call binds: a program of `m`, or the signature of a pipeline.
static inline const vy_program *vy_host_callee(const vy_module *m, const vy_host_call *c)
{
    return c->pipeline ? m->pipelines.data[c->callee]->signature : m->programs.data[c->callee];
}
static inline const vy_host_call *vy_host_call_of(const vy_program *h, uint32_t dispatch)
{
    return h->calls.data[h->insts.data[dispatch].aux];
}
static inline bool vy_host_takes(const vy_buf *b) { return b->cls == VY_IN || b->cls == VY_INOUT; }
static inline bool vy_host_gives(const vy_buf *b) { return b->cls == VY_OUT || b->cls == VY_INOUT; }

// How many of the first operands of a memory operation are indices, and the value it stores.
static inline uint32_t vy_index_count(const vy_program *p, uint32_t id)
{
    const vy_inst *i = &p->insts.data[id];
    if (i->op == VY_OP_ZERO) return 0;
    if (!p->host) return p->buffers.data[i->aux].rank;
    return i->op == VY_OP_STORE ? i->nargs - 1 : i->nargs;
}

#endif
