// SPDX-License-Identifier: MIT
// meeting_sums.c: two sums of a loop that are only added to each other after it become one.
//
//   for j in 0..N {                      for j in 0..N {
//       a += s(j);                           a += s(j);
//       b -= t(j);                   →       a -= t(j);
//   }                                    }
//   atomic_add(g[i], a + b);             atomic_add(g[i], a);
//
// The gradient of a sum over pairs consists of what a point's own invocation adds, and of what the
// others add to it: two sums over one loop, once they are gathered and fused.  Each takes a
// register for each element that an invocation computes (coarsen.c), and a move for each iteration.
//
// The terms are then added in another order, which a gradient's sums may be: sum_order.h decides.
// A sum may also be chosen by a condition, `select(c, a + s, a)`, the same for both.
//
// Runs only for programs that a device is to run (options->registers): text stays as it is.  Needs
// valid structure; keeps lines and names.
#include "ir/pass/pass.h"
#include "ir/pass/scalar/sum_order.h"

enum { MAX_TERMS = 8 };

// A carried value that each iteration adds terms to.
typedef struct sum {
    uint32_t carry, choice, condition; // choice: the SELECT between the new and the old; 0: none
    uint32_t n, at[MAX_TERMS], term[MAX_TERMS]; // what is added, from the last one
    bool minus[MAX_TERMS];
} sum;

typedef struct pair {
    uint32_t first, second; // RESULTs; the second is dropped
    bool minus;
} pair;
VY_VEC_TYPE(pair_vec, pair);

typedef struct meeting {
    vy_rewrite w;
    vy_sum_order order;
    const uint32_t *uses;
    uint32_t *pair_of; // by RESULT and by the operation in which two meet: 1 + the pair
    uint8_t *loops;    // by LOOP: some of its sums meet
    uint8_t *gone;     // by instruction: is not copied
    pair_vec pairs;
} meeting;

// ----------------------------------------------------------------------------------------- finding
static bool is_sum(const meeting *x, uint32_t id)
{
    if (VY_IS_LEAF(id) || x->uses[id] != 1) return false;
    const vy_op op = (vy_op)x->w.p->insts.data[id].op;
    return op == VY_OP_ADD || op == VY_OP_SUB;
}

// Is `id` the carried value and up to MAX_TERMS terms?
static bool follow(const meeting *x, uint32_t id, sum *s)
{
    if (id == s->carry) return true;
    if (!is_sum(x, id) || s->n == MAX_TERMS) return false;
    const bool adds = x->w.p->insts.data[id].op == VY_OP_ADD;
    const uint32_t k = s->n++;
    for (uint32_t side = 0; side < (adds ? 2 : 1); side++) {
        s->at[k] = id;
        s->term[k] = vy_arg(x->w.p, id, 1 - side);
        s->minus[k] = !adds;
        s->n = k + 1;
        if (follow(x, vy_arg(x->w.p, id, side), s)) return true;
    }
    return false;
}

static bool find_sum(const meeting *x, uint32_t result, sum *s)
{
    const vy_program *p = x->w.p;
    const uint32_t loop = vy_opener(p, &x->w.s, vy_arg(p, result, 0));
    const uint32_t slot = p->insts.data[result].aux;
    uint32_t next = vy_slot_next(p, &x->w.s, loop, slot);
    *s = (sum){.carry = vy_carry(loop, slot)};
    const bool chosen = !VY_IS_LEAF(next) && p->insts.data[next].op == VY_OP_SELECT &&
                        x->uses[next] == 1 && vy_arg(p, next, 2) == s->carry;
    if (chosen) {
        s->choice = next;
        s->condition = vy_arg(p, next, 0);
        next = vy_arg(p, next, 1);
    }
    return x->uses[s->carry] == (chosen ? 2 : 1) && follow(x, next, s);
}

// The loop that `id` is a result of, if that is used once; else 0.
static uint32_t loop_of(const meeting *x, uint32_t id)
{
    const vy_program *p = x->w.p;
    if (VY_IS_LEAF(id) || p->insts.data[id].op != VY_OP_RESULT || x->uses[id] != 1) return 0;
    const uint32_t end = vy_arg(p, id, 0);
    if (p->insts.data[end].op != VY_OP_ENDLOOP) return 0;
    const uint32_t loop = x->w.s.partner[end];
    return p->insts.data[loop].op == VY_OP_LOOP && !vy_exits(p, loop) ? loop : 0;
}

static bool meet(meeting *x, uint32_t id)
{
    const vy_inst *i = &x->w.p->insts.data[id];
    sum a, b;
    if (i->op != VY_OP_ADD && i->op != VY_OP_SUB) return false;
    if (i->type != VY_F32 && i->type != VY_F64) return false;
    const uint32_t first = vy_arg(x->w.p, id, 0), second = vy_arg(x->w.p, id, 1);
    const uint32_t loop = loop_of(x, first);
    if (!loop || loop_of(x, second) != loop) return false;
    return find_sum(x, first, &a) && find_sum(x, second, &b) && a.condition == b.condition &&
           vy_is_adjoint(&x->order, id, &x->w.arena, &x->w.oom);
}

static void drop_sum(meeting *x, uint32_t result)
{
    sum s;
    if (!find_sum(x, result, &s)) return;
    for (uint32_t k = 0; k < s.n; k++) x->gone[s.at[k]] = 1;
    if (s.choice) x->gone[s.choice] = 1;
}

static bool find_pairs(meeting *x)
{
    for (uint32_t id = 1; id < x->w.p->insts.count && !x->w.oom; id++) {
        if (!meet(x, id)) continue;
        const pair met = {vy_arg(x->w.p, id, 0), vy_arg(x->w.p, id, 1),
                          x->w.p->insts.data[id].op == VY_OP_SUB};
        if (!vy_vec_push(&x->pairs, met)) return false;
        x->pair_of[id] = x->pair_of[met.first] = x->pair_of[met.second] = x->pairs.count;
        x->loops[loop_of(x, met.first)] = 1;
        drop_sum(x, met.first);
        drop_sum(x, met.second);
    }
    return !x->w.oom;
}

// ------------------------------------------------------------------------------------- rebuilding
static const pair *pair_of(const meeting *x, uint32_t id)
{
    return x->pair_of[id] ? &x->pairs.data[x->pair_of[id] - 1] : NULL;
}

static vy_value add(meeting *x, vy_value a, uint32_t b, bool minus)
{
    const vy_value v = {b};
    return minus ? vy_sub(x->w.b, a, v) : vy_add(x->w.b, a, v);
}

static vy_value add_terms(meeting *x, vy_value total, uint32_t result, bool minus)
{
    sum s;
    if (!find_sum(x, result, &s)) return total;
    for (uint32_t k = s.n; k-- > 0;) {
        vy_rewrite_at(&x->w, s.at[k]);
        total = add(x, total, vy_new(&x->w, s.term[k]), s.minus[k] != minus);
    }
    return total;
}

static uint32_t slot_of(const meeting *x, uint32_t result)
{
    return x->w.p->insts.data[result].aux;
}

static uint32_t first_value(meeting *x, uint32_t loop, uint32_t slot, const pair *met)
{
    const uint32_t own = vy_new(&x->w, vy_slot_init(x->w.p, loop, slot));
    if (!met) return own;
    const uint32_t other = vy_slot_init(x->w.p, loop, slot_of(x, met->second));
    return add(x, (vy_value){own}, vy_new(&x->w, other), met->minus).id;
}

static uint32_t next_value(meeting *x, uint32_t loop, uint32_t slot, const pair *met)
{
    if (!met) return vy_new(&x->w, vy_slot_next(x->w.p, &x->w.s, loop, slot));
    sum s;
    find_sum(x, met->first, &s);
    const vy_value before = {vy_new(&x->w, s.carry)};
    vy_value v = add_terms(x, before, met->first, false);
    v = add_terms(x, v, met->second, met->minus);
    if (!s.choice) return v.id;
    return vy_select(x->w.b, (vy_value){vy_new(&x->w, s.condition)}, v, before).id;
}

static uint32_t instead(void *pass, uint32_t id);

static uint32_t rebuild(meeting *x, uint32_t loop)
{
    const vy_program *p = x->w.p;
    const uint32_t slots = vy_slot_count(p, &x->w.s, loop), end = x->w.s.partner[loop];
    uint32_t *values = vy_rewrite_table(&x->w, 3 * ((size_t)slots + 1) * sizeof *values), n = 0;
    if (!values) return loop;
    uint32_t *out = values + slots + 1, *kept = out + slots + 1, bounds[3];
    vy_rewrite_at(&x->w, loop);
    for (uint32_t k = 0; k < slots; k++) {
        const uint32_t result = end + 1 + k;
        const pair *met = pair_of(x, result);
        if (met && met->second == result) continue;
        kept[n] = k;
        values[n++] = first_value(x, loop, k, met);
    }
    vy_new_args(&x->w, loop, 3, bounds);
    const uint32_t counter =
        vy_begin_loop(x->w.b, (vy_type)p->insts.data[loop].type, p->insts.data[loop].flags,
                      bounds[0], bounds[1], bounds[2], n, values, out);
    if (vy_rewrite_stopped(&x->w)) return loop;
    vy_rewrite_as(&x->w, loop, counter);
    for (uint32_t k = 0; k < n; k++) vy_rewrite_as(&x->w, vy_carry(loop, kept[k]), out[k]);
    vy_rewrite_range(&x->w, loop + 1 + slots, end, instead, x);
    if (vy_rewrite_stopped(&x->w)) return loop;
    for (uint32_t k = 0; k < n; k++)
        values[k] = next_value(x, loop, kept[k], pair_of(x, end + 1 + kept[k]));
    vy_rewrite_at(&x->w, end);
    vy_end_loop(x->w.b, 0, n, values, out);
    for (uint32_t k = 0; k < n && !vy_rewrite_stopped(&x->w); k++)
        vy_rewrite_as(&x->w, end + 1 + kept[k], out[k]);
    return end + slots;
}

static uint32_t instead(void *pass, uint32_t id)
{
    meeting *x = pass;
    if (x->gone[id]) return id;
    if (x->loops[id]) return rebuild(x, id);
    if (!x->pair_of[id]) return 0;
    x->w.map[id] = vy_new(&x->w, pair_of(x, id)->first); // where they meet: it is one sum
    return id;
}

bool vy_pass_meeting_sums(vy_program *p, vy_pass_context *c)
{
    if (!c->options || !c->options->registers || c->options->precise || p->exact) return true;
    if (!(vy_constructs(p) & VY_LOOPS)) return true;
    meeting x = {0};
    bool ok = vy_rewrite_begin(&x.w, p);
    x.order = (vy_sum_order){.p = p, .s = &x.w.s};
    x.uses = ok ? vy_rewrite_uses(&x.w) : NULL;
    x.pair_of = ok ? vy_rewrite_ids(&x.w) : NULL;
    x.loops = ok ? vy_rewrite_bytes(&x.w) : NULL;
    x.gone = ok ? vy_rewrite_bytes(&x.w) : NULL;
    ok &= x.uses && x.pair_of && x.loops && x.gone && find_pairs(&x);
    if (ok && x.pairs.count) vy_rewrite_run(&x.w, instead, &x);
    vy_vec_free(&x.pairs);
    return vy_rewrite_end(&x.w, ok, &c->changed);
}
