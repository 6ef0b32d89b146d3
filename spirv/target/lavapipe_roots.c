// SPDX-License-Identifier: MIT
// lavapipe_roots.c: square roots and their inverses as llvmpipe computes them.
//
// GLSL leaves them undefined at negative numbers and 1/√x at 0 too, so what we emit decides these
// cases by itself, on the bits of x: eleven operations, of an instruction that computes a root.
// llvmpipe computes √x by the processor's instruction and 1/√x as 1 divided by that, so both are
// IEEE's everywhere.  tests/scripts/spirv/lane_loads.py asks it.
//
// Mesa's compiler takes a root for a number that is not negative, and leaves out abs() of what is
// made of it; but √−0 is −0, and 1/√−0 is −∞.  So where x might be −0 the result gets bits set that
// are none, which it does not recognise (tests/text/device/signed_roots.vyre).
#include "ir/core/zeros.h"
#include "spirv/target/target.h"

enum { TERMS = 6 }; // of a sum of squares that is looked at

uint32_t vy_lavapipe_root(vy_fn *f, uint32_t i, uint32_t code, uint32_t x)
{
    const uint32_t y = VY_EXT(f, code, vy_spv_type(f->m, VY_F32), x);
    if (f->library || vy_never_minus_zero(f->p, vy_arg(f->p, i, 0), TERMS)) return y;
    const uint32_t u32 = vy_spv_type(f->m, VY_U32), bits = VY_DO(f, SpvOpBitcast, u32, y);
    const uint32_t signed_bits = VY_DO(f, SpvOpBitwiseOr, u32, bits, vy_mesa_zero(f));
    return VY_DO(f, SpvOpBitcast, vy_spv_type(f->m, VY_F32), signed_bits);
}
