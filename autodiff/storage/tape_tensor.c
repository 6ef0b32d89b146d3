// SPDX-License-Identifier: MIT
// tape_tensor.c: tapes of tensors of a host program (ir/core/host.h): tape9: f32[T1, T2, N] for a
// tensor of shape [N] in two loops.
#include "autodiff/core/reverse.h"
#include "autodiff/storage/storage.h"
#include "ir/core/dims.h"
#include "ir/host/host_build.h"

static uint32_t shaped_like(const reverse *r, uint32_t id)
{
    return vy_host_shaped_like(r->p, &r->facts.s, id);
}

static vy_tensor shape_of(const reverse *r, uint32_t id)
{
    return vy_host_shape(r->out, r->p, &r->facts.s, id);
}

uint32_t vy_tensor_rank(const reverse *r, uint32_t id) { return shape_of(r, id).rank; }

const char *vy_tensor_name(const reverse *r, uint32_t id)
{
    const uint32_t shaped = shaped_like(r, id);
    const vy_inst *i = &r->p->insts.data[shaped];
    return shaped && i->op == VY_OP_LOAD ? vy_buffer_name(r, i->aux) : NULL;
}

bool vy_tape_is_steady(reverse *r, uint32_t id)
{
    const vy_tensor t = shape_of(r, id);
    const vy_inst *i = &r->p->insts.data[shaped_like(r, id)];
    bool varies = false;
    for (uint32_t k = 0; k < t.rank; k++) varies |= r->p->dims.data[t.dims[k].id].op == VY_DIM_STEP;
    if (!varies || (i->op == VY_OP_LOAD && !r->facts.buffers[i->aux].home)) return true;
    const char *name = vy_tensor_name(r, id), *quote = name ? "`" : "";
    vy_reverse_fail(
        r, VY_E_GRAD_UNSUPPORTED, id,
        "give it the largest size that it can have, from the pipeline's scalars",
        "the reverse keeps %s%s%s of each iteration, whose size is known only while the "
        "pipeline runs",
        quote, name ? name : "a tensor", quote);
    return false;
}

bool vy_tape_no_bound(reverse *r, uint32_t loop)
{
    r->lacks_bound = true;
    vy_reverse_fail(
        r, VY_E_GRAD_UNSUPPORTED, loop,
        "bound it by a scalar of the pipeline, `min(value(…), N)`, or write a checkpoint "
        "around it",
        "the reverse keeps a state of each iteration of this repeat, and how many there "
        "are is known only while the pipeline runs");
    return false;
}

uint32_t vy_tape_of_tensor(reverse *r, uint32_t id, uint32_t loops, const vy_dim *counts,
                           vy_dim *dims)
{
    const vy_tensor t = shape_of(r, id);
    uint32_t rank = 0;
    for (uint32_t k = 0; k < loops; k++) dims[rank++] = counts[k];
    for (uint32_t k = 0; k < t.rank; k++) dims[rank++] = r->build.dims[t.dims[k].id];
    if (!t.rank) dims[rank++] = vy_dim_const(r->b, 1); // a number is a tensor of one element
    return rank;
}
