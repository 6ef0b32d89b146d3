// SPDX-License-Identifier: MIT
// range.c: proofs that an index is in range.
//
//   over(i: N), x: f32[N], y: f32[N, K]
//   x[i]                       the over-variable's extent is the axis
//   for k in 0..K: y[i, k]     the loop's bound is the axis
//   if i + 1 < N { x[i + 1] }  a condition around the access
//   if i > 0 { x[i - 1] }      … which also shows that nothing wraps
//   z[i * K + k], z: f32[N*K]  products of extents
//   x[N - 1 - i], x[min(j, N - 1)], x[j % N] with N ≥ 1
//
// The pitfall is wrapping: u32 `i + 1 < N` holds for i = 2³²−1, and `n - 1` is huge for n = 0.
// Only an upper bound of unsigned + and * survives wrapping (the wrapped value is smaller); so
// every other step needs a proof that nothing wraps (`exact`, at_least).  Extents are compared by
// their forms (dims.c), never by value.
//
// "In range" means: for every invocation of the domain.  Padding invocations, which run only where
// a program has barriers, are the concern of the emitter and the interpreter.  Searches stop after
// a fixed number of steps and conditions, so the analysis is linear.
#include "ir/facts/range.h"
#include "ir/facts/context.h"
#include "ir/core/flow.h"

enum { DEPTH = 8, STEPS = 400 };

static const vy_inst *inst(const vy_prover *q, uint32_t id) { return vy_prover_inst(q, id); }
static uint32_t arg(const vy_prover *q, uint32_t id, uint32_t k) { return vy_arg(q->p, id, k); }
static vy_interval bounds(const vy_prover *q, uint32_t id) { return vy_interval_of(&q->v, id); }
static bool is_u32(const vy_prover *q, uint32_t id) { return vy_id_type(q->p, id) == VY_U32; }
static vy_extent plus(vy_extent e, int64_t by)
{
    // An offset beyond 2^61 is not represented: such a form compares with nothing.
    if (e.offset > INT64_MAX / 4 || e.offset < INT64_MIN / 4 || by > INT64_MAX / 4 ||
        by < INT64_MIN / 4)
        return (vy_extent){VY_NO_BASE, 0};
    return (vy_extent){e.base, e.offset + by};
}

static bool below(const vy_prover *q, uint32_t id, vy_extent e, int depth);
static bool at_least(const vy_prover *q, uint32_t id, int64_t k, int depth);

// ------------------------------------------------------------------------------------ exact values
// The value of `id` as a form.  Exact for scalars and constants; a length is at most that.
static bool leaf_extent(const vy_prover *q, uint32_t id, vy_extent *e)
{
    const vy_leaf *l = VY_IS_LEAF(id) ? &q->p->leaves.data[VY_LEAF_INDEX(id)] : NULL;
    int64_t k;
    if (!l) return false;
    if (vy_id_int(q->p, id, &k))
        *e = (vy_extent){0, k};
    else if (l->kind == VY_LEAF_SCALAR && l->type != VY_U64)
        *e = (vy_extent){q->d.scalar[l->index], 0};
    else if (l->kind == VY_LEAF_LEN)
        *e = q->d.form[q->p->buffers.data[l->index].dims[l->axis].id];
    else
        return false;
    return e->base != VY_NO_BASE;
}

// The value of a scalar or of scalar − constant, provided that the form is not negative.
static bool value_extent(const vy_prover *q, uint32_t id, vy_extent *e)
{
    const vy_inst *i = inst(q, id);
    uint32_t leaf = i && i->nargs ? arg(q, id, 0) : id;
    int64_t k;
    if (!VY_IS_LEAF(leaf) || q->p->leaves.data[VY_LEAF_INDEX(leaf)].kind == VY_LEAF_LEN)
        return false;
    if (!i) return leaf_extent(q, id, e);
    if (i->type != VY_U32 || i->nargs != 2 || !vy_id_int(q->p, arg(q, id, 1), &k)) return false;
    if (!leaf_extent(q, leaf, e)) return false;
    if (i->op == VY_OP_ADD && k < INT64_C(1) << 31) return false; // scalar + k might wrap
    if (i->op == VY_OP_ADD)
        k = (INT64_C(1) << 32) - k;
    else if (i->op != VY_OP_SUB)
        return false;
    *e = plus(*e, -k);
    return e->base != VY_NO_BASE;
}

// ------------------------------------------------------------------------------------ lower bounds
static bool at_least_by_facts(const vy_prover *q, uint32_t id, int64_t k, int depth)
{
    for (uint32_t n = 0; n < q->fact_count; n++) {
        const vy_fact *f = &q->facts[n];
        if (f->more == id && at_least(q, f->less, k - f->strict, depth)) return true;
    }
    return false;
}

static bool at_least_inst(const vy_prover *q, uint32_t id, int64_t k, int depth)
{
    const vy_inst *i = inst(q, id);
    switch ((vy_op)i->op) {
    case VY_OP_LOOP: return at_least(q, arg(q, id, 0), k, depth);
    case VY_OP_MAX:
        return at_least(q, arg(q, id, 0), k, depth) || at_least(q, arg(q, id, 1), k, depth);
    case VY_OP_MIN:
        return at_least(q, arg(q, id, 0), k, depth) && at_least(q, arg(q, id, 1), k, depth);
    case VY_OP_SELECT:
        return at_least(q, arg(q, id, 1), k, depth) && at_least(q, arg(q, id, 2), k, depth);
    case VY_OP_CAST:
        // An i32 that is not negative has the same value in u32, i64 and u64.
        return vy_id_type(q->p, arg(q, id, 0)) == VY_I32 && i->type != VY_I32 &&
               vy_type_is_integer((vy_type)i->type) &&
               at_least(q, arg(q, id, 0), k > 0 ? k : 0, depth);
    default: return false;
    }
}

// Is `id` at least k?  k is small: |k| ≤ 2^33.
static bool at_least(const vy_prover *q, uint32_t id, int64_t k, int depth)
{
    vy_extent e;
    if (vy_type_is_float(vy_id_type(q->p, id))) return false;
    if (vy_id_type(q->p, id) == VY_U64 && bounds(q, id).lo < 0) return false;
    if (bounds(q, id).lo >= k) return true;
    if (depth == 0 || --*q->budget < 0) return false;
    if (leaf_extent(q, id, &e) && q->p->leaves.data[VY_LEAF_INDEX(id)].kind == VY_LEAF_SCALAR &&
        q->d.least[e.base] + e.offset >= k)
        return true;
    if (at_least_by_facts(q, id, k, depth - 1)) return true;
    return !VY_IS_LEAF(id) && at_least_inst(q, id, k, depth - 1);
}

// ------------------------------------------------------------------------------------ upper bounds
static bool extent_below(vy_extent x, vy_extent e)
{
    return x.base == e.base && e.base != VY_NO_BASE && x.offset < e.offset;
}

static bool below_leaf(const vy_prover *q, uint32_t id, vy_extent e)
{
    const vy_leaf *l = &q->p->leaves.data[VY_LEAF_INDEX(id)];
    vy_extent x;
    if (leaf_extent(q, id, &x)) return extent_below(x, e);
    if (l->kind != VY_LEAF_OVER) return false;
    return extent_below(plus(q->d.form[q->p->overs.data[l->index].extent.id], -1), e);
}

// The factors of a product, as forms; only if the base of `e` is a MUL.
static bool factors(const vy_prover *q, vy_extent e, vy_extent out[2])
{
    if (e.offset != 0 || e.base == 0 || e.base == VY_NO_BASE) return false;
    const vy_dim_node *d = &q->p->dims.data[e.base];
    if (d->op != VY_DIM_MUL) return false;
    out[0] = q->d.form[d->a];
    out[1] = q->d.form[d->b];
    return true;
}

// a·b + c with b equal to one factor of the product e = P·Q, a < P and c < Q: a·b + c < P·Q.
// Wrapping unsigned arithmetic only makes it smaller; other types must not wrap.
static bool below_product(const vy_prover *q, uint32_t product, uint32_t c, vy_extent e, int depth)
{
    const vy_inst *m = inst(q, product);
    vy_extent f[2], b;
    if (!m || m->op != VY_OP_MUL || !factors(q, e, f)) return false;
    if (m->type != VY_U32 && !q->v.exact[product]) return false;
    for (int side = 0; side < 2; side++) {
        uint32_t factor = arg(q, product, side);
        if (!leaf_extent(q, factor, &b) || bounds(q, factor).lo < 0) continue;
        for (int k = 0; k < 2; k++) {
            // A length is less than its dimension only beyond 2^32, which is still safe here.
            if (b.base != f[k].base || b.offset != f[k].offset) continue;
            if (below(q, arg(q, product, 1 - side), f[1 - k], depth) &&
                (c ? below(q, c, f[k], depth) : q->d.least[b.base] + b.offset >= 1))
                return true;
        }
    }
    return false;
}

static bool below_add(const vy_prover *q, uint32_t id, vy_extent e, int depth)
{
    uint32_t x = arg(q, id, 0), y = arg(q, id, 1);
    bool u32 = is_u32(q, id);
    int64_t k;
    if (vy_id_int(q->p, y, &k)) {
        if (u32 && k >= INT64_C(1) << 31) { // x − m, which wraps unless x ≥ m
            int64_t m = (INT64_C(1) << 32) - k;
            return at_least(q, x, m, depth) && below(q, x, plus(e, m), depth);
        }
        if (k < 0) return q->v.exact[id] && below(q, x, plus(e, -k), depth);
        return (u32 || q->v.exact[id]) && below(q, x, plus(e, -k), depth);
    }
    if (!u32 && !q->v.exact[id]) return false;
    if (below_product(q, x, y, e, depth) || below_product(q, y, x, e, depth)) return true;
    // One summand is bounded by a constant.
    vy_interval bx = bounds(q, x), by = bounds(q, y);
    if (bx.lo < 0 || by.lo < 0) return false;
    return (by.hi < INT32_MAX && below(q, x, plus(e, -by.hi), depth)) ||
           (bx.hi < INT32_MAX && below(q, y, plus(e, -bx.hi), depth));
}

// x − y with 0 ≤ y ≤ x: at most x − (least y).
static bool below_sub(const vy_prover *q, uint32_t id, vy_extent e, int depth)
{
    uint32_t x = arg(q, id, 0), y = arg(q, id, 1);
    vy_extent top;
    vy_interval by = bounds(q, y);
    if (by.lo < 0) return false;
    bool no_wrap = q->v.exact[id] || (by.hi <= UINT32_MAX && at_least(q, x, by.hi, depth));
    if (no_wrap) return below(q, x, plus(e, by.lo), depth);
    // y ≤ S + c shows S + c ≥ 0: the form of x is its value.
    if (!is_u32(q, id) || !value_extent(q, x, &top) || !below(q, y, plus(top, 1), depth))
        return false;
    return extent_below(plus(top, -by.lo), e);
}

// x % y: below y if y ≥ 1, and never above x (both not negative).
static bool below_rem(const vy_prover *q, uint32_t id, vy_extent e, int depth)
{
    uint32_t x = arg(q, id, 0), y = arg(q, id, 1);
    if (!at_least(q, x, 0, depth)) return false;
    return (at_least(q, y, 1, depth) && below(q, y, plus(e, 1), depth)) ||
           (at_least(q, y, 0, depth) && below(q, x, e, depth));
}

// x / y: never above x; and below P if x < P·y.
static bool below_div(const vy_prover *q, uint32_t id, vy_extent e, int depth)
{
    uint32_t x = arg(q, id, 0), y = arg(q, id, 1);
    vy_extent d;
    if (bounds(q, x).lo < 0 || bounds(q, y).lo < 0) return false;
    if (below(q, x, e, depth)) return true;
    if (inst(q, y) || !leaf_extent(q, y, &d)) return false;
    if (q->p->leaves.data[VY_LEAF_INDEX(y)].kind == VY_LEAF_LEN)
        return false;                                  // may be truncated to 32 bits
    for (uint32_t n = 0; n < q->p->overs.count; n++) { // the products that occur are extents
        vy_extent product = q->d.form[q->p->overs.data[n].extent.id], f[2];
        if (!factors(q, product, f)) continue;
        for (int k = 0; k < 2; k++) {
            if (f[k].base != d.base || f[k].offset != d.offset) continue;
            vy_extent other = f[1 - k];
            bool fits = other.base == e.base && other.offset <= e.offset;
            if (fits && e.base != VY_NO_BASE && below(q, x, product, depth)) return true;
        }
    }
    return false;
}

static bool below_inst(const vy_prover *q, uint32_t id, vy_extent e, int depth)
{
    const vy_inst *i = inst(q, id);
    switch ((vy_op)i->op) {
    case VY_OP_LOOP: return below(q, arg(q, id, 1), plus(e, 1), depth);
    case VY_OP_MIN: return below(q, arg(q, id, 0), e, depth) || below(q, arg(q, id, 1), e, depth);
    case VY_OP_MAX: return below(q, arg(q, id, 0), e, depth) && below(q, arg(q, id, 1), e, depth);
    case VY_OP_SELECT:
        return below(q, arg(q, id, 1), e, depth) && below(q, arg(q, id, 2), e, depth);
    case VY_OP_ADD: return below_add(q, id, e, depth);
    case VY_OP_SUB: return below_sub(q, id, e, depth);
    case VY_OP_MUL: return below_product(q, id, 0, e, depth);
    case VY_OP_REM: return below_rem(q, id, e, depth);
    case VY_OP_DIV: return below_div(q, id, e, depth);
    case VY_OP_AND:
    case VY_OP_SHR: return bounds(q, arg(q, id, 0)).lo >= 0 && below(q, arg(q, id, 0), e, depth);
    case VY_OP_CAST: {
        uint32_t x = arg(q, id, 0);
        vy_type from = vy_id_type(q->p, x);
        if (!vy_type_is_integer(from)) return false;
        // u32 → i32 can only decrease; i32 → u32 may increase unless x ≥ 0.
        bool keeps =
            q->v.exact[id] || from == VY_U32 || (from == VY_I32 && at_least(q, x, 0, depth));
        return keeps && below(q, x, e, depth);
    }
    default: return false;
    }
}

// Is `id` < e?
static bool below(const vy_prover *q, uint32_t id, vy_extent e, int depth)
{
    vy_type t = vy_id_type(q->p, id);
    if (e.base == VY_NO_BASE || !vy_type_is_integer(t)) return false;
    vy_interval b = bounds(q, id);
    if (t == VY_U64 && b.lo < 0) return false;
    int64_t least;
    if (q->d.least[e.base] > INT64_MIN / 4 && b.hi < INT64_MAX &&
        !__builtin_add_overflow(q->d.least[e.base], e.offset, &least) && b.hi < least)
        return true;
    if (depth == 0 || --*q->budget < 0) return false;
    if (VY_IS_LEAF(id) && below_leaf(q, id, e)) return true;
    for (uint32_t n = 0; n < q->fact_count; n++) {
        const vy_fact *f = &q->facts[n];
        if (f->less == id && below(q, f->more, plus(e, f->strict), depth - 1)) return true;
    }
    return !VY_IS_LEAF(id) && below_inst(q, id, e, depth - 1);
}

// --------------------------------------------------------------------------------- entry points
bool vy_prover_make(vy_prover *q, const vy_program *p, const vy_structure *s, vy_arena *arena)
{
    *q = (vy_prover){.p = p, .s = s, .facts_for = UINT32_MAX};
    q->budget = vy_arena_alloc(arena, sizeof *q->budget);
    return q->budget && vy_intervals_make(&q->v, p, s, arena) && vy_dim_facts_make(&q->d, p, arena);
}

bool vy_is_at_least(const vy_prover *q, uint32_t id, int64_t k)
{
    *q->budget = STEPS;
    return at_least(q, id, k, DEPTH);
}

bool vy_is_below(const vy_prover *q, uint32_t id, vy_extent e)
{
    *q->budget = STEPS;
    if (below(q, id, e, DEPTH)) return true;
    const vy_dim_node *d = e.base && e.base != VY_NO_BASE ? &q->p->dims.data[e.base] : NULL;
    if (!d || d->op != VY_DIM_MAX) return false;
    // max(n, 0): below one of them is enough
    return below(q, id, plus(q->d.form[d->a], e.offset), DEPTH) ||
           below(q, id, plus(q->d.form[d->b], e.offset), DEPTH);
}

// Is `more` a value of known form, and `less` below it, or not above it if not strict?
bool vy_is_below_value(const vy_prover *q, uint32_t less, uint32_t more, bool strict)
{
    vy_extent e;
    const bool is_leaf = VY_IS_LEAF(more);
    if (!is_leaf || q->p->leaves.data[VY_LEAF_INDEX(more)].kind == VY_LEAF_LEN) return false;
    return leaf_extent(q, more, &e) && vy_is_below(q, less, plus(e, !strict));
}
