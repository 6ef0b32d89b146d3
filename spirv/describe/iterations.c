// SPDX-License-Identifier: MIT
// iterations.c: upper bound on the iterations of a kernel's loops, for devices that compute wrong
// results beyond a limit (kernel.h: vy_kernel.iterations).
//
// The number of iterations that the loops of one invocation run is a formula in the kernel's
// scalars and extents: every integer from which a loop's bounds are computed gets a lower and an
// upper bound as expressions.  Values that depend on data have none; a loop bounded by one counts
// as one iteration, and the formula is then marked open.  ir/facts/trip_estimate.c does the same in
// numbers, for callers that have the program.
#include "spirv/describe/describe.h"
#include "ir/core/flow.h"

#include <string.h>

typedef struct bounds {
    uint32_t low, high; // expressions
    bool has_low, has_high;
    bool natural; // never negative
} bounds;

typedef struct walk {
    vy_describe d; // expressions of its own behind those of the kernel's dimensions
    const vy_program *p;
    bounds *at;   // by instruction
    bool *needed; // by instruction: loops' bounds are computed from it
    bool open;
} walk;

static uint32_t constant_expr(walk *w, int64_t v)
{
    return vy_describe_expr(&w->d, (vy_expr){.op = VY_EXPR_CONST, .value = v});
}

static uint32_t two(walk *w, vy_expr_op op, uint32_t a, uint32_t b)
{
    return vy_describe_binary(&w->d, op, a, b);
}

static bounds exactly(uint32_t e, bool natural) { return (bounds){e, e, true, true, natural}; }

// The bounds of an unknown value of a type.
static bounds anything(walk *w, vy_type type)
{
    const bool natural = !vy_type_is_signed(type);
    return (bounds){natural ? constant_expr(w, 0) : 0, 0, natural, false, natural};
}

static bounds leaf(walk *w, uint32_t id)
{
    const vy_leaf *l = &w->p->leaves.data[VY_LEAF_INDEX(id)];
    const vy_type type = (vy_type)l->type;
    bounds r;
    switch (l->kind) {
    case VY_LEAF_CONST: return exactly(constant_expr(w, l->value.i), l->value.i >= 0);
    case VY_LEAF_SCALAR: return exactly(l->index, !vy_type_is_signed(type)); // symbols come first
    case VY_LEAF_LEN:
        return exactly(vy_describe_dim(&w->d, w->p->buffers.data[l->index].dims[l->axis]), true);
    case VY_LEAF_OVER:
        r = exactly(two(w, VY_EXPR_SUB, w->d.domain[l->index], constant_expr(w, 1)), true);
        r.low = constant_expr(w, 0);
        return r;
    default: return anything(w, type);
    }
}

static bounds get(walk *w, uint32_t id) { return VY_IS_LEAF(id) ? leaf(w, id) : w->at[id]; }

// Both bounds by the same operation, where it is monotone in both operands.
static bounds both(walk *w, vy_expr_op op, bounds x, bounds y)
{
    bounds r = {.has_low = x.has_low && y.has_low,
                .has_high = x.has_high && y.has_high,
                .natural = x.natural && y.natural};
    if (r.has_low) r.low = two(w, op, x.low, y.low);
    if (r.has_high) r.high = two(w, op, x.high, y.high);
    return r;
}

// The lesser (op MIN) or the greater (MAX) of two.  An upper bound of either operand is one of the
// lesser, a lower bound of either one of the greater.
static bounds pick(walk *w, vy_expr_op op, bounds x, bounds y)
{
    bounds r = both(w, op, x, y);
    if (op == VY_EXPR_MIN && x.has_high != y.has_high)
        r.has_high = true, r.high = x.has_high ? x.high : y.high;
    if (op == VY_EXPR_MAX && x.has_low != y.has_low)
        r.has_low = true, r.low = x.has_low ? x.low : y.low;
    if (op == VY_EXPR_MAX) r.natural = x.natural || y.natural;
    return r;
}

static bounds quotient(walk *w, bounds x, bounds y)
{
    const uint32_t one = constant_expr(w, 1);
    bounds r = {.low = constant_expr(w, 0), .has_low = true, .natural = true};
    if (!x.natural || !y.natural) return (bounds){0};
    r.has_high = x.has_high;
    if (r.has_high && y.has_low)
        r.high = two(w, VY_EXPR_DIV, x.high, two(w, VY_EXPR_MAX, y.low, one));
    else if (r.has_high)
        r.high = x.high;
    return r;
}

static bounds difference(walk *w, bounds x, bounds y)
{
    bounds r = {.has_low = x.has_low && y.has_high, .has_high = x.has_high && y.has_low};
    if (r.has_low) r.low = two(w, VY_EXPR_SUB, x.low, y.high);
    if (r.has_high) r.high = two(w, VY_EXPR_SUB, x.high, y.low);
    return r;
}

// Sums, products and differences may wrap: for unsigned ones only the upper bound is kept, and that
// of a difference holds where it is not negative, which a comparison guards where it matters.
static bounds binary(walk *w, vy_op op, bounds x, bounds y, vy_type type)
{
    bounds r = {0};
    switch (op) {
    case VY_OP_ADD: r = both(w, VY_EXPR_ADD, x, y); break;
    case VY_OP_SUB: r = difference(w, x, y); break;
    case VY_OP_MUL:
        if (x.natural && y.natural) r = both(w, VY_EXPR_MUL, x, y);
        break;
    case VY_OP_DIV: r = quotient(w, x, y); break;
    case VY_OP_REM:
    case VY_OP_AND:
        if (x.natural && y.natural) r = pick(w, VY_EXPR_MIN, x, y);
        r.has_low = false;
        break;
    case VY_OP_SHR:
        if (x.natural) r = x;
        r.has_low = false;
        break;
    case VY_OP_MIN: r = pick(w, VY_EXPR_MIN, x, y); break;
    case VY_OP_MAX: r = pick(w, VY_EXPR_MAX, x, y); break;
    default: return anything(w, type);
    }
    if (vy_type_is_signed(type)) return r;
    r.natural = true;
    const bool exact = r.has_low && w->d.exprs.data[r.low].op == VY_EXPR_CONST;
    if (!exact || w->d.exprs.data[r.low].value < 0) r.low = constant_expr(w, 0);
    r.has_low = true;
    if (r.has_high) r.high = two(w, VY_EXPR_MAX, r.high, constant_expr(w, 0));
    return r;
}

static bounds value(walk *w, uint32_t id)
{
    const vy_program *p = w->p;
    const vy_inst *i = &p->insts.data[id];
    const vy_type type = (vy_type)i->type;
    if (i->op == VY_OP_CAST) {
        const uint32_t from = vy_arg(p, id, 0);
        if (!vy_type_is_integer(vy_id_type(p, from))) return anything(w, type);
        const bounds x = get(w, from);
        return x.natural || vy_type_is_signed(type) ? x : anything(w, type);
    }
    if (i->op == VY_OP_SELECT) {
        const bounds x = get(w, vy_arg(p, id, 1)), y = get(w, vy_arg(p, id, 2));
        bounds r = both(w, VY_EXPR_MAX, x, y);
        if (r.has_low) r.low = two(w, VY_EXPR_MIN, x.low, y.low);
        return r;
    }
    if (i->nargs != 2 || vy_op_infos[i->op].effect != VY_PURE) return anything(w, type);
    return binary(w, (vy_op)i->op, get(w, vy_arg(p, id, 0)), get(w, vy_arg(p, id, 1)), type);
}

// Most iterations of a LOOP, as an expression; sets the bounds of its variable.
static uint32_t trips(walk *w, uint32_t loop)
{
    const uint32_t one = constant_expr(w, 1);
    const bounds from = get(w, vy_arg(w->p, loop, 0)), to = get(w, vy_arg(w->p, loop, 1));
    const bounds step = get(w, vy_arg(w->p, loop, 2));
    const vy_scalar *rest = vy_rest_below(w->p, loop);
    bounds k = from;
    k.has_high = to.has_high;
    if (to.has_high) k.high = two(w, VY_EXPR_SUB, to.high, one);
    w->at[loop] = k;
    if (!rest && (!from.has_low || !to.has_high)) {
        w->open = true;
        return one;
    }
    uint32_t span = rest ? constant_expr(w, rest->i - 1) : two(w, VY_EXPR_SUB, to.high, from.low);
    if (!rest && step.has_low) { // ⌈span / step⌉
        const uint32_t by = two(w, VY_EXPR_MAX, step.low, one);
        span = two(w, VY_EXPR_ADD, span, two(w, VY_EXPR_SUB, by, one));
        span = two(w, VY_EXPR_DIV, span, by);
    }
    return two(w, VY_EXPR_MAX, span, constant_expr(w, 0));
}

static void need(walk *w, uint32_t id)
{
    if (!VY_IS_LEAF(id)) w->needed[id] = true;
}

// Marks the values from which loops' bounds are computed, backwards.
static void find_needed(walk *w)
{
    const vy_program *p = w->p;
    for (uint32_t id = p->insts.count; id-- > 1;) {
        const vy_inst *i = &p->insts.data[id];
        const bool loop = i->op == VY_OP_LOOP;
        for (uint32_t k = 0; loop && k < 3; k++) need(w, vy_arg(p, id, k));
        if (loop || !w->needed[id] || vy_op_infos[i->op].effect != VY_PURE) continue;
        for (uint32_t k = 0; k < i->nargs; k++) need(w, vy_arg(p, id, k));
    }
}

// Iterations of the loop that the emitter adds to clear an array (emit_memory.c).
static uint32_t zero_iterations(walk *w, uint32_t buffer)
{
    const vy_buf *b = &w->p->buffers.data[buffer];
    const uint32_t *size = w->p->workgroup;
    uint32_t n = constant_expr(w, 1);
    for (uint32_t k = 0; k < b->rank; k++)
        n = two(w, VY_EXPR_MUL, n, vy_describe_dim(&w->d, b->dims[k]));
    return two(w, VY_EXPR_DIV, n,
               constant_expr(w, b->cls == VY_SHARED ? (int64_t)size[0] * size[1] * size[2]
                                                    : VY_ZERO_STEP));
}

// The whole formula.  inside, most: room for each open loop.
static uint32_t total(walk *w, uint32_t *inside, uint32_t *most)
{
    const vy_program *p = w->p;
    const uint32_t one = constant_expr(w, 1);
    uint32_t loops = 0;
    inside[0] = constant_expr(w, 0);
    for (uint32_t id = 1; id < p->insts.count && !w->d.oom; id++) {
        const vy_op op = (vy_op)p->insts.data[id].op;
        if (vy_is_loop(op)) {
            w->open |= op == VY_OP_WHILE;
            most[++loops] = op == VY_OP_LOOP ? trips(w, id) : one;
            inside[loops] = constant_expr(w, 0);
        } else if (op == VY_OP_ENDLOOP) { // and the test that fails
            const uint32_t each = two(w, VY_EXPR_ADD, inside[loops], one);
            const uint32_t all = two(w, VY_EXPR_ADD, two(w, VY_EXPR_MUL, most[loops], each), one);
            loops--;
            inside[loops] = two(w, VY_EXPR_ADD, inside[loops], all);
        } else if (op == VY_OP_ZERO && !loops) {
            inside[0] = two(w, VY_EXPR_ADD, inside[0], zero_iterations(w, p->insts.data[id].aux));
        } else if (w->needed[id]) {
            w->at[id] = value(w, id);
        }
    }
    return inside[0];
}

// Keeps only the nodes that `root` depends on; `root` becomes the last.
static void compact(walk *w, uint32_t root, vy_kernel *k)
{
    const vy_expr *e = w->d.exprs.data;
    uint32_t *to = vy_arena_alloc(w->d.arena, (root + 1) * sizeof *to), count = 0;
    if (!to) {
        w->d.oom = true;
        return;
    }
    to[root] = 1; // the others are 0: not kept
    for (uint32_t i = root + 1; i-- > 0;)
        if (to[i] && e[i].op != VY_EXPR_CONST && e[i].op != VY_EXPR_SYMBOL)
            to[e[i].a] = to[e[i].b] = 1;
    vy_expr *kept = vy_arena_alloc(w->d.arena, (root + 1) * sizeof *kept);
    if (!kept) {
        w->d.oom = true;
        return;
    }
    for (uint32_t i = 0; i <= root; i++) {
        if (!to[i]) continue;
        kept[count] = e[i];
        if (e[i].op != VY_EXPR_CONST && e[i].op != VY_EXPR_SYMBOL) {
            kept[count].a = to[e[i].a];
            kept[count].b = to[e[i].b];
        }
        to[i] = count++;
    }
    k->iterations = kept;
    k->iteration_count = count;
}

static bool has_loops(const vy_program *p)
{
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (vy_is_loop((vy_op)p->insts.data[id].op) || p->insts.data[id].op == VY_OP_ZERO)
            return true;
    return false;
}

void vy_describe_iterations(vy_describe *d, vy_kernel *k)
{
    const vy_program *p = d->p;
    walk w = {.d = *d, .p = p};
    if (d->oom || !has_loops(p)) return;
    w.d.exprs = (vy_expr_vec){0};
    w.d.table = NULL;
    w.d.table_size = 0;
    const size_t n = p->insts.count;
    w.at = vy_arena_alloc(d->arena, n * sizeof *w.at);
    w.needed = vy_arena_alloc(d->arena, n * sizeof *w.needed);
    uint32_t *stack = vy_arena_alloc(d->arena, 2 * (VY_MAX_NESTING + 2) * sizeof *stack);
    w.d.oom = !w.at || !w.needed || !stack;
    for (uint32_t i = 0; i < d->exprs.count && !w.d.oom; i++)
        w.d.oom = !vy_vec_push(&w.d.exprs, d->exprs.data[i]);
    if (!w.d.oom) {
        find_needed(&w);
        const uint32_t root = total(&w, stack, stack + VY_MAX_NESTING + 2);
        if (!w.d.oom) compact(&w, root, k);
        k->iterations_open = w.open;
    }
    d->oom |= w.d.oom;
    vy_vec_free(&w.d.exprs);
    vy_free(w.d.table);
}
