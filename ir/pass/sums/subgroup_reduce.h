// SPDX-License-Identifier: MIT
// subgroup_reduce.h: what the passes share that add up in a subgroup first: subgroup_reduce.c (a
// workgroup adds to one element), subgroup_runs.c (neighbours may).
#ifndef VYRE_REDUCE_H
#define VYRE_REDUCE_H

#include "ir/pass/pass.h"

// May subgroups add up, and does the program have atomic additions?
bool vy_may_add_up(const vy_program *p, const vy_opt_options *o);
// By memory: is it a result that only additions touch whose old values nobody uses?  NULL: memory.
uint8_t *vy_find_sums(const vy_program *p, const vy_structure *s, vy_arena *arena);
bool vy_subgroup_adds(const vy_opt_options *o, vy_type t); // does subgroup_add exist for it?
// May padding lanes run this program?  False with *oom: memory.
bool vy_padding_ends(const vy_program *p, const vy_structure *s, const uint32_t *differs,
                     vy_arena *arena, bool *oom);

#endif
