// SPDX-License-Identifier: MIT
// online_sums.c: a maximum, and sums of exponentials relative to it, in one walk.
//
//   for c in 0..C { top = max(top, x[c]); }     for c in 0..C {
//   for c in 0..C {                                 let d = x[c] - base; let up = d > 1.0;
//       let e = exp(x[c] - top);                    let e = exp(select(up, -d, d));
//       s += e;                              →      let old = select(up, e, 1.0);
//       a += e * g[c];                              s = s * old + select(up, 1.0, e);
//   }                                               a = a * old + select(up, 1.0, e) * g[c];
//                                                   base = select(up, x[c], base);
//                                                   top = max(top, x[c]);
//                                               }
//                                               let shift = exp(base - top);  // if C > 0, else 1
//                                               s *= shift; a *= shift;
//
// Gradients of softmax, of the logarithm of a sum of exponentials and of mixtures walk over x for
// the largest, and once more for sums.  On a driver for CPUs, which loads lane by lane, the first
// walk costs as much as the exponential does; where x is computed (gmm: a quadratic form), it is
// computed twice.  The sums are made relative to a base that follows the maximum, at a distance of
// at most 1, so that there is one exponential for each iteration as before: with a new base it is
// the factor of what was summed, else that of the term.
//
// The numbers are those of two walks, but for last bits: `top` is computed as before, and the sums
// are adjoints, or the sum of the exponentials itself, which may also be a divisor (it is at least
// 1, in either form), if all of that ends in gradients (sum_order.h).  That the base follows at a
// distance is for accuracy: a factor less than 1/e rounds what it multiplies, so that of n of them
// all but the last are worth nothing, whereas a base that rose by a little in each iteration would
// multiply by a number near 1 that is rounded the same way each time.
//
// Where x is -inf, its term is 0, since the base begins as the least finite number; where all are,
// or one is inf, base - top is nan or inf times a sum of zero, so that the sums are nan as before.
// Terms may be e times as large as those relative to the maximum: sums overflow where those were
// within that of the greatest number; and where g is as large as the greatest number over the count
// of terms, before the factor of a later base would have made them small.  Halves are left alone.
//
// What the loop keeps of the exponential on a tape (gmm) is x itself, and what is loaded from there
// takes the exponential then, the same number; see online_sums_find.c.
//
// Runs only for programs that a CPU is to run and that are not differentiated again: nothing would
// be left of the form that has a short derivative.  Not with `--precise`.  Needs valid structure.
#include "ir/pass/sums/online_sums.h"

#include "ir/pass/pass.h"

#include <float.h>

typedef struct online_pass {
    vy_rewrite w;
    vy_online_sums o;
} online_pass;

static uint32_t in_one_walk(void *pass, uint32_t id);

static vy_value exponential(vy_builder *b, vy_value v) { return vy_call_of(b, "exp", v); }

// The exponential in its loop, and the factor of what was summed before.
static void weigh(online_pass *x, vy_online *r)
{
    vy_builder *b = x->w.b;
    vy_rewrite_at(&x->w, r->exp);
    const vy_value v = {vy_new(&x->w, r->x)}, d = vy_sub(b, v, (vy_value){r->base});
    const vy_value one = vy_float_like(b, d, 1.0), up = vy_lt(b, one, d);
    const vy_value e = exponential(b, vy_select(b, up, vy_neg(b, d), d));
    r->higher = up.id;
    r->old = vy_select(b, up, e, one).id;
    x->w.map[r->exp] = vy_select(b, up, one, e).id;
}

// An addition to a sum.
static void add_term(online_pass *x, const vy_online *r, uint32_t id)
{
    const vy_program *p = x->w.p;
    vy_builder *b = x->w.b;
    vy_rewrite_at(&x->w, id);
    uint32_t args[2];
    for (uint32_t k = 0; k < 2; k++) {
        const uint32_t old = vy_arg(p, id, k);
        const bool carried = !VY_IS_LEAF(old) && p->insts.data[old].op == VY_OP_CARRY &&
                             vy_opener(p, &x->w.s, old) == r->loop;
        const vy_value v = {vy_new(&x->w, old)};
        args[k] = carried ? vy_mul(b, v, (vy_value){r->old}).id : v.id;
    }
    const vy_inst *i = &p->insts.data[id];
    vy_rewrite_as(&x->w, id, vy_emit(b, (vy_op)i->op, (vy_type)i->type, 0, 2, args));
}

static void store_element(online_pass *x, const vy_online *r, uint32_t id)
{
    const uint32_t rank = vy_rank_of(x->w.p, id);
    uint32_t args[VY_MAX_RANK + 1];
    vy_new_args(&x->w, id, rank, args);
    args[rank] = vy_new(&x->w, r->x);
    vy_copy_with(x->w.b, x->w.p, id, args, x->w.map);
}

static void load_element(online_pass *x, const vy_online *r, uint32_t id)
{
    vy_builder *b = x->w.b;
    vy_rewrite_copy(&x->w, id);
    if (vy_rewrite_stopped(&x->w)) return;
    const vy_value kept = {x->w.map[id]}, top = {vy_new(&x->w, r->top)};
    x->w.map[id] = exponential(b, vy_sub(b, kept, top)).id;
}

// What the base and the maximum are after an iteration.
static void next_values(online_pass *x, const vy_online *r, vy_remade *l)
{
    vy_builder *b = x->w.b;
    const vy_program *p = x->w.p;
    const uint32_t largest = vy_slot_next(p, &x->w.s, r->first, 0);
    const uint32_t v = vy_new(&x->w, r->x), top = l->out[l->own + 1];
    const bool after = vy_arg(p, largest, 0) == vy_carry(r->first, 0);
    const uint32_t args[2] = {after ? top : v, after ? v : top};
    vy_rewrite_at(&x->w, largest);
    l->in[l->own] = vy_select(b, (vy_value){r->higher}, (vy_value){v}, (vy_value){r->base}).id;
    l->in[l->own + 1] = vy_emit(b, VY_OP_MAX, (vy_type)p->insts.data[largest].type, 0, 2, args);
}

// After the loop: the sums relative to the maximum.
static void scale_sums(online_pass *x, const vy_online *r, const vy_remade *l)
{
    vy_builder *b = x->w.b;
    const vy_value base = {l->out[l->own]}, top = {l->out[l->own + 1]};
    const vy_value one = vy_float_like(b, base, 1.0);
    const vy_value runs = vy_new_runs(&x->w, r->loop), difference = vy_sub(b, base, top);
    const vy_value by = vy_select(b, runs, exponential(b, difference), one);
    vy_rewrite_as(&x->w, r->top, top.id);
    for (uint32_t k = 0; k < l->own && !vy_rewrite_stopped(&x->w); k++) {
        if (vy_online_of(&x->o, vy_slot_next(x->w.p, &x->w.s, r->loop, k)) != r) continue;
        const uint32_t result = vy_result(x->w.p, &x->w.s, r->loop, k);
        x->w.map[result] = vy_mul(b, (vy_value){l->out[k]}, by).id;
    }
}

static uint32_t make_walk(online_pass *x, vy_online *r)
{
    vy_rewrite *w = &x->w;
    const vy_type t = (vy_type)w->p->insts.data[r->top].type;
    vy_remade l;
    if (!vy_remake(w, &l, r->loop, 2)) return r->loop;
    l.in[l.own] = vy_float(w->b, t, t == VY_F64 ? -DBL_MAX : -(double)FLT_MAX).id;
    l.in[l.own + 1] = vy_new(w, vy_slot_init(w->p, r->first, 0));
    vy_remake_begin(w, &l);
    if (vy_rewrite_stopped(w)) return r->loop;
    r->base = l.out[l.own];
    vy_remake_body(w, &l, in_one_walk, x);
    if (vy_rewrite_stopped(w)) return r->loop;
    next_values(x, r, &l);
    vy_remake_next(w, &l);
    vy_remake_end(w, &l);
    if (vy_rewrite_stopped(w)) return r->loop;
    scale_sums(x, r, &l);
    return vy_remake_last(w, &l);
}

static uint32_t in_one_walk(void *pass, uint32_t id)
{
    online_pass *x = pass;
    if (!x->o.of[id]) return 0;
    vy_online *r = &x->o.found.data[x->o.of[id] - 1];
    if (id == r->first) return vy_last_result(x->w.p, &x->w.s, id);
    if (id == r->loop) return make_walk(x, r);
    if (id == r->difference) return id;
    const vy_op op = (vy_op)x->w.p->insts.data[id].op;
    if (op == VY_OP_EXP)
        weigh(x, r);
    else if (op == VY_OP_STORE)
        store_element(x, r, id);
    else if (op == VY_OP_LOAD)
        load_element(x, r, id);
    else
        add_term(x, r, id);
    return id;
}

bool vy_pass_online_sums(vy_program *p, vy_pass_context *c)
{
    const vy_opt_options *o = c->options;
    if (!o || !o->final || !o->by_invocation || o->precise || p->exact) return true;
    if (!(vy_constructs(p) & VY_LOOPS)) return true;
    online_pass x = {0};
    const bool ok = vy_rewrite_begin(&x.w, p) && vy_find_online_sums(&x.w, &x.o);
    if (ok && x.o.found.count) vy_rewrite_run(&x.w, in_one_walk, &x);
    vy_vec_free(&x.o.found);
    return vy_rewrite_end(&x.w, ok, &c->changed);
}
