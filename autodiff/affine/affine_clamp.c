// SPDX-License-Identifier: MIT
// affine_clamp.c: whether a number is what it is clamped to.
//
//   x == min(max(x, 0), w - 1)      0 <= x and x <= w - 1
//
// That is a conjunction if the bounds are in order, which bounds of them have to show.  The minimum
// of the maximum itself has three cases, and two coordinates nine.
#include "autodiff/affine/affine.h"
#include "autodiff/affine/single.h"

// Is `id` min(max(x, lo), hi) or max(min(x, hi), lo)?
static bool is_clamp_of(const vy_program *p, uint32_t id, uint32_t x, uint32_t *lo, uint32_t *hi)
{
    if (VY_IS_LEAF(id)) return false;
    const vy_op outer = (vy_op)p->insts.data[id].op;
    if (outer != VY_OP_MIN && outer != VY_OP_MAX) return false;
    for (uint32_t k = 0; k < 2; k++) {
        const uint32_t inner = vy_arg(p, id, k);
        if (VY_IS_LEAF(inner)) continue;
        if (p->insts.data[inner].op != (outer == VY_OP_MIN ? VY_OP_MAX : VY_OP_MIN)) continue;
        for (uint32_t j = 0; j < 2; j++) {
            if (vy_arg(p, inner, j) != x) continue;
            *(outer == VY_OP_MIN ? hi : lo) = vy_arg(p, id, 1 - k);
            *(outer == VY_OP_MIN ? lo : hi) = vy_arg(p, inner, 1 - j);
            return true;
        }
    }
    return false;
}

uint32_t vy_affine_clamp(const vy_program *p, uint32_t x, uint32_t y, uint32_t *lo, uint32_t *hi)
{
    if (is_clamp_of(p, y, x, lo, hi)) return x;
    return is_clamp_of(p, x, y, lo, hi) ? y : 0;
}

isl_set *vy_affine_between(vy_number v, vy_number lo, vy_number hi)
{
    if (!hi.pa || lo.range.hi > hi.range.lo) {
        isl_pw_aff_free(v.pa);
        vy_affine_drop(lo, hi);
        return NULL;
    }
    isl_set *above = vy_affine_at_least(isl_pw_aff_copy(v.pa), lo.pa);
    return vy_isl_set_intersect(above, vy_affine_at_least(hi.pa, v.pa));
}
