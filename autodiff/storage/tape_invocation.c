// SPDX-License-Identifier: MIT
// tape_invocation.c: the invocations that have a place on a tape: how many there are, and the
// number of this one.
//
// Row-major over the domain, so that neighbours in a workgroup touch neighbouring words.  A program
// without `over` runs in as many workgroups as its caller chooses: there they are numbered by
// workgroup and lane.
#include "autodiff/storage/storage.h"
#include "autodiff/storage/tape_layout.h"
#include "ir/build/build.h"
#include "ir/core/dims.h"

// num_groups.x * num_groups.y * num_groups.z * W of a program without a domain
vy_dim vy_tape_all_groups(reverse *r)
{
    const uint32_t *w = r->p->workgroup;
    vy_dim n = vy_dim_groups(r->b, 0);
    for (uint32_t axis = 1; axis < 3; axis++)
        n = vy_dim_binary(r->b, VY_DIM_MUL, n, vy_dim_groups(r->b, axis));
    int64_t lanes = (int64_t)w[0] * w[1] * w[2];
    return lanes == 1 ? n : vy_dim_binary(r->b, VY_DIM_MUL, n, vy_dim_const(r->b, lanes));
}

vy_dim vy_tape_invocations(reverse *r)
{
    if (!r->p->overs.count) return vy_tape_all_groups(r);
    vy_dim n = vy_dim_const(r->b, 1);
    for (uint32_t k = 0; !vy_builder_failed(r->b) && k < r->p->overs.count; k++) {
        vy_dim e = vy_dim_natural(r->b, vy_builder_program(r->b)->overs.data[k].extent);
        n = k ? vy_dim_binary(r->b, VY_DIM_MUL, n, e) : e;
    }
    return n;
}

vy_dim vy_tape_blocks(reverse *r)
{
    vy_dim rest = vy_dim_const(r->b, VY_TAPE_LANES - 1);
    vy_dim n = vy_dim_binary(r->b, VY_DIM_ADD, vy_tape_invocations(r), rest);
    return vy_dim_binary(r->b, VY_DIM_DIV, n, vy_dim_const(r->b, VY_TAPE_LANES));
}

// ((wid.z * num_groups.y + wid.y) * num_groups.x + wid.x) * W + lindex
static vy_value number_in_groups(reverse *r)
{
    const uint32_t *w = r->p->workgroup;
    vy_value n = vy_builtin_value(r->b, VY_WID, 2);
    for (uint32_t axis = 2; axis-- > 0;) {
        const vy_value group = vy_builtin_value(r->b, VY_WID, axis);
        n = vy_add(r->b, vy_mul(r->b, n, vy_builtin_value(r->b, VY_NUM_GROUPS, axis)), group);
    }
    const vy_value local = vy_builtin_value(r->b, VY_LINDEX, 0);
    return vy_add(r->b, vy_mul(r->b, n, vy_int(r->b, VY_U32, (int64_t)w[0] * w[1] * w[2])), local);
}

vy_value vy_tape_invocation(reverse *r)
{
    if (!r->p->overs.count) return number_in_groups(r);
    vy_value n = {0};
    for (uint32_t k = 0; k < r->p->overs.count; k++) {
        vy_value i = {vy_leaf_other(r->b, VY_LEAF_OVER, VY_U32, k, 0)};
        vy_dim d = vy_builder_program(r->b)->overs.data[k].extent;
        n = k ? vy_add(r->b, vy_mul(r->b, n, vy_dim_number(r->b, d)), i) : i;
    }
    return n;
}
