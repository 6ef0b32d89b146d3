// SPDX-License-Identifier: MIT
// sqrt_segments.h: √n checkpointing of loops.
#ifndef VYRE_SEGMENT_H
#define VYRE_SEGMENT_H

#include "ir/core/ir.h"

// Cuts the counted loops for which chosen[] is set (by instruction id; none inside another) into
// segments of ⌈√n⌉ iterations, each in a checkpoint.  *hints (see trip_bound.h; NULL at first;
// freed with vy_free) is replaced by that of the new program.  False: the module's diag says why.
bool vy_segment(vy_program *p, const uint8_t *chosen, uint32_t **hints);

#endif
