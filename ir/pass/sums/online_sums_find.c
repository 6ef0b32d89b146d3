// SPDX-License-Identifier: MIT
// online_sums_find.c: see online_sums.h.  Needs valid structure, and marks of mark_in_range.c and
// mark_stored.c where a tape is to keep something else.
//
// Found from the differences x - top, where `top` is the result of a loop that finds nothing but a
// maximum of values x, from -inf on, of an earlier loop over the same range in the same direction.
// Both loops compute x: from the same operands, pair by pair, down to what is outside of them, with
// loops and ifs inside, and from memory that nothing writes from one to the end of the other.
//
// In its loop `top` must serve for nothing but that difference, that for its exponential, and that
// for sums in which it is a factor, and for a tape: a workspace that one store of the program
// writes, and of which later loads only read what that store has stored (vy_buf.stored_first), in
// range, outside of other loops around both.
#include "ir/facts/memory.h"
#include "ir/facts/price.h"
#include "ir/pass/scalar/sum_order.h"
#include "ir/pass/sums/early_sums.h"
#include "ir/pass/sums/online_sums.h"

#include <math.h>

enum { MAX_ONLINE = 64 };

typedef struct online_search {
    vy_rewrite *w;
    vy_online_sums *o;
    vy_sum_order order;
    vy_dataflow flow;
    vy_writes writes;
    bool ready;
    uint32_t *pair; // by instruction of the first loop: what is the same in the other one
    uint32_t *work; // those that have one
    uint32_t *seen; // by instruction: 1 + the number of the search that has come to it
    uint32_t marked[MAX_ONLINE], n_marked, search;
} online_search;

static bool is_counted(const vy_program *p, uint32_t id)
{
    return p->insts.data[id].op == VY_OP_LOOP && !vy_exits(p, id);
}

static bool is_inside(const online_search *x, uint32_t loop, uint32_t id)
{
    return !VY_IS_LEAF(id) && id > loop && id < x->w->s.partner[loop];
}

static uint32_t user_count(const online_search *x, uint32_t id)
{
    return x->flow.first_user[id + 1] - x->flow.first_user[id];
}

static bool online_tables(online_search *x)
{
    if (x->ready) return true;
    vy_rewrite *w = x->w;
    x->pair = vy_rewrite_ids(w);
    x->work = vy_rewrite_ids(w);
    x->seen = vy_rewrite_ids(w);
    x->ready = !w->oom && vy_dataflow_make(&x->flow, w->p, &w->s, &w->arena) &&
               vy_writes_make(&x->writes, w->p, VY_COUNT_WRITES, &w->arena);
    w->oom |= !x->ready;
    return x->ready;
}

// --------------------------------------------------------------------------- the loop of a maximum
// The values of which the loop finds the largest, and does nothing else; 0: it is another one.
static uint32_t maximum_of(const online_search *x, uint32_t loop)
{
    const vy_program *p = x->w->p;
    if (!is_counted(p, loop) || vy_slot_count(p, &x->w->s, loop) != 1) return 0;
    const uint32_t next = vy_slot_next(p, &x->w->s, loop, 0), carry = vy_carry(loop, 0);
    const vy_scalar *first = vy_id_const(p, vy_slot_init(p, loop, 0));
    if (!first || VY_IS_LEAF(next) || p->insts.data[next].op != VY_OP_MAX) return 0;
    const vy_type t = (vy_type)p->insts.data[next].type;
    if ((t != VY_F32 && t != VY_F64) || first->f != -INFINITY) return 0;
    const uint32_t side = vy_arg(p, next, 0) == carry ? 1 : 0;
    if (vy_arg(p, next, 1 - side) != carry) return 0;
    for (uint32_t id = loop + 1; id < x->w->s.partner[loop]; id++) {
        const vy_effect effect = vy_op_infos[p->insts.data[id].op].effect;
        if (effect != VY_PURE && effect != VY_READ && effect != VY_CTRL) return 0;
    }
    return vy_arg(p, next, side);
}

static bool same_range(const online_search *x, uint32_t a, uint32_t b)
{
    const vy_program *p = x->w->p;
    const vy_inst *i = &p->insts.data[a], *j = &p->insts.data[b];
    bool same = i->type == j->type && !((i->flags ^ j->flags) & VY_FLAG_REVERSE);
    for (uint32_t k = 0; k < 3; k++) same &= vy_arg(p, a, k) == vy_arg(p, b, k);
    return same && x->w->s.parent[a] == x->w->s.parent[b];
}

// --------------------------------------------------------------------------------- the same values
// Pairs of values that have to be equal.
typedef struct matching {
    uint32_t first, loop, n;
} matching;

static bool match_value(online_search *x, matching *m, uint32_t a, uint32_t b)
{
    if (VY_IS_LEAF(a) || a < m->first) return a == b;
    if (x->pair[a]) return x->pair[a] == b;
    if (!is_inside(x, m->loop, b)) return false;
    x->pair[a] = b;
    x->work[m->n++] = a;
    return true;
}

static bool match_args(online_search *x, matching *m, uint32_t a, uint32_t b, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++)
        if (!match_value(x, m, vy_arg(x->w->p, a, k), vy_arg(x->w->p, b, k))) return false;
    return true;
}

// A value that a construct carries or yields: what it may be, and what decides about it.
static bool match_slot(online_search *x, matching *m, uint32_t a, uint32_t b)
{
    const vy_program *p = x->w->p;
    const vy_structure *s = &x->w->s;
    const uint32_t k = p->insts.data[a].aux, one = vy_opener(p, s, a), other = vy_opener(p, s, b);
    if (one == m->first || p->insts.data[one].op != p->insts.data[other].op) return false;
    if (p->insts.data[one].op == VY_OP_IF)
        return match_args(x, m, one, other, 1) &&
               match_value(x, m, vy_slot_then(p, s, one, k), vy_slot_then(p, s, other, k)) &&
               match_value(x, m, vy_slot_yield(p, s, one, k), vy_slot_yield(p, s, other, k));
    return p->insts.data[one].op == VY_OP_LOOP && match_value(x, m, one, other) &&
           match_value(x, m, vy_slot_init(p, one, k), vy_slot_init(p, other, k)) &&
           match_value(x, m, vy_slot_next(p, s, one, k), vy_slot_next(p, s, other, k));
}

static bool match_operands(online_search *x, matching *m, uint32_t a, uint32_t b)
{
    const vy_program *p = x->w->p;
    const vy_inst *i = &p->insts.data[a], *j = &p->insts.data[b];
    if (i->op != j->op || i->type != j->type || i->aux != j->aux) return false;
    if (vy_is_slot((vy_op)i->op)) return match_slot(x, m, a, b);
    if (i->op == VY_OP_LOOP)
        return is_counted(p, a) && is_counted(p, b) && !((i->flags ^ j->flags) & VY_FLAG_REVERSE) &&
               match_args(x, m, a, b, 3);
    if (i->op == VY_OP_LOAD &&
        vy_written_between(&x->writes, i->aux, m->first, x->w->s.partner[m->loop]))
        return false;
    if (i->op != VY_OP_LOAD && vy_op_infos[i->op].effect != VY_PURE) return false;
    return i->nargs == j->nargs && match_args(x, m, a, b, i->nargs);
}

// Are the values a, of an iteration of the first loop, and b, of the other one's, the same?
static bool equal_values(online_search *x, uint32_t first, uint32_t loop, uint32_t a, uint32_t b)
{
    matching m = {first, loop, 0};
    x->pair[first] = loop;
    bool ok = match_value(x, &m, a, b);
    for (uint32_t k = 0; ok && k < m.n; k++)
        ok = match_operands(x, &m, x->work[k], x->pair[x->work[k]]);
    for (uint32_t k = 0; k < m.n; k++) x->pair[x->work[k]] = 0;
    x->pair[first] = 0;
    return ok;
}

// ---------------------------------------------------------------------------------------- the sums
static bool claim(online_search *x, uint32_t id)
{
    if (x->n_marked == MAX_ONLINE || x->o->of[id]) return false;
    x->marked[x->n_marked++] = id;
    x->o->of[id] = x->o->found.count + 1;
    return true;
}

// `id` adds the term `v` to something: to a slot that does nothing else, which is an adjoint?
static bool is_online_sum(online_search *x, vy_online *r, uint32_t id, uint32_t v)
{
    const vy_program *p = x->w->p;
    const vy_structure *s = &x->w->s;
    if (user_count(x, id) != 2) return false;
    const uint32_t user = x->flow.users[x->flow.first_user[id]];
    if (!vy_is_slot((vy_op)p->insts.data[user].op)) return false;
    const uint32_t slot = p->insts.data[user].aux;
    if (vy_opener(p, s, user) != r->loop || vy_slot_next(p, s, r->loop, slot) != id) return false;
    const uint32_t carry = vy_carry(r->loop, slot), side = vy_arg(p, id, 0) == v ? 1 : 0;
    if (vy_arg(p, id, side) != carry || user_count(x, carry) != 1) return false;
    if (p->insts.data[id].op == VY_OP_SUB && side == 1) return false;
    if (!vy_is_zero_float(p, vy_slot_init(p, r->loop, slot))) return false;
    const bool plain = v == r->exp && p->insts.data[id].op == VY_OP_ADD;
    r->sums++;
    return claim(x, id) && vy_is_adjoint_or_divides(&x->order, vy_result(p, s, r->loop, slot),
                                                    plain, &x->w->arena, &x->w->oom);
}

// Is `id` the only store to a tape, of which the program loads only what this has stored?
static bool is_tape(online_search *x, vy_online *r, uint32_t id, uint32_t v)
{
    const vy_program *p = x->w->p;
    const uint32_t buffer = p->insts.data[id].aux;
    const vy_buf *b = &p->buffers.data[buffer];
    if (v != r->exp || vy_arg(p, id, vy_rank_of(p, id)) != v || x->w->s.parent[r->loop])
        return false;
    if (!b->workspace || !b->owned || !b->stored_first) return false;
    const uint32_t *first = x->flow.first_access + buffer;
    for (uint32_t k = first[0]; k < first[1]; k++) {
        const uint32_t access = x->flow.accesses[k];
        const vy_inst *i = &p->insts.data[access];
        if (access == id) continue;
        if (i->op != VY_OP_LOAD || access < x->w->s.partner[r->loop]) return false;
        if (!(i->flags & VY_FLAG_INRANGE) || !claim(x, access)) return false;
        r->loads++;
    }
    return claim(x, id);
}

// Is the value, of which the exponential is a factor, so too, or a sum or a tape?
static bool is_part(online_search *x, vy_online *r, uint32_t id, uint32_t v, bool *factor)
{
    const vy_program *p = x->w->p;
    *factor = false;
    if (x->w->s.parent[id] != r->loop || x->seen[id] == x->search) return false;
    x->seen[id] = x->search;
    switch (p->insts.data[id].op) {
    case VY_OP_ADD:
    case VY_OP_SUB: return is_online_sum(x, r, id, v);
    case VY_OP_STORE: return is_tape(x, r, id, v);
    case VY_OP_NEG:
    case VY_OP_MUL: return *factor = true; // of a square it is a user twice
    case VY_OP_DIV: return *factor = vy_arg(p, id, 1) != v;
    default: return false;
    }
}

// Does everything that depends on the exponential in the loop end in sums and on tapes?
static bool ends_in_sums(online_search *x, vy_online *r)
{
    uint32_t work[MAX_ONLINE], n = 0, steps = 0;
    x->search++;
    work[n++] = r->exp;
    while (n) {
        const uint32_t v = work[--n];
        for (uint32_t k = x->flow.first_user[v]; k < x->flow.first_user[v + 1]; k++) {
            bool factor;
            const uint32_t user = x->flow.users[k];
            if (++steps >= MAX_ONLINE || !is_part(x, r, user, v, &factor)) return false;
            if (factor) work[n++] = user;
        }
    }
    return r->sums > 0;
}

// Is the maximum used for the difference, and after the loop, and that for the exponential alone?
static bool serves_alone(online_search *x, vy_online *r)
{
    const vy_program *p = x->w->p;
    for (uint32_t k = x->flow.first_user[r->top]; k < x->flow.first_user[r->top + 1]; k++) {
        const uint32_t user = x->flow.users[k];
        if (user != r->difference && user < x->w->s.partner[r->loop]) return false;
    }
    if (user_count(x, r->difference) != 1) return false;
    r->exp = x->flow.users[x->flow.first_user[r->difference]];
    return p->insts.data[r->exp].op == VY_OP_EXP && x->w->s.parent[r->exp] == r->loop;
}

// --------------------------------------------------------------------------------------- the price
// Does a walk for the maximum take more than what each iteration does in its place?
static bool walk_is_expensive(const online_search *x, const vy_online *r)
{
    const vy_program *p = x->w->p;
    enum { CHOICES = 6 }; // a comparison, a sign, selects
    uint64_t walk = 0;
    for (uint32_t id = r->first + 1; id < x->w->s.partner[r->first]; id++) {
        const vy_price *price = vy_price_of((vy_op)p->insts.data[id].op);
        walk += vy_type_is_float((vy_type)p->insts.data[id].type) ? price->cpu : price->cpu_whole;
    }
    const uint64_t more = CHOICES + vy_price_of(VY_OP_MAX)->cpu +
                          2 * vy_price_of(VY_OP_CARRY)->cpu + r->sums +
                          r->loads * (uint64_t)(vy_price_of(VY_OP_EXP)->cpu + 1);
    return walk > more;
}

static bool is_one_walk(online_search *x, vy_online *r)
{
    if (!same_range(x, r->first, r->loop) || !serves_alone(x, r)) return false;
    const uint32_t value = maximum_of(x, r->first);
    return value && equal_values(x, r->first, r->loop, value, r->x) && claim(x, r->first) &&
           claim(x, r->loop) && claim(x, r->difference) && claim(x, r->exp) && ends_in_sums(x, r) &&
           walk_is_expensive(x, r);
}

// Is `id` the difference of a value and the result of an earlier loop?
static void try_difference(online_search *x, uint32_t id)
{
    const vy_program *p = x->w->p;
    const vy_structure *s = &x->w->s;
    if (p->insts.data[id].op != VY_OP_SUB || VY_IS_LEAF(vy_arg(p, id, 1))) return;
    vy_online r = {.loop = s->parent[id], .x = vy_arg(p, id, 0), .top = vy_arg(p, id, 1)};
    r.difference = id;
    if (!r.loop || !is_counted(p, r.loop) || p->insts.data[r.top].op != VY_OP_RESULT) return;
    r.first = vy_opener(p, s, r.top);
    if (p->insts.data[r.first].op != VY_OP_LOOP || r.top > r.loop || !online_tables(x)) return;
    x->n_marked = 0;
    if (is_one_walk(x, &r) && vy_vec_push(&x->o->found, r)) return;
    while (x->n_marked) x->o->of[x->marked[--x->n_marked]] = 0;
}

bool vy_find_online_sums(vy_rewrite *w, vy_online_sums *o)
{
    online_search x = {.w = w, .o = o, .order = {.p = w->p, .s = &w->s}};
    o->of = vy_rewrite_ids(w);
    for (uint32_t id = 1; !w->oom && id < w->p->insts.count; id++) try_difference(&x, id);
    return !w->oom;
}
