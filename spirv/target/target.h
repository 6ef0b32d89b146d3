// SPDX-License-Identifier: MIT
// target.h: what each file of this room does for the emitter (vy_hooks).  Not installed.
#ifndef VYRE_TARGET_H
#define VYRE_TARGET_H

#include "spirv/emit/emit.h"

vy_hooks vy_target_hooks(const vy_spirv_options *o);

uint32_t vy_mesa_zero(vy_fn *f); // mesa_loops.c: a u32 0 that no optimiser recognises
uint32_t vy_mesa_bound(vy_fn *f, vy_type type, uint32_t bound);
uint32_t vy_mesa_answer(vy_fn *f, uint32_t answer);
bool vy_mesa_test_first(vy_fn *f, uint32_t i);
uint32_t vy_mesa_widen(vy_fn *f, vy_type to, uint32_t v); // mesa_signs.c
// lavapipe_ways.c.  By instruction: more operand paths than llvmpipe can visit; NULL: memory.
// vy_free it.
bool *vy_lavapipe_ways(const vy_program *p);
uint32_t vy_lavapipe_rounded(vy_fn *f, vy_type t, uint32_t code, uint32_t x); // lavapipe_rounding.c
uint32_t vy_lavapipe_factor(vy_fn *f, vy_type t, uint32_t x);                 // lavapipe_zeros.c
uint32_t vy_lavapipe_address(vy_fn *f, uint32_t i, uint32_t address);
SpvLoopControlMask vy_lavapipe_loop_control(vy_fn *f); // lavapipe_nesting.c
uint32_t vy_lavapipe_lanes(vy_fn *f);                  // lavapipe_watch.c
void vy_lavapipe_end(vy_fn *f);
uint32_t vy_lavapipe_root(vy_fn *f, uint32_t i, uint32_t code, uint32_t x); // lavapipe_roots.c

#endif
