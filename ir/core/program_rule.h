// SPDX-License-Identifier: MIT
// program_rule.h: programs that state their own derivative.
//
//   @vjp(mm_back) @jvp(mm_dot) program mm(a: in f32[M, K], b: in f32[K, N], c: out f32[M, N], …) …
//   program mm_back(a: in f32[M, K], b: in f32[K, N], grad_c: in f32[M, N],
//                   grad_a: out f32[M, K], grad_b: out f32[K, N], …) …
//   program mm_dot(a: in f32[M, K], b: in f32[K, N], dot_a: in f32[M, K], dot_b: in f32[K, N],
//                  dot_c: out f32[M, N], …) …
//
// The rule is found by its name, in the module that the program is in, and its parameters by
// theirs: those of the program, and of its outputs and inputs the cotangents and gradients (@vjp),
// or the tangents (@jvp).  Where a derivative of the program is needed, the rule is it
// (autodiff/driver/program_rule.c).
#ifndef VYRE_PROGRAM_RULE_H
#define VYRE_PROGRAM_RULE_H

#include "ir/core/ir.h"

// Have the two the same scalars, in one order?
bool vy_same_scalars(const vy_program *p, const vy_program *q);
// With these, have the parameters x and y, of one rank, the same shape?  An axis of y may be open.
bool vy_same_lengths(const vy_program *p, const vy_buf *x, const vy_program *q, const vy_buf *y);

static inline bool vy_program_has_rule(const vy_program *p)
{
    return p->rules[VY_VJP] || p->rules[VY_JVP];
}
// The parameters of that rule of p; NULL: there is none of that name, or p has no such rule.
const vy_program *vy_program_rule(const vy_module *m, const vy_program *p, vy_rule_of kind,
                                  uint32_t *index, bool *pipeline);
// What parameter `b` of a rule of p is; kind VY_IS_PARAMETER: none that a rule may have.
vy_derivative_role vy_program_rule_role(const vy_program *p, vy_rule_of kind, const vy_buf *b);
// How `rule` differs from a rule of p; NULL: not at all.
const char *vy_program_rule_mismatch(const vy_program *p, vy_rule_of kind, const vy_program *rule,
                                     char text[240]);

#endif
