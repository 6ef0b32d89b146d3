// SPDX-License-Identifier: MIT
// rewrite.h: other forms of the primal that have better derivatives.
#ifndef VYRE_GRAD_REWRITE_H
#define VYRE_GRAD_REWRITE_H

#include "ir/build/live.h"

// ---- raise_lowered.c
// Operations of lowered programs, of a text, become what the language has for them.  False: memory.
bool vy_raise_lowered(vy_program *p);
// ---- own_atomics.c
// Atomics whose old value is used become load, operation and store where one invocation owns the
// element.
bool vy_pass_own_atomics(vy_program *p, vy_pass_context *c);

#endif
