// SPDX-License-Identifier: MIT
// flow.h: how values flow through structured control.
//
// The one place that knows where ir.h's markers keep their operands.  A construct is named by its
// opening marker; its slots 0 … vy_slot_count − 1 are the values that it carries or yields:
//
//   LOOP, WHILE   vy_carry and vy_result, each either vy_slot_init or vy_slot_next
//   IF            vy_result, either vy_slot_then or vy_slot_yield
//   CHECKPOINT    vy_result, vy_slot_yield
//
// Everything takes constant time.
#ifndef VYRE_FLOW_H
#define VYRE_FLOW_H

#include "ir/core/ir.h"

static inline bool vy_is_marker(vy_op op) { return vy_op_infos[op].effect == VY_CTRL; }
static inline bool vy_is_loop(vy_op op) { return op == VY_OP_LOOP || op == VY_OP_WHILE; }
static inline bool vy_is_slot(vy_op op) { return op == VY_OP_CARRY || op == VY_OP_RESULT; }

// -------------------------------------------------------------------------------------- constructs
// The opening marker of the construct that a marker, CARRY, RESULT or TEST belongs to.
uint32_t vy_opener(const vy_program *p, const vy_structure *s, uint32_t id);
// The closing marker of an opening one.
static inline uint32_t vy_closer(const vy_program *p, const vy_structure *s, uint32_t opener)
{
    uint32_t c = s->partner[opener];
    return p->insts.data[opener].op == VY_OP_IF ? s->partner[c] : c;
}
// Can the loop leave after an iteration?  Its ENDLOOP begins with `keep` then.
static inline bool vy_exits(const vy_program *p, uint32_t loop)
{
    return (p->insts.data[loop].flags & VY_FLAG_EXIT) != 0;
}

// ------------------------------------------------------------------------------------------- slots
// Number of the first operand that is handed on: of LOOP's inits, of what a closing marker has.
static inline uint32_t vy_init_arg(const vy_program *p, uint32_t loop)
{
    return p->insts.data[loop].op == VY_OP_LOOP ? 3 : 0;
}
static inline uint32_t vy_next_arg(const vy_program *p, uint32_t opener)
{
    return vy_exits(p, opener) ? 1 : 0;
}
// Number of carried or yielded values of an opening marker.
static inline uint32_t vy_slot_count(const vy_program *p, const vy_structure *s, uint32_t opener)
{
    return p->insts.data[vy_closer(p, s, opener)].nargs - vy_next_arg(p, opener);
}
// Slot k as the body of the loop has it, and as what stands behind the construct has it.
static inline uint32_t vy_carry(uint32_t loop, uint32_t k) { return loop + 1 + k; }
static inline uint32_t vy_result(const vy_program *p, const vy_structure *s, uint32_t opener,
                                 uint32_t k)
{
    return vy_closer(p, s, opener) + 1 + k;
}
// The last instruction that belongs to a construct: its closing marker, or the last of its results.
static inline uint32_t vy_last_result(const vy_program *p, const vy_structure *s, uint32_t opener)
{
    return vy_closer(p, s, opener) + vy_slot_count(p, s, opener);
}
// What a loop begins with.
static inline uint32_t vy_slot_init(const vy_program *p, uint32_t loop, uint32_t k)
{
    return vy_arg(p, loop, vy_init_arg(p, loop) + k);
}
// What the first arm of an IF hands on.
static inline uint32_t vy_slot_then(const vy_program *p, const vy_structure *s, uint32_t opener,
                                    uint32_t k)
{
    return vy_arg(p, s->partner[opener], k);
}
// What the closing marker hands on: the second arm of an IF, a CHECKPOINT, an iteration of a loop.
static inline uint32_t vy_slot_yield(const vy_program *p, const vy_structure *s, uint32_t opener,
                                     uint32_t k)
{
    return vy_arg(p, vy_closer(p, s, opener), vy_next_arg(p, opener) + k);
}
// The same of a loop: what an iteration hands to the next one.
static inline uint32_t vy_slot_next(const vy_program *p, const vy_structure *s, uint32_t loop,
                                    uint32_t k)
{
    return vy_arg(p, s->partner[loop], vy_next_arg(p, loop) + k);
}
// Operands whose values CARRY or RESULT `id` takes over, at most three; returns how many.
uint32_t vy_slot_sources(const vy_program *p, const vy_structure *s, uint32_t id, uint32_t out[3]);
// The IF that `id` is a RESULT of, and what its arms hand on; 0: it is none.
uint32_t vy_choice(const vy_program *p, const vy_structure *s, uint32_t id, uint32_t *then,
                   uint32_t *other);

// -------------------------------------------------------------------------------------------- uses
// Adds to a table by instruction how often each value is an operand, of markers too.
void vy_count_uses(const vy_program *p, uint32_t *uses);

// ---------------------------------------------------------------------------------------- deciders
// The loop's `keep`, or 0.
static inline uint32_t vy_keep(const vy_program *p, const vy_structure *s, uint32_t loop)
{
    return vy_exits(p, loop) ? vy_arg(p, s->partner[loop], 0) : 0;
}
// How many of the first operands of a marker decide whether, which way or how often its construct
// runs: of IF and TEST the condition, of LOOP the bounds, of ENDLOOP `keep`.  0: it is no marker.
uint32_t vy_control_args(const vy_program *p, const vy_structure *s, uint32_t id);
// All such values of a construct; returns how many.
uint32_t vy_deciders(const vy_program *p, const vy_structure *s, uint32_t opener, uint32_t out[4]);

// True when LOOP bounds of integer type t are constants under which the body never runs.
bool vy_loop_never(vy_type t, const vy_scalar *from, const vy_scalar *to);
// Is it a LOOP with constant bounds under which the body runs once at least?
bool vy_loop_surely_runs(const vy_program *p, uint32_t loop);
// How often a LOOP of type t runs that does not leave early, exactly, for all types and bounds.
// False: the step is not positive.
bool vy_trips(vy_type t, vy_scalar from, vy_scalar to, vy_scalar step, uint64_t *n);
// The same of an instruction.  False: it is no LOOP, or bounds or step are no constants.
bool vy_constant_trips(const vy_program *p, uint32_t loop, uint64_t *n);
// How often a LOOP or WHILE is taken to run by whoever compares costs: once at least, and where
// constants do not say it, VY_UNKNOWN_TRIPS times.
enum { VY_UNKNOWN_TRIPS = 64 };
double vy_expected_trips(const vy_program *p, uint32_t loop);
// c of a loop over `n/c*c .. n`, what ir/pass/target/strip_mine.c leaves over: fewer than c
// iterations, whatever n is.  NULL: it is no such loop.
const vy_scalar *vy_rest_below(const vy_program *p, uint32_t loop);
// Integer constant as a signed 64-bit number; false if `id` is none or it does not fit.
bool vy_id_int(const vy_program *p, uint32_t id, int64_t *out);

#endif
