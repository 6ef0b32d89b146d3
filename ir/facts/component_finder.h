// SPDX-License-Identifier: MIT
// component_finder.h: what components.c and components_stored.c share.
#ifndef VYRE_COMPONENT_FINDER_H
#define VYRE_COMPONENT_FINDER_H

#include "ir/core/vector_params.h"
#include "ir/facts/components.h"

typedef struct finder {
    vy_components *c;
    const vy_program *p;
    const vy_structure *s;
    uint32_t *table, mask;  // of groups that may lack members, by the hash of one
    uint32_t *uses;         // by instruction: how many
    uint32_t *start, *user; // of value id: user[start[id] … start[id + 1])
    vy_vector_param *params;
    vy_id_vec done; // groups in the order in which they were completed
} vy_component_finder;

// The complete group that a value is in; 0: none.
uint32_t vy_component_group(const vy_component_finder *f, uint32_t a);
// May it be an operation on components?
bool vy_component_computed(const vy_component_finder *f, uint32_t id);
// Indices that every member of a group of rows has alike: all but the last.
uint32_t vy_component_row_indices(const vy_component_finder *f, uint32_t id);
// What stands for operand k in the comparison of members.
uint64_t vy_component_operand(const vy_component_finder *f, uint32_t id, uint32_t k, bool row);
// Are its two operands compared the other way round?
bool vy_component_exchanged(const vy_component_finder *f, uint32_t id, bool row);
// Makes `id` component k of a group, or of none; false: out of memory.
void vy_component_leave(vy_component_finder *f, uint32_t id);
bool vy_component_enter(vy_component_finder *f, uint32_t id, uint32_t number, uint32_t k);
// Groups of what has the names of components; false: out of memory.
bool vy_components_named(vy_component_finder *f, vy_arena *arena);
bool vy_component_is_named(const vy_component_finder *f, uint32_t id);
// Does one of them need another?
bool vy_components_nest(const vy_component_finder *f, const uint32_t *ids, uint32_t n);
// Is it one operation on each, of which none needs another?
bool vy_components_alike(const vy_component_finder *f, const uint32_t *ids, uint32_t n);
// Groups that rows store and that constructs take, once those that follow from rows are found.
void vy_components_stored(vy_component_finder *f);

// ---- components_slots.c
// Groups of what constructs carry and yield; false: out of memory.
bool vy_component_slots(vy_component_finder *f);
// Calls `take` with the n values that each of them begins or goes on with: those of a marker's
// operands.
typedef void vy_component_take(vy_component_finder *f, const uint32_t *values, uint32_t n,
                               void *to);
void vy_component_slot_values(vy_component_finder *f, vy_component_take *take, void *to);

#endif
