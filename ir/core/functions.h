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
