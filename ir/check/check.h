// SPDX-License-Identifier: MIT
// check.h: the internals of the checker.
//
//   check.c               vy_check_program, vy_module_check
//   check_declarations.c  parameters, arrays, domain, workgroup, names
//   check_layout.c        places of a shader's parameters
//   place.c               where in the text something is declared
//   check_dims.c          dimensions
//   check_code.c          the code's structure, visibility and types
//   check_rules.c         rules of the language about single instructions and their order
//   check_functions.c     functions with a derivative of their own
//   check_uniform.c       barriers and subgroup operations in uniform control flow
//   race*.c, sum_loads.c  data races (race.h)
//   check_pipeline.c, check_dispatch.c  pipelines (pipe.h)
#ifndef VYRE_IR_CHECK_H
#define VYRE_IR_CHECK_H

#include "ir/core/flow.h"

// Stated limits.
#define VY_MAX_WORKGROUP 1024u     // invocations of a workgroup
#define VY_MAX_SHARED_BYTES 65536u // shared arrays of a program, together
#define VY_MAX_LOCAL_BYTES 65536u  // local arrays of a program, together

#define VY_MAX_DIM_NODES (1u << 24) // of dimensions as trees; a text has no more (VY_MAX_TREE)

// size[node] becomes its number of nodes as a tree, which may be exponential in the number of
// shared nodes: len(x) * len(x).  At most VY_MAX_DIM_NODES + 1.
void vy_dim_sizes(const vy_program *p, uint32_t *size);
// The column where `name` is declared on that line, since declarations only keep their line.  0
// without source text.
uint32_t vy_check_column(const vy_module *m, uint32_t line, const char *name);
// Each reports the first error in the module's diag and returns false.
bool vy_check_dim_table(const vy_program *p);       // does it refer to what exists? reports nothing
bool vy_check_dims(vy_program *p, vy_arena *arena); // requires vy_check_dim_table
bool vy_check_tables(const vy_program *p);          // do they refer to what exists?
bool vy_check_declarations(vy_program *p);          // includes vy_check_tables
// check_layout.c: layouts of a shader's parameters.  vy_layouts_fit: may both have one binding?
bool vy_check_layouts(vy_program *p);
bool vy_layouts_fit(vy_program *p, const vy_buf *x, const vy_buf *y);
bool vy_check_program_names(vy_module *m); // programs and pipelines: no duplicates
bool vy_check_code(vy_program *p); // internal consistency: a failure is a bug of the library
bool vy_check_rules(vy_program *p, const vy_structure *s);
// sum_loads.c: sets sum[id] for each LOAD of an `out` buffer that only starts a sum in its element.
// False: out of memory.
bool vy_find_sum_loads(const vy_program *p, const vy_structure *s, uint8_t *sum);
// race.c: refuses stores that surely race, and sums where several invocations may add.  first[b]:
// the first store to b, or 0.
bool vy_check_races(vy_program *p, const vy_structure *s, const uint8_t *sum,
                    const uint32_t *first);
// By instruction: is it a store that several invocations surely make to one element?  False: out of
// memory.
bool vy_race_redundant(const vy_program *p, const vy_structure *s, uint8_t *stores);
bool vy_check_uniform(vy_program *p, const vy_structure *s);
bool vy_check_program_rules(vy_module *m);    // of programs (ir/core/program_rule.h)
bool vy_check_functions(vy_module *m);        // those of the module's table (ir/core/functions.h)
bool vy_check_function(const vy_function *f); // its code
// Does f's rule of that kind fit?  text: what it must be, where that is what is wrong.
bool vy_check_rule(const vy_module *m, const vy_function *f, vy_rule_of kind, char text[240]);
// Consistency of the declarations and vy_check_code, which passes must preserve, and the rules of
// the language.
bool vy_check_program(vy_program *p);
bool vy_check_consistent(vy_program *p);

// The types that values may have: not void, not storage-only.
static inline bool vy_type_computes(uint32_t t) { return t >= VY_BOOL && t <= VY_F64; }

#endif
