// SPDX-License-Identifier: MIT
// sum_order.h: may a loop's iterations run in the opposite order?
#ifndef VYRE_SUM_ORDER_H
#define VYRE_SUM_ORDER_H

#include "ir/core/dataflow.h"

typedef struct vy_sum_order {
    const vy_program *p;
    const vy_structure *s;
    vy_dataflow flow;
    uint32_t *uses; // by instruction; NULL until the tables are needed
    uint32_t *seen; // by instruction: the last search that came to it
    uint32_t *work, stamp;
} vy_sum_order;

// Does every value that the loop carries add up terms that depend on no iteration, and may a sum of
// floats have other last bits?  False also if there is no memory (*oom).  Memory that the loop
// writes is for the caller to look at.
bool vy_sums_commute(vy_sum_order *o, uint32_t loop, vy_arena *arena, bool *oom);
// Is the value used linearly, and does all that depends on it end in gradients?  It may then have
// other last bits.
bool vy_is_adjoint(vy_sum_order *o, uint32_t id, vy_arena *arena, bool *oom);
// The same of a value that may also divide others, if `divides`: one that is far from zero, and so
// with other last bits.
bool vy_is_adjoint_or_divides(vy_sum_order *o, uint32_t id, bool divides, vy_arena *arena,
                              bool *oom);

#endif
