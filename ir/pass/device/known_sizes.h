// SPDX-License-Identifier: MIT
// known_sizes.h: what is known of the sizes of a launch (vy_opt_options.extent and .number).
#ifndef VYRE_PASS_KNOWN_SIZES_H
#define VYRE_PASS_KNOWN_SIZES_H

#include "ir/core/ir.h"

// Saturates.
static inline uint64_t vy_known_product(uint64_t a, uint64_t b)
{
    return a && b > UINT64_MAX / a ? UINT64_MAX : a * b;
}

// The elements of a buffer in the greatest launch; UINT64_MAX: not known.
static inline uint64_t vy_known_elements(const vy_program *p, const vy_opt_options *o,
                                         uint32_t buffer)
{
    const vy_buf *b = &p->buffers.data[buffer];
    uint64_t n = 1;
    for (uint32_t k = 0; k < b->rank; k++) {
        const int64_t length = o->number(o->user, p, b->dims[k]);
        n = vy_known_product(n, length < 0 ? UINT64_MAX : (uint64_t)length);
    }
    return n;
}

#endif
