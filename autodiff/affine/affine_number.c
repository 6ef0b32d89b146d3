// SPDX-License-Identifier: MIT
// affine_number.c: two functions with rough bounds, combined.
#include "autodiff/affine/affine.h"

static bool multiply(vy_interval x, vy_interval y, vy_interval *r)
{
    int64_t c[4];
    if (__builtin_mul_overflow(x.lo, y.lo, &c[0]) || __builtin_mul_overflow(x.lo, y.hi, &c[1]) ||
        __builtin_mul_overflow(x.hi, y.lo, &c[2]) || __builtin_mul_overflow(x.hi, y.hi, &c[3]))
        return false;
    *r = (vy_interval){c[0], c[0]};
    for (int k = 1; k < 4; k++) {
        if (c[k] < r->lo) r->lo = c[k];
        if (c[k] > r->hi) r->hi = c[k];
    }
    return true;
}

static int64_t least(int64_t x, int64_t y) { return x < y ? x : y; }
static int64_t most(int64_t x, int64_t y) { return x > y ? x : y; }

static vy_interval bounds(vy_op op, vy_interval x, vy_interval y)
{
    static const vy_interval anything = {INT64_MIN, INT64_MAX};
    vy_interval r;
    switch (op) {
    case VY_OP_ADD:
        if (__builtin_add_overflow(x.lo, y.lo, &r.lo) || __builtin_add_overflow(x.hi, y.hi, &r.hi))
            return anything;
        return r;
    case VY_OP_SUB:
        if (__builtin_sub_overflow(x.lo, y.hi, &r.lo) || __builtin_sub_overflow(x.hi, y.lo, &r.hi))
            return anything;
        return r;
    case VY_OP_MUL: return multiply(x, y, &r) ? r : anything;
    case VY_OP_MIN: return (vy_interval){least(x.lo, y.lo), least(x.hi, y.hi)};
    case VY_OP_MAX: return (vy_interval){most(x.lo, y.lo), most(x.hi, y.hi)};
    case VY_OP_DIV: return (vy_interval){x.lo / y.lo, x.hi / y.lo}; // 0 ≤ x, y a positive constant
    default: return (vy_interval){0, least(x.hi, y.lo - 1)};
    }
}

vy_number vy_affine_combine(vy_op op, vy_number x, vy_number y)
{
    vy_number r = {.range = bounds(op, x.range, y.range)};
    isl_val *by = NULL;
    if (!x.pa || !y.pa) {
        vy_affine_drop(x, y);
        return (vy_number){0};
    }
    if (op == VY_OP_DIV || op == VY_OP_REM)
        by = isl_val_int_from_si(isl_pw_aff_get_ctx(x.pa), y.range.lo);
    switch (op) {
    case VY_OP_ADD: r.pa = isl_pw_aff_add(x.pa, y.pa); return r;
    case VY_OP_SUB: r.pa = isl_pw_aff_sub(x.pa, y.pa); return r;
    case VY_OP_MUL: r.pa = isl_pw_aff_mul(x.pa, y.pa); return r;
    case VY_OP_MIN: r.pa = isl_pw_aff_min(x.pa, y.pa); return r;
    case VY_OP_MAX: r.pa = isl_pw_aff_max(x.pa, y.pa); return r;
    case VY_OP_DIV: r.pa = isl_pw_aff_floor(isl_pw_aff_scale_down_val(x.pa, by)); break;
    default: r.pa = isl_pw_aff_mod_val(x.pa, by); break;
    }
    isl_pw_aff_free(y.pa);
    return r;
}
