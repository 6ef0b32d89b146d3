// SPDX-License-Identifier: MIT
// loop_ranges.h: between strip_mine.c and loop_ranges.c, which finds the iterations of a loop whose
// loads are all in range.
#ifndef VYRE_LOOP_RANGES_H
#define VYRE_LOOP_RANGES_H

#include "ir/build/rewrite.h"

enum { VY_RANGE_CHECKS = 16 };

typedef struct vy_range_check { // an index that is not known to be in range
    uint32_t index, buffer, axis;
} vy_range_check;

typedef struct vy_loop_ranges {
    const uint32_t *along[3]; // by axis, by instruction: it differs between lanes along that
    uint8_t *freed;           // by instruction: a load that is in range in those iterations
    vy_range_check checks[VY_RANGE_CHECKS]; // of the loop that is looked at
    uint32_t count;
} vy_loop_ranges;

bool vy_ranges_prepare(vy_loop_ranges *x, vy_rewrite *w); // false: out of memory
// Looks at a loop in steps of 1.  Can all checks of its loads be made before it, for the entire
// workgroup?  Decides count and freed.
bool vy_ranges_look(vy_loop_ranges *x, const vy_rewrite *w, uint32_t loop);
// Before the loop in the new program: at most n, its number of iterations, and the same in all
// lanes of a workgroup; n itself if no such number is known.
vy_value vy_ranges_common_trips(const vy_loop_ranges *x, vy_rewrite *w, uint32_t loop, vy_value n);
// Are those all of them, or most?
bool vy_ranges_trips_are_common(const vy_loop_ranges *x, const vy_rewrite *w, uint32_t loop);
// Before the loop in the new program: of its n iterations, those from *first to *end - 1 are such.
// Both are at most n, and *first is at most *end.
void vy_ranges_find(const vy_loop_ranges *x, vy_rewrite *w, uint32_t loop, vy_value n,
                    vy_value *first, vy_value *end);

#endif
