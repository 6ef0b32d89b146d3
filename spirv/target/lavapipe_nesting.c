// SPDX-License-Identifier: MIT
// lavapipe_nesting.c: loops that are not to be written out (the quirk deep_unrolling).
//
// Mesa writes out iterations of loops with exits, each in the `if` of the one before; llvmpipe forgets
// lanes beyond 79 of them (vkrt.h, nesting_limit).  So loops of kernels that are deep already ask
// not to be unrolled.  NIR does not unroll what asks so, whatever else it thinks of the loop.
#include "spirv/target/target.h"

SpvLoopControlMask vy_lavapipe_loop_control(vy_fn *f)
{
    enum { DEEP = 32 };
    return f->facts->nesting > DEEP ? SpvLoopControlDontUnrollMask : SpvLoopControlMaskNone;
}
