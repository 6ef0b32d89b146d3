// SPDX-License-Identifier: MIT
// flow.h: how values flow through structured control.
//
// The one place that knows where ir.h's markers keep their operands.  A construct is named by its
// opening marker; its slots 0 … vy_slot_count − 1 are the values that it carries or yields:
//
//   LOOP, WHILE   vy_carry and vy_result: each is either vy_slot_init or vy_slot_next
//   IF            vy_result: either vy_slot_then or vy_slot_yield
//   CHECKPOINT    vy_result: vy_slot_yield
//
// Everything but vy_count_uses, vy_uses_leaf and vy_in_different_arms takes constant time.
#ifndef VYRE_FLOW_H
#define VYRE_FLOW_H

#include "ir/core/ir.h"

static inline bool vy_is_marker(vy_op op) { return vy_op_infos[op].effect == VY_CTRL; }
static inline bool vy_is_loop(vy_op op) { return op == VY_OP_LOOP || op == VY_OP_WHILE; }
static inline bool vy_is_slot(vy_op op) { return op == VY_OP_CARRY || op == VY_OP_RESULT; }

// -------------------------------------------------------------------------------------- constructs
// The kinds of constructs that a program has, as a set: many programs have none, and most passes
// then nothing to do.
enum { VY_IFS = 1, VY_LOOPS = 2, VY_CHECKPOINTS = 4 };
uint32_t vy_constructs(const vy_program *p);
// The opening marker of the construct that a marker, CARRY, RESULT or TEST belongs to.
uint32_t vy_opener(const vy_program *p, const vy_structure *s, uint32_t id);
// The closing marker of an opening one.
static inline uint32_t vy_closer(const vy_program *p, const vy_structure *s, uint32_t opener)
{
    uint32_t c = s->partner[opener];
    return p->insts.data[opener].op == VY_OP_IF ? s->partner[c] : c;
}
// Is instruction `id` of an IF in its first arm?
static inline bool vy_in_then(const vy_structure *s, uint32_t opener, uint32_t id)
{
    return id < s->partner[opener];
}
// Are x and y in different arms of one IF?
bool vy_in_different_arms(const vy_program *p, const vy_structure *s, uint32_t x, uint32_t y);
// Can the loop exit early, after an iteration?  Then the first operand of its ENDLOOP is `keep`.
static inline bool vy_exits(const vy_program *p, uint32_t loop)
{
    return (p->insts.data[loop].flags & VY_FLAG_EXIT) != 0;
}

// ------------------------------------------------------------------------------------------- slots
// Number of the first operand that a slot takes: of the opening marker (inits), of the closing one.
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
// Slot k inside the body of a loop, and after a construct.
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
// The value that a loop begins with.
static inline uint32_t vy_slot_init(const vy_program *p, uint32_t loop, uint32_t k)
{
    return vy_arg(p, loop, vy_init_arg(p, loop) + k);
}
// The value that the first arm of an IF yields.
static inline uint32_t vy_slot_then(const vy_program *p, const vy_structure *s, uint32_t opener,
                                    uint32_t k)
{
    return vy_arg(p, s->partner[opener], k);
}
// The value that the closing marker yields: of the second arm of an IF, of a CHECKPOINT, of an
// iteration of a loop.
static inline uint32_t vy_slot_yield(const vy_program *p, const vy_structure *s, uint32_t opener,
                                     uint32_t k)
{
    return vy_arg(p, vy_closer(p, s, opener), vy_next_arg(p, opener) + k);
}
// The same for a loop: what an iteration passes to the next one.
static inline uint32_t vy_slot_next(const vy_program *p, const vy_structure *s, uint32_t loop,
                                    uint32_t k)
{
    return vy_arg(p, s->partner[loop], vy_next_arg(p, loop) + k);
}
// The values that CARRY or RESULT `id` may take, at most three; returns how many.
uint32_t vy_slot_sources(const vy_program *p, const vy_structure *s, uint32_t id, uint32_t out[3]);
// The IF that `id` is a RESULT of, and what its arms yield; 0: `id` is no such RESULT.
uint32_t vy_choice(const vy_program *p, const vy_structure *s, uint32_t id, uint32_t *then,
                   uint32_t *other);

// -------------------------------------------------------------------------------------------- uses
// Adds to a table by instruction how often each value is an operand, markers' operands included.
void vy_count_uses(const vy_program *p, uint32_t *uses);
// Is a leaf of that kind an operand of an instruction?  A program that was made from another one
// may still list leaves of that one.
bool vy_uses_leaf(const vy_program *p, vy_leaf_kind kind);

// ---------------------------------------------------------------------------------------- deciders
// The loop's `keep`, or 0.
static inline uint32_t vy_keep(const vy_program *p, const vy_structure *s, uint32_t loop)
{
    return vy_exits(p, loop) ? vy_arg(p, s->partner[loop], 0) : 0;
}
// How many of the first operands of a marker control its construct (whether, which arm or how
// often it runs): of IF and TEST the condition, of LOOP the bounds and the step, of ENDLOOP `keep`.
// 0 for all other instructions.
uint32_t vy_control_args(const vy_program *p, const vy_structure *s, uint32_t id);
// How many of the first operands of an instruction its value depends on: of a LOOP, whose value is
// its variable, the bounds and the step, but not the values that it carries.
static inline uint32_t vy_value_args(const vy_program *p, uint32_t id)
{
    const vy_inst *i = &p->insts.data[id];
    return i->op == VY_OP_LOOP ? 3 : i->nargs;
}
// All values that control a construct; returns how many.
uint32_t vy_deciders(const vy_program *p, const vy_structure *s, uint32_t opener, uint32_t out[4]);

// True when LOOP bounds of integer type t are constants under which the body never runs.
bool vy_loop_never(vy_type t, const vy_scalar *from, const vy_scalar *to);
// Is it a LOOP with constant bounds under which the body runs at least once?
bool vy_loop_surely_runs(const vy_program *p, uint32_t loop);
// The trip count of a LOOP of type t without early exits, exactly, for all types and bounds.
// False: the step is not positive.
bool vy_trips(vy_type t, vy_scalar from, vy_scalar to, vy_scalar step, uint64_t *n);
// The same for an instruction.  False: it is no LOOP, or bounds or step are not constant.
bool vy_constant_trips(const vy_program *p, uint32_t loop, uint64_t *n);
// The trip count of a LOOP or WHILE that comparisons of costs assume: at least 1, and
// VY_UNKNOWN_TRIPS where it does not follow from constants.
enum { VY_UNKNOWN_TRIPS = 64 };
double vy_expected_trips(const vy_program *p, uint32_t loop);
// c of a remainder loop over `n/c*c .. n`, as ir/pass/target/strip_mine.c makes it: fewer than c
// iterations, whatever n is.  NULL: it is no such loop.
const vy_scalar *vy_rest_below(const vy_program *p, uint32_t loop);
// An integer constant as a signed 64-bit number; false if `id` is none or the value does not fit.
bool vy_id_int(const vy_program *p, uint32_t id, int64_t *out);

#endif
