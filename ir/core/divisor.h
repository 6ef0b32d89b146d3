// SPDX-License-Identifier: MIT
// divisor.h: the greatest common divisor.
#ifndef VYRE_DIVISOR_H
#define VYRE_DIVISOR_H

#include <stdint.h>

// Not negative; of 0 and x it is |x|.
static inline int64_t vy_common_divisor(int64_t x, int64_t y)
{
    while (y) {
        const int64_t rest = x % y;
        x = y;
        y = rest;
    }
    return x < 0 ? -x : x;
}

#endif
