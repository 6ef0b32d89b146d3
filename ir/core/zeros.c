// SPDX-License-Identifier: MIT
// zeros.c: see zeros.h.
//
// A sum is −0 only if both terms are (to nearest, x − x is +0), and a square has no sign.
#include "ir/core/zeros.h"

#include <math.h>

bool vy_never_minus_zero(const vy_program *p, uint32_t x, int depth)
{
    const vy_scalar *k = vy_id_const(p, x);
    if (k) return k->f != 0 || !signbit(k->f);
    if (VY_IS_LEAF(x) || depth == 0) return false;
    const uint32_t *a = vy_args(p, x);
    switch ((vy_op)p->insts.data[x].op) {
    case VY_OP_ADD:
        return vy_never_minus_zero(p, a[0], depth - 1) || vy_never_minus_zero(p, a[1], depth - 1);
    case VY_OP_FMA: return a[0] == a[1] || vy_never_minus_zero(p, a[2], depth - 1);
    case VY_OP_MUL: return a[0] == a[1];
    case VY_OP_ABS: return true;
    case VY_OP_CAST: return !vy_type_is_float(vy_id_type(p, a[0]));
    default: return false;
    }
}
