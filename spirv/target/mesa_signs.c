// SPDX-License-Identifier: MIT
// mesa_signs.c: sign extension by shifts (the quirk widened_signs).
//
//   i64(x) < 1      OpUConvert, << 32, >> 32, and not OpSConvert
//
// Mesa 22.3 miscompiles comparisons of OpSConvert's result with a constant: -1 < 1 is false (see
// tests/unit/spirv/test_device.c, widened_comparisons).
#include "spirv/target/target.h"

uint32_t vy_mesa_widen(vy_fn *f, vy_type to, uint32_t v)
{
    vy_spv *m = f->m;
    uint32_t type = vy_spv_type(m, to), count = vy_spv_u32(m, 32);
    v = VY_DO(f, SpvOpUConvert, vy_spv_type(m, VY_U64), v);
    v = VY_DO(f, SpvOpShiftLeftLogical, type, v, count);
    return VY_DO(f, SpvOpShiftRightArithmetic, type, v, count);
}
