// SPDX-License-Identifier: MIT
// price.h: what operations cost, for everybody who compares ways to compute something.
//
// Which operations are alike says the column `cost` of ir/core/ops.h; the numbers stand in
// price.c and here, each with the question that it answers and where it comes from.  Passes have
// limits (how much is too much), no prices.
#ifndef VYRE_PRICE_H
#define VYRE_PRICE_H

#include "ir/core/ir.h"

typedef struct vy_price {
    // To compute it once more instead of keeping it or adding it up in memory, in simple
    // operations.  Arithmetic is 1 whatever it is: a device does one a cycle.
    uint8_t again;
    // Of a lane of a driver that runs on the CPU, on floats and on other types.
    uint8_t cpu, cpu_whole;
} vy_price;
extern const vy_price vy_prices[VY_WORK_COUNT];

static inline const vy_price *vy_price_of(vy_op op) { return &vy_prices[vy_op_infos[op].work]; }
// Simple enough to be computed where nobody may want it?
static inline bool vy_is_cheap(vy_op op)
{
    return vy_op_infos[op].effect == VY_PURE && vy_price_of(op)->again <= 1;
}

enum {
    // On the CPU, what a load whose index may be out of range takes on top: it is compared, and
    // the index replaced.
    VY_PRICE_CHECK = 4,
    // Of a tape, in the measure of `again`: a byte of one iteration, written and read back.  Dear on
    // purpose: what it takes is also memory that must be there.
    VY_PRICE_TAPE_BYTE = 10,
    // The same of a number that a gather cannot compute again: written to a workspace by the
    // program, once a point, and far from where it is read (a load).  Less than a tape, which has
    // to be read in the order that it was written.
    VY_PRICE_KEPT_WRITE = 6,
    // The same of an atomic addition: where all lanes mean one element, which one of them adds to,
    // and where each has its own.  Measured on lavapipe: 9 ns each, against lanes by eights.
    VY_PRICE_ADD_ALIKE = 8,
    VY_PRICE_ADD_SPREAD = 100,
};

#endif
