// SPDX-License-Identifier: MIT
// workgroup_sum.c: sums over subgroups are summed over the workgroup, so that one invocation of the
// workgroup adds to memory.
//
//   if leader {                      →   shared part;
//       atomic_add(loss[0], sum);        barrier();
//   }                                    if leader { atomic_add(part[0], sum); }
//                                        barrier();
//                                        if lindex == 0 { atomic_add(loss[0], part[0]); }
//
// A GPU runs additions to one element one after the other: a loss over 64 million elements, added
// up by subgroups of 32, takes an H100 six times as long as loading them.  Shared memory is near.
//
// Only outside all control flow, where the whole workgroup arrives at the barriers, and for types
// of four bytes, which every device adds to in shared memory.  The first invocation of a workgroup
// is inside the domain, and its index is that of all others, which is uniform.
#include "ir/pass/sums/subgroup_reduce.h"

static vy_buffer part_of(vy_builder *b, const char *of, vy_type type)
{
    char text[320];
    const vy_dim one = vy_dim_const(b, 1);
    const vy_buffer part =
        vy_shared_array(b, vy_free_name(vy_builder_program(b), "part", of, text), type, 1, &one);
    if (part.id) vy_emit(b, VY_OP_ZERO, VY_VOID, part.id, 0, NULL);
    return part;
}

bool vy_group_adds(const vy_program *p, vy_type type)
{
    return p->workgroup[0] * p->workgroup[1] * p->workgroup[2] > 32 && vy_type_size(type) == 4;
}

void vy_group_add_up(vy_builder *b, vy_value leader, vy_group_sum *sums, uint32_t n)
{
    const vy_value zero = vy_zero(b, VY_U32);
    for (uint32_t k = 0; k < n; k++)
        sums[k].part = part_of(b, sums[k].of, vy_value_type(b, sums[k].sum));
    vy_barrier(b);
    vy_begin_if(b, leader.id);
    for (uint32_t k = 0; k < n; k++) vy_atomic(b, "add", sums[k].part, &zero, sums[k].sum);
    vy_end_plain_if(b);
    vy_barrier(b);
}
