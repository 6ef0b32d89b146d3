// SPDX-License-Identifier: MIT
// lavapipe_rounding.c: trunc and round of an f64 from floor and ceil (the quirk rounded_doubles).
//
//   trunc(x)   x < 0 ? ceil(x) : floor(x)
//   round(x)   n = floor(x) + (x − floor(x) > ½, or = ½ and floor(x) is odd ? 1 : 0);
//              n == 0 ? trunc(x) : n, for the sign of zero
//
// On processors without AVX-512 llvmpipe (Mesa 22.3 and 25.0) rounds doubles with the limits of
// floats: 3.5 to 3, and not at all beyond 2²⁴; trunc likewise.  Both lose the sign of zero.  Its
// floor and ceil are correct everywhere.
// x − floor(x) is exact except for x between −½ and 0, where n is 0 in any case.  Functions of the
// library need only the nearest integer, without ties to even or the sign of zero.
#include "spirv/target/target.h"

static uint32_t truncated(vy_fn *f, uint32_t type, uint32_t x, uint32_t down)
{
    const uint32_t up = VY_EXT(f, GLSLstd450Ceil, type, x),
                   negative =
                       VY_DO(f, SpvOpFOrdLessThan, vy_bool_type(f), x, vy_spv_zero(f->m, VY_F64));
    return VY_DO(f, SpvOpSelect, type, negative, up, down);
}

// bool: x is halfway between `down`, which is odd, and the next integer.
static uint32_t from_odd(vy_fn *f, uint32_t type, uint32_t down, uint32_t rest)
{
    const uint32_t half = vy_spv_float(f->m, VY_F64, 0.5), bools = vy_bool_type(f),
                   tie = VY_DO(f, SpvOpFOrdEqual, bools, rest, half),
                   halved = VY_DO(f, SpvOpFMul, type, down, half),
                   whole = VY_EXT(f, GLSLstd450Floor, type, halved);
    return VY_DO(f, SpvOpLogicalAnd, bools, tie, VY_DO(f, SpvOpFOrdNotEqual, bools, halved, whole));
}

static uint32_t nearest(vy_fn *f, uint32_t type, uint32_t x, uint32_t down)
{
    const uint32_t zero = vy_spv_zero(f->m, VY_F64), bools = vy_bool_type(f),
                   rest = VY_DO(f, SpvOpFSub, type, x, down);
    uint32_t above = VY_DO(f, SpvOpFOrdGreaterThan, bools, rest, vy_spv_float(f->m, VY_F64, 0.5));
    if (!f->library) above = VY_DO(f, SpvOpLogicalOr, bools, above, from_odd(f, type, down, rest));
    const uint32_t step = VY_DO(f, SpvOpSelect, type, above, vy_spv_float(f->m, VY_F64, 1), zero);
    const uint32_t n = VY_DO(f, SpvOpFAdd, type, down, step);
    if (f->library) return n;
    return VY_DO(f, SpvOpSelect, type, VY_DO(f, SpvOpFOrdEqual, bools, n, zero),
                 truncated(f, type, x, down), n);
}

uint32_t vy_lavapipe_rounded(vy_fn *f, vy_type t, uint32_t code, uint32_t x)
{
    const uint32_t type = vy_spv_type(f->m, t);
    if (t != VY_F64) return VY_EXT(f, code, type, x);
    const uint32_t down = VY_EXT(f, GLSLstd450Floor, type, x);
    return code == GLSLstd450Trunc ? truncated(f, type, x, down) : nearest(f, type, x, down);
}
