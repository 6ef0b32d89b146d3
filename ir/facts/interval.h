// SPDX-License-Identifier: MIT
// interval.h: interval arithmetic on integers.
//
// The one place that knows when integers wrap.  An analysis that bounds values gets the transfer
// function of every operation here, and decides itself which interval a leaf has: constant bounds
// of a program (range.h), trip counts for given sizes (trip_estimate.c), indices of a nest
// (autodiff/affine).
#ifndef VYRE_INTERVAL_H
#define VYRE_INTERVAL_H

#include "ir/core/ir.h"

// Both ends included; as signed 64-bit numbers, as indices are compared.  A u64 that may exceed
// them has a negative `lo`, and then its bounds mean nothing.
typedef struct vy_interval {
    int64_t lo, hi;
} vy_interval;

// All values of a type; if it is no integer type, all 64-bit numbers.
vy_interval vy_interval_of_type(vy_type t);
static inline bool vy_interval_within(vy_interval x, vy_interval in)
{
    return in.lo <= x.lo && x.hi <= in.hi;
}
vy_interval vy_interval_join(vy_interval x, vy_interval y); // the smallest that contains both
// x op y on mathematical integers; a quotient or remainder by zero is 0.  False: not known for this
// operation or such operands, or not within 64 bits.
bool vy_interval_exactly(vy_op op, vy_interval x, vy_interval y, vy_interval *r);
// The same on integers of type t, which wrap.  *exact: it is an ADD, SUB or MUL that does not wrap.
vy_interval vy_interval_binary(vy_op op, vy_type t, vy_interval x, vy_interval y, bool *exact);
// A conversion; *exact: it preserves the value.
vy_interval vy_interval_cast(vy_type from, vy_type to, vy_interval x, bool *exact);
// The variable of a loop of type t, in its body.
vy_interval vy_interval_counter(vy_type t, vy_interval from, vy_interval to);
// A comparison of integers of type t: 1 it always holds, 0 it never does, -1 not known.
int vy_interval_compare(vy_op op, vy_type t, vy_interval x, vy_interval y);

#endif
