// SPDX-License-Identifier: MIT
// race_owner.c: does one invocation own the element of `y[i] += e`?
//
//   y[i] y[2*i] y[N - 1 - i]             one variable, and what is the same in all invocations
//   y[i*M + j] y[i*3 + k] y[N + i]       digits: i, and below it j < M, k from 0 to 2, i < N
//   if j == 0 { y[i] += … }              a condition that holds for one value of j only
//
// An access has *marks*: equal elements have equal marks, and a mark separates the invocations that
// differ in its variables (they have different marks), whatever the iterations of loops.  Several
// accesses belong to one invocation as far as they have marks in common: those of y[4*i] += … and
// y[4*i + 1] += … do (the digit above 4), those of y[i] and y[i + 1] do not.
#include "ir/check/race.h"

enum { DEEP = 40, MOST_COMPARED = 64 };

static const vy_inst *inst(const vy_races *r, uint32_t id)
{
    return VY_IS_LEAF(id) ? NULL : &r->p->insts.data[id];
}

static bool is_over(const vy_races *r, uint32_t id, uint32_t *v)
{
    const vy_leaf *l = VY_IS_LEAF(id) ? &r->p->leaves.data[VY_LEAF_INDEX(id)] : NULL;
    if (!l || l->kind != VY_LEAF_OVER) return false;
    *v = l->index;
    return *v < 29;
}

// Is it made of constants and parameters alone, hence the same in all invocations and iterations?
static bool is_steady(const vy_races *r, uint32_t id, int depth)
{
    const vy_inst *i = inst(r, id);
    if (vy_race_on(r, id) != 0 || depth > DEEP) return false;
    if (!i) return true;
    if (i->nargs > 2 || vy_op_infos[i->op].effect != VY_PURE) return false;
    for (uint32_t k = 0; k < i->nargs; k++)
        if (!is_steady(r, vy_arg(r->p, id, k), i->nargs > 1 ? depth + 8 : depth + 1)) return false;
    return true;
}

// Are a and b equal wherever both are defined? `left` bounds the work.
static bool equal(const vy_races *r, uint32_t a, uint32_t b, int *left)
{
    if (a == b) return true;
    const vy_inst *i = inst(r, a), *j = inst(r, b);
    if (!i || !j || --*left < 0 || i->op != j->op || i->type != j->type || i->aux != j->aux ||
        i->nargs != j->nargs || vy_op_infos[i->op].effect != VY_PURE)
        return false;
    for (uint32_t k = 0; k < i->nargs; k++)
        if (!equal(r, vy_arg(r->p, a, k), vy_arg(r->p, b, k), left)) return false;
    return true;
}

static bool is_equal(const vy_races *r, uint32_t a, uint32_t b)
{
    int left = MOST_COMPARED;
    return equal(r, a, b, &left);
}

// ------------------------------------------------------------------------------------------ digits
// Is dimension d surely at most `id`?
static bool covers(const vy_races *r, uint32_t id, vy_dim d)
{
    const vy_dim_node *n = &r->p->dims.data[d.id];
    const vy_scalar *k = vy_id_const(r->p, id);
    if (k) return n->op == VY_DIM_CONST && k->i >= n->value;
    const vy_leaf *l = VY_IS_LEAF(id) ? &r->p->leaves.data[VY_LEAF_INDEX(id)] : NULL;
    return l && l->kind == VY_LEAF_SCALAR && n->op == VY_DIM_SCALAR &&
           (int64_t)l->index == n->value;
}

// An upper bound of a value that is surely not negative; −1: not known.
static int64_t largest(const vy_races *r, uint32_t id, int depth)
{
    uint32_t v;
    const int64_t most = UINT32_MAX;
    const vy_scalar *k = vy_id_const(r->p, id);
    if (k) return k->i <= most ? k->i : -1;
    if (is_over(r, id, &v)) {
        const vy_dim_node *n = &r->p->dims.data[r->p->overs.data[v].extent.id];
        return n->op == VY_DIM_CONST && n->value > 0 && n->value <= most ? n->value - 1 : -1;
    }
    const vy_inst *i = inst(r, id);
    if (!i || depth > 8 || (i->op != VY_OP_LOOP && i->op != VY_OP_MUL)) return -1;
    const int64_t a = largest(r, vy_arg(r->p, id, 0), depth + 1),
                  b = largest(r, vy_arg(r->p, id, 1), depth + 1);
    if (a < 0 || b < 0) return -1;
    if (i->op == VY_OP_LOOP) return b ? b - 1 : 0;
    return !b || a <= most / b ? a * b : -1;
}

// Is 0 ≤ `id` < `extent` (which may be a parameter): is it a domain variable or the variable of a
// loop?
static bool is_digit(const vy_races *r, uint32_t id, uint32_t extent)
{
    uint32_t v;
    if (is_over(r, id, &v)) return covers(r, extent, r->p->overs.data[v].extent);
    const vy_inst *i = inst(r, id);
    const vy_scalar *from =
        i && i->op == VY_OP_LOOP ? vy_id_const(r->p, vy_arg(r->p, id, 0)) : NULL;
    return from && from->i >= 0 && vy_arg(r->p, id, 1) == extent;
}

enum { MOST_TERMS = 8 };

// The terms of a sum; 0: too many.
static uint32_t terms_of(const vy_races *r, uint32_t id, uint32_t *terms)
{
    uint32_t stack[MOST_TERMS] = {id}, waiting = 1, n = 0;
    while (waiting) {
        const uint32_t t = stack[--waiting];
        const vy_inst *i = inst(r, t);
        if (n + waiting + 2 > MOST_TERMS) return 0;
        if (i && i->op == VY_OP_ADD) {
            stack[waiting++] = vy_arg(r->p, t, 0);
            stack[waiting++] = vy_arg(r->p, t, 1);
        } else {
            terms[n++] = t;
        }
    }
    return n;
}

typedef struct digits {
    uint32_t high;   // 0: a constant
    uint32_t low;    // 0: several terms, or none
    uint32_t extent; // the value is high·extent + r, 0 ≤ r < extent
} digits;

// Takes term `t` as high·extent, in one of three ways, and the sum of the others as what is below
// extent.  False: it is not.
static bool as_digits(const vy_races *r, const uint32_t *terms, uint32_t n, uint32_t t,
                      uint32_t way, digits *d)
{
    const vy_inst *i = inst(r, terms[t]);
    const bool product = i && i->op == VY_OP_MUL;
    if (way < 2 && !product) return false;
    *d = (digits){.extent = way == 2 ? terms[t] : vy_arg(r->p, terms[t], way)};
    if (way < 2) d->high = vy_arg(r->p, terms[t], 1 - way);
    if (!is_steady(r, d->extent, 0)) return false;
    if (n == 2) d->low = terms[1 - t];
    if (d->low && is_digit(r, d->low, d->extent)) return true;
    const vy_scalar *e = vy_id_const(r->p, d->extent);
    int64_t sum = 0;
    for (uint32_t k = 0; e && k < n; k++) {
        const int64_t x = k == t ? 0 : largest(r, terms[k], 0);
        if (x < 0) return false;
        sum += x;
    }
    return e && sum < e->i;
}

// The variables that a value separates: invocations that differ in them have different values,
// whatever their iterations.
static uint32_t separated(const vy_races *r, uint32_t id, int depth)
{
    uint32_t v, vars = 0, terms[MOST_TERMS], steady = 0, other = 0;
    const vy_inst *i = inst(r, id);
    if (is_over(r, id, &v)) return 1u << v;
    if (!i || depth > DEEP) return 0;
    if (i->op == VY_OP_CAST) { // not to a narrower type
        const vy_type from = vy_id_type(r->p, vy_arg(r->p, id, 0)), to = (vy_type)i->type;
        const bool all = vy_type_is_integer(to) && vy_type_is_integer(from) &&
                         vy_type_size(to) >= vy_type_size(from);
        return all ? separated(r, vy_arg(r->p, id, 0), depth + 1) : 0;
    }
    if (i->op == VY_OP_SUB) {
        const uint32_t a = vy_arg(r->p, id, 0), b = vy_arg(r->p, id, 1);
        if (is_steady(r, b, 0)) return separated(r, a, depth + 1);
        return is_steady(r, a, 0) ? separated(r, b, depth + 1) : 0;
    }
    if (i->op != VY_OP_ADD && i->op != VY_OP_MUL) return 0;
    const uint32_t n = terms_of(r, id, terms);
    for (uint32_t t = 0; t < n; t++) {
        digits d;
        for (uint32_t way = 0; way < 3; way++) {
            if (!as_digits(r, terms, n, t, way, &d)) continue;
            if (d.high) vars |= separated(r, d.high, depth + 8);
            if (d.low) vars |= separated(r, d.low, depth + 8);
        }
        steady += is_steady(r, terms[t], 0);
        if (!is_steady(r, terms[t], 0)) other = terms[t];
    }
    return n > 1 && steady == n - 1 ? vars | separated(r, other, depth + 8) : vars;
}

// ------------------------------------------------------------------------------------------- marks
static void add_mark(vy_owner *o, int kind, uint32_t axis, uint32_t value, uint32_t extent,
                     uint32_t vars)
{
    if (!vars || o->count == sizeof o->marks / sizeof *o->marks) return;
    struct vy_owner_mark *m = &o->marks[o->count++];
    m->kind = kind;
    m->axis = axis, m->value = value, m->extent = extent, m->vars = vars;
}

// Is `extent` a multiple of the extent of variable v?
static bool is_multiple(const vy_races *r, uint32_t extent, uint32_t v)
{
    const vy_dim_node *n = &r->p->dims.data[r->p->overs.data[v].extent.id];
    const vy_scalar *k = vy_id_const(r->p, extent);
    if (k) return n->op == VY_DIM_CONST && n->value > 0 && k->i % n->value == 0;
    return covers(r, extent, r->p->overs.data[v].extent);
}

// A low digit with extent 0 has the extent of its variable.
static void mark_axis(const vy_races *r, vy_owner *o, uint32_t axis, uint32_t id)
{
    uint32_t v, terms[MOST_TERMS];
    add_mark(o, VY_OWNER_SAME, axis, id, 0, separated(r, id, 0));
    if (is_over(r, id, &v)) add_mark(o, VY_OWNER_LOW, axis, id, 0, 1u << v);
    const uint32_t n = terms_of(r, id, terms);
    for (uint32_t t = 0; t < n; t++)
        for (uint32_t way = 0; way < 3; way++) {
            digits d;
            if (!as_digits(r, terms, n, t, way, &d)) continue;
            if (d.high) add_mark(o, VY_OWNER_HIGH, axis, d.high, d.extent, separated(r, d.high, 0));
            if (d.low && is_over(r, d.low, &v))
                add_mark(o, VY_OWNER_LOW, axis, d.low, is_multiple(r, d.extent, v) ? 0 : d.extent,
                         1u << v);
        }
}

// The variables for which a condition holds for one value only: `j == 0 && …`.
static uint32_t pinned(const vy_races *r, uint32_t condition)
{
    uint32_t vars = 0, stack[16] = {condition}, n = 1;
    while (n) {
        const uint32_t c = stack[--n];
        const vy_inst *i = inst(r, c);
        if (i && i->op == VY_OP_AND && n + 2 <= 16) {
            stack[n++] = vy_arg(r->p, c, 0);
            stack[n++] = vy_arg(r->p, c, 1);
        }
        if (!i || i->op != VY_OP_EQ) continue;
        for (uint32_t k = 0; k < 2; k++)
            if (is_steady(r, vy_arg(r->p, c, 1 - k), 0))
                vars |= separated(r, vy_arg(r->p, c, k), 0);
    }
    return vars;
}

static void mark_arms(const vy_races *r, vy_owner *o, uint32_t id)
{
    uint32_t inside = id;
    for (uint32_t up = r->s->parent[id]; up; inside = up, up = r->s->parent[up])
        if (r->p->insts.data[up].op == VY_OP_IF && vy_in_then(r->s, up, inside))
            add_mark(o, VY_OWNER_ARM, 0, up, 0, pinned(r, vy_arg(r->p, up, 0)));
}

void vy_owner_begin(const vy_races *r, vy_owner *o, uint32_t access)
{
    const uint32_t rank = r->p->buffers.data[r->p->insts.data[access].aux].rank;
    o->access = access;
    o->count = 0;
    for (uint32_t k = 0; k < rank; k++) mark_axis(r, o, k, vy_arg(r->p, access, k));
    mark_arms(r, o, access);
}

static bool has(const vy_races *r, const vy_owner *o, const struct vy_owner_mark *m)
{
    for (uint32_t k = 0; k < o->count; k++) {
        const struct vy_owner_mark *x = &o->marks[k];
        if (x->kind == m->kind && x->axis == m->axis && is_equal(r, x->value, m->value) &&
            (x->extent == m->extent || is_equal(r, x->extent, m->extent)))
            return true;
    }
    return false;
}

void vy_owner_intersect(const vy_races *r, vy_owner *o, uint32_t access)
{
    vy_owner other;
    uint32_t kept = 0;
    vy_owner_begin(r, &other, access);
    for (uint32_t k = 0; k < o->count; k++)
        if (has(r, &other, &o->marks[k])) o->marks[kept++] = o->marks[k];
    o->count = kept;
    o->access = access;
}

uint32_t vy_owner_shared(const vy_races *r, const vy_owner *o)
{
    uint32_t vars = 0;
    for (uint32_t k = 0; k < o->count; k++) vars |= o->marks[k].vars;
    return r->all & ~vars;
}
