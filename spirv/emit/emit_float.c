// SPDX-License-Identifier: MIT
// emit_float.c: isnan and isinf on the bits: without float controls, compilers may assume that
// there are no NaNs and fold OpIsNan to false.
#include "spirv/emit/emit.h"

typedef struct parts {
    uint32_t high; // bits without the sign; of an f64 the upper word
    uint32_t low;  // of an f64, else 0
    uint32_t inf;  // constant: `high` of an infinity
} parts;

static parts take_apart(vy_fn *f, uint32_t i)
{
    vy_spv *m = f->m;
    vy_type t = vy_id_type(f->p, vy_arg(f->p, i, 0));
    uint32_t x = vy_val(f, vy_arg(f->p, i, 0)), u32 = vy_spv_type(m, VY_U32);
    parts p = {.inf = vy_spv_u32(m, t == VY_F64 ? 0x7FF00000u : 0x7F800000u)};
    if (t == VY_F64) {
        uint32_t pair = VY_DO(f, SpvOpBitcast, VY_INTERN(m, SpvOpTypeVector, 0, u32, 2), x);
        p.low = VY_DO(f, SpvOpCompositeExtract, u32, pair, 0);
        p.high = VY_DO(f, SpvOpCompositeExtract, u32, pair, 1);
    } else {
        p.high = VY_DO(f, SpvOpBitcast, u32, vy_cast_id(f, VY_F32, t, x));
    }
    p.high = VY_DO(f, SpvOpBitwiseAnd, u32, p.high, vy_spv_u32(m, 0x7FFFFFFFu));
    return p;
}

uint32_t vy_emit_isnan(vy_fn *f, uint32_t i)
{
    parts p = take_apart(f, i);
    uint32_t bools = vy_bool_type(f), zero = vy_spv_u32(f->m, 0);
    uint32_t above = VY_DO(f, SpvOpUGreaterThan, bools, p.high, p.inf);
    if (!p.low) return above;
    uint32_t equal = VY_DO(f, SpvOpIEqual, bools, p.high, p.inf);
    uint32_t more = VY_DO(f, SpvOpINotEqual, bools, p.low, zero);
    return VY_DO(f, SpvOpLogicalOr, bools, above, VY_DO(f, SpvOpLogicalAnd, bools, equal, more));
}

uint32_t vy_emit_isinf(vy_fn *f, uint32_t i)
{
    parts p = take_apart(f, i);
    uint32_t bools = vy_bool_type(f);
    uint32_t equal = VY_DO(f, SpvOpIEqual, bools, p.high, p.inf);
    if (!p.low) return equal;
    uint32_t none = VY_DO(f, SpvOpIEqual, bools, p.low, vy_spv_u32(f->m, 0));
    return VY_DO(f, SpvOpLogicalAnd, bools, equal, none);
}
