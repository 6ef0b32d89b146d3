// SPDX-License-Identifier: MIT
// lavapipe_roots.c: square roots and their inverses as llvmpipe computes them.
//
// GLSL leaves them undefined at negative numbers and 1/√x at 0 too, so what we emit decides these
// cases by itself, on the bits of x: eleven operations, of an instruction that computes a root.
// llvmpipe computes √x by the processor's instruction and 1/√x as 1 divided by that, so both are
// IEEE's everywhere.  tests/scripts/spirv/lane_loads.py asks it.
#include "spirv/target/target.h"

uint32_t vy_lavapipe_root(vy_fn *f, uint32_t code, uint32_t x)
{
    return VY_EXT(f, code, vy_spv_type(f->m, VY_F32), x);
}
