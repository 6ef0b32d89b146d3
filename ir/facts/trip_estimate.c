// SPDX-License-Identifier: MIT
// trip_estimate.c: how many iterations the loops of one invocation may run, for given values of the
// parameters.
//
// For drivers that silently leave loops after a number of iterations (vkrt.h,
// loop_iteration_limit), where a launch can at least be refused or warned about.  Every integer
// value gets an interval [low, high] from constants, scalars, extents and loop bounds; what depends
// on data has none, and a loop bounded by it counts as one iteration, so the estimate is an upper
// bound only if *complete stays true.
#include "ir/facts/count.h"
#include "ir/core/flow.h"
#include "ir/facts/interval.h"

#include <math.h>

typedef struct bounds {
    vy_interval is;
    bool known;
} bounds;

typedef struct estimate {
    const vy_program *p;
    const int64_t *scalars, *dims;
    const bool *scalar_known, *dim_known; // NULL: all are
    bounds *at;                           // by instruction
    vy_structure s;
    uint32_t *loops;   // by instruction: number of loops that begin up to it
    int64_t *per_loop; // by opener: upper bound of the trip count, −1: none; or NULL
    uint64_t budget;   // instructions that may be visited by walking iterations one by one
    bool complete;
} estimate;

static bounds exactly(int64_t v) { return (bounds){{v, v}, true}; }

static bounds extent(const estimate *t, vy_dim d)
{
    return t->dim_known && !t->dim_known[d.id] ? (bounds){0} : exactly(t->dims[d.id]);
}

static bounds leaf(const estimate *t, uint32_t id)
{
    const vy_leaf *l = &t->p->leaves.data[VY_LEAF_INDEX(id)];
    const vy_program *p = t->p;
    if (!vy_type_is_integer((vy_type)l->type)) return (bounds){0};
    switch (l->kind) {
    case VY_LEAF_CONST: return exactly(l->value.i);
    case VY_LEAF_SCALAR:
        if (t->scalar_known && !t->scalar_known[l->index]) return (bounds){0};
        return exactly(t->scalars[l->index]);
    case VY_LEAF_LEN: return extent(t, p->buffers.data[l->index].dims[l->axis]);
    case VY_LEAF_OVER: {
        bounds n = extent(t, p->overs.data[l->index].extent);
        return (bounds){{0, n.is.hi > 0 ? n.is.hi - 1 : 0}, n.known};
    }
    default: return (bounds){0};
    }
}

static bounds get(const estimate *t, uint32_t id)
{
    return VY_IS_LEAF(id) ? leaf(t, id) : t->at[id];
}

// x op y.  An unsigned difference that may be negative is guarded by a comparison where it matters,
// so only the nonnegative part of its range is used.
static bounds combine(vy_op op, bounds x, bounds y, vy_type type)
{
    vy_interval r;
    if (!x.known || !y.known || !vy_interval_exactly(op, x.is, y.is, &r)) return (bounds){0};
    if (!vy_type_is_signed(type) && r.lo < 0) r.lo = 0;
    if (!vy_type_is_signed(type) && r.hi < 0) r.hi = 0;
    return (bounds){r, vy_type_size(type) != 4 || r.hi <= UINT32_MAX};
}

// The integer part of the square root of an integer, as in the lengths of segments.  A device's
// root may be off by one next to a square; segments correct that, and it hardly changes the number
// of iterations.
static bounds root(const estimate *t, uint32_t id)
{
    const vy_program *p = t->p;
    if (VY_IS_LEAF(id) || p->insts.data[id].op != VY_OP_SQRT) return (bounds){0};
    const uint32_t cast = vy_arg(p, id, 0);
    if (VY_IS_LEAF(cast) || p->insts.data[cast].op != VY_OP_CAST) return (bounds){0};
    const uint32_t of = vy_arg(p, cast, 0);
    if (!vy_type_is_integer(vy_id_type(p, of))) return (bounds){0};
    const bounds x = get(t, of);
    if (!x.known || x.is.lo < 0 || x.is.hi > INT32_MAX) return (bounds){0};
    return (bounds){{(int64_t)sqrt((double)x.is.lo), (int64_t)sqrt((double)x.is.hi)}, true};
}

// The value of a condition if it is known (1, 0), else -1.
static int decided(const estimate *t, uint32_t id)
{
    const vy_program *p = t->p;
    if (VY_IS_LEAF(id) || p->insts.data[id].nargs != 2) return -1;
    const vy_type type = vy_id_type(p, vy_arg(p, id, 0));
    if (!vy_type_is_integer(type)) return -1;
    const bounds x = get(t, vy_arg(p, id, 0)), y = get(t, vy_arg(p, id, 1));
    if (!x.known || !y.known) return -1;
    return vy_interval_compare((vy_op)p->insts.data[id].op, type, x.is, y.is);
}

static bounds value(const estimate *t, uint32_t id)
{
    const vy_inst *i = &t->p->insts.data[id];
    vy_type type = (vy_type)i->type;
    bool exact;
    if (!vy_type_is_integer(type)) return (bounds){0};
    if (i->op == VY_OP_CAST && vy_type_is_float(vy_id_type(t->p, vy_arg(t->p, id, 0))))
        return root(t, vy_arg(t->p, id, 0));
    if (i->op == VY_OP_CAST) {
        bounds x = get(t, vy_arg(t->p, id, 0));
        x.is = vy_interval_cast(vy_id_type(t->p, vy_arg(t->p, id, 0)), type, x.is, &exact);
        return (bounds){x.is, x.known && exact};
    }
    if (i->op == VY_OP_SELECT) {
        const bounds x = get(t, vy_arg(t->p, id, 1)), y = get(t, vy_arg(t->p, id, 2));
        const int taken = decided(t, vy_arg(t->p, id, 0));
        if (taken >= 0) return taken ? x : y;
        return (bounds){vy_interval_join(x.is, y.is), x.known && y.known};
    }
    if (i->nargs != 2 || vy_op_infos[i->op].effect != VY_PURE) return (bounds){0};
    return combine((vy_op)i->op, get(t, vy_arg(t->p, id, 0)), get(t, vy_arg(t->p, id, 1)), type);
}

// Upper bound of the trip count of a LOOP; also sets the interval of its variable.
static int64_t trips(estimate *t, uint32_t loop, bool *complete)
{
    const bounds from = get(t, vy_arg(t->p, loop, 0)), to = get(t, vy_arg(t->p, loop, 1));
    const bounds step = get(t, vy_arg(t->p, loop, 2));
    int64_t span;
    if (!from.known || !to.known || !step.known || step.is.lo < 1 ||
        __builtin_sub_overflow(to.is.hi, from.is.lo, &span)) {
        *complete = false;
        return 1;
    }
    t->at[loop] = (bounds){vy_interval_counter(vy_id_type(t->p, loop), from.is, to.is), true};
    const vy_scalar *c = vy_rest_below(t->p, loop);
    if (c && span >= c->i) span = c->i - 1;
    return span > 0 ? (span - 1) / step.is.lo + 1 : 0;
}

// The iterations of the loop that clears an array on a device (spirv/emit/emit_memory.c).
static uint64_t zero_iterations(const estimate *t, uint32_t buffer)
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

static uint64_t range_iterations(estimate *t, uint32_t first, uint32_t end, bool in_loop);

// Walks the iterations of a loop one by one, if it contains loops, whose bounds may depend on its
// variable, and if that is affordable: a product of bounds is far from the truth for triangular
// nests and for segments of segments.
static bool one_by_one(estimate *t, uint32_t loop, uint32_t end, uint64_t n,
                       uint64_t *iterations_of)
{
    const bounds from = get(t, vy_arg(t->p, loop, 0)), step = get(t, vy_arg(t->p, loop, 2));
    const bool inner = t->loops[end] > t->loops[loop];
    uint64_t work;
    if (!inner || n > UINT32_MAX || from.is.lo != from.is.hi || step.is.lo != step.is.hi)
        return false;
    if (__builtin_mul_overflow(n, (uint64_t)(end - loop), &work) || work > t->budget) return false;
    t->budget -= work;
    *iterations_of = 0;
    for (uint64_t k = 0; k < n; k++) {
        t->at[loop] = exactly(from.is.lo + (int64_t)k * step.is.lo);
        *iterations_of = sum(*iterations_of, range_iterations(t, loop + 1, end, true) + 1);
    }
    return true;
}

static uint64_t loop_iterations(estimate *t, uint32_t loop, uint32_t end)
{
    bool bounded = t->p->insts.data[loop].op == VY_OP_LOOP;
    const uint64_t n = bounded ? (uint64_t)trips(t, loop, &bounded) : 1;
    uint64_t all;
    if (t->per_loop) t->per_loop[loop] = bounded ? (int64_t)n : -1;
    t->complete &= bounded;
    if (!bounded || t->per_loop || !one_by_one(t, loop, end, n, &all)) {
        const uint64_t inside = range_iterations(t, loop + 1, end, true) + 1;
        if (__builtin_mul_overflow(n, inside, &all)) all = UINT64_MAX / 2;
    }
    return sum(all, 1); // the last test, which fails, counts where a loop tests first
}

// The iterations of all loops among the instructions from `first` to before `end`.
static uint64_t range_iterations(estimate *t, uint32_t first, uint32_t end, bool in_loop)
{
    uint64_t all = 0;
    for (uint32_t id = first; id < end; id++) {
        const vy_op op = (vy_op)t->p->insts.data[id].op;
        t->at[id] = (bounds){0};
        if (vy_is_loop(op)) {
            const uint32_t closer = t->s.partner[id];
            all = sum(all, loop_iterations(t, id, closer));
            id = closer;
        } else if (op == VY_OP_ZERO && !in_loop) { // the emitter makes a loop of it
            all = sum(all, zero_iterations(t, t->p->insts.data[id].aux));
        } else if (vy_op_infos[op].effect != VY_CTRL) {
            t->at[id] = value(t, id);
        }
    }
    return all;
}

// Walks the program with the intervals of its integers.  False: out of memory.
static bool walk(estimate t, uint64_t *total, bool *complete)
{
    const vy_program *p = t.p;
    t.at = vy_realloc(NULL, p->insts.count * sizeof *t.at);
    t.loops = vy_realloc(NULL, p->insts.count * sizeof *t.loops);
    t.budget = 1u << 20;
    t.complete = true;
    bool ok = t.at && t.loops && vy_structure_make(p, &t.s);
    for (uint32_t id = 1, n = 0; ok && id < p->insts.count; id++) {
        n += vy_is_loop((vy_op)p->insts.data[id].op);
        t.loops[id] = n;
    }
    *total = ok ? range_iterations(&t, 1, p->insts.count, false) : 0;
    *complete = ok && t.complete;
    vy_structure_free(&t.s);
    vy_free(t.at);
    vy_free(t.loops);
    return ok;
}

uint64_t vy_program_loop_iterations(const vy_program *p, const int64_t *scalars,
                                    const int64_t *dim_values, bool *complete)
{
    uint64_t total;
    walk((estimate){.p = p, .scalars = scalars, .dims = dim_values}, &total, complete);
    return total;
}

bool vy_loop_trips(const vy_program *p, const int64_t *scalars, const bool *scalar_known,
                   const int64_t *dim_values, const bool *dim_known, int64_t *per_loop)
{
    uint64_t total;
    bool complete;
    return walk((estimate){.p = p,
                           .scalars = scalars,
                           .dims = dim_values,
                           .scalar_known = scalar_known,
                           .dim_known = dim_known,
                           .per_loop = per_loop},
                &total, &complete);
}
