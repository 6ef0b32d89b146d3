// SPDX-License-Identifier: MIT
// told_sizes.h: sizes of launches that are not those of the test, for vy_opt_options: many
// invocations and few elements.  What a pass makes of what it is told must be right for all sizes.
#ifndef TESTS_TOLD_SIZES_H
#define TESTS_TOLD_SIZES_H

#include "ir/core/ir.h"

static int64_t told_extent(void *user, const vy_program *p, uint32_t axis)
{
    (void)user, (void)p, (void)axis;
    return 1000000;
}

static int64_t told_number(void *user, const vy_program *p, vy_dim d)
{
    (void)user, (void)p, (void)d;
    return 5;
}

#endif
