// SPDX-License-Identifier: MIT
// trip_estimate.c: how many turns the loops of one invocation may take, from the values of the
// parameters.
//
// For drivers that leave loops after so many turns without a word (vkrt.h, loop_turn_limit):
// whoever launches a program there can at least say so.  Every integer value gets an interval [low,
// high] from constants, scalars, extents and loop bounds; what depends on data has none, and a loop
// bounded by it counts as one turn, so the estimate is an upper one only if *complete stays true.
#include "ir/facts/count.h"

#include <math.h>

typedef struct interval {
    int64_t low, high;
    bool known;
} interval;

typedef struct turns {
    const vy_program *p;
    const int64_t *scalars, *dims;
    const bool *scalar_known, *dim_known; // NULL: all are
    interval *at;                         // by instruction
    vy_structure s;
    uint32_t *loops;   // by instruction: how many begin up to it
    int64_t *per_loop; // by opener: most turns, −1 where nothing bounds them; or NULL
    uint64_t budget;   // instructions that iterations gone through one by one may take
    bool complete;
} turns;

static interval exactly(int64_t v) { return (interval){v, v, true}; }

static interval extent(const turns *t, vy_dim d)
{
    return t->dim_known && !t->dim_known[d.id] ? (interval){0} : exactly(t->dims[d.id]);
}

static interval leaf(const turns *t, uint32_t id)
{
    const vy_leaf *l = &t->p->leaves.data[VY_LEAF_INDEX(id)];
    const vy_program *p = t->p;
    if (!vy_type_is_integer((vy_type)l->type)) return (interval){0};
    switch (l->kind) {
    case VY_LEAF_CONST: return exactly(l->value.i);
    case VY_LEAF_SCALAR:
        if (t->scalar_known && !t->scalar_known[l->index]) return (interval){0};
        return exactly(t->scalars[l->index]);
    case VY_LEAF_LEN: return extent(t, p->buffers.data[l->index].dims[l->axis]);
    case VY_LEAF_OVER: {
        interval n = extent(t, p->overs.data[l->index].extent);
        return (interval){0, n.high > 0 ? n.high - 1 : 0, n.known};
    }
    default: return (interval){0};
    }
}

static interval get(const turns *t, uint32_t id)
{
    return VY_IS_LEAF(id) ? leaf(t, id) : t->at[id];
}

// Bounds of x op y for monotone operations on what cannot be negative; unknown when it may wrap.
static interval combine(vy_op op, interval x, interval y, vy_type type)
{
    interval r = {0, 0, x.known && y.known};
    if (!r.known) return r;
    bool wraps = false;
    switch (op) {
    case VY_OP_ADD:
        wraps = __builtin_add_overflow(x.low, y.low, &r.low);
        wraps |= __builtin_add_overflow(x.high, y.high, &r.high);
        break;
    case VY_OP_SUB:
        wraps = __builtin_sub_overflow(x.low, y.high, &r.low);
        wraps |= __builtin_sub_overflow(x.high, y.low, &r.high);
        break;
    case VY_OP_MUL:
        wraps = x.low < 0 || y.low < 0;
        wraps |= __builtin_mul_overflow(x.low, y.low, &r.low);
        wraps |= __builtin_mul_overflow(x.high, y.high, &r.high);
        break;
    case VY_OP_DIV:
        wraps = x.low < 0 || y.low <= 0;
        if (!wraps) r.low = x.low / y.high, r.high = x.high / y.low;
        break;
    case VY_OP_MAX:
        r.low = x.low > y.low ? x.low : y.low, r.high = x.high > y.high ? x.high : y.high;
        break;
    case VY_OP_MIN:
        r.low = x.low < y.low ? x.low : y.low, r.high = x.high < y.high ? x.high : y.high;
        break;
    default: r.known = false;
    }
    // An unsigned difference that may be negative is guarded by a comparison where it matters; the
    // rest of the range is what counts.
    if (!vy_type_is_signed(type) && r.low < 0) r.low = 0;
    if (!vy_type_is_signed(type) && r.high < 0) r.high = 0;
    if (vy_type_size(type) == 4 && r.high > UINT32_MAX) r.known = false;
    return wraps ? (interval){0} : r;
}

// x % y of what cannot be negative.
static interval remainder_of(interval x, interval y)
{
    if (!x.known || !y.known || x.low < 0 || y.low <= 0) return (interval){0};
    if (x.low == x.high && y.low == y.high) return exactly(x.low % y.low);
    return (interval){0, x.high < y.high ? x.high : y.high - 1, true};
}

// The integer part of a root of an integer, as segment lengths are computed.  A device's root may
// be off by one next to a square, which segments correct, and which is little against what counts
// turns.
static interval root(const turns *t, uint32_t id)
{
    const vy_program *p = t->p;
    if (VY_IS_LEAF(id) || p->insts.data[id].op != VY_OP_SQRT) return (interval){0};
    const uint32_t cast = vy_arg(p, id, 0);
    if (VY_IS_LEAF(cast) || p->insts.data[cast].op != VY_OP_CAST) return (interval){0};
    const uint32_t of = vy_arg(p, cast, 0);
    if (!vy_type_is_integer(vy_id_type(p, of))) return (interval){0};
    const interval x = get(t, of);
    if (!x.known || x.low < 0 || x.high > INT32_MAX) return (interval){0};
    return (interval){(int64_t)sqrt((double)x.low), (int64_t)sqrt((double)x.high), true};
}

// Whether a condition is decided by what is known: 1, 0; -1 it is not.
static int decided(const turns *t, uint32_t id)
{
    const vy_program *p = t->p;
    if (VY_IS_LEAF(id) || p->insts.data[id].nargs != 2) return -1;
    if (!vy_type_is_integer(vy_id_type(p, vy_arg(p, id, 0)))) return -1;
    const interval x = get(t, vy_arg(p, id, 0)), y = get(t, vy_arg(p, id, 1));
    if (!x.known || !y.known) return -1;
    const bool exact = x.low == x.high && y.low == y.high;
    switch (p->insts.data[id].op) {
    case VY_OP_LT: return x.high < y.low ? 1 : x.low >= y.high ? 0 : -1;
    case VY_OP_LE: return x.high <= y.low ? 1 : x.low > y.high ? 0 : -1;
    case VY_OP_EQ: return exact ? x.low == y.low : -1;
    case VY_OP_NE: return exact ? x.low != y.low : -1;
    default: return -1;
    }
}

static interval value(const turns *t, uint32_t id)
{
    const vy_inst *i = &t->p->insts.data[id];
    vy_type type = (vy_type)i->type;
    if (!vy_type_is_integer(type)) return (interval){0};
    if (i->op == VY_OP_CAST && vy_type_is_float(vy_id_type(t->p, vy_arg(t->p, id, 0))))
        return root(t, vy_arg(t->p, id, 0));
    if (i->op == VY_OP_CAST) {
        interval x = get(t, vy_arg(t->p, id, 0));
        if (x.known && !vy_type_is_signed(type) && x.low < 0) x.known = false;
        return x;
    }
    if (i->op == VY_OP_SELECT) {
        interval x = get(t, vy_arg(t->p, id, 1)), y = get(t, vy_arg(t->p, id, 2));
        const int taken = decided(t, vy_arg(t->p, id, 0));
        if (taken >= 0) return taken ? x : y;
        return (interval){x.low < y.low ? x.low : y.low, x.high > y.high ? x.high : y.high,
                          x.known && y.known};
    }
    if (i->nargs != 2 || vy_op_infos[i->op].effect != VY_PURE) return (interval){0};
    if (i->op == VY_OP_REM)
        return remainder_of(get(t, vy_arg(t->p, id, 0)), get(t, vy_arg(t->p, id, 1)));
    return combine((vy_op)i->op, get(t, vy_arg(t->p, id, 0)), get(t, vy_arg(t->p, id, 1)), type);
}

// `n/c*c .. n`, what strip_mine.c leaves over: fewer than c iterations, whatever n is.
static const vy_scalar *rest_below(const vy_program *p, uint32_t loop)
{
    uint32_t from = vy_arg(p, loop, 0), n = vy_arg(p, loop, 1);
    if (VY_IS_LEAF(from) || p->insts.data[from].op != VY_OP_MUL) return NULL;
    uint32_t quotient = vy_arg(p, from, 0), c = vy_arg(p, from, 1);
    if (VY_IS_LEAF(quotient) || p->insts.data[quotient].op != VY_OP_DIV) return NULL;
    return vy_arg(p, quotient, 0) == n && vy_arg(p, quotient, 1) == c ? vy_id_const(p, c) : NULL;
}

// Most iterations of a LOOP, and the interval of its variable.
static int64_t trips(turns *t, uint32_t loop, bool *complete)
{
    interval from = get(t, vy_arg(t->p, loop, 0)), to = get(t, vy_arg(t->p, loop, 1));
    interval step = get(t, vy_arg(t->p, loop, 2));
    int64_t span;
    if (!from.known || !to.known || !step.known || step.low < 1 ||
        __builtin_sub_overflow(to.high, from.low, &span)) {
        *complete = false;
        return 1;
    }
    t->at[loop] = (interval){from.low, to.high > from.low ? to.high - 1 : from.low, true};
    const vy_scalar *c = rest_below(t->p, loop);
    if (c && span >= c->i) span = c->i - 1;
    return span > 0 ? (span - 1) / step.low + 1 : 0;
}

// Turns that clearing an array takes on a device (spirv/emit/emit_memory.c).
static uint64_t zero_turns(const turns *t, uint32_t buffer)
{
    const vy_buf *b = &t->p->buffers.data[buffer];
    int64_t n = 1; // the checker bounds arrays to 64 KiB
    for (uint32_t k = 0; k < b->rank; k++) n *= t->dims[b->dims[k].id];
    if (b->cls == VY_SHARED) {
        const uint32_t *w = t->p->workgroup;
        return (uint64_t)n / (w[0] * w[1] * w[2]);
    }
    return (uint64_t)n / VY_ZERO_STEP;
}

static uint64_t sum(uint64_t x, uint64_t y)
{
    return __builtin_add_overflow(x, y, &x) ? UINT64_MAX / 2 : x;
}

static uint64_t range_turns(turns *t, uint32_t first, uint32_t end, bool in_loop);

// Iterations one by one, where inner loops may depend on which one it is and that is affordable:
// bounds of a product are far from the truth for triangles and for segments of segments.
static bool one_by_one(turns *t, uint32_t loop, uint32_t end, uint64_t n, uint64_t *turns_of)
{
    const interval from = get(t, vy_arg(t->p, loop, 0)), step = get(t, vy_arg(t->p, loop, 2));
    const bool inner = t->loops[end] > t->loops[loop];
    uint64_t work;
    if (!inner || n > UINT32_MAX || from.low != from.high || step.low != step.high) return false;
    if (__builtin_mul_overflow(n, (uint64_t)(end - loop), &work) || work > t->budget) return false;
    t->budget -= work;
    *turns_of = 0;
    for (uint64_t k = 0; k < n; k++) {
        t->at[loop] = exactly(from.low + (int64_t)k * step.low);
        *turns_of = sum(*turns_of, range_turns(t, loop + 1, end, true) + 1);
    }
    return true;
}

static uint64_t loop_turns(turns *t, uint32_t loop, uint32_t end)
{
    bool bounded = t->p->insts.data[loop].op == VY_OP_LOOP;
    const uint64_t n = bounded ? (uint64_t)trips(t, loop, &bounded) : 1;
    uint64_t all;
    if (t->per_loop) t->per_loop[loop] = bounded ? (int64_t)n : -1;
    t->complete &= bounded;
    if (!bounded || t->per_loop || !one_by_one(t, loop, end, n, &all)) {
        const uint64_t inside = range_turns(t, loop + 1, end, true) + 1;
        if (__builtin_mul_overflow(n, inside, &all)) all = UINT64_MAX / 2;
    }
    return sum(all, 1); // the test that fails, where it comes first
}

// Of the instructions from `first` to before `end`.
static uint64_t range_turns(turns *t, uint32_t first, uint32_t end, bool in_loop)
{
    uint64_t all = 0;
    for (uint32_t id = first; id < end; id++) {
        const vy_op op = (vy_op)t->p->insts.data[id].op;
        t->at[id] = (interval){0};
        if (op == VY_OP_LOOP || op == VY_OP_WHILE) {
            const uint32_t closer = t->s.partner[id];
            all = sum(all, loop_turns(t, id, closer));
            id = closer;
        } else if (op == VY_OP_ZERO && !in_loop) { // a loop of the emitter's
            all = sum(all, zero_turns(t, t->p->insts.data[id].aux));
        } else if (vy_op_infos[op].effect != VY_CTRL) {
            t->at[id] = value(t, id);
        }
    }
    return all;
}

// Walks the program with the values of integers.  False: memory.
static bool walk(turns t, uint64_t *total, bool *complete)
{
    const vy_program *p = t.p;
    t.at = vy_realloc(NULL, p->insts.count * sizeof *t.at);
    t.loops = vy_realloc(NULL, p->insts.count * sizeof *t.loops);
    t.budget = 1u << 20;
    t.complete = true;
    bool ok = t.at && t.loops && vy_structure_make(p, &t.s);
    for (uint32_t id = 1, n = 0; ok && id < p->insts.count; id++) {
        n += p->insts.data[id].op == VY_OP_LOOP || p->insts.data[id].op == VY_OP_WHILE;
        t.loops[id] = n;
    }
    *total = ok ? range_turns(&t, 1, p->insts.count, false) : 0;
    *complete = ok && t.complete;
    vy_structure_free(&t.s);
    vy_free(t.at);
    vy_free(t.loops);
    return ok;
}

uint64_t vy_program_loop_turns(const vy_program *p, const int64_t *scalars,
                               const int64_t *dim_values, bool *complete)
{
    uint64_t total;
    walk((turns){.p = p, .scalars = scalars, .dims = dim_values}, &total, complete);
    return total;
}

bool vy_loop_trips(const vy_program *p, const int64_t *scalars, const bool *scalar_known,
                   const int64_t *dim_values, const bool *dim_known, int64_t *per_loop)
{
    uint64_t total;
    bool complete;
    return walk((turns){.p = p,
                        .scalars = scalars,
                        .dims = dim_values,
                        .scalar_known = scalar_known,
                        .dim_known = dim_known,
                        .per_loop = per_loop},
                &total, &complete);
}
