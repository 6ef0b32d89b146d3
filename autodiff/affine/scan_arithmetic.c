// SPDX-License-Identifier: MIT
// scan_arithmetic.c: integers of either sign, computed in u32.
//
// The obvious way, i32 arithmetic, puts a conversion around every variable of the domain and fails
// for lengths beyond 2^31.  Here a number is p − n + c with p, n ≥ 0, and an operation moves terms
// to the side on which nothing wraps:
//
//   e − 2 ≤ N            e ≤ N + 2
//   max(0, e − 2)        max(e, 2) − 2
//   min(N − 1, e) + 1    min(N, e + 1)
#include "autodiff/affine/scan.h"

#define MOST ((int64_t)UINT32_MAX)

static const vy_signed refused = {.most_plus = -1};

static vy_value u32(vy_builder *b, int64_t value) { return vy_int(b, VY_U32, value); }

static vy_value part(vy_builder *b, uint32_t id) { return id ? (vy_value){id} : u32(b, 0); }

bool vy_signed_fits(vy_signed x) { return x.most_plus >= 0; }

// x, or `refused` if p + c or n − c may reach 2^32.
static vy_signed checked(vy_signed x)
{
    int64_t up = x.constant > 0 ? x.constant : 0, down = x.constant < 0 ? -x.constant : 0;
    if (x.most_plus < 0 || x.most_plus > MOST - up || x.most_minus > MOST - down) return refused;
    return x;
}

vy_signed vy_signed_constant(int64_t value)
{
    if (value > MOST || value < -MOST) return refused;
    return (vy_signed){.constant = value};
}

vy_signed vy_signed_value(vy_value value, int64_t most)
{
    return checked((vy_signed){.plus = value.id, .most_plus = most});
}

vy_signed vy_signed_of_i32(vy_builder *b, vy_value value)
{
    vy_value zero = vy_int(b, VY_I32, 0);
    vy_value plus = vy_cast(b, VY_U32, vy_max(b, value, zero));
    vy_value negative = vy_cast(b, VY_U32, vy_min(b, value, zero));
    vy_value minus = vy_sub(b, u32(b, 0), negative);
    return (vy_signed){plus.id, minus.id, 0, INT32_MAX, INT64_C(1) << 31};
}

static uint32_t sum(vy_builder *b, uint32_t x, uint32_t y)
{
    return x && y ? vy_add(b, (vy_value){x}, (vy_value){y}).id : x ? x : y;
}

vy_signed vy_signed_add(vy_builder *b, vy_signed x, vy_signed y)
{
    if (!vy_signed_fits(x) || !vy_signed_fits(y)) return refused;
    // N − N, as isl's bounds minus their own origin
    if (x.plus && x.plus == y.minus) x.plus = y.minus = 0, x.most_plus = 0, y.most_minus = 0;
    if (x.minus && x.minus == y.plus) x.minus = y.plus = 0, x.most_minus = 0, y.most_plus = 0;
    vy_signed r = {.constant = x.constant + y.constant,
                   .most_plus = x.most_plus + y.most_plus,
                   .most_minus = x.most_minus + y.most_minus};
    r = checked(r);
    if (!vy_signed_fits(r)) return r;
    r.plus = sum(b, x.plus, y.plus);
    r.minus = sum(b, x.minus, y.minus);
    return r;
}

static vy_signed negative(vy_signed x)
{
    if (!vy_signed_fits(x)) return x;
    return (vy_signed){x.minus, x.plus, -x.constant, x.most_minus, x.most_plus};
}

vy_signed vy_signed_sub(vy_builder *b, vy_signed x, vy_signed y)
{
    return vy_signed_add(b, x, negative(y));
}

vy_signed vy_signed_scale(vy_builder *b, vy_signed x, int64_t by)
{
    if (!vy_signed_fits(x) || by > INT32_MAX || by < -INT32_MAX) return refused;
    if (by == 0) return vy_signed_constant(0);
    if (by < 0) return negative(vy_signed_scale(b, x, -by));
    vy_signed r = {.constant = x.constant * by,
                   .most_plus = x.most_plus * by,
                   .most_minus = x.most_minus * by};
    r = checked(r);
    if (!vy_signed_fits(r)) return r;
    if (x.plus) r.plus = vy_mul(b, (vy_value){x.plus}, u32(b, by)).id;
    if (x.minus) r.minus = vy_mul(b, (vy_value){x.minus}, u32(b, by)).id;
    return r;
}

// ---------------------------------------------------------------------------- to one side and back
// p + c where c ≥ 0, as one value.
static vy_value with(vy_builder *b, uint32_t id, int64_t constant)
{
    if (!constant) return part(b, id);
    vy_value c = u32(b, constant);
    return vy_add(b, part(b, id), c);
}

// Gives x and y a common subtrahend: x = *l − n + c, y = *r − n + c.  Returns −n + c.
static vy_signed common(vy_builder *b, vy_signed x, vy_signed y, vy_value *l, vy_value *r,
                        int64_t *ml, int64_t *mr)
{
    int64_t c = x.constant < y.constant ? x.constant : y.constant;
    bool same = x.minus == y.minus; // (none, most often)
    vy_signed low = {.minus = same ? x.minus : sum(b, x.minus, y.minus), .constant = c};
    low.most_minus = same ? x.most_minus : x.most_minus + y.most_minus;
    *ml = x.most_plus + (same ? 0 : y.most_minus) + (x.constant - c);
    *mr = y.most_plus + (same ? 0 : x.most_minus) + (y.constant - c);
    if (*ml > MOST || *mr > MOST || !vy_signed_fits(checked(low))) return refused;
    *l = with(b, same ? x.plus : sum(b, x.plus, y.minus), x.constant - c);
    *r = with(b, same ? y.plus : sum(b, y.plus, x.minus), y.constant - c);
    return low;
}

vy_signed vy_signed_least(vy_builder *b, vy_signed x, vy_signed y, bool greatest)
{
    vy_value l, r;
    int64_t ml, mr;
    if (!vy_signed_fits(x) || !vy_signed_fits(y)) return refused;
    bool above = greatest && ((!x.minus && x.constant >= 0) || (!y.minus && y.constant >= 0));
    vy_signed low = common(b, x, y, &l, &r, &ml, &mr);
    if (!vy_signed_fits(low)) return low;
    low.plus = greatest ? vy_max(b, l, r).id : vy_min(b, l, r).id;
    low.most_plus = greatest ? (ml > mr ? ml : mr) : (ml < mr ? ml : mr);
    low = checked(low);
    if (!above || !vy_signed_fits(low) || (!low.minus && low.constant >= 0)) return low;
    // Non-negative: a single u32.
    int64_t most = low.most_plus + (low.constant > 0 ? low.constant : 0);
    return vy_signed_value(vy_signed_modular(b, low), most);
}

vy_value vy_signed_compare(vy_builder *b, vy_op op, vy_signed x, vy_signed y)
{
    vy_value l = {0}, r = {0};
    int64_t ml, mr;
    if (op == VY_OP_LE && x.constant > y.constant) { // x ≤ y is x − 1 < y, as users write it
        x.constant--;
        op = VY_OP_LT;
    }
    if (!vy_signed_fits(x) || !vy_signed_fits(y) ||
        !vy_signed_fits(common(b, x, y, &l, &r, &ml, &mr)))
        return (vy_value){0};
    return op == VY_OP_LT ? vy_lt(b, l, r) : op == VY_OP_LE ? vy_le(b, l, r) : vy_eq(b, l, r);
}

vy_value vy_signed_modular(vy_builder *b, vy_signed x)
{
    vy_value v = with(b, x.plus, x.constant > 0 ? x.constant : 0);
    if (x.minus) v = vy_sub(b, v, (vy_value){x.minus});
    return x.constant < 0 ? vy_sub(b, v, u32(b, -x.constant)) : v;
}

vy_value vy_signed_natural(vy_builder *b, vy_signed x)
{
    if (x.minus || x.constant < 0) x = vy_signed_least(b, x, vy_signed_constant(0), true);
    return vy_signed_fits(x) ? vy_signed_modular(b, x) : (vy_value){0};
}

// ---------------------------------------------------------------------------------------- division
static int64_t most_of(vy_signed x) { return x.most_plus + (x.constant > 0 ? x.constant : 0); }

vy_signed vy_signed_divide(vy_builder *b, vy_signed x, int64_t by)
{
    if (!vy_signed_fits(x) || by < 1 || by > INT32_MAX) return refused;
    vy_value divisor = u32(b, by), q = vy_div(b, vy_signed_modular(b, x), divisor);
    return vy_signed_value(q, most_of(x) / by);
}

vy_signed vy_signed_remainder(vy_builder *b, vy_signed x, int64_t by)
{
    if (!vy_signed_fits(x) || by < 1 || by > INT32_MAX) return refused;
    vy_value divisor = u32(b, by);
    return vy_signed_value(vy_rem(b, vy_signed_modular(b, x), divisor), by - 1);
}

vy_signed vy_signed_floor(vy_builder *b, vy_signed x, int64_t by)
{
    if (!vy_signed_fits(x) || by < 1 || by > INT32_MAX) return refused;
    // ⌊(p − 3)/2⌋ = ⌊(p + 1)/2⌋ − 2
    int64_t multiples = x.constant < 0 ? (-x.constant + by - 1) / by : 0;
    x.constant += multiples * by;
    x = checked(x);
    if (!vy_signed_fits(x)) return x;
    if (!x.minus) {
        vy_signed q = vy_signed_divide(b, x, by);
        q.constant = -multiples;
        return checked(q);
    }
    // ⌊x/by⌋ = −⌈−x/by⌉ where x is negative
    vy_value below = vy_signed_compare(b, VY_OP_LT, x, vy_signed_constant(0));
    vy_signed back = vy_signed_add(b, negative(x), vy_signed_constant(by - 1));
    if (!vy_signed_fits(back)) return back;
    vy_value zero = u32(b, 0), d = u32(b, by);
    vy_value up = vy_select(b, below, zero, vy_div(b, vy_signed_modular(b, x), d));
    vy_value down = vy_select(b, below, vy_div(b, vy_signed_modular(b, back), d), zero);
    return checked((vy_signed){up.id, down.id, -multiples, most_of(x) / by, most_of(back) / by});
}

vy_signed vy_signed_congruent(vy_builder *b, vy_signed x, int64_t by)
{
    if (!vy_signed_fits(x) || by < 1 || by > INT32_MAX) return refused;
    x.constant = (x.constant % by + by) % by;
    x = checked(x);
    if (!vy_signed_fits(x)) return x;
    vy_value d = u32(b, by), l = vy_rem(b, with(b, x.plus, x.constant), d);
    vy_value r = x.minus ? vy_rem(b, (vy_value){x.minus}, d) : (vy_value){0};
    return (vy_signed){l.id, r.id, 0, by - 1, by - 1};
}

vy_signed vy_signed_select(vy_builder *b, vy_value c, vy_signed x, vy_signed y)
{
    vy_value l, r;
    int64_t ml, mr;
    if (!c.id || !vy_signed_fits(x) || !vy_signed_fits(y)) return refused;
    vy_signed low = common(b, x, y, &l, &r, &ml, &mr);
    if (!vy_signed_fits(low)) return low;
    low.plus = vy_select(b, c, l, r).id;
    low.most_plus = ml > mr ? ml : mr;
    return checked(low);
}
