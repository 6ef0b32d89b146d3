// SPDX-License-Identifier: MIT
// argmax.c: the maximum or minimum over a loop's iterations has the derivative of one of them.
//
//   var v = a;                                  var v = a; var at = from; var any = false;
//   for k in from..to {                         for k in from..to {
//       v = max(v, e(k));         becomes           let won = !(v > e(k));
//   }                                               v = stop_grad(max(v, e(k)));
//                                                   at = won ? k : at;  any = any || won;
//                                               }
//                                               let r = any ? e(at) : a;
//
// where r replaces v after the loop.  The reverse differentiates one e instead of one for each
// iteration, only `at` is taped, and the gradients of what e loads get one addition each.  Among
// equals the last wins, by the left fold of docs/language.md 9.2, as it does when comparing in
// order.  e may use only the induction variable and loop-invariant values.
//
// Of nested loops that carry v in and out unchanged there is one winner, with a place in each: the
// outer ones take those of the inner one, and their own, where an iteration of that has won.
//
//   for j in … {
//       var won_here = false;
//       for k in … { …; at_k = won ? k : at_k;  won_here = won_here || won; }
//       at_j = won_here ? j : at_j;  any = any || won_here;
//   }
#include "autodiff/rewrite/argmax.h"
#include "ir/build/rewrite.h"

#include <string.h>

enum { DEEPEST = 8 }; // loops of a winner; of more, the inner ones have one

// A carried value of a loop, or of nested ones, each of which passes it to the next one and back.
typedef struct contest {
    uint32_t loop[DEEPEST], k[DEEPEST]; // from the outermost
    uint32_t depth;
    uint32_t op, e; // op: the MAX or MIN; e: the candidate
    bool first;     // e is the first operand
    // In the new program, where it is being built: of each loop the iteration that won, and whether
    // one of the loop that was ended last has.
    uint32_t at[DEEPEST], any;
} contest;
VY_VEC_TYPE(contest_vec, contest);

// The contests of a loop that is being rebuilt, and of those around it.
typedef struct contests {
    contest_vec list;
    const struct contests *around;
} contests;

typedef struct winner {
    vy_rewrite w;
    const uint8_t *active; // NULL: everything is
    uint8_t *slice;        // scratch: by instruction, e needs it
    uint32_t *uses;        // by instruction
    const contests *open;
} winner;

// ------------------------------------------------------------------------------------- recognition
static bool written_in(const winner *w, uint32_t buffer, uint32_t opener)
{
    for (uint32_t id = opener; id < w->w.s.partner[opener]; id++) {
        const vy_inst *i = &w->w.p->insts.data[id];
        if (vy_op_infos[i->op].effect == VY_WRITE && i->aux == buffer) return true;
    }
    return false;
}

static bool is_loop_of(const contest *c, uint32_t id)
{
    for (uint32_t l = 0; l < c->depth; l++)
        if (c->loop[l] == id) return true;
    return false;
}

// Can `id` be recomputed after the loops, for any iterations?
static bool repeatable(const winner *w, uint32_t id, const contest *c)
{
    const vy_inst *i = &w->w.p->insts.data[id];
    switch (vy_op_infos[i->op].effect) {
    case VY_PURE: return true;
    case VY_READ: return !written_in(w, i->aux, c->loop[0]);
    case VY_CTRL: return i->op != VY_OP_CARRY || !is_loop_of(c, vy_arg(w->w.p, id, 0));
    default: return false;
    }
}

// Marks the backward slice of the candidate in the body of the outermost loop; false: it depends on
// more than the induction variables and loop-invariant values.
static bool mark_slice(winner *w, const contest *c)
{
    const uint32_t loop = c->loop[0], first = loop + 1, last = w->w.s.partner[loop];
    memset(w->slice + first, 0, last - first);
    if (VY_IS_LEAF(c->e) || c->e <= loop) return false;
    w->slice[c->e] = 1;
    for (uint32_t id = last; id-- > first;) {
        const vy_inst *i = &w->w.p->insts.data[id];
        uint32_t opener = 0;
        if (is_loop_of(c, id)) w->slice[id] = 0; // its variable: what won takes its place
        if (vy_op_closes((vy_op)i->op)) {
            opener = w->w.s.partner[id];
            for (uint32_t k = id + 1; k < last && w->w.p->insts.data[k].op == VY_OP_RESULT; k++)
                if (w->slice[k] && vy_arg(w->w.p, k, 0) == id) w->slice[id] = 1;
            if (w->slice[id]) memset(w->slice + opener, 1, id - opener);
            for (uint32_t k = id + 1; w->slice[id] && k < last; k++) {
                if (w->w.p->insts.data[k].op != VY_OP_RESULT || vy_arg(w->w.p, k, 0) != id) break;
                w->slice[k] = 1;
            }
        }
        if (!w->slice[id]) continue;
        if (!repeatable(w, id, c)) return false;
        for (uint32_t k = 0; k < i->nargs; k++) {
            uint32_t a = vy_arg(w->w.p, id, k);
            if (!VY_IS_LEAF(a) && a > loop) w->slice[a] = 1;
        }
    }
    return true;
}

// Is `next` what a loop in that one makes of the value that it carries?  Then loop and k become
// those of it.
static bool goes_on(const winner *w, uint32_t carry, uint32_t next, uint32_t *loop, uint32_t *k)
{
    const vy_program *p = w->w.p;
    if (p->insts.data[next].op != VY_OP_RESULT) return false;
    const uint32_t inner = vy_opener(p, &w->w.s, next), slot = p->insts.data[next].aux;
    if (p->insts.data[inner].op != VY_OP_LOOP || w->w.s.parent[inner] != *loop ||
        vy_slot_init(p, inner, slot) != carry || w->uses[carry] != 1 || w->uses[next] != 1)
        return false;
    *loop = inner;
    *k = slot;
    return true;
}

static bool contest_of(winner *w, uint32_t loop, uint32_t k, contest *c)
{
    const vy_program *p = w->w.p;
    uint32_t carry, next;
    *c = (contest){0};
    do {
        carry = vy_carry(loop, k);
        next = vy_slot_next(p, &w->w.s, loop, k);
        if (VY_IS_LEAF(next) || next <= loop || c->depth == DEEPEST) return false;
        if (w->active && !w->active[vy_result(p, &w->w.s, loop, k)]) return false;
        c->loop[c->depth] = loop;
        c->k[c->depth++] = k;
    } while (goes_on(w, carry, next, &loop, &k));
    const vy_inst *i = &p->insts.data[next];
    if ((i->op != VY_OP_MAX && i->op != VY_OP_MIN) || !vy_type_is_float((vy_type)i->type))
        return false;
    uint32_t x = vy_arg(p, next, 0), y = vy_arg(p, next, 1);
    if ((x == carry) == (y == carry) || w->uses[carry] != 1 || w->uses[next] != 1) return false;
    c->op = next;
    c->e = x == carry ? y : x;
    c->first = y == carry;
    return mark_slice(w, c);
}

// The level of the loop in the contest, if it is one of its inner ones; else 0.
static uint32_t inner_level(const contest *c, uint32_t loop)
{
    for (uint32_t l = 1; l < c->depth; l++)
        if (c->loop[l] == loop) return l;
    return 0;
}

// Is carried value k of the loop that of a contest which began further out?
static bool is_passed(const winner *w, uint32_t loop, uint32_t k)
{
    for (const contests *a = w->open; a; a = a->around)
        for (uint32_t n = 0; n < a->list.count; n++) {
            const contest *c = &a->list.data[n];
            const uint32_t level = inner_level(c, loop);
            if (level && c->k[level] == k) return true;
        }
    return false;
}

// Those that begin with the loop.
static void find_contests(winner *w, uint32_t loop, contest_vec *list)
{
    for (uint32_t k = 0, n = vy_slot_count(w->w.p, &w->w.s, loop); k < n && !w->w.oom; k++) {
        contest c;
        if (!is_passed(w, loop, k) && contest_of(w, loop, k, &c) && !vy_vec_push(list, c))
            w->w.oom = true;
    }
}

// --------------------------------------------------------------------------------------- rewriting
static uint32_t replace_contest(void *pass, uint32_t id);

// Does the candidate win?  max(x, y) is x > y ? x : y, min(x, y) is x < y ? x : y.
static vy_value wins(winner *w, const contest *c)
{
    vy_builder *b = w->w.b;
    vy_value x = {vy_new_arg(&w->w, c->op, 0)}, y = {vy_new_arg(&w->w, c->op, 1)};
    vy_value takes_x = w->w.p->insts.data[c->op].op == VY_OP_MAX ? vy_lt(b, y, x) : vy_lt(b, x, y);
    return c->first ? takes_x : vy_not(b, takes_x);
}

// any ? e(at) : initial
static uint32_t replay_winner(winner *w, const contest *c)
{
    const uint32_t loop = c->loop[0];
    uint32_t initial = vy_new(&w->w, vy_slot_init(w->w.p, loop, c->k[0])), result, e;
    mark_slice(w, c);
    for (uint32_t l = 0; l < c->depth; l++) w->w.map[c->loop[l]] = c->at[l];
    vy_begin_if(w->w.b, c->any);
    for (uint32_t id = loop + 1; id < w->w.s.partner[loop]; id++)
        if (w->slice[id]) vy_rewrite_copy(&w->w, id);
    e = vy_new(&w->w, c->e);
    vy_begin_else(w->w.b, 1, &e);
    vy_end_if(w->w.b, 1, &initial, &result);
    return result;
}

static void stop_grad(winner *w, uint32_t *id) { *id = vy_stop_grad(w->w.b, (vy_value){*id}).id; }

// What a contest adds to a loop that it goes through, before the loop, in it and after it: after
// the loop's own values, `at` of this loop and of those further in, and `any`.
static uint32_t more_values(const contest *c, uint32_t level) { return c->depth - level + 1; }

static void begin(winner *w, vy_remade *l, contest *c, uint32_t level, uint32_t *more)
{
    const vy_program *p = w->w.p;
    stop_grad(w, &l->in[c->k[level]]);
    for (uint32_t j = level; j < c->depth; j++) {
        const vy_type t = (vy_type)p->insts.data[c->loop[j]].type;
        if (!level) c->at[j] = j ? vy_int(w->w.b, t, 0).id : vy_new_arg(&w->w, l->opener, 0);
        more[j - level] = c->at[j];
    }
    more[c->depth - level] = vy_bool(w->w.b, false).id;
}

// Takes the values that the loop at hand has for it: those carried, or those after it.
static void take(contest *c, uint32_t level, const uint32_t *now)
{
    for (uint32_t j = level; j < c->depth; j++) c->at[j] = now[j - level];
    c->any = now[c->depth - level];
}

// What an iteration makes of them: the innermost loop compares, others take what it found.
static void next(winner *w, vy_remade *l, const contest *c, uint32_t level, const uint32_t *now,
                 uint32_t *more)
{
    vy_builder *b = w->w.b;
    const bool compares = level + 1 == c->depth;
    const vy_value won = compares ? wins(w, c) : (vy_value){c->any};
    stop_grad(w, &l->in[c->k[level]]);
    more[0] = vy_select(b, won, (vy_value){w->w.map[l->opener]}, (vy_value){now[0]}).id;
    for (uint32_t j = level + 1; j < c->depth; j++) more[j - level] = c->at[j];
    more[c->depth - level] = vy_or(b, (vy_value){now[c->depth - level]}, won).id;
}

typedef enum { COUNT_VALUES, BEGIN, TAKE, NEXT } step;

// Does that for all contests that go through the loop; returns how many values they have.
static uint32_t for_all(winner *w, vy_remade *l, uint32_t loop, step what)
{
    uint32_t n = 0;
    for (const contests *a = w->open; a; a = a->around)
        for (uint32_t k = 0; k < a->list.count; k++) {
            contest *c = &a->list.data[k];
            const uint32_t level = inner_level(c, loop);
            if (!level && c->loop[0] != loop) continue;
            const uint32_t at = l->own + n;
            if (what == BEGIN) begin(w, l, c, level, l->in + at);
            if (what == TAKE) take(c, level, l->out + at);
            if (what == NEXT) next(w, l, c, level, l->out + at, l->in + at);
            n += more_values(c, level);
        }
    return n;
}

static bool remake_loop(winner *w, uint32_t id, uint32_t *last)
{
    vy_remade l = {0};
    const uint32_t more = for_all(w, &l, id, COUNT_VALUES);
    if (!more || !vy_remake(&w->w, &l, id, more)) return false;
    for_all(w, &l, id, BEGIN);
    vy_remake_begin(&w->w, &l);
    for_all(w, &l, id, TAKE);
    vy_remake_body(&w->w, &l, replace_contest, w);
    vy_remake_next(&w->w, &l);
    for_all(w, &l, id, NEXT);
    vy_remake_end(&w->w, &l);
    for_all(w, &l, id, TAKE);
    *last = vy_remake_last(&w->w, &l);
    return true;
}

static uint32_t replace_contest(void *pass, uint32_t id)
{
    winner *w = pass;
    contests own = {.around = w->open};
    uint32_t last = 0;
    if (w->w.p->insts.data[id].op != VY_OP_LOOP) return 0;
    find_contests(w, id, &own.list);
    w->open = &own;
    const bool made = remake_loop(w, id, &last);
    for (uint32_t k = 0; made && k < own.list.count; k++) {
        const contest *c = &own.list.data[k];
        const uint32_t r = replay_winner(w, c);
        vy_rewrite_as(&w->w, vy_result(w->w.p, &w->w.s, id, c->k[0]), r);
    }
    w->open = own.around;
    vy_vec_free(&own.list);
    return last;
}

// ------------------------------------------------------------------------------------ entry points
bool vy_has_winner(const vy_program *p)
{
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (i->op != VY_OP_MAX && i->op != VY_OP_MIN) continue;
        for (uint32_t k = 0; k < 2; k++) {
            uint32_t a = vy_arg(p, id, k);
            if (!VY_IS_LEAF(a) && p->insts.data[a].op == VY_OP_CARRY) return true;
        }
    }
    return false;
}

bool vy_winner(vy_program *p, const uint8_t *active)
{
    winner w = {.active = active};
    bool ok = vy_rewrite_begin(&w.w, p), changed = false;
    w.slice = vy_rewrite_bytes(&w.w);
    w.uses = vy_rewrite_uses(&w.w);
    if (ok && !w.w.oom) vy_rewrite_run(&w.w, replace_contest, &w);
    return vy_rewrite_end(&w.w, ok, &changed);
}
