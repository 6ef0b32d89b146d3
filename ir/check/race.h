// SPDX-License-Identifier: MIT
// race.h: the files behind vy_check_races and vy_race_redundant.
//
//   race_dependence.c  on which domain variables a value depends
//   race.c             stores of all invocations to one element; the diagnostics
//   race_pairs.c       stores of two particular invocations to one element: y[i / 2]
//   race_owner.c       sums `y[i] += e` into `out` buffers: does one invocation own the element?
#ifndef VYRE_RACE_H
#define VYRE_RACE_H

#include "ir/check/check.h"

// Sets of domain variables are bit masks, which have these bits too.
#define VY_RACE_UNKNOWN 0x80000000u
#define VY_RACE_LANES 0x40000000u // in programs without domain variables: the lanes of a workgroup
#define VY_RACE_IDS 0x20000000u   // made of ids: differs between lanes

typedef struct vy_races {
    const vy_program *p;
    const vy_structure *s;
    uint32_t *on;   // by id: the domain variables it depends on, and VY_RACE_…
    uint32_t all;   // the variables whose extent is not surely 1
    uint32_t lanes; // those of `all` in which lanes of one workgroup differ
} vy_races;

// race_dependence.c -------------------------------------------------------------------------------
void vy_race_find_dependences(vy_races *r); // fills on, all and lanes
uint32_t vy_race_on(const vy_races *r, uint32_t id);
uint32_t vy_race_on_args(const vy_races *r, uint32_t id, uint32_t n); // its first n operands do

// race_owner.c ------------------------------------------------------------------------------------
// What accesses to a buffer have in common that separates invocations: the marks of race_owner.c.
typedef struct vy_owner {
    bool skip;       // the buffer is not checked
    uint32_t access; // the last one seen; 0: none
    uint32_t count;  // of marks
    struct vy_owner_mark {
        enum { VY_OWNER_SAME, VY_OWNER_HIGH, VY_OWNER_LOW, VY_OWNER_ARM } kind;
        uint32_t axis, value, extent;
        uint32_t vars; // that it separates
    } marks[24];
} vy_owner;

// Takes the marks of the first access, then intersects them with those of each other access.
void vy_owner_begin(const vy_races *r, vy_owner *o, uint32_t access);
void vy_owner_intersect(const vy_races *r, vy_owner *o, uint32_t access);
// Domain variables in which invocations may differ and still access one element.
uint32_t vy_owner_shared(const vy_races *r, const vy_owner *o);

// race_pairs.c ------------------------------------------------------------------------------------
// Two invocations that store to one element.
typedef struct vy_conflict {
    uint32_t store; // 0: none
    uint32_t var;   // they differ in this domain variable or, without a domain, in this axis of lid
    uint32_t first, second; // its values
    bool differ;            // what they store surely depends on it
} vy_conflict;

// by[id]: a conflict at store `id`, where wanted[id] is set.  False: out of memory.
bool vy_race_conflicts(const vy_races *r, const uint8_t *wanted, vy_conflict *by);

#endif
