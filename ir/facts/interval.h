// SPDX-License-Identifier: MIT
// interval.h: bounds of integers, and what every operation does to them.
//
// The one place that knows when integers wrap.  Whoever bounds values asks here what an operation
// makes of the bounds of its operands, and decides itself what it takes a leaf to be: constant
// bounds of a program (range.h), iterations for given sizes (trip_estimate.c), indices of a nest
// (autodiff/affine).
#ifndef VYRE_INTERVAL_H
#define VYRE_INTERVAL_H

#include "ir/core/ir.h"

// Both included; as signed 64-bit numbers, which is what an index is compared as.  Bounds of a u64
// that may be beyond them have a negative `lo` and say nothing.
typedef struct vy_interval {
    int64_t lo, hi;
} vy_interval;

// All values of a type; of no integer type, all there are.
vy_interval vy_interval_of_type(vy_type t);
static inline bool vy_interval_within(vy_interval x, vy_interval in)
{
    return in.lo <= x.lo && x.hi <= in.hi;
}
vy_interval vy_interval_join(vy_interval x, vy_interval y); // either
// x op y as integers without end, by zero 0.  False: not known for this operation, or for such
// operands, or not within 64 bits.
bool vy_interval_exactly(vy_op op, vy_interval x, vy_interval y, vy_interval *r);
// The same in integers of type t, which wrap.  *exact: an ADD, SUB or MUL that does not.
vy_interval vy_interval_binary(vy_op op, vy_type t, vy_interval x, vy_interval y, bool *exact);
// A conversion; *exact: it keeps the value.
vy_interval vy_interval_cast(vy_type from, vy_type to, vy_interval x, bool *exact);
// The variable of a loop of type t, where the body runs.
vy_interval vy_interval_counter(vy_type t, vy_interval from, vy_interval to);
// A comparison of integers of type t: 1 it holds, 0 it does not, -1 that depends.
int vy_interval_compare(vy_op op, vy_type t, vy_interval x, vy_interval y);

#endif
