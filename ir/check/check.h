// SPDX-License-Identifier: MIT
// check.h: the inside of the checker.
//
//   check.c          vy_check_program, vy_module_check
//   check_declarations.c  parameters, arrays, domain, workgroup, names
//   place.c          where in the text something is declared
//   check_dims.c     dimensions
//   check_code.c     the code's structure, visibility and types
//   check_rules.c    rules of the language about single instructions and their order
//   check_pipeline.c, check_dispatch.c  pipelines (pipe.h)
//   check_uniform.c  barriers and subgroup operations in uniform control flow
#ifndef VYRE_CHECK_H
#define VYRE_CHECK_H

#include "ir/core/flow.h"

// Stated limits.
#define VY_MAX_WORKGROUP 1024u     // invocations of a workgroup
#define VY_MAX_SHARED_BYTES 65536u // shared arrays of a program, together
#define VY_MAX_LOCAL_BYTES 65536u  // local arrays of a program, together

#define VY_MAX_DIM_NODES (1u << 24) // of dimensions, written out; a text has no more (VY_MAX_TREE)

// size[node] becomes how many nodes it has written out, which may be exponential in what there is:
// len(x) * len(x).  At most VY_MAX_DIM_NODES + 1.
void vy_dim_sizes(const vy_program *p, uint32_t *size);
// Column of what is declared as `name` on that line: declarations keep their line only.  0 without
// source text.
uint32_t vy_check_column(const vy_module *m, uint32_t line, const char *name);
// Each reports the first error in the module's diag and returns false.
bool vy_check_dim_table(const vy_program *p);       // refers to what exists? reports nothing
bool vy_check_dims(vy_program *p, vy_arena *arena); // of a good table
bool vy_check_tables(const vy_program *p);          // refer to what exists?
bool vy_check_declarations(vy_program *p);          // also vy_check_tables
bool vy_check_program_names(vy_module *m);          // of all programs and pipelines: no two are one
bool vy_check_code(vy_program *p); // internal consistency: a failure is a fault of ours
bool vy_check_rules(vy_program *p, const vy_structure *s);
// sum_loads.c: sum[id] of each LOAD of an `out` buffer that only begins a sum in its element.
// False: memory.
bool vy_find_sum_loads(const vy_program *p, const vy_structure *s, uint8_t *sum);
// race.c: stores that surely meet; sums where several invocations may add.  first[b]: first store
// to b, or 0.
bool vy_check_races(vy_program *p, const vy_structure *s, const uint8_t *sum,
                    const uint32_t *first);
// By instruction: is it a store that several invocations surely make to one element?  False:
// memory.
bool vy_race_redundant(const vy_program *p, const vy_structure *s, uint8_t *stores);
bool vy_check_uniform(vy_program *p, const vy_structure *s);
// Declarations' consistency and vy_check_code: what passes must keep.
bool vy_check_program(vy_program *p); // internal consistency and language rules
bool vy_check_consistent(vy_program *p);

// The types values may have: not void, not storage-only.
static inline bool vy_type_computes(uint32_t t) { return t >= VY_BOOL && t <= VY_F64; }

#endif
