// SPDX-License-Identifier: MIT
// early_sums.c: sums of a gradient are made in an earlier loop over the same range.
//
//   for c in 0..C { v += t(c) * t(c); }              for c in 0..C { v += t(c) * t(c); s += t(c); }
//   let k = f(v);                               →    let k = f(v);
//   for c in rev(0..C) { a -= k * t(c); }            a -= k * s;          // if C > 0
//   for c in rev(0..C) { g[c] += a * t(c); }         for c in rev(0..C) { g[c] += a * t(c); }
//
// The forward sums of a row decide a factor of the reverse ones, which decide what each element
// gets: as written, a walk over the row for each.  A factor that is the same in all iterations may
// multiply the sum instead of each term; what is left often depends on nothing that the earlier
// loop finds, and is summed there.
//
// A loop L gives away all sums that it carries, or none.  If it does nothing else, it is gone.  If
// it adds to gradients, too, it waits for no sum any more, and `fuse_loops` joins it with the loop
// that follows; only then may it stay.  Each sum must be one of a gradient, in which other last
// bits are allowed (sum_order.h), with one term; the term, without its factors, a value that the
// earlier loop can compute: from its counter, what precedes it, and elements of inputs, of which at
// least one buffer is read there already.
//
// Of the earlier loop that is the first for which this holds.  Products of many factors are not
// taken apart, and sums of terms with different factors not split: where they cancel, their sums
// need not.  A sum without its factor overflows where its terms are as large as the greatest number
// over their count; half floats, of which that is soon true, are left alone.  Where no iteration
// runs, a factor may be infinite, so that a product is only added if one does.
//
// Needs valid structure; keeps the order of everything else, lines and names.
#include "ir/pass/sums/early_sums.h"

#include "ir/pass/pass.h"

typedef struct early {
    vy_rewrite w;
    vy_early_sums e;
    uint8_t *made; // by instruction: it was copied into the earlier loop
} early;

// Copies what computes `id` into the body of an earlier loop.
static void compute(early *x, uint32_t loop, uint32_t id)
{
    if (VY_IS_LEAF(id) || id <= loop || x->made[id]) return;
    x->made[id] = 1;
    for (uint32_t k = 0; k < x->w.p->insts.data[id].nargs; k++)
        compute(x, loop, vy_arg(x->w.p, id, k));
    if (!vy_rewrite_stopped(&x->w)) vy_rewrite_moved(&x->w, id, NULL, x->w.map);
}

static uint32_t instead(void *pass, uint32_t id);

static vy_type type_of(const early *x, const vy_early_sum *m)
{
    return (vy_type)x->w.p->insts.data[vy_result(x->w.p, &x->w.s, m->loop, m->slot)].type;
}

// What each slot of the loop adds to zero, in the new program; 0: it does something else.
static void find_terms(const early *x, uint32_t at, uint32_t n, uint32_t *terms)
{
    const vy_program *p = x->w.p;
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t next = vy_slot_next(p, &x->w.s, at, k), carry = vy_carry(at, k);
        if (VY_IS_LEAF(next) || p->insts.data[next].op != VY_OP_ADD) continue;
        if (!vy_is_zero_float(p, vy_slot_init(p, at, k))) continue;
        const uint32_t side = vy_arg(p, next, 0) == carry ? 1 : 0;
        if (vy_arg(p, next, 1 - side) == carry) terms[k] = vy_new_arg(&x->w, next, side);
    }
}

// In the body of the new loop: adds to the sum in a slot of it.  Another slot may have the same.
static void add_up(early *x, vy_remade *l, vy_early_sum *m, uint32_t slot, uint32_t *terms)
{
    vy_rewrite *w = &x->w;
    w->map[m->loop] = w->map[l->opener];
    compute(x, m->loop, m->factor);
    if (vy_rewrite_stopped(w)) return;
    if (!VY_IS_LEAF(m->term)) vy_rewrite_at(w, m->term);
    terms[slot] = vy_new(w, m->factor);
    m->total = 0;
    while (terms[m->total] != terms[slot]) m->total++;
    l->in[slot] = vy_add(w->b, (vy_value){l->out[slot]}, (vy_value){terms[slot]}).id;
}

static void name(early *x, const vy_early_sum *m, uint32_t id)
{
    if (!m->scaled) vy_pass_name(x->w.b, x->w.p, vy_carry(m->loop, m->slot), id);
}

static uint32_t rebuild(early *x, uint32_t at)
{
    vy_rewrite *w = &x->w;
    vy_remade l;
    uint32_t n = 0;
    for (uint32_t k = x->e.to[at]; k; k = x->e.sums.data[k - 1].next) n++;
    if (!vy_remake(w, &l, at, n)) return at;
    uint32_t *terms = vy_rewrite_table(w, l.total * sizeof *terms);
    if (!terms) return at;
    for (uint32_t k = x->e.to[at], i = l.own; k; k = x->e.sums.data[k - 1].next, i++)
        l.in[i] = vy_zero(w->b, type_of(x, &x->e.sums.data[k - 1])).id;
    vy_remake_begin(w, &l);
    vy_remake_body(w, &l, instead, x);
    if (vy_rewrite_stopped(w)) return at;
    find_terms(x, at, l.own, terms);
    for (uint32_t k = x->e.to[at], i = l.own; k; k = x->e.sums.data[k - 1].next, i++) {
        name(x, &x->e.sums.data[k - 1], l.out[i]);
        add_up(x, &l, &x->e.sums.data[k - 1], i, terms);
        if (vy_rewrite_stopped(w)) return at;
    }
    vy_remake_next(w, &l);
    vy_remake_end(w, &l);
    if (vy_rewrite_stopped(w)) return at;
    for (uint32_t k = x->e.to[at]; k; k = x->e.sums.data[k - 1].next) {
        vy_early_sum *m = &x->e.sums.data[k - 1];
        const bool own = m->total < l.own;
        m->total = l.out[m->total];
        if (!own) name(x, m, m->total);
    }
    return vy_remake_last(w, &l);
}

// The sum of all that `id` is, from that of the factor.  Recursion is as deep as there are factors.
static vy_value scaled(early *x, const vy_early_sum *m, uint32_t id)
{
    const vy_program *p = x->w.p;
    vy_builder *b = x->w.b;
    if (id == m->factor) return (vy_value){m->total};
    const uint32_t k = (uint32_t)vy_early_operand(p, m->loop, id);
    const vy_value v = scaled(x, m, vy_arg(p, id, k));
    if (vy_rewrite_stopped(&x->w)) return v;
    vy_rewrite_at(&x->w, id);
    const vy_value zero = vy_zero(b, (vy_type)p->insts.data[id].type);
    const vy_value first = {k ? vy_new_arg(&x->w, id, 0) : 0};
    switch (p->insts.data[id].op) {
    case VY_OP_NEG: return vy_neg(b, v);
    case VY_OP_ADD: return vy_add(b, v, v);
    case VY_OP_MUL: return vy_mul(b, k ? first : (vy_value){vy_new_arg(&x->w, id, 1)}, v);
    case VY_OP_DIV: return vy_div(b, v, (vy_value){vy_new_arg(&x->w, id, 1)});
    default: return k == 1 ? vy_select(b, first, v, zero) : vy_select(b, first, zero, v);
    }
}

// The sum `v` of what a loop added to slot m->slot, and what that began with.
static vy_value begun(early *x, const vy_early_sum *m, vy_value v)
{
    vy_builder *b = x->w.b;
    const uint32_t first = vy_slot_init(x->w.p, m->loop, m->slot);
    const vy_value initial = {vy_new(&x->w, first)};
    if (vy_is_zero_float(x->w.p, first)) {
        v = m->minus ? vy_neg(b, v) : v;
    } else {
        v = m->minus ? vy_sub(b, initial, v) : vy_add(b, initial, v);
    }
    return m->scaled ? vy_select(b, vy_new_runs(&x->w, m->loop), v, initial) : v;
}

// After the results of a loop that gave its sums away.
static void replace(early *x, uint32_t loop)
{
    vy_rewrite *w = &x->w;
    const uint32_t n = vy_slot_count(w->p, &w->s, loop), first = x->e.from[loop] - 1;
    for (uint32_t k = 0; k < n && !vy_rewrite_stopped(w); k++) {
        const vy_early_sum *m = &x->e.sums.data[first + k];
        const vy_value v = begun(x, m, scaled(x, m, m->term));
        const uint32_t result = vy_result(w->p, &w->s, loop, k);
        if (m->scaled)
            vy_rewrite_as(w, result, v.id);
        else
            w->map[result] = v.id; // has a name
    }
}

static uint32_t instead(void *pass, uint32_t id)
{
    early *x = pass;
    if (x->e.to[id]) return rebuild(x, id);
    const uint32_t loop = vy_rewrite_ended(&x->w, id);
    if (!loop || !x->e.from[loop]) return 0;
    vy_rewrite_copy(&x->w, id);
    replace(x, loop);
    return id;
}

bool vy_pass_early_sums(vy_program *p, vy_pass_context *c)
{
    if (p->exact || !(vy_constructs(p) & VY_LOOPS)) return true;
    early x = {0};
    bool ok = vy_rewrite_begin(&x.w, p) && (x.made = vy_rewrite_bytes(&x.w)) &&
              vy_find_early_sums(&x.w, &x.e);
    if (ok && x.e.sums.count) vy_rewrite_run(&x.w, instead, &x);
    vy_vec_free(&x.e.sums);
    return vy_rewrite_end(&x.w, ok, &c->changed);
}
