// SPDX-License-Identifier: MIT
// functions.h: functions with a derivative of their own.
//
//   @vjp(g) fn f(x: f32) -> f32 { … }          y = APPLY f x
//   fn g(x: f32, ct: f32) -> f32 { … }         reverse:  x̄ += g(x, ȳ)
//
// All other functions are inlined while the text is read, and a derivative then sees only what they
// compute.  So a function that has a rule, and the function that is the rule, stay: each is a
// program of its own in the module's table, whose parameters are scalars and whose last instruction
// is RETURN.  A call of one with a rule is one PURE operation, APPLY, which passes share, move and
// remove as they do `sin`; its derivative is the rule's code, inlined into the sweep
// (autodiff/core/custom.h), so that it can be differentiated again like any code.  Before a program
// runs, the calls are inlined (vy_pass_inline_calls), deepest last; the interpreter and the emitter
// do that themselves with a program that has any.
//
// A function with several results gives a *tuple*, which is no value: its results are the PICKs
// that follow the call, all of them, in order.  The builder appends them to the call, and answers a
// request for one with it; so a call moves, is shared and is removed with its results.
//
//   @vjp(g) fn f(x: f32) -> (f32, f32) { … }          c = APPLY f x;  p = PICK 0 c;  q = PICK 1 c
//   fn g(x: f32, ct0: f32, ct1: f32) -> f32 { … }     reverse:  x̄ += g(x, p̄, q̄)
//
// What such a function may do: PURE operations in `if` and loops.  Not: memory, barriers, subgroups
// (check_functions.c).  A rule may call the function that it belongs to.
#ifndef VYRE_FUNCTIONS_H
#define VYRE_FUNCTIONS_H

#include "ir/core/ir.h"

static inline const vy_function *vy_function_of(const vy_module *m, uint32_t index)
{
    return &m->functions.data[index];
}
static inline bool vy_function_has_rule(const vy_function *f)
{
    return f->rules[VY_VJP] || f->rules[VY_JVP];
}
bool vy_program_applies(const vy_program *p); // has it an APPLY?

// The type of its calls; a tuple's means nothing, but has derivatives.
static inline vy_type vy_function_type(const vy_function *f)
{
    return f->result_count == 1 ? (vy_type)f->results[0] : VY_F32;
}
// Is it an operation of several results, which are the PICKs after it, and no value itself?
static inline bool vy_is_tuple(const vy_program *p, uint32_t id)
{
    const vy_op op = (vy_op)p->insts.data[id].op;
    return op == VY_OP_DISPATCH ||
           (op == VY_OP_APPLY && id + 1 < p->insts.count && p->insts.data[id + 1].op == VY_OP_PICK);
}
// Result k of call `id`.
static inline uint32_t vy_call_result(const vy_program *p, uint32_t id, uint32_t k)
{
    return vy_is_tuple(p, id) ? id + 1 + k : id;
}
// How `rule` differs from what a rule of that kind of `f` must be; NULL: not at all.  text: room
// for the answer.
const char *vy_rule_mismatch(const vy_function *f, const vy_function *rule, vy_rule_of kind,
                             char text[240]);

// How calls are inlined.
typedef enum vy_inline_mode {
    VY_INLINE_ONE,    // calls inside stay calls
    VY_INLINE_VALUES, // calls inside are inlined too
    // The same, but what forward dual numbers see is the rule: the value of f as
    // straight_through(f(x), s), where s has the rule's derivative (ir/build/inline.c).
    VY_INLINE_DUAL,
} vy_inline_mode;

#endif
