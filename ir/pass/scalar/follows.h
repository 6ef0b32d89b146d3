// SPDX-License-Identifier: MIT
// follows.h: values that are a loop's counter plus what does not change in the loop.
#ifndef VYRE_FOLLOWS_H
#define VYRE_FOLLOWS_H

#include "ir/build/rewrite.h"

// Is `id` the counter of `loop` plus what does not change in it, modulo 2³²?
bool vy_follows(const vy_program *p, uint32_t id, uint32_t loop);
// The same value in the first iteration, before the loop in the new program.
vy_value vy_followed_first(vy_rewrite *w, uint32_t id, uint32_t loop);
// Is it known before the loop?
static inline bool vy_is_ahead(uint32_t id, uint32_t loop) { return VY_IS_LEAF(id) || id < loop; }

#endif
