// SPDX-License-Identifier: MIT
// homogeneity.c: degrees of homogeneity in the exponential of a running maximum.
//
//   t = max(m, s)                    m: old 1      t: now 1           (terms: x − …)
//   shrink = exp(m − t)              old −1, now 1                    (factors: x · e^…)
//   p = exp(s − t)                   now 1
//   l' = l · shrink + p              now 1 if l has old 1
//
// Substituting M for m and t changes every factor by the factor e^(old (m − M) + now (t − M)), and
// every term by that exponent.  Sums need equal degrees, products add them, exp and log convert one
// kind into the other.  A value carried to the next iteration with now = n has old = n there, since
// t is then called m.  Carried values start as UNSEEN and take the degree of what is added to them
// first.  Comparisons of values that change are NONE: rounding may change their outcome.
//
// Passes over the body in program order end with a fixpoint or give up.  This is no fact for
// ir/core/dataflow.h: what arrays hold is collected in program order, and degrees do not only
// descend (exp x has another one when x, at first 0, turns out to be a term).
#include "autodiff/facts/degree.h"
#include "ir/core/flow.h"

enum { MOST_ROUNDS = 24, MOST_DEGREE = 1000 };

static const vy_degree unseen = {.kind = VY_DEGREE_UNSEEN}, none = {.kind = VY_DEGREE_NONE};
static const vy_degree zero = {.kind = VY_DEGREE_ZERO}, fixed = {.kind = VY_DEGREE_FACTOR};

bool vy_degree_same(vy_degree x, vy_degree y)
{
    return x.kind == y.kind && x.base == y.base && x.old == y.old && x.now == y.now &&
           x.scale == y.scale;
}

static vy_degree tidy(vy_degree d)
{
    if (d.old > MOST_DEGREE || d.old < -MOST_DEGREE || d.now > MOST_DEGREE || d.now < -MOST_DEGREE)
        return none;
    return d.kind <= VY_DEGREE_TERM && d.kind >= VY_DEGREE_FACTOR && !d.old && !d.now ? fixed : d;
}

vy_degree vy_degree_join(vy_degree x, vy_degree y)
{
    if (x.kind == VY_DEGREE_UNSEEN) return y;
    if (y.kind == VY_DEGREE_UNSEEN || y.kind == VY_DEGREE_ZERO) return x;
    if (x.kind == VY_DEGREE_ZERO) return y;
    return vy_degree_same(x, y) ? x : none;
}

static vy_degree of(const vy_degrees *d, uint32_t id)
{
    if (VY_IS_LEAF(id)) {
        const vy_scalar *k = vy_id_const(d->p, id);
        bool null = k && vy_type_is_float(vy_id_type(d->p, id)) && k->f == 0;
        return null ? zero : fixed;
    }
    return d->at[id];
}

static vy_degree arg(const vy_degrees *d, uint32_t id, uint32_t k)
{
    return of(d, vy_arg(d->p, id, k));
}

// -------------------------------------------------------------------------------------- operations
// Adds `sign` times the degree of y to that of x.
static vy_degree combine(vy_degree x, vy_degree y, int sign)
{
    vy_degree r = x.old || x.now ? x : y;
    bool alike = x.base == y.base && x.scale == y.scale;
    if ((x.old || x.now) && (y.old || y.now) && !alike) return none;
    r.old = (int16_t)(x.old + sign * y.old);
    r.now = (int16_t)(x.now + sign * y.now);
    return tidy(r);
}

static vy_degree sum(vy_degree x, vy_degree y, int sign)
{
    bool term_x = x.kind == VY_DEGREE_TERM, term_y = y.kind == VY_DEGREE_TERM;
    if (x.kind == VY_DEGREE_NONE || y.kind == VY_DEGREE_NONE) return none;
    if (!term_x && !term_y) return vy_degree_join(x, y);
    // An unseen operand may become a term or stay as it is: wait for it.
    if (x.kind == VY_DEGREE_UNSEEN || y.kind == VY_DEGREE_UNSEEN) return unseen;
    if ((!term_x && !vy_degree_stays(x)) || (!term_y && !vy_degree_stays(y))) return none;
    if (x.kind == VY_DEGREE_ZERO) x = fixed;
    if (y.kind == VY_DEGREE_ZERO) y = fixed;
    return combine(x, y, sign);
}

// c · term, for a loop-invariant c
static vy_degree scaled(const vy_degrees *d, vy_degree term, uint32_t c)
{
    if (term.scale || (!VY_IS_LEAF(c) && c > d->loop)) return none;
    term.scale = c;
    return term;
}

static vy_degree product(const vy_degrees *d, uint32_t id_x, uint32_t id_y, int sign)
{
    vy_degree x = of(d, id_x), y = of(d, id_y);
    if (x.kind == VY_DEGREE_NONE || y.kind == VY_DEGREE_NONE) return none;
    if (x.kind == VY_DEGREE_UNSEEN || y.kind == VY_DEGREE_UNSEEN) return unseen;
    if (x.kind == VY_DEGREE_ZERO) return zero;
    if (y.kind == VY_DEGREE_ZERO) return sign > 0 ? zero : none;
    if (x.kind == VY_DEGREE_FACTOR && y.kind == VY_DEGREE_FACTOR) return combine(x, y, sign);
    if (sign < 0) return none;
    if (x.kind == VY_DEGREE_TERM && vy_degree_stays(y)) return scaled(d, x, id_y);
    if (y.kind == VY_DEGREE_TERM && vy_degree_stays(x)) return scaled(d, y, id_x);
    return none;
}

// exp and log, in base e or 2
static vy_degree converted(vy_degree x, vy_op op)
{
    bool raises = op == VY_OP_EXP || op == VY_OP_EXP2;
    uint8_t base = op == VY_OP_EXP || op == VY_OP_LOG ? VY_OP_EXP : VY_OP_EXP2;
    if (x.kind == VY_DEGREE_UNSEEN) return unseen;
    if (vy_degree_stays(x)) return fixed;
    if (x.kind != (raises ? VY_DEGREE_TERM : VY_DEGREE_FACTOR)) return none;
    if (!raises && x.base != base) return none;
    vy_degree r = {.kind = raises ? VY_DEGREE_FACTOR : VY_DEGREE_TERM,
                   .base = raises ? base : 0,
                   .old = (int16_t)-x.old,
                   .now = (int16_t)-x.now,
                   .scale = x.scale};
    return r;
}

static vy_degree negated(vy_degree x)
{
    if (x.kind == VY_DEGREE_TERM) x.old = (int16_t)-x.old, x.now = (int16_t)-x.now;
    return x;
}

// Every other operation: its operands must stay.
static vy_degree plain(const vy_degrees *d, uint32_t id, uint32_t count)
{
    bool waits = false;
    for (uint32_t k = 0; k < count; k++) {
        vy_degree x = arg(d, id, k);
        if (x.kind == VY_DEGREE_UNSEEN)
            waits = true;
        else if (!vy_degree_stays(x))
            return none;
    }
    return waits ? unseen : fixed;
}

static vy_degree chosen(vy_degree condition, vy_degree x, vy_degree y)
{
    if (condition.kind == VY_DEGREE_UNSEEN) return unseen;
    return vy_degree_stays(condition) ? vy_degree_join(x, y) : none;
}

static vy_degree operation(const vy_degrees *d, uint32_t id)
{
    const vy_inst *i = &d->p->insts.data[id];
    const uint32_t *a = vy_args(d->p, id);
    bool real = vy_type_is_float((vy_type)i->type);
    if (!real) return plain(d, id, i->nargs);
    switch (i->op) {
    case VY_OP_ADD: return sum(of(d, a[0]), of(d, a[1]), 1);
    case VY_OP_SUB: return sum(of(d, a[0]), of(d, a[1]), -1);
    case VY_OP_NEG: return negated(of(d, a[0]));
    case VY_OP_MUL: return product(d, a[0], a[1], 1);
    case VY_OP_DIV: return product(d, a[0], a[1], -1);
    case VY_OP_FMA: return sum(product(d, a[0], a[1], 1), of(d, a[2]), 1);
    case VY_OP_EXP:
    case VY_OP_EXP2:
    case VY_OP_LOG:
    case VY_OP_LOG2: return converted(of(d, a[0]), (vy_op)i->op);
    case VY_OP_SELECT: return chosen(of(d, a[0]), of(d, a[1]), of(d, a[2]));
    case VY_OP_CAST:
        if (vy_type_is_float(vy_id_type(d->p, a[0]))) return of(d, a[0]);
        return plain(d, id, 1);
    default: return plain(d, id, i->nargs);
    }
}

// ------------------------------------------------------------------------------ control and memory
// The degree of what decides whether and how often the construct runs its body.
static vy_degree control(const vy_degrees *d, uint32_t opener)
{
    const vy_inst *i = &d->p->insts.data[opener];
    if (i->op != VY_OP_IF && i->op != VY_OP_LOOP) return none;
    vy_degree first = plain(d, opener, vy_control_args(d->p, d->s, opener));
    if (!vy_exits(d->p, opener) || !vy_degree_stays(first)) return first;
    uint32_t end = vy_closer(d->p, d->s, opener);
    return plain(d, end, vy_control_args(d->p, d->s, end));
}

static bool steady(const vy_degrees *d, uint32_t id)
{
    for (uint32_t up = d->s->parent[id]; up > d->loop; up = d->s->parent[up])
        if (!vy_degree_stays(control(d, up))) return false;
    return true;
}

// After an `if` one of whose arms finds the new maximum: in the other t is m, so only old + now
// matters.
static vy_degree join_arms(vy_degree with, vy_degree without)
{
    int total = with.old + with.now;
    if (with.kind == VY_DEGREE_NONE || without.kind == VY_DEGREE_NONE) return none;
    if (with.kind == VY_DEGREE_UNSEEN || without.kind == VY_DEGREE_UNSEEN ||
        without.kind == VY_DEGREE_ZERO)
        return vy_degree_join(with, without);
    if (with.kind == VY_DEGREE_ZERO) {
        without.now = (int16_t)(without.old + without.now);
        without.old = 0;
        return tidy(without);
    }
    if (total != without.old + without.now) return none;
    bool alike =
        with.kind == without.kind && with.base == without.base && with.scale == without.scale;
    return total == 0 || alike ? with : none;
}

static vy_degree slot(const vy_degrees *d, uint32_t id)
{
    const vy_program *p = d->p;
    uint32_t opener = vy_opener(p, d->s, id), sources[3];
    uint32_t n = vy_slot_sources(p, d->s, id, sources);
    vy_op op = (vy_op)p->insts.data[opener].op;
    vy_degree x = of(d, sources[0]), y = of(d, sources[n - 1]);
    if (op == VY_OP_IF) {
        vy_degree c = control(d, opener);
        if (c.kind == VY_DEGREE_UNSEEN) return unseen;
        if (!vy_degree_stays(c)) return none;
        uint8_t arm = d->behind ? 0 : d->chain[opener];
        return arm == 1 ? join_arms(x, y) : arm == 2 ? join_arms(y, x) : vy_degree_join(x, y);
    }
    if (op == VY_OP_CHECKPOINT) return y;
    if (op != VY_OP_LOOP) return none;
    vy_degree c = control(d, opener);
    if (c.kind == VY_DEGREE_UNSEEN) return unseen;
    if (!vy_degree_stays(c)) return none;
    return vy_degree_join(x, y);
}

// Carried to the next iteration: what was `now` is `old`.
static vy_degree carried_over(vy_degree d)
{
    if (d.kind >= VY_DEGREE_TERM || d.old) return none;
    d.old = d.now;
    d.now = 0;
    return d;
}

static vy_degree load(const vy_degrees *d, uint32_t id)
{
    const vy_inst *i = &d->p->insts.data[id];
    vy_degree index = plain(d, id, i->nargs), held = d->held[i->aux];
    uint32_t update = d->update[id];
    if (!vy_degree_stays(index)) return index;
    if (d->behind) return d->role[i->aux] == VY_ARRAY_SUM ? held : fixed;
    switch (d->role[i->aux]) {
    case VY_ARRAY_FIXED: return fixed;
    case VY_ARRAY_SCRATCH: return held;
    case VY_ARRAY_SUM:
        if (!update) return none;
        if (update < id && held.kind == VY_DEGREE_FACTOR) held.now = held.old, held.old = 0;
        return held;
    default: return none;
    }
}

static void store(vy_degrees *d, uint32_t id)
{
    const vy_inst *i = &d->p->insts.data[id];
    vy_degree *held = &d->held[i->aux];
    if (i->op != VY_OP_STORE) return;
    vy_degree value = arg(d, id, i->nargs - 1);
    if (!vy_degree_stays(plain(d, id, i->nargs - 1)) || !steady(d, id))
        *held = none;
    else if (d->role[i->aux] == VY_ARRAY_SUM)
        *held = vy_degree_join(*held, carried_over(value));
    else
        *held = vy_degree_join(*held, value);
}

static vy_degree carried(const vy_degrees *d, uint32_t id)
{
    if (id == d->reference) return (vy_degree){.kind = VY_DEGREE_TERM, .old = 1};
    return carried_over(of(d, vy_slot_next(d->p, d->s, d->loop, d->p->insts.data[id].aux)));
}

static vy_degree degree_of(const vy_degrees *d, uint32_t id)
{
    const vy_inst *i = &d->p->insts.data[id];
    if (!d->behind && d->chain[id] && i->type != VY_VOID)
        return (vy_degree){.kind = VY_DEGREE_TERM, .now = 1};
    if (i->op == VY_OP_CARRY && vy_arg(d->p, id, 0) == d->loop) return carried(d, id);
    if (i->op == VY_OP_CARRY || i->op == VY_OP_RESULT) return slot(d, id);
    if (i->op == VY_OP_LOOP) return plain(d, id, vy_value_args(d->p, id));
    if (i->op == VY_OP_LOAD) return load(d, id);
    if (vy_op_infos[i->op].effect != VY_PURE) return none;
    return operation(d, id);
}

bool vy_degrees_body(vy_degrees *d)
{
    uint32_t end = d->s->partner[d->loop];
    d->at[d->loop] = fixed;
    for (uint32_t id = d->loop + 1; id < end; id++) d->at[id] = unseen;
    for (uint32_t round = 0; round < MOST_ROUNDS; round++) {
        bool changed = false;
        for (uint32_t id = d->loop + 1; id < end; id++) {
            vy_degree now = degree_of(d, id);
            uint32_t aux = d->p->insts.data[id].aux;
            bool writes = vy_op_infos[d->p->insts.data[id].op].effect == VY_WRITE;
            vy_degree held = writes ? d->held[aux] : none;
            if (writes) store(d, id);
            changed |= !vy_degree_same(now, d->at[id]);
            changed |= writes && !vy_degree_same(held, d->held[aux]);
            d->at[id] = now;
        }
        if (!changed) return true;
    }
    return false;
}

// ---------------------------------------------------------------------------------- after the loop
// The end of the region that the loop is in.
static uint32_t region_end(const vy_degrees *d)
{
    uint32_t up = d->s->parent[d->loop];
    if (!up) return d->p->insts.count;
    uint32_t end = d->s->partner[up];
    return end > d->loop ? end : d->s->partner[end]; // the second arm of an `if`
}

// Do the operands stay that are stored, are indices or decide control flow?
static bool lasting(const vy_degrees *d, uint32_t id)
{
    const vy_inst *i = &d->p->insts.data[id];
    vy_effect effect = vy_op_infos[i->op].effect;
    uint32_t last = vy_control_args(d->p, d->s, id);
    if (effect == VY_WRITE || effect == VY_CONV) last = i->nargs;
    if (i->op == VY_OP_STORE && d->role[i->aux] == VY_ARRAY_SUM) {
        // What is stored to an element of a sum must have the degree of the others.
        vy_degree value = arg(d, id, last - 1);
        if (!vy_degree_same(vy_degree_join(value, d->held[i->aux]), d->held[i->aux])) return false;
        last--;
    }
    for (uint32_t k = 0; k < last; k++)
        if (!vy_degree_stays(arg(d, id, k))) return false;
    return true;
}

static bool settle(vy_degrees *d, uint32_t first, uint32_t last)
{
    for (uint32_t id = first; id < last; id++) d->at[id] = unseen;
    for (uint32_t round = 0; round < MOST_ROUNDS; round++) {
        bool changed = false;
        for (uint32_t id = first; id < last; id++) {
            vy_degree now = degree_of(d, id);
            changed |= !vy_degree_same(now, d->at[id]);
            d->at[id] = now;
        }
        if (!changed) return true;
    }
    return false;
}

bool vy_degrees_cancel(vy_degrees *d)
{
    const vy_program *p = d->p;
    uint32_t first = d->s->partner[d->loop] + 1, last = region_end(d);
    while (first < last && p->insts.data[first].op == VY_OP_RESULT &&
           vy_arg(p, first, 0) == d->s->partner[d->loop])
        first++;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        bool sum = vy_op_is_memory((vy_op)i->op) && d->role[i->aux] == VY_ARRAY_SUM;
        if (sum && i->op != VY_OP_ZERO && (id < d->loop || id >= last)) return false;
    }
    d->behind = true;
    if (!settle(d, first, last)) return false;
    for (uint32_t id = first; id < last; id++)
        if (!lasting(d, id)) return false;
    // What leaves the region: the next iteration of an enclosing loop knows nothing of degrees.
    return last == p->insts.count || vy_degree_stays(plain(d, last, p->insts.data[last].nargs));
}
