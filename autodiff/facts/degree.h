// SPDX-License-Identifier: MIT
// degree.h: how values change when a loop's running maximum is replaced by its last one.
#ifndef VYRE_DEGREE_H
#define VYRE_DEGREE_H

#include "ir/core/ir.h"

typedef enum vy_degree_kind {
    VY_DEGREE_UNSEEN, // nothing known yet: the lattice's initial state
    VY_DEGREE_ZERO,   // the number 0, of every degree
    VY_DEGREE_FACTOR, // x becomes x · b^(c (old (m − M) + now (t − M)))
    VY_DEGREE_TERM,   // x becomes x − c (old (m − M) + now (t − M))
    VY_DEGREE_NONE,   // anything else
} vy_degree_kind;

// m is the maximum before an iteration, t the one after it, M the last.  A value that does not
// change has the kind FACTOR and both numbers 0.
typedef struct vy_degree {
    uint8_t kind;
    uint8_t base; // FACTOR: VY_OP_EXP or VY_OP_EXP2, which determines b
    int16_t old, now;
    uint32_t scale; // c: the id of an invariant value, 0: 1
} vy_degree;

// How a local array is used, see vy_degrees.
typedef enum vy_degree_role {
    VY_ARRAY_FIXED, // not written in the loop
    VY_ARRAY_SUM, // every element updated once per iteration: `held` before, and after it as `now`
    VY_ARRAY_SCRATCH, // `held`, of all elements
    VY_ARRAY_OTHER,   // unknown
} vy_degree_role;

typedef struct vy_degrees {
    const vy_program *p;
    const vy_structure *s;
    uint32_t loop;      // the loop
    uint32_t reference; // its carry m
    uint8_t *chain;     // by instruction: it computes t; of an IF: 1: its first arm, 2: its second
    vy_degree *at;      // by instruction
    vy_degree *held;    // by buffer
    uint8_t *role;      // by buffer
    // By LOAD of a sum: the STORE that updates the element; 0: unknown.
    uint32_t *update;
    bool behind; // the body is done: the code after the loop is analysed
} vy_degrees;

static inline bool vy_degree_stays(vy_degree d)
{
    return d.kind == VY_DEGREE_ZERO || (d.kind == VY_DEGREE_FACTOR && !d.old && !d.now);
}
bool vy_degree_same(vy_degree x, vy_degree y);
// The degree of a value that is x or y.
vy_degree vy_degree_join(vy_degree x, vy_degree y);
// Fills at[], held[] for the body of the loop.  False: no fixpoint was reached, nothing is known.
bool vy_degrees_body(vy_degrees *d);
// With at[] and held[] set for the values that the loop yields, in terms of `old`: is every value
// after it that is stored, or decides control flow, independent of the maximum?
bool vy_degrees_cancel(vy_degrees *d);

#endif
