// SPDX-License-Identifier: MIT
// counter.h: where does an iteration go on a tape whose length only the data decide?
#ifndef VYRE_COUNTER_H
#define VYRE_COUNTER_H

#include "ir/core/ir.h"

// One loop whose trip count does not follow from the parameters, seen from one place that may
// record it: a CHECKPOINT around it, or 0, the whole program.
typedef struct vy_counter {
    uint32_t loop, context; // instructions of the new program
    uint32_t at;            // CARRY of the loop: iterations of it since the context began, those of
                            // earlier executions included
    uint32_t most; // value at top level: the largest count that any execution of the context
                   // reached
} vy_counter;
VY_VEC_TYPE(vy_counter_vec, vy_counter);

#endif
