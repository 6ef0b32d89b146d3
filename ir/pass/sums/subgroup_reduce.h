// SPDX-License-Identifier: MIT
// subgroup_reduce.h: shared by the passes that add up within a subgroup first: subgroup_reduce.c
// (a whole workgroup adds to one element), subgroup_runs.c (neighbouring lanes may).
#ifndef VYRE_REDUCE_H
#define VYRE_REDUCE_H

#include "ir/pass/pass.h"

// May subgroups add up, and does the program have atomic additions?
bool vy_may_add_up(const vy_program *p, const vy_opt_options *o);
// By memory: is it a result that is accessed only by additions whose old values are unused?
// NULL: out of memory.
uint8_t *vy_find_sums(const vy_program *p, const vy_structure *s, vy_arena *arena);
bool vy_subgroup_adds(const vy_opt_options *o, vy_type t); // does subgroup_add exist for the type?
// May padding lanes run this program?  False with *oom: out of memory.
bool vy_padding_ends(const vy_program *p, const vy_structure *s, const uint32_t *differs,
                     vy_arena *arena, bool *oom);

// workgroup_sum.c
typedef struct vy_group_sum {
    vy_value sum;   // of the invocation's subgroup
    const char *of; // name of what it is added to
    vy_buffer part; // of the workgroup: its element 0, once vy_group_add_up is called
} vy_group_sum;

bool vy_group_adds(const vy_program *p, vy_type type); // is that of use, and possible?
// Outside control flow.  leader: of the subgroup.
void vy_group_add_up(vy_builder *b, vy_value leader, vy_group_sum *sums, uint32_t n);

#endif
