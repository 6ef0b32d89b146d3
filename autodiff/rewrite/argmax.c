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
#include "autodiff/rewrite/argmax.h"
#include "ir/build/rewrite.h"

#include <string.h>

typedef struct winner {
    vy_rewrite w;
    const uint8_t *active; // NULL: everything is
    uint8_t *slice;        // scratch: by instruction, e needs it
    uint32_t *uses;        // by instruction
} winner;

// One carried value of a loop.
typedef struct contest {
    uint32_t k, op; // op: the MAX or MIN
    uint32_t e;     // the candidate
    bool first;     // e is the first operand
} contest;
VY_VEC_TYPE(contest_vec, contest);

// ------------------------------------------------------------------------------------- recognition
static bool written_in(const winner *w, uint32_t buffer, uint32_t opener)
{
    for (uint32_t id = opener; id < w->w.s.partner[opener]; id++) {
        const vy_inst *i = &w->w.p->insts.data[id];
        if (vy_op_infos[i->op].effect == VY_WRITE && i->aux == buffer) return true;
    }
    return false;
}

// Can `id` be recomputed after the loop, for any iteration?
static bool repeatable(const winner *w, uint32_t id, uint32_t loop)
{
    const vy_inst *i = &w->w.p->insts.data[id];
    switch (vy_op_infos[i->op].effect) {
    case VY_PURE: return true;
    case VY_READ: return !written_in(w, i->aux, loop);
    case VY_CTRL: return i->op != VY_OP_CARRY || vy_arg(w->w.p, id, 0) != loop;
    default: return false;
    }
}

// Marks the backward slice of `e` in the loop's body; false: it depends on more than the induction
// variable and loop-invariant values.
static bool mark_slice(winner *w, uint32_t loop, uint32_t e)
{
    uint32_t first = loop + 1, last = w->w.s.partner[loop];
    memset(w->slice + first, 0, last - first);
    if (VY_IS_LEAF(e) || e <= loop) return false;
    w->slice[e] = 1;
    for (uint32_t id = last; id-- > first;) {
        const vy_inst *i = &w->w.p->insts.data[id];
        uint32_t opener = 0;
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
        if (!repeatable(w, id, loop)) return false;
        for (uint32_t k = 0; k < i->nargs; k++) {
            uint32_t a = vy_arg(w->w.p, id, k);
            if (!VY_IS_LEAF(a) && a > loop) w->slice[a] = 1;
        }
    }
    return true;
}

static bool contest_of(winner *w, uint32_t loop, uint32_t k, contest *c)
{
    const vy_program *p = w->w.p;
    uint32_t carry = vy_carry(loop, k), result = vy_result(p, &w->w.s, loop, k);
    uint32_t next = vy_slot_next(p, &w->w.s, loop, k);
    if (VY_IS_LEAF(next) || next <= loop || (w->active && !w->active[result])) return false;
    const vy_inst *i = &p->insts.data[next];
    if ((i->op != VY_OP_MAX && i->op != VY_OP_MIN) || !vy_type_is_float((vy_type)i->type))
        return false;
    uint32_t x = vy_arg(p, next, 0), y = vy_arg(p, next, 1);
    if ((x == carry) == (y == carry) || w->uses[carry] != 1 || w->uses[next] != 1) return false;
    *c = (contest){.k = k, .op = next, .e = x == carry ? y : x, .first = y == carry};
    return mark_slice(w, loop, c->e);
}

static void find_contests(winner *w, uint32_t loop, contest_vec *list)
{
    for (uint32_t k = 0, n = vy_slot_count(w->w.p, &w->w.s, loop); k < n && !w->w.oom; k++) {
        contest c;
        if (contest_of(w, loop, k, &c) && !vy_vec_push(list, c)) w->w.oom = true;
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
static uint32_t replay_winner(winner *w, uint32_t loop, const contest *c, uint32_t at, uint32_t any)
{
    uint32_t initial = vy_new(&w->w, vy_slot_init(w->w.p, loop, c->k)), result, e;
    mark_slice(w, loop, c->e);
    w->w.map[loop] = at;
    vy_begin_if(w->w.b, any);
    for (uint32_t id = loop + 1; id < w->w.s.partner[loop]; id++)
        if (w->slice[id]) vy_rewrite_copy(&w->w, id);
    e = vy_new(&w->w, c->e);
    vy_begin_else(w->w.b, 1, &e);
    vy_end_if(w->w.b, 1, &initial, &result);
    return result;
}

static void stop_grad(winner *w, uint32_t *id) { *id = vy_stop_grad(w->w.b, (vy_value){*id}).id; }

// The loop carries `at` and `any` of each contest after its own values.
static void remake_loop(winner *w, vy_remade *l, const contest_vec *list)
{
    vy_builder *b = w->w.b;
    uint32_t *more = l->in + l->own, *now = l->out + l->own;
    for (uint32_t k = 0; k < list->count; k++) {
        stop_grad(w, &l->in[list->data[k].k]);
        more[2 * k] = vy_new_arg(&w->w, l->opener, 0);
        more[2 * k + 1] = vy_bool(b, false).id;
    }
    vy_remake_begin(&w->w, l);
    vy_remake_body(&w->w, l, replace_contest, w);
    vy_remake_next(&w->w, l);
    for (uint32_t k = 0; k < list->count; k++) {
        const contest *c = &list->data[k];
        vy_value won = wins(w, c), at = {now[2 * k]}, any = {now[2 * k + 1]};
        stop_grad(w, &l->in[c->k]);
        more[2 * k] = vy_select(b, won, (vy_value){w->w.map[l->opener]}, at).id;
        more[2 * k + 1] = vy_or(b, any, won).id;
    }
    vy_remake_end(&w->w, l);
}

static uint32_t replace_contest(void *pass, uint32_t id)
{
    winner *w = pass;
    contest_vec list = {0};
    vy_remade l;
    if (w->w.p->insts.data[id].op == VY_OP_LOOP) find_contests(w, id, &list);
    uint32_t last = 0;
    if (list.count && vy_remake(&w->w, &l, id, 2 * list.count)) {
        remake_loop(w, &l, &list);
        for (uint32_t k = 0; k < list.count; k++) {
            const contest *c = &list.data[k];
            const uint32_t *more = l.out + l.own + 2 * (size_t)k;
            uint32_t r = replay_winner(w, id, c, more[0], more[1]);
            vy_rewrite_as(&w->w, vy_result(w->w.p, &w->w.s, id, c->k), r);
        }
        last = vy_remake_last(&w->w, &l);
    }
    vy_vec_free(&list);
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
