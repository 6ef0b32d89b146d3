// SPDX-License-Identifier: MIT
// inline_calls.c: calls of functions with a derivative of their own become their code.
//
//   y = f(x)      →      y = x < 0.0 ? 0.0 : x      where  @vjp(g) fn f(x: f32) -> f32 { … }
//
// Only on request (options->final): a program that is written as text may be differentiated again,
// and then it is the rule that counts (ir/core/functions.h).  First of all passes: the others see
// what the function computes.
#include "ir/build/function.h"
#include "ir/pass/pass.h"

bool vy_pass_inline_calls(vy_program *p, vy_pass_context *c)
{
    return !c->options->final || vy_inline_calls(p, VY_INLINE_VALUES, &c->changed);
}
