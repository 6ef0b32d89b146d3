// SPDX-License-Identifier: MIT
// lavapipe_nesting.c: loops that must not be unrolled (the quirk deep_unrolling).
//
// Mesa unrolls loops with exits by nesting each iteration in the `if` of the previous one; llvmpipe
// loses lanes beyond 79 nested `if`s (vkrt.h, nesting_limit).  So loops of kernels that are deep
// already carry DontUnroll, which NIR always obeys.
#include "spirv/target/target.h"

SpvLoopControlMask vy_lavapipe_loop_control(vy_fn *f)
{
    enum { DEEP = 32 };
    return f->facts->nesting > DEEP ? SpvLoopControlDontUnrollMask : SpvLoopControlMaskNone;
}
