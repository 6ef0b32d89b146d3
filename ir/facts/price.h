// SPDX-License-Identifier: MIT
// price.h: what operations cost, for everything that compares ways to compute something.
//
// The column `cost` of ir/core/ops.h gives the kind of work of each operation; the numbers are in
// price.c and here, each with the question that it answers and its source.  Passes have limits (how
// much is too much), no prices of their own.
#ifndef VYRE_PRICE_H
#define VYRE_PRICE_H

#include "ir/core/ir.h"

typedef struct vy_price {
    // The price of recomputing it instead of keeping it or adding it up in memory, in simple
    // operations.  All arithmetic is 1: a device does one operation per cycle.
    uint8_t again;
    // The price in a lane of a driver that runs on the CPU, for floats and for other types.
    uint8_t cpu, cpu_whole;
} vy_price;
extern const vy_price vy_prices[VY_WORK_COUNT];

static inline const vy_price *vy_price_of(vy_op op) { return &vy_prices[vy_op_infos[op].work]; }
// Is it cheap enough to be computed speculatively?
static inline bool vy_is_cheap(vy_op op)
{
    return vy_op_infos[op].effect == VY_PURE && vy_price_of(op)->again <= 1;
}

enum {
    // On the CPU, the surcharge of a load whose index may be out of range: a comparison, and a
    // select of the index.
    VY_PRICE_CHECK = 4,
    // On the CPU, of an atomic addition of floats where all lanes add to one element: one lane adds
    // their sum.  15 ns for eight lanes of lavapipe, in which it makes 30 simple operations.
    VY_PRICE_ADD_TOGETHER = 30,
    // Of a tape, in the measure of `again`: a byte of one iteration, written and read back.
    // Expensive on purpose: a tape also needs memory.
    VY_PRICE_TAPE_BYTE = 10,
    // Likewise, a number that a gather cannot recompute: written to a workspace by the program,
    // once per point, and read far from there (a load).  Less than a tape, which has to be read in
    // the order in which it was written.
    VY_PRICE_KEPT_WRITE = 6,
    // Likewise, an atomic addition: where all lanes add to one element, which one lane does for
    // all, and where each lane has its own element.  Measured on lavapipe: 9 ns each, against lanes
    // by eights.
    VY_PRICE_ADD_ALIKE = 8,
    VY_PRICE_ADD_SPREAD = 100,
};

#endif
