// SPDX-License-Identifier: MIT
// argmax.c: a maximum or minimum over iterations has the derivative of one of them.
//
//   var v = a;                                  var v = a; var at = from; var any = false;
//   for k in from..to {                         for k in from..to {
//       v = max(v, e(k));         becomes           let won = !(v > e(k));
//   }                                               v = stop_grad(max(v, e(k)));
//                                                   at = won ? k : at;  any = any || won;
//                                               }
//                                               let r = any ? e(at) : a;
//
// where r stands for v from there on.  Its reverse is that of one e instead of one in each
// iteration, nothing is kept but `at`, and what e gathers from is added to once.  By the left fold
// of docs/language.md 9.2 the last of equals wins, as comparing in order does.  e must be made from
// the iteration's number and from what the loop does not change.
#include "autodiff/rewrite/argmax.h"
#include "ir/build/edit.h"
#include "ir/core/flow.h"

#include <string.h>

typedef struct winner {
    const vy_program *p;
    vy_structure s;
    const uint8_t *active; // NULL: everything is
    vy_builder *b;
    uint32_t *map;
    uint8_t *slice; // scratch: by instruction, e needs it
    uint32_t *uses; // by instruction
    bool found, oom;
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
    for (uint32_t id = opener; id < w->s.partner[opener]; id++) {
        const vy_inst *i = &w->p->insts.data[id];
        if (vy_op_infos[i->op].effect == VY_WRITE && i->aux == buffer) return true;
    }
    return false;
}

// Can `id` be computed again after the loop, for another iteration?
static bool repeatable(const winner *w, uint32_t id, uint32_t loop)
{
    const vy_inst *i = &w->p->insts.data[id];
    switch (vy_op_infos[i->op].effect) {
    case VY_PURE: return true;
    case VY_READ: return !written_in(w, i->aux, loop);
    case VY_CTRL: return i->op != VY_OP_CARRY || vy_arg(w->p, id, 0) != loop;
    default: return false;
    }
}

// Marks what the value `e` of the loop's body is made of; false: something else than the
// iteration's number and constants of the loop.
static bool mark_slice(winner *w, uint32_t loop, uint32_t e)
{
    uint32_t first = loop + 1, last = w->s.partner[loop];
    memset(w->slice + first, 0, last - first);
    if (VY_IS_LEAF(e) || e <= loop) return false;
    w->slice[e] = 1;
    for (uint32_t id = last; id-- > first;) {
        const vy_inst *i = &w->p->insts.data[id];
        uint32_t opener = 0;
        if (vy_op_closes((vy_op)i->op)) {
            opener = w->s.partner[id];
            for (uint32_t k = id + 1; k < last && w->p->insts.data[k].op == VY_OP_RESULT; k++)
                if (w->slice[k] && vy_arg(w->p, k, 0) == id) w->slice[id] = 1;
            if (w->slice[id]) memset(w->slice + opener, 1, id - opener);
            for (uint32_t k = id + 1; w->slice[id] && k < last; k++) {
                if (w->p->insts.data[k].op != VY_OP_RESULT || vy_arg(w->p, k, 0) != id) break;
                w->slice[k] = 1;
            }
        }
        if (!w->slice[id]) continue;
        if (!repeatable(w, id, loop)) return false;
        for (uint32_t k = 0; k < i->nargs; k++) {
            uint32_t a = vy_arg(w->p, id, k);
            if (!VY_IS_LEAF(a) && a > loop) w->slice[a] = 1;
        }
    }
    return true;
}

static bool contest_of(winner *w, uint32_t loop, uint32_t k, contest *c)
{
    const vy_program *p = w->p;
    uint32_t carry = vy_carry(loop, k), result = vy_result(p, &w->s, loop, k);
    uint32_t next = vy_slot_next(p, &w->s, loop, k);
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
    for (uint32_t k = 0, n = vy_slot_count(w->p, &w->s, loop); k < n && !w->oom; k++) {
        contest c;
        if (contest_of(w, loop, k, &c) && !vy_vec_push(list, c)) w->oom = true;
    }
}

// --------------------------------------------------------------------------------------- rewriting
static void copy_range(winner *w, uint32_t first, uint32_t last);

static uint32_t mapped(const winner *w, uint32_t id, uint32_t k)
{
    return vy_map(w->map, vy_arg(w->p, id, k));
}

static void name_as(winner *w, uint32_t old, uint32_t id)
{
    uint32_t name = w->p->insts.data[old].name;
    if (name) vy_name(w->b, (vy_value){id}, vy_string(&w->p->module->names, name));
}

// Does the candidate win?  max(x, y) is x > y ? x : y, min(x, y) is x < y ? x : y.
static uint32_t wins(winner *w, const contest *c)
{
    vy_value x = {mapped(w, c->op, 0)}, y = {mapped(w, c->op, 1)};
    vy_value takes_x =
        w->p->insts.data[c->op].op == VY_OP_MAX ? vy_lt(w->b, y, x) : vy_lt(w->b, x, y);
    return c->first ? takes_x.id : vy_not(w->b, takes_x).id;
}

// any ? e(at) : initial
static uint32_t replay_winner(winner *w, uint32_t loop, const contest *c, uint32_t at, uint32_t any)
{
    uint32_t initial = vy_map(w->map, vy_slot_init(w->p, loop, c->k)), result, e;
    mark_slice(w, loop, c->e);
    w->map[loop] = at;
    vy_begin_if(w->b, any);
    for (uint32_t id = loop + 1; id < w->s.partner[loop]; id++)
        if (w->slice[id]) vy_copy_inst(w->b, w->p, id, w->map);
    e = vy_map(w->map, c->e);
    vy_begin_else(w->b, 1, &e);
    vy_end_if(w->b, 1, &initial, &result);
    return result;
}

static void rewrite(winner *w, uint32_t loop, const contest_vec *list)
{
    const vy_inst *o = &w->p->insts.data[loop];
    uint32_t end = w->s.partner[loop], keep = vy_keep(w->p, &w->s, loop);
    uint32_t n = vy_slot_count(w->p, &w->s, loop), total = n + 2 * list->count;
    vy_id_vec ids = {0};
    if (!vy_vec_reserve(&ids, 2 * total)) {
        w->oom = true;
        return;
    }
    uint32_t *in = ids.data, *out = in + total;
    for (uint32_t k = 0; k < n; k++) in[k] = vy_map(w->map, vy_slot_init(w->p, loop, k));
    for (uint32_t k = 0; k < list->count; k++) {
        uint32_t v = list->data[k].k;
        in[v] = vy_stop_grad(w->b, (vy_value){in[v]}).id;
        in[n + 2 * k] = mapped(w, loop, 0);
        in[n + 2 * k + 1] = vy_bool(w->b, false).id;
    }
    w->map[loop] =
        vy_begin_loop(w->b, (vy_type)o->type, o->flags & VY_FLAG_REVERSE, mapped(w, loop, 0),
                      mapped(w, loop, 1), mapped(w, loop, 2), total, in, out);
    name_as(w, loop, w->map[loop]);
    for (uint32_t k = 0; k < n; k++) name_as(w, loop + 1 + k, w->map[loop + 1 + k] = out[k]);
    copy_range(w, loop + 1 + n, end);
    for (uint32_t k = 0; k < n; k++) in[k] = vy_map(w->map, vy_slot_next(w->p, &w->s, loop, k));
    for (uint32_t k = 0; k < list->count; k++) {
        const contest *c = &list->data[k];
        vy_value won = {wins(w, c)}, at = {out[n + 2 * k]}, any = {out[n + 2 * k + 1]};
        in[c->k] = vy_stop_grad(w->b, (vy_value){in[c->k]}).id;
        in[n + 2 * k] = vy_select(w->b, won, (vy_value){w->map[loop]}, at).id;
        in[n + 2 * k + 1] = vy_or(w->b, any, won).id;
    }
    vy_end_loop(w->b, keep ? vy_map(w->map, keep) : 0, total, in, out);
    for (uint32_t k = 0; k < n; k++) name_as(w, end + 1 + k, w->map[end + 1 + k] = out[k]);
    for (uint32_t k = 0; k < list->count; k++) {
        const contest *c = &list->data[k];
        uint32_t r = replay_winner(w, loop, c, out[n + 2 * k], out[n + 2 * k + 1]);
        name_as(w, end + 1 + c->k, w->map[end + 1 + c->k] = r);
    }
    vy_vec_free(&ids);
}

static void copy_range(winner *w, uint32_t first, uint32_t last)
{
    for (uint32_t id = first; id < last && !w->oom && !vy_builder_failed(w->b); id++) {
        const vy_inst *i = &w->p->insts.data[id];
        contest_vec list = {0};
        vy_at(w->b, i->line, i->column);
        if (i->op == VY_OP_LOOP) find_contests(w, id, &list);
        if (list.count) {
            rewrite(w, id, &list);
            id = w->s.partner[id] + vy_slot_count(w->p, &w->s, id); // its RESULTs are mapped
        } else {
            vy_copy_inst(w->b, w->p, id, w->map);
        }
        vy_vec_free(&list);
    }
}

// ------------------------------------------------------------------------------------ entry points
static bool begin(winner *w)
{
    uint32_t n = w->p->insts.count;
    w->map = vy_realloc(NULL, n * sizeof *w->map);
    w->uses = vy_realloc(NULL, n * sizeof *w->uses);
    w->slice = vy_realloc(NULL, n);
    if (!w->map || !w->uses || !w->slice || !vy_structure_make(w->p, &w->s)) return false;
    memset(w->map, 0, n * sizeof *w->map);
    memset(w->uses, 0, n * sizeof *w->uses);
    for (uint32_t id = 1; id < n; id++)
        for (uint32_t k = 0; k < w->p->insts.data[id].nargs; k++) {
            uint32_t a = vy_arg(w->p, id, k);
            if (!VY_IS_LEAF(a)) w->uses[a]++;
        }
    return true;
}

static void end(winner *w)
{
    vy_structure_free(&w->s);
    vy_free(w->map);
    vy_free(w->uses);
    vy_free(w->slice);
}

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
    winner w = {.p = p, .active = active};
    vy_program *fresh = NULL;
    w.oom = !begin(&w);
    if (!w.oom && (w.b = vy_rebuild_begin(p))) {
        copy_range(&w, 1, p->insts.count);
        if (!w.oom)
            fresh = vy_rebuild_end(w.b);
        else
            vy_program_abandon(w.b);
    }
    if (w.oom) vy_fail_oom(p->module);
    end(&w);
    if (fresh) vy_program_replace(p, fresh);
    return fresh != NULL;
}
