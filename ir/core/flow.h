// SPDX-License-Identifier: MIT
// flow.h: how values flow through structured control.
#ifndef VYRE_FLOW_H
#define VYRE_FLOW_H

#include "ir/core/ir.h"

// Number of carried or yielded values of an opening marker (IF, LOOP, WHILE, CHECKPOINT).
uint32_t vy_slot_count(const vy_program *p, const vy_structure *s, uint32_t opener);
// The closing marker of an opening one.
static inline uint32_t vy_closer(const vy_program *p, const vy_structure *s, uint32_t opener)
{
    uint32_t c = s->partner[opener];
    return p->insts.data[opener].op == VY_OP_IF ? s->partner[c] : c;
}
// First of the operands that are handed on: LOOP's inits, ENDLOOP's nexts.
static inline uint32_t vy_init_arg(const vy_program *p, uint32_t loop)
{
    return p->insts.data[loop].op == VY_OP_LOOP ? 3 : 0;
}
static inline uint32_t vy_next_arg(const vy_program *p, uint32_t loop)
{
    return p->insts.data[loop].flags & VY_FLAG_EXIT ? 1 : 0;
}
// The loop's `keep`, or 0.
static inline uint32_t vy_keep(const vy_program *p, const vy_structure *s, uint32_t loop)
{
    return p->insts.data[loop].flags & VY_FLAG_EXIT ? vy_arg(p, s->partner[loop], 0) : 0;
}
static inline bool vy_is_marker(vy_op op) { return vy_op_infos[op].effect == VY_CTRL; }
static inline bool vy_is_loop(vy_op op) { return op == VY_OP_LOOP || op == VY_OP_WHILE; }

// Operands whose values CARRY or RESULT `id` takes over, at most three; returns how many.
uint32_t vy_slot_sources(const vy_program *p, const vy_structure *s, uint32_t id, uint32_t out[3]);

// True when LOOP bounds of integer type t are constants under which the body never runs.
bool vy_loop_never(vy_type t, const vy_scalar *from, const vy_scalar *to);
// Integer constant as a signed 64-bit number; false if `id` is none or it does not fit.
bool vy_id_int(const vy_program *p, uint32_t id, int64_t *out);

#endif
