// SPDX-License-Identifier: MIT
// lavapipe_zeros.c: products and quotients of a constant zero (the quirk folded_zeros).
//
//   x * 0.0    0 on llvmpipe whatever x is; −0, or NaN of an infinity or NaN, by IEEE
//   0.0 / x    likewise, also of Mesa 25
//   x / 0.0    anything: its result is undefined there; an infinity, or NaN, by IEEE
//
// Its code generator (lp_build_mul, lp_build_div) takes a constant +0 for the result, or does not
// divide by one, under SignedZeroInfNanPreserve and NoContraction too.  So it gets one that it does
// not recognise, nor what it could compute a zero from: the logarithm of pow(1, x).
// Derivatives of real programs have none: what they multiply by zero is left out before.  Sums of a
// zero lose the sign of a zero alone there (−0 + 0 is −0), and are left as they are.
#include "spirv/target/target.h"

uint32_t vy_lavapipe_factor(vy_fn *f, vy_type t, uint32_t x)
{
    if (f->library || x != vy_spv_zero(f->m, t)) return x;
    const uint32_t bits = vy_mesa_zero(f);
    return vy_cast_id(f, t, VY_F32, VY_DO(f, SpvOpBitcast, vy_spv_type(f->m, VY_F32), bits));
}
