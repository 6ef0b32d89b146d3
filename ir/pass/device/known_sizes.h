// SPDX-License-Identifier: MIT
// known_sizes.h: what is known of the sizes of a launch (vy_opt_options.extent and .number).
#ifndef VYRE_PASS_KNOWN_SIZES_H
#define VYRE_PASS_KNOWN_SIZES_H

#include "ir/facts/domain_dependence.h"

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

// An extent of the domain in the smallest launch or, greatest, in the greatest; -1: not known.
// Most of the work is in the greatest, and what suits a smaller one less well costs less: the
// weights of all layers of a network may have one gradient, and its last layer ten outputs.
static inline int64_t vy_known_extent(const vy_program *p, const vy_opt_options *o, uint32_t axis,
                                      bool greatest)
{
    const uint32_t constant = vy_axis_constant(p, axis);
    if (constant) return constant;
    const int64_t least = o->extent ? o->extent(o->user, p, axis) : -1;
    if (!greatest || least < 0 || !o->number) return least;
    const int64_t most = o->number(o->user, p, p->overs.data[axis].extent);
    return most > least ? most : least;
}

#endif
