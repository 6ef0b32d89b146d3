// SPDX-License-Identifier: MIT
// interval.c: constant bounds of integer values, and which additions cannot wrap.
//
//   i = over variable of extent 8        0 … 7
//   j = and i 3                          0 … 3
//   k = add j 1                          1 … 4, does not wrap
//
// One forward walk; what a loop carries may be anything.  Bounds are those of the value as a signed
// 64-bit number, which is what an index is compared as.  A u64 above that range is `anything`.
#include "ir/facts/range.h"
#include "ir/core/flow.h"

#define ANYTHING ((vy_interval){INT64_MIN, INT64_MAX})

static vy_interval type_bounds(vy_type t)
{
    switch (t) {
    case VY_BOOL: return (vy_interval){0, 1};
    case VY_I8: return (vy_interval){INT8_MIN, INT8_MAX};
    case VY_U8: return (vy_interval){0, UINT8_MAX};
    case VY_I16: return (vy_interval){INT16_MIN, INT16_MAX};
    case VY_U16: return (vy_interval){0, UINT16_MAX};
    case VY_I32: return (vy_interval){INT32_MIN, INT32_MAX};
    case VY_U32: return (vy_interval){0, UINT32_MAX};
    default: return ANYTHING;
    }
}

static vy_interval leaf_interval(const vy_program *p, const vy_leaf *l)
{
    vy_interval r = type_bounds((vy_type)l->type);
    const vy_dim_node *d = NULL;
    switch ((vy_leaf_kind)l->kind) {
    case VY_LEAF_CONST:
        if (!vy_type_is_integer((vy_type)l->type)) return r;
        if (l->type == VY_U64 && l->value.u > INT64_MAX) return r;
        return (vy_interval){l->value.i, l->value.i};
    case VY_LEAF_OVER:
        d = &p->dims.data[p->overs.data[l->index].extent.id];
        if (d->op == VY_DIM_CONST && d->value >= 1 && d->value <= UINT32_MAX) r.hi = d->value - 1;
        return r;
    case VY_LEAF_LEN:
        d = &p->dims.data[p->buffers.data[l->index].dims[l->axis].id];
        if (d->op == VY_DIM_CONST && d->value >= 0 && d->value <= UINT32_MAX)
            r.lo = r.hi = d->value;
        return r;
    case VY_LEAF_BUILTIN: {
        const uint32_t *w = p->workgroup;
        uint64_t all = (uint64_t)w[0] * w[1] * w[2];
        if (l->index == VY_LID && w[l->axis]) r.hi = w[l->axis] - 1;
        if (l->index == VY_LINDEX && all && all <= UINT32_MAX) r.hi = (int64_t)all - 1;
        return r;
    }
    default: return r;
    }
}

vy_interval vy_interval_of(const vy_intervals *v, uint32_t id)
{
    if (!VY_IS_LEAF(id)) return v->of[id];
    return leaf_interval(v->p, &v->p->leaves.data[VY_LEAF_INDEX(id)]);
}

static vy_interval join(vy_interval x, vy_interval y)
{
    return (vy_interval){x.lo < y.lo ? x.lo : y.lo, x.hi > y.hi ? x.hi : y.hi};
}

static int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }

// False when a bound leaves 64 bits.
static bool arithmetic(vy_op op, vy_interval x, vy_interval y, vy_interval *r)
{
    if (op == VY_OP_ADD)
        return !__builtin_add_overflow(x.lo, y.lo, &r->lo) &&
               !__builtin_add_overflow(x.hi, y.hi, &r->hi);
    if (op == VY_OP_SUB)
        return !__builtin_sub_overflow(x.lo, y.hi, &r->lo) &&
               !__builtin_sub_overflow(x.hi, y.lo, &r->hi);
    int64_t c[4];
    if (__builtin_mul_overflow(x.lo, y.lo, &c[0]) || __builtin_mul_overflow(x.lo, y.hi, &c[1]) ||
        __builtin_mul_overflow(x.hi, y.lo, &c[2]) || __builtin_mul_overflow(x.hi, y.hi, &c[3]))
        return false;
    r->lo = min64(min64(c[0], c[1]), min64(c[2], c[3]));
    r->hi = max64(max64(c[0], c[1]), max64(c[2], c[3]));
    return true;
}

// Operations that never leave the bounds of what they are given.
static vy_interval bounded(vy_op op, vy_interval x, vy_interval y, vy_interval whole)
{
    bool positive = x.lo >= 0 && y.lo >= 0;
    switch (op) {
    case VY_OP_MIN: return (vy_interval){min64(x.lo, y.lo), min64(x.hi, y.hi)};
    case VY_OP_MAX: return (vy_interval){max64(x.lo, y.lo), max64(x.hi, y.hi)};
    case VY_OP_AND: return positive ? (vy_interval){0, min64(x.hi, y.hi)} : whole;
    case VY_OP_REM: // by zero: 0
        return positive ? (vy_interval){0, min64(x.hi, max64(y.hi - 1, 0))} : whole;
    case VY_OP_DIV: // by zero: 0
        return positive ? (vy_interval){y.hi && y.lo ? x.lo / y.hi : 0, x.hi / max64(y.lo, 1)}
                        : whole;
    case VY_OP_SHR:
        if (x.lo < 0 || y.lo != y.hi || y.lo < 0 || y.lo > 31)
            return x.lo >= 0 ? (vy_interval){0, x.hi} : whole;
        return (vy_interval){x.lo >> y.lo, x.hi >> y.lo};
    default: return whole;
    }
}

// Signed and unsigned order agree on values that are not negative as signed numbers.
static bool ordered(vy_type t, vy_interval x) { return t != VY_U64 || x.lo >= 0; }

static vy_interval binary(vy_intervals *v, uint32_t id)
{
    const vy_inst *i = &v->p->insts.data[id];
    vy_interval x = vy_interval_of(v, vy_arg(v->p, id, 0)),
                y = vy_interval_of(v, vy_arg(v->p, id, 1));
    vy_interval whole = type_bounds((vy_type)i->type), r;
    vy_op op = (vy_op)i->op;
    if (!ordered((vy_type)i->type, x) || !ordered((vy_type)i->type, y)) return whole;
    if (op != VY_OP_ADD && op != VY_OP_SUB && op != VY_OP_MUL) return bounded(op, x, y, whole);
    if (!arithmetic(op, x, y, &r)) return whole;
    if (r.lo < whole.lo || r.hi > whole.hi || (i->type == VY_U64 && r.lo < 0)) return whole;
    v->exact[id] = 1;
    return r;
}

static vy_interval loop_variable(const vy_intervals *v, uint32_t id)
{
    vy_type t = (vy_type)v->p->insts.data[id].type;
    vy_interval from = vy_interval_of(v, vy_arg(v->p, id, 0));
    vy_interval to = vy_interval_of(v, vy_arg(v->p, id, 1));
    if (!ordered(t, from) || !ordered(t, to)) return ANYTHING;
    // Where the body runs, from ≤ k < to.
    return (vy_interval){from.lo, to.hi > from.lo ? to.hi - 1 : from.lo};
}

static vy_interval result(const vy_intervals *v, uint32_t id)
{
    const vy_program *p = v->p;
    uint32_t sources[3], n = vy_slot_sources(p, v->s, id, sources);
    if (vy_is_loop((vy_op)p->insts.data[vy_opener(p, v->s, id)].op))
        return type_bounds(vy_id_type(p, id));
    vy_interval r = vy_interval_of(v, sources[0]);
    return n == 1 ? r : join(r, vy_interval_of(v, sources[1]));
}

static vy_interval compute(vy_intervals *v, uint32_t id)
{
    const vy_program *p = v->p;
    const vy_inst *i = &p->insts.data[id];
    vy_interval whole = type_bounds((vy_type)i->type), x;
    if (!vy_type_is_integer((vy_type)i->type)) return ANYTHING;
    switch ((vy_op)i->op) {
    case VY_OP_LOOP: return loop_variable(v, id);
    case VY_OP_RESULT: return result(v, id);
    case VY_OP_LOAD: return type_bounds(p->buffers.data[i->aux].type);
    case VY_OP_SELECT:
        return join(vy_interval_of(v, vy_arg(p, id, 1)), vy_interval_of(v, vy_arg(p, id, 2)));
    case VY_OP_CAST:
        if (!vy_type_is_integer(vy_id_type(p, vy_arg(p, id, 0)))) return whole;
        x = vy_interval_of(v, vy_arg(p, id, 0));
        if (!ordered(vy_id_type(p, vy_arg(p, id, 0)), x)) return whole;
        v->exact[id] = x.lo >= whole.lo && x.hi <= whole.hi && (i->type != VY_U64 || x.lo >= 0);
        return v->exact[id] ? x : whole;
    default: return i->nargs == 2 && vy_op_infos[i->op].effect == VY_PURE ? binary(v, id) : whole;
    }
}

bool vy_intervals_make(vy_intervals *v, const vy_program *p, const vy_structure *s, vy_arena *arena)
{
    *v = (vy_intervals){.p = p, .s = s};
    v->of = vy_arena_alloc(arena, p->insts.count * sizeof *v->of);
    v->exact = vy_arena_alloc(arena, p->insts.count);
    if (!v->of || !v->exact) return false;
    for (uint32_t id = 1; id < p->insts.count; id++) v->of[id] = compute(v, id);
    return true;
}
