// SPDX-License-Identifier: MIT
// low_bits.h: the lowest bits of integer values, whatever the data: of 2 * c[i] + 1 the last is 1.
//
// Arithmetic that wraps preserves them, so that this holds where no bound is known.
#ifndef VYRE_LOW_BITS_H
#define VYRE_LOW_BITS_H

#include "ir/core/flow.h"

// The value is `bits` in its lowest `count` bits.
typedef struct vy_low_bits {
    uint32_t count; // 0 … 64
    uint64_t bits;  // higher ones are 0
} vy_low_bits;

// x op y on integers of type t, which wrap.
vy_low_bits vy_low_bits_binary(vy_op op, vy_type t, vy_low_bits x, vy_low_bits y);
vy_low_bits vy_low_bits_of(const vy_program *p, const vy_structure *s, uint32_t id);
// Are the values different, as some bit that both have known differs?
bool vy_low_bits_differ(vy_low_bits x, vy_low_bits y);

#endif
