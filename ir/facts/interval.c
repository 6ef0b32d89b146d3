// SPDX-License-Identifier: MIT
// interval.c: interval arithmetic on integers.
//
//   0 … 7, and 3        0 … 3
//   0 … 3, + 1          1 … 4, does not wrap
//   u32 0 … 7, − 1      anything: 0 − 1 is 4294967295
//
// The bounds of the result are computed without wrapping, and then compared with the type's range.
// If they exceed it, the result may be any value of the type: an interval that wraps would consist
// of two pieces, which no analysis needs.  tests/unit/ir/test_interval.c checks all operations,
// types, and small intervals at the ends of types, value by value.
#include "ir/facts/interval.h"

static int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }

vy_interval vy_interval_of_type(vy_type t)
{
    switch (t) {
    case VY_BOOL: return (vy_interval){0, 1};
    case VY_I8: return (vy_interval){INT8_MIN, INT8_MAX};
    case VY_U8: return (vy_interval){0, UINT8_MAX};
    case VY_I16: return (vy_interval){INT16_MIN, INT16_MAX};
    case VY_U16: return (vy_interval){0, UINT16_MAX};
    case VY_I32: return (vy_interval){INT32_MIN, INT32_MAX};
    case VY_U32: return (vy_interval){0, UINT32_MAX};
    default: return (vy_interval){INT64_MIN, INT64_MAX};
    }
}

vy_interval vy_interval_join(vy_interval x, vy_interval y)
{
    return (vy_interval){min64(x.lo, y.lo), max64(x.hi, y.hi)};
}

// Are the bounds known?  Those of a u64 from 2^63 on read as negative numbers.
static bool ordered(vy_type t, vy_interval x) { return t != VY_U64 || x.lo >= 0; }

// Can the type represent all of x?
static bool holds(vy_type t, vy_interval x)
{
    return ordered(t, x) && vy_interval_within(x, vy_interval_of_type(t));
}

// ------------------------------------------------------------------------------------- operations
static bool multiply(vy_interval x, vy_interval y, vy_interval *r)
{
    int64_t c[4];
    if (__builtin_mul_overflow(x.lo, y.lo, &c[0]) || __builtin_mul_overflow(x.lo, y.hi, &c[1]) ||
        __builtin_mul_overflow(x.hi, y.lo, &c[2]) || __builtin_mul_overflow(x.hi, y.hi, &c[3]))
        return false;
    r->lo = min64(min64(c[0], c[1]), min64(c[2], c[3]));
    r->hi = max64(max64(c[0], c[1]), max64(c[2], c[3]));
    return true;
}

static vy_interval remainder_of(vy_interval x, vy_interval y)
{
    if (y.lo == y.hi && y.lo > 0 && x.lo / y.lo == x.hi / y.lo) // no multiple of y in between
        return (vy_interval){x.lo % y.lo, x.hi % y.lo};
    return (vy_interval){0, y.hi > 0 ? min64(x.hi, y.hi - 1) : 0};
}

static vy_interval quotient(vy_interval x, vy_interval y)
{
    if (y.lo > 0) // rounds towards zero
        return (vy_interval){x.lo / (x.lo < 0 ? y.lo : y.hi), x.hi / (x.hi < 0 ? y.hi : y.lo)};
    return (vy_interval){0, y.hi > 0 ? x.hi : 0};
}

// x >> y: if the shift count is not known, or some of its bits may be ignored, at most x.
static vy_interval shifted(vy_interval x, vy_interval y)
{
    if (y.lo != y.hi || y.lo < 0 || y.lo > 31) return (vy_interval){0, x.hi};
    return (vy_interval){x.lo >> y.lo, x.hi >> y.lo};
}

bool vy_interval_exactly(vy_op op, vy_interval x, vy_interval y, vy_interval *r)
{
    const bool natural = x.lo >= 0 && y.lo >= 0;
    switch (op) {
    case VY_OP_ADD:
        return !__builtin_add_overflow(x.lo, y.lo, &r->lo) &&
               !__builtin_add_overflow(x.hi, y.hi, &r->hi);
    case VY_OP_SUB:
        return !__builtin_sub_overflow(x.lo, y.hi, &r->lo) &&
               !__builtin_sub_overflow(x.hi, y.lo, &r->hi);
    case VY_OP_MUL: return multiply(x, y, r);
    case VY_OP_MIN: *r = (vy_interval){min64(x.lo, y.lo), min64(x.hi, y.hi)}; return true;
    case VY_OP_MAX: *r = (vy_interval){max64(x.lo, y.lo), max64(x.hi, y.hi)}; return true;
    case VY_OP_DIV: *r = quotient(x, y); return natural || y.lo > 0;
    case VY_OP_REM: *r = remainder_of(x, y); return natural;
    case VY_OP_AND: *r = (vy_interval){0, min64(x.hi, y.hi)}; return natural;
    case VY_OP_SHR: *r = shifted(x, y); return x.lo >= 0;
    default: return false;
    }
}

vy_interval vy_interval_binary(vy_op op, vy_type t, vy_interval x, vy_interval y, bool *exact)
{
    vy_interval r;
    const bool fits = ordered(t, x) && ordered(t, y) && vy_interval_exactly(op, x, y, &r);
    const bool wraps = op == VY_OP_ADD || op == VY_OP_SUB || op == VY_OP_MUL;
    *exact = fits && wraps && holds(t, r);
    return fits && (!wraps || *exact) ? r : vy_interval_of_type(t);
}

vy_interval vy_interval_cast(vy_type from, vy_type to, vy_interval x, bool *exact)
{
    *exact = vy_type_is_integer(from) && ordered(from, x) && holds(to, x);
    return *exact ? x : vy_interval_of_type(to);
}

vy_interval vy_interval_counter(vy_type t, vy_interval from, vy_interval to)
{
    if (!ordered(t, from) || !ordered(t, to)) return vy_interval_of_type(t);
    return (vy_interval){from.lo, to.hi > from.lo ? to.hi - 1 : from.lo}; // from ≤ k < to
}

int vy_interval_compare(vy_op op, vy_type t, vy_interval x, vy_interval y)
{
    const bool one = x.lo == x.hi && y.lo == y.hi, apart = x.hi < y.lo || y.hi < x.lo;
    if (!ordered(t, x) || !ordered(t, y)) return -1;
    switch (op) {
    case VY_OP_LT: return x.hi < y.lo ? 1 : x.lo >= y.hi ? 0 : -1;
    case VY_OP_LE: return x.hi <= y.lo ? 1 : x.lo > y.hi ? 0 : -1;
    case VY_OP_EQ: return apart ? 0 : one ? 1 : -1;
    case VY_OP_NE: return apart ? 1 : one ? 0 : -1;
    default: return -1;
    }
}
