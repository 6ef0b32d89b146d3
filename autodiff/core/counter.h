// SPDX-License-Identifier: MIT
// counter.h: the row of an iteration on a tape whose length depends on data.
#ifndef VYRE_COUNTER_H
#define VYRE_COUNTER_H

#include "ir/core/ir.h"

// One loop whose trip count does not follow from the parameters, within one context that may record
// its values: a CHECKPOINT around it, or 0, the whole program.
typedef struct vy_counter {
    uint32_t loop, context; // instructions of the new program
    uint32_t at;   // CARRY of the loop: its iterations since the context began, earlier executions
                   // of the loop included
    uint32_t most; // value at top level: the largest count in any execution of the context
} vy_counter;
VY_VEC_TYPE(vy_counter_vec, vy_counter);

#endif
