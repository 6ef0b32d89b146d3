// SPDX-License-Identifier: MIT
// told_sizes.h: sizes of launches that are not those of the test, for vy_opt_options.  What a pass
// makes of what it is told must be right for all sizes.
#ifndef TESTS_TOLD_SIZES_H
#define TESTS_TOLD_SIZES_H

#include "ir/core/ir.h"

static inline int64_t told_extent(void *user, const vy_program *p, uint32_t axis)
{
    (void)user, (void)p, (void)axis;
    return 1000000;
}

static inline int64_t told_number(void *user, const vy_program *p, vy_dim d)
{
    (void)user, (void)p, (void)d;
    return 5;
}

static inline int64_t told_rows(void *user, const vy_program *p, uint32_t axis)
{
    (void)user, (void)p, (void)axis;
    return 10;
}

static inline int64_t told_length(void *user, const vy_program *p, vy_dim d)
{
    (void)user, (void)p, (void)d;
    return 100000;
}

// Many invocations and few elements: sums in shared memory (shared_copies.c).
static inline void tell_few_elements(vy_opt_options *o)
{
    o->extent = told_extent, o->number = told_number;
}

// Few invocations and many elements: rows walked by a workgroup (row_lanes.c).
static inline void tell_long_rows(vy_opt_options *o)
{
    o->extent = told_rows, o->number = told_length, o->rows = 1000;
}

// A CPU driver with vectors of so many lanes: loads that they make for each other (lane_loads.c),
// terms and sums of gradients that become one (adjoint_terms.c, meeting_sums.c).
static inline void tell_lanes(vy_opt_options *o, uint32_t lanes)
{
    o->extent = told_extent;
    o->lanes = o->subgroup_size = lanes;
    o->subgroup_shuffle = o->registers = true;
}

#endif
