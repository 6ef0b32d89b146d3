// SPDX-License-Identifier: MIT
// count_loops.c: a `while` that counts becomes a counted loop.
//
//   var k = 0; while k < n { …; k += 2; }      →      for k in 0..n step 2 { … }
//
// So its trip count is known before it runs: the derivative needs no run that counts, its tapes
// have a size, and k is an affine index.  Loops that others wrote count in many ways:
//
//   - up or down, to what may be reached or not, by a constant or by what is surely positive, as a
//     scalar is of which the program assumes it, `assume(1 <= step)`;
//   - tested as a number of the other sign, `u32(k) < n`: then it is counted in that type, since
//     additions wrap alike in both;
//   - tested where the iteration begins, behind code that does nothing if the test fails;
//   - tested where the iteration ends, before or after the step: then the first one always runs;
//   - with further exits: they stay exits, and need not count in the iteration that leaves.
//
// The bound must not change in the loop.  Where the numbers from the first to the bound are no
// range of the type, or may be none, the loop counts its iterations, and k is computed.  Loops that
// surely pass the end of their type stay as they are; one that may, because it counts in larger
// steps to a bound that is not known, ends there (docs/language.md 8.2).
#include "ir/pass/pass.h"
#include "ir/pass/scalar/find_counter.h"

enum { DEEPEST = 8 }; // conditions of conditions

typedef struct counting {
    vy_rewrite w;
    uint32_t *uses;
    vy_counting_loop *loops; // by instruction
} counting;

static const vy_inst *inst(const counting *x, uint32_t id)
{
    return &x->w.p->insts.data[VY_IS_LEAF(id) ? 0 : id];
}

typedef struct range { // of a loop that is rebuilt, in the new program
    const vy_counting_loop *of;
    vy_type type, number; // of its counter; of numbers of iterations
    vy_value init, bound, by, from, to;
    uint32_t counter;
} range;

static vy_value as(counting *x, vy_type type, uint32_t id)
{
    const vy_value v = {id};
    if (vy_builder_failed(x->w.b) || vy_id_type(vy_builder_program(x->w.b), id) == type) return v;
    return vy_bitcast(x->w.b, type, v);
}

static vy_value one(counting *x, vy_type t) { return vy_int(x->w.b, t, 1); }

// The step as a positive number of the type.
static vy_value positive_step(counting *x, uint32_t loop, const range *r, vy_type t)
{
    const uint64_t by = vy_counting_step(&x->w, r->of);
    return by ? vy_int(x->w.b, t, (int64_t)by)
              : as(x, t, vy_counting_ahead(&x->w, loop, r->of->step));
}

// How far the bound is, in steps.
static vy_value trips(counting *x, const range *r)
{
    vy_builder *b = x->w.b;
    const vy_counting_loop *c = r->of;
    const vy_type u = r->number;
    const vy_value low = c->down ? r->bound : r->init, high = c->down ? r->init : r->bound;
    const vy_value by = as(x, u, r->by.id), zero = vy_int(b, u, 0), unit = one(x, u);
    // One at a time: compilers differ in which argument of a call they evaluate first.
    const vy_value from = as(x, u, low.id), to = as(x, u, high.id);
    const vy_value far = vy_sub(b, to, from);
    if (c->differs) return far;
    if (c->down && !c->reaches && vy_counting_step(&x->w, c) == 1)
        return vy_sub(b, as(x, u, vy_max(b, high, low).id), from);
    const vy_value last = vy_div(b, c->reaches ? far : vy_sub(b, far, unit), by);
    const vy_value n = vy_add(b, last, unit);
    return vy_select(b, c->reaches ? vy_le(b, low, high) : vy_lt(b, low, high), n, zero);
}

// The first number behind the bound; if there is none, behind the one before it.
static vy_value behind(counting *x, const range *r)
{
    vy_builder *b = x->w.b;
    if (!r->of->reaches) return r->bound;
    const vy_value most = vy_int(b, r->type, (int64_t)(vy_greatest(r->type).u - 1));
    const vy_value last = vy_min(b, r->bound, most);
    return vy_add(b, last, one(x, r->type));
}

// How many iterations there are, of a loop whose first one is not tested.
static vy_value trips_of_do(counting *x, const range *r)
{
    vy_builder *b = x->w.b;
    range later = *r;
    const vy_value by = as(x, r->of->type, r->by.id);
    if (r->of->moved) later.init = r->of->down ? vy_sub(b, r->init, by) : vy_add(b, r->init, by);
    const vy_value most = vy_int(b, r->number, (int64_t)(vy_greatest(r->number).u - 1));
    const vy_value n = vy_min(b, trips(x, &later), most);
    return vy_add(b, n, one(x, r->number));
}

static range range_of(counting *x, uint32_t loop)
{
    vy_builder *b = x->w.b;
    range r = {.of = &x->loops[loop]};
    r.number = vy_iteration_type(r.of->type);
    r.type = r.of->form == VY_COUNTS_TRIPS ? r.number : r.of->type;
    r.init = as(x, r.of->type, vy_new(&x->w, vy_slot_init(x->w.p, loop, r.of->slot)));
    r.bound = as(x, r.of->type, vy_counting_ahead(&x->w, loop, r.of->bound));
    r.by = positive_step(x, loop, &r, r.type);
    if (r.of->form == VY_COUNTS_UP) {
        r.from = r.init;
        r.to = behind(x, &r);
        if (r.of->last) r.to = vy_max(b, r.to, vy_add(b, r.init, one(x, r.type)));
    } else if (r.of->form == VY_COUNTS_DOWN) {
        r.from = r.of->reaches ? r.bound : vy_add(b, r.bound, one(x, r.type));
        r.to = vy_add(b, r.init, one(x, r.type));
    } else {
        r.from = vy_int(b, r.type, 0);
        r.to = r.of->last ? trips_of_do(x, &r) : trips(x, &r);
    }
    return r;
}

// The counter of the old loop, where it has made that many steps.
static vy_value after(counting *x, const range *r, vy_value steps)
{
    vy_builder *b = x->w.b;
    const vy_value way = as(x, r->of->type, vy_mul(b, steps, as(x, r->number, r->by.id)).id);
    return r->of->down ? vy_sub(b, r->init, way) : vy_add(b, r->init, way);
}

// … where the loop has ended, having counted to its end.
static vy_value last_value(counting *x, const range *r)
{
    vy_builder *b = x->w.b;
    if (r->of->form == VY_COUNTS_UP && vy_counting_step(&x->w, r->of) == 1)
        return vy_max(b, r->init, r->to);
    return after(x, r, r->of->form == VY_COUNTS_TRIPS ? r->to : trips(x, r));
}

static uint32_t replace(void *pass, uint32_t id);

// Whether an iteration goes on, but for the comparison: the numbers of the loop end with it.
static vy_value kept(counting *x, const vy_counting_loop *c, uint32_t id, uint32_t depth)
{
    const vy_op op = (vy_op)inst(x, id)->op;
    const vy_program *p = x->w.p;
    if (id == c->compare) return vy_bool(x->w.b, c->sense);
    if (op == VY_OP_NOT && depth < DEEPEST)
        return vy_not(x->w.b, kept(x, c, vy_arg(p, id, 0), depth + 1));
    if (op != VY_OP_AND || depth == DEEPEST) return (vy_value){vy_new(&x->w, id)};
    const vy_value a = kept(x, c, vy_arg(p, id, 0), depth + 1);
    return vy_and(x->w.b, a, kept(x, c, vy_arg(p, id, 1), depth + 1));
}

static void leave_by_count(counting *x, const vy_counting_loop *c, vy_remade *l)
{
    if ((!c->last && !c->idle) || vy_rewrite_stopped(&x->w)) return;
    const vy_value v = kept(x, c, vy_keep(x->w.p, &x->w.s, l->opener), 0);
    if (vy_builder_failed(x->w.b)) return;
    const vy_scalar *always = vy_id_const(vy_builder_program(x->w.b), v.id);
    l->keep = always && always->u ? 0 : v.id;
}

static uint32_t rebuild(counting *x, uint32_t loop)
{
    const vy_program *p = x->w.p;
    vy_counting_loop *c = &x->loops[loop];
    vy_remade l;
    if (!vy_remake(&x->w, &l, loop, 0)) return 0;
    vy_rewrite_at(&x->w, loop);
    range r = range_of(x, loop);
    const vy_value step = c->form == VY_COUNTS_UP ? r.by : one(x, r.type);
    const uint32_t bounds[3] = {r.from.id, r.to.id, step.id}, carry = vy_carry(loop, c->slot);
    const vy_type type = vy_id_type(p, carry);
    const bool used = x->uses[vy_result(p, &x->w.s, loop, c->slot)] && !vy_exits(p, loop);
    const vy_value last = used ? last_value(x, &r) : (vy_value){0};
    r.counter = vy_remake_counted(&x->w, &l, r.type,
                                  c->form == VY_COUNTS_DOWN ? VY_FLAG_REVERSE : 0, bounds);
    x->w.map[loop] = r.counter;
    const vy_value k =
        c->form == VY_COUNTS_TRIPS ? after(x, &r, (vy_value){r.counter}) : (vy_value){r.counter};
    vy_rewrite_as(&x->w, carry, as(x, type, k.id).id);
    vy_remake_body(&x->w, &l, replace, x);
    vy_remake_next(&x->w, &l);
    leave_by_count(x, c, &l);
    vy_remake_end(&x->w, &l);
    if (used) x->w.map[vy_result(p, &x->w.s, loop, c->slot)] = as(x, type, last.id).id;
    return vy_remake_last(&x->w, &l);
}

// The counted loop that the test, or the comparison of it, is of; 0: it is of none.
static uint32_t tested(const counting *x, uint32_t id)
{
    uint32_t loop = inst(x, id)->op == VY_OP_TEST ? x->w.s.partner[id] : x->w.s.parent[id];
    if (!loop || inst(x, loop)->op != VY_OP_WHILE || !x->loops[loop].form) return 0;
    const vy_counting_loop *c = &x->loops[loop];
    return inst(x, id)->op == VY_OP_TEST || (!c->last && c->compare == id) ? loop : 0;
}

static uint32_t replace(void *pass, uint32_t id)
{
    counting *x = pass;
    if (x->loops[id].form) return rebuild(x, id);
    const uint32_t loop = tested(x, id);
    if (!loop) return 0;
    if (inst(x, id)->op != VY_OP_TEST) x->w.map[id] = vy_bool(x->w.b, x->loops[loop].sense).id;
    return id;
}

static bool find_loops(counting *x, bool *any)
{
    const vy_program *p = x->w.p;
    x->uses = vy_rewrite_uses(&x->w);
    x->loops = vy_rewrite_table(&x->w, p->insts.count * sizeof *x->loops);
    for (uint32_t id = 1; id < p->insts.count && !x->w.oom; id++) {
        vy_counting_loop c = {0};
        if (p->insts.data[id].op != VY_OP_WHILE || !vy_find_counter(&x->w, id, &c) || c.unsure)
            continue;
        x->loops[id] = c;
        *any = true;
    }
    return !x->w.oom;
}

bool vy_pass_count_loops(vy_program *p, vy_pass_context *c)
{
    if (!(vy_constructs(p) & VY_LOOPS)) return true;
    counting x = {0};
    bool any = false, ok = vy_rewrite_begin(&x.w, p) && find_loops(&x, &any), made = false;
    if (ok && any) vy_rewrite_run(&x.w, replace, &x);
    ok = vy_rewrite_end(&x.w, ok, &made);
    c->changed |= made;
    return ok && (!made || vy_pass_cleanup(p, c));
}
