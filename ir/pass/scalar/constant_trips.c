// SPDX-License-Identifier: MIT
// constant_trips.c: a `while` whose trip count follows from constants becomes a counted loop.
//
//   var h = 8u; while h > 0 { …; barrier(); h /= 2; }      →      for n in 0..4 { …; h /= 2; }
//
// The strides of trees and scans look like that.  Left alone, only a run would tell the trip count,
// and the derivative would be three programs.  Counted and short, the loop is fully unrolled and
// its strides are constants.
//
// Integers that depend only on constants and on what the loop carries are evaluated iteration by
// iteration; the operands of the condition must be known in each.  What is ahead of the condition
// executes once more than the body, so it must be pure.
#include "ir/build/rewrite.h"
#include "ir/pass/pass.h"

#include <string.h>

enum { MOST_TRIPS = 64, MOST_WORK = 1 << 22 };

typedef struct known {
    vy_rewrite w;
    vy_scalar *value;     // by instruction
    uint8_t *has;         // value[] holds it, in this iteration
    uint32_t *iterations; // by WHILE: its trip count, + 1; 0: the loop stays
    uint64_t work;
} known;

static bool get(const known *w, uint32_t id, vy_scalar *out)
{
    const vy_scalar *k = vy_id_const(w->w.p, id);
    if (!k && (VY_IS_LEAF(id) || !w->has[id])) return false;
    *out = k ? *k : w->value[id];
    return true;
}

static bool is_integral(vy_type t) { return t == VY_BOOL || vy_type_is_integer(t); }

// Evaluates instruction `id` of the body if its operands are known.
static void compute(known *w, uint32_t id)
{
    const vy_inst *i = &w->w.p->insts.data[id];
    vy_scalar args[3] = {0};
    w->has[id] = 0;
    if (vy_op_infos[i->op].effect != VY_PURE || !is_integral((vy_type)i->type) || i->nargs > 3)
        return;
    for (uint32_t k = 0; k < i->nargs; k++)
        if (!is_integral(vy_id_type(w->w.p, vy_arg(w->w.p, id, k))) ||
            !get(w, vy_arg(w->w.p, id, k), &args[k]))
            return;
    vy_type type = vy_id_type(w->w.p, vy_arg(w->w.p, id, i->nargs - 1));
    w->has[id] =
        vy_scalar_eval((vy_op)i->op, type, (vy_type)i->type, args, i->aux, false, &w->value[id]);
    if (w->has[id] && vy_type_is_integer((vy_type)i->type))
        w->value[id] = vy_wrap((vy_type)i->type, w->value[id]);
}

// The TEST of the loop if everything ahead of it is pure, else 0.
static uint32_t plain_test(const known *w, uint32_t loop)
{
    uint32_t id = loop + 1;
    while (id < w->w.s.partner[loop] && w->w.p->insts.data[id].op != VY_OP_TEST) {
        vy_op op = (vy_op)w->w.p->insts.data[id].op;
        if (op != VY_OP_CARRY && vy_op_infos[op].effect != VY_PURE) return 0;
        id++;
    }
    return id < w->w.s.partner[loop] ? id : 0;
}

// Nested constructs are skipped: what they yield is not known.
static void compute_range(known *w, uint32_t loop, uint32_t from, uint32_t to)
{
    for (uint32_t id = from; id < to; id++, w->work++)
        if (w->w.s.parent[id] == loop && !vy_op_opens((vy_op)w->w.p->insts.data[id].op) &&
            !vy_is_marker((vy_op)w->w.p->insts.data[id].op))
            compute(w, id);
}

static bool advance(known *w, uint32_t loop, uint32_t n, bool first)
{
    uint32_t end = w->w.s.partner[loop];
    bool any = false;
    for (uint32_t k = 0; k < n; k++) { // into the places of the results, which are not used yet
        uint32_t to = end + 1 + k, from = first ? vy_slot_init(w->w.p, loop, k)
                                                : vy_slot_next(w->w.p, &w->w.s, loop, k);
        w->has[to] = is_integral(vy_id_type(w->w.p, loop + 1 + k)) && get(w, from, &w->value[to]);
    }
    for (uint32_t k = 0; k < n; k++) {
        w->has[loop + 1 + k] = w->has[end + 1 + k];
        w->value[loop + 1 + k] = w->value[end + 1 + k];
        any |= w->has[end + 1 + k];
        w->has[end + 1 + k] = 0;
    }
    return any;
}

// Evaluates the loop from its entry.  Its trip count, + 1; 0: not known.
static uint32_t follow(known *w, uint32_t loop, uint32_t test)
{
    const vy_inst *o = &w->w.p->insts.data[loop];
    const uint32_t end = w->w.s.partner[loop];
    if (!advance(w, loop, o->nargs, true)) return 0;
    for (uint32_t iteration = 0; iteration <= MOST_TRIPS && w->work < MOST_WORK; iteration++) {
        vy_scalar go;
        compute_range(w, loop, loop + 1 + o->nargs, test);
        if (!get(w, vy_arg(w->w.p, test, 0), &go)) return 0;
        if (!go.u) return iteration + 1;
        compute_range(w, loop, test + 1, end);
        advance(w, loop, o->nargs, false);
    }
    return 0;
}

// The trip count of the loop, + 1; 0: not known.
static uint32_t count_iterations(known *w, uint32_t loop)
{
    const uint32_t test = plain_test(w, loop), end = w->w.s.partner[loop];
    if (!test || vy_exits(w->w.p, loop)) return 0;
    const uint32_t iterations = follow(w, loop, test);
    // Values of the iteration evaluated last are no constants for the loops inside this one.
    memset(w->has + loop, 0, end - loop);
    return iterations;
}

static uint32_t replace_loop(void *pass, uint32_t id);

static uint32_t make_counted(known *w, uint32_t id)
{
    vy_remade l;
    if (!vy_remake(&w->w, &l, id, 0)) return 0;
    vy_builder *b = w->w.b;
    vy_rewrite_at(&w->w, id);
    const vy_value from = vy_int(b, VY_U32, 0), to = vy_int(b, VY_U32, w->iterations[id] - 1);
    const uint32_t bounds[3] = {from.id, to.id, vy_int(b, VY_U32, 1).id};
    w->w.map[id] = vy_remake_counted(&w->w, &l, VY_U32, 0, bounds);
    vy_remake_body(&w->w, &l, replace_loop, w);
    vy_remake_next(&w->w, &l);
    vy_remake_end(&w->w, &l);
    return vy_remake_last(&w->w, &l);
}

static uint32_t replace_loop(void *pass, uint32_t id)
{
    known *w = pass;
    if (w->w.p->insts.data[id].op == VY_OP_TEST && w->iterations[w->w.s.partner[id]]) return id;
    return w->iterations[id] ? make_counted(w, id) : 0;
}

static bool find_loops(known *w, bool *any)
{
    w->value = vy_rewrite_table(&w->w, w->w.p->insts.count * sizeof *w->value);
    w->has = vy_rewrite_bytes(&w->w);
    w->iterations = vy_rewrite_ids(&w->w);
    for (uint32_t id = 1; id < w->w.p->insts.count && !w->w.oom; id++) {
        if (w->w.p->insts.data[id].op != VY_OP_WHILE) continue;
        w->iterations[id] = count_iterations(w, id);
        *any |= w->iterations[id] != 0;
    }
    return !w->w.oom;
}

bool vy_pass_constant_trips(vy_program *p, vy_pass_context *c)
{
    if (!(vy_constructs(p) & VY_LOOPS)) return true;
    known w = {0};
    bool any = false, ok = vy_rewrite_begin(&w.w, p) && find_loops(&w, &any);
    if (ok && any) vy_rewrite_run(&w.w, replace_loop, &w);
    return vy_rewrite_end(&w.w, ok, &c->changed);
}
