// SPDX-License-Identifier: MIT
// constant_trips.c: a `while` whose turns follow from constants becomes a counted loop.
//
//   var h = 8u; while h > 0 { …; barrier(); h /= 2; }      →      for n in 0..4 { …; h /= 2; }
//
// The strides of trees and scans look like that.  Left alone, only a run would say how many turns
// there are, and the derivative would be three programs.  Counted and short, the loop is written
// out and its strides are constants.
//
// What only constants and what the loop carries decide is followed turn by turn, integers only:
// what the condition is computed from must be known in each turn.  What stands ahead of the
// condition is run once more than the body, so it may only compute.
#include "autodiff/rewrite/rewrite.h"
#include "ir/core/flow.h"

#include <string.h>

enum { MOST_TURNS = 64, MOST_WORK = 1 << 22 };

typedef struct known {
    const vy_program *p;
    vy_structure s;
    vy_arena arena;
    vy_scalar *value; // by instruction
    uint8_t *has;     // value holds it, in this turn
    uint32_t *turns;  // by WHILE: how many, + 1; 0: stays
    uint32_t *map;
    uint64_t work;
} known;

static bool get(const known *w, uint32_t id, vy_scalar *out)
{
    const vy_scalar *k = vy_id_const(w->p, id);
    if (!k && (VY_IS_LEAF(id) || !w->has[id])) return false;
    *out = k ? *k : w->value[id];
    return true;
}

static bool whole(vy_type t) { return t == VY_BOOL || vy_type_is_integer(t); }

// Computes instruction `id` of the body if its operands are known.
static void compute(known *w, uint32_t id)
{
    const vy_inst *i = &w->p->insts.data[id];
    vy_scalar args[3] = {0};
    w->has[id] = 0;
    if (vy_op_infos[i->op].effect != VY_PURE || !whole((vy_type)i->type) || i->nargs > 3) return;
    for (uint32_t k = 0; k < i->nargs; k++)
        if (!whole(vy_id_type(w->p, vy_arg(w->p, id, k))) || !get(w, vy_arg(w->p, id, k), &args[k]))
            return;
    vy_type type = vy_id_type(w->p, vy_arg(w->p, id, i->nargs - 1));
    w->has[id] =
        vy_scalar_eval((vy_op)i->op, type, (vy_type)i->type, args, i->aux, false, &w->value[id]);
    if (w->has[id] && vy_type_is_integer((vy_type)i->type))
        w->value[id] = vy_wrap((vy_type)i->type, w->value[id]);
}

// The TEST of a loop ahead of which everything only computes, or 0.
static uint32_t plain_test(const known *w, uint32_t loop)
{
    uint32_t id = loop + 1;
    while (id < w->s.partner[loop] && w->p->insts.data[id].op != VY_OP_TEST) {
        vy_op op = (vy_op)w->p->insts.data[id].op;
        if (op != VY_OP_CARRY && vy_op_infos[op].effect != VY_PURE) return 0;
        id++;
    }
    return id < w->s.partner[loop] ? id : 0;
}

// Nested constructs are passed over: what they hand on is not known.
static void compute_range(known *w, uint32_t loop, uint32_t from, uint32_t to)
{
    for (uint32_t id = from; id < to; id++, w->work++)
        if (w->s.parent[id] == loop && !vy_op_opens((vy_op)w->p->insts.data[id].op) &&
            !vy_is_marker((vy_op)w->p->insts.data[id].op))
            compute(w, id);
}

static bool advance(known *w, uint32_t loop, uint32_t n, bool first)
{
    uint32_t end = w->s.partner[loop];
    bool any = false;
    for (uint32_t k = 0; k < n; k++) { // into the places of the results, which nobody asks for yet
        uint32_t to = end + 1 + k,
                 from = first ? vy_slot_init(w->p, loop, k) : vy_slot_next(w->p, &w->s, loop, k);
        w->has[to] = whole(vy_id_type(w->p, loop + 1 + k)) && get(w, from, &w->value[to]);
    }
    for (uint32_t k = 0; k < n; k++) {
        w->has[loop + 1 + k] = w->has[end + 1 + k];
        w->value[loop + 1 + k] = w->value[end + 1 + k];
        any |= w->has[end + 1 + k];
        w->has[end + 1 + k] = 0;
    }
    return any;
}

// Follows the loop from its entry; how often it runs, + 1; 0: not known.
static uint32_t follow(known *w, uint32_t loop, uint32_t test)
{
    const vy_inst *o = &w->p->insts.data[loop];
    const uint32_t end = w->s.partner[loop];
    if (!advance(w, loop, o->nargs, true)) return 0;
    for (uint32_t turn = 0; turn <= MOST_TURNS && w->work < MOST_WORK; turn++) {
        vy_scalar go;
        compute_range(w, loop, loop + 1 + o->nargs, test);
        if (!get(w, vy_arg(w->p, test, 0), &go)) return 0;
        if (!go.u) return turn + 1;
        compute_range(w, loop, test + 1, end);
        advance(w, loop, o->nargs, false);
    }
    return 0;
}

// How often the loop runs, + 1; 0: not known.
static uint32_t count_turns(known *w, uint32_t loop)
{
    const uint32_t test = plain_test(w, loop), end = w->s.partner[loop];
    if (!test || vy_exits(w->p, loop)) return 0;
    const uint32_t turns = follow(w, loop, test);
    // What the loop computed in the turn that was followed last is no constant of the loops in it.
    memset(w->has + loop, 0, end - loop);
    return turns;
}

static void begin_counted(known *w, vy_builder *b, uint32_t loop, uint32_t *in, uint32_t *out)
{
    uint32_t n = w->p->insts.data[loop].nargs;
    for (uint32_t k = 0; k < n; k++) in[k] = vy_map(w->map, vy_arg(w->p, loop, k));
    uint32_t zero = vy_int(b, VY_U32, 0).id, to = vy_int(b, VY_U32, w->turns[loop] - 1).id;
    w->map[loop] = vy_begin_loop(b, VY_U32, 0, zero, to, vy_int(b, VY_U32, 1).id, n, in, out);
    for (uint32_t k = 0; k < n && !vy_builder_failed(b); k++) {
        w->map[loop + 1 + k] = out[k];
        vy_pass_name(b, w->p, loop + 1 + k, out[k]);
    }
}

static void end_counted(known *w, vy_builder *b, uint32_t end, uint32_t *in, uint32_t *out)
{
    uint32_t n = w->p->insts.data[end].nargs;
    for (uint32_t k = 0; k < n; k++) in[k] = vy_map(w->map, vy_arg(w->p, end, k));
    vy_end_loop(b, 0, n, in, out);
    for (uint32_t k = 0; k < n && !vy_builder_failed(b); k++) {
        w->map[end + 1 + k] = out[k];
        vy_pass_name(b, w->p, end + 1 + k, out[k]);
    }
}

static void rebuild(known *w, vy_builder *b, uint32_t *in, uint32_t *out)
{
    for (uint32_t id = 1; id < w->p->insts.count && !vy_builder_failed(b); id++) {
        const vy_inst *i = &w->p->insts.data[id];
        uint32_t partner = w->s.partner[id];
        bool mine = (i->op == VY_OP_WHILE && w->turns[id]) ||
                    ((i->op == VY_OP_TEST || i->op == VY_OP_ENDLOOP) && w->turns[partner]);
        if (!mine) {
            vy_copy_inst(b, w->p, id, w->map);
            continue;
        }
        vy_pass_at(b, w->p, id);
        if (i->op == VY_OP_WHILE) begin_counted(w, b, id, in, out);
        if (i->op == VY_OP_ENDLOOP) end_counted(w, b, id, in, out);
        if (i->op != VY_OP_TEST) id += i->nargs; // its CARRYs, its RESULTs
    }
}

static bool find(known *w, uint32_t *most)
{
    uint32_t n = w->p->insts.count;
    w->value = vy_arena_alloc(&w->arena, n * sizeof *w->value);
    w->has = vy_arena_alloc(&w->arena, n);
    w->turns = vy_arena_alloc(&w->arena, n * sizeof *w->turns);
    w->map = vy_arena_alloc(&w->arena, n * sizeof *w->map);
    if (!w->value || !w->has || !w->turns || !w->map || !vy_structure_make(w->p, &w->s))
        return false;
    for (uint32_t id = 1; id < n; id++) {
        if (w->p->insts.data[id].op != VY_OP_WHILE) continue;
        w->turns[id] = count_turns(w, id);
        if (w->turns[id] && *most <= w->p->insts.data[id].nargs)
            *most = w->p->insts.data[id].nargs + 1;
    }
    return true;
}

bool vy_pass_constant_trips(vy_program *p, vy_pass_context *c)
{
    known w = {.p = p};
    uint32_t most = 0; // values that a loop to be rewritten carries, + 1
    bool ok = find(&w, &most);
    uint32_t *ids = ok ? vy_arena_alloc(&w.arena, ((size_t)most * 2 + 1) * sizeof *ids) : NULL;
    if (!ids) {
        vy_fail_oom(p->module);
        ok = false;
    }
    vy_builder *b = ok && most ? vy_rebuild_begin(p) : NULL;
    if (ok && most) ok = b != NULL;
    if (b) {
        c->changed = true;
        rebuild(&w, b, ids, ids + most);
        ok = vy_pass_finish(b, p);
    }
    vy_structure_free(&w.s);
    vy_arena_free(&w.arena);
    return ok;
}
