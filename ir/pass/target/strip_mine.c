// SPDX-License-Identifier: MIT
// strip_mine.c: several iterations in one, for drivers that limit the number of iterations, and for
// GPUs that load four neighbouring words at once.
//
//   for k in a..b step s { body }   →   for t in 0..n/8 { body(a + (8t)s); … body(a + (8t+7)s) }
//                                       for t in n/8*8..n { body(a + t s) }      n = ⌈(b − a)/s⌉
//
// lavapipe silently ends every loop of an invocation once its loops have run 65,535 iterations in
// total.  Fewer iterations are the only remedy that a shader has.  (They are also cheaper there:
// each iteration spills the carried values.)  The trip count is computed unsigned, in the loop's
// own width, where b − a of a non-empty loop cannot overflow.
//
// On a GPU (options->adjacent), where iteration k loads x[k] and no condition guards it, four
// iterations load x[4t] … x[4t + 3], which its compiler makes one load.  Where loads are checked,
// the iterations in which they are in range are known before the loop (loop_ranges.c), and run so:
//
//   for t in 0..first { body }                              with checks
//   for q in 0..(end − first)/4 { 4 bodies from first + 4q }     without
//   for t in first + (end − first)/4*4..n { body }          with checks
//
// So do small loops that sum what they load, whose test, counter and addresses are a good part of
// their instructions: four iterations share them.
//
// Applies to innermost counted loops without early exit, barrier or subgroup operation and with a
// small body.  Runs only if options->chunk > 1 or options->adjacent: written SPIR-V is for other
// drivers too.
#include "ir/core/access.h"
#include "ir/core/flow.h"
#include "ir/facts/price.h"
#include "ir/pass/pass.h"
#include "ir/pass/scalar/follows.h"
#include "ir/pass/target/loop_ranges.h"

enum {
    LARGEST_BODY = 96,
    WIDE = 4,           // words that a GPU loads at once
    LARGEST_WIDE = 256, // instructions
};

typedef struct chunk {
    vy_rewrite w;
    uint32_t factor; // 0: only loops that load rows, by WIDE
    vy_loop_ranges ranges;
    uint32_t *uses; // by instruction; for a GPU
    const vy_pass_context *context;
} chunk;

static uint32_t factor_of(const chunk *c) { return c->factor ? c->factor : WIDE; }

// Does each iteration load the word after that of the one before?
static bool loads_row(const vy_program *p, uint32_t loop, uint32_t end)
{
    const vy_scalar *step = vy_id_const(p, vy_arg(p, loop, 2));
    bool row = false;
    for (uint32_t id = loop + 1; id < end; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (i->op != VY_OP_LOAD || !vy_is_global(p->buffers.data[i->aux].cls)) continue;
        const uint32_t rank = vy_rank_of(p, id);
        row |= rank && vy_follows(p, vy_arg(p, id, rank - 1), loop);
    }
    return row && step && step->u == 1;
}

// Is it in the second arm of an `if`: of a block at the edge (ir/pass/device/interior.c)?
static bool in_second_arm(const vy_rewrite *w, uint32_t id)
{
    for (uint32_t up = w->s.parent[id]; up; id = up, up = w->s.parent[up])
        if (w->p->insts.data[up].op == VY_OP_IF && !vy_in_then(&w->s, up, id)) return true;
    return false;
}

// Is what the loop carries sums to which each iteration adds, and which it does not use otherwise?
static bool carries_sums(const chunk *c, uint32_t loop)
{
    const vy_program *p = c->w.p;
    const uint32_t n = vy_slot_count(p, &c->w.s, loop);
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t carry = vy_carry(loop, k), next = vy_slot_next(p, &c->w.s, loop, k);
        if (VY_IS_LEAF(next) || p->insts.data[next].op != VY_OP_ADD) return false;
        if (vy_arg(p, next, 0) != carry && vy_arg(p, next, 1) != carry) return false;
        if (c->uses[carry] != 1) return false;
    }
    return n;
}

// Does an iteration load, compute what is cheap, and nothing else?
static bool loads_cheaply(const chunk *c, uint32_t loop)
{
    const vy_program *p = c->w.p;
    const uint32_t first = loop + 1 + vy_slot_count(p, &c->w.s, loop);
    bool any = false;
    for (uint32_t id = first; id < c->w.s.partner[loop]; id++) {
        const vy_inst *i = &p->insts.data[id];
        const bool load = i->op == VY_OP_LOAD && vy_is_global(p->buffers.data[i->aux].cls);
        if (!load && !vy_is_cheap((vy_op)i->op)) return false;
        any |= load;
    }
    return any;
}

// Is it a small loop that sums what it loads, of a number of iterations that is not known and that
// lanes have in common?
static bool is_small(const chunk *c, uint32_t loop)
{
    uint64_t trips;
    const uint32_t body = c->w.s.partner[loop] - loop - vy_slot_count(c->w.p, &c->w.s, loop);
    return body <= LARGEST_BODY && carries_sums(c, loop) && loads_cheaply(c, loop) &&
           !vy_constant_trips(c->w.p, loop, &trips) &&
           vy_ranges_trips_are_common(&c->ranges, &c->w, loop);
}

// For a GPU: does it load rows, in range in all iterations, or in some that are known before; or
// does it load what is in range, and little?
static bool loads_inside(chunk *c, uint32_t loop)
{
    const bool row = loads_row(c->w.p, loop, c->w.s.partner[loop]);
    if (!row && (!is_small(c, loop) || in_second_arm(&c->w, loop))) return false;
    if (!vy_ranges_look(&c->ranges, &c->w, loop)) return false;
    return !c->ranges.count || (row && loads_cheaply(c, loop) && !in_second_arm(&c->w, loop));
}

static bool suits(chunk *c, uint32_t loop)
{
    const vy_program *p = c->w.p;
    if (vy_exits(p, loop)) return false;
    const uint32_t end = c->w.s.partner[loop];
    if (end - loop > (c->factor ? LARGEST_BODY : LARGEST_WIDE)) return false;
    for (uint32_t id = loop + 1; id < end; id++) {
        vy_op op = (vy_op)p->insts.data[id].op;
        if (vy_is_loop(op) || vy_op_infos[op].effect == VY_CONV) return false;
    }
    return c->factor || loads_inside(c, loop);
}

static vy_value mapped(const chunk *c, uint32_t id) { return (vy_value){vy_new(&c->w, id)}; }

static vy_value count_iterations(chunk *c, uint32_t loop, vy_type u)
{
    vy_value n = vy_new_trips(&c->w, loop);
    vy_value zero = vy_zero(c->w.b, u);
    return vy_select(c->w.b, vy_new_runs(&c->w, loop), n, zero);
}

static uint32_t in_range(void *pass, uint32_t id)
{
    chunk *c = pass;
    if (!c->ranges.freed[id]) return 0;
    vy_rewrite_copy_in_range(&c->w, id);
    return id;
}

// The body once, for iteration number t of n.
static void one_iteration(chunk *c, uint32_t loop, vy_type u, vy_value t, vy_value n, bool inside)
{
    const vy_program *p = c->w.p;
    const vy_inst *i = &p->insts.data[loop];
    uint32_t end = c->w.s.partner[loop], slots = vy_slot_count(p, &c->w.s, loop);
    vy_builder *b = c->w.b;
    if (i->flags & VY_FLAG_REVERSE) t = vy_sub(b, vy_sub(b, n, vy_int(b, u, 1)), t);
    vy_value step = vy_cast(b, u, mapped(c, vy_arg(p, loop, 2)));
    vy_value from = vy_cast(b, u, mapped(c, vy_arg(p, loop, 0)));
    vy_value k = vy_cast(b, (vy_type)i->type, vy_add(b, from, vy_mul(b, t, step)));
    vy_rewrite_as(&c->w, loop, k.id);
    vy_rewrite_range(&c->w, loop + 1 + slots, end, inside ? in_range : NULL, c);
}

static bool provably_empty(const chunk *c, vy_value from, vy_value to)
{
    const vy_program *p = vy_builder_program(c->w.b);
    const vy_scalar *low = vy_id_const(p, from.id), *high = vy_id_const(p, to.id);
    return low && high && low->u >= high->u;
}

// Iterations of the loop that are made by one.
typedef struct section {
    vy_value first, from, to; // t = first + factor * q, q in from..to, and those up to the next
    uint32_t factor;
    bool inside; // its loads are in range
} section;

// values[]: its initial carried values and then its results.
static void emit_section(chunk *c, uint32_t loop, section x, vy_value n, uint32_t *values)
{
    const vy_program *p = c->w.p;
    const vy_type u = vy_value_type(c->w.b, n);
    uint32_t slots = vy_slot_count(p, &c->w.s, loop), end = c->w.s.partner[loop];
    if (provably_empty(c, x.from, x.to)) return;
    uint32_t *carries = vy_realloc(NULL, (slots * 2 + 1) * sizeof *carries);
    if (!carries) {
        c->w.oom = true;
        return;
    }
    uint32_t *nexts = carries + slots, one = vy_int(c->w.b, u, 1).id;
    vy_value q = {vy_begin_loop(c->w.b, u, 0, x.from.id, x.to.id, one, slots, values, carries)};
    for (uint32_t s = 0; s < slots; s++) c->w.map[loop + 1 + s] = carries[s];
    vy_value first = vy_add(c->w.b, x.first, vy_mul(c->w.b, q, vy_int(c->w.b, u, x.factor)));
    for (uint32_t iteration = 0; iteration < x.factor && !vy_rewrite_stopped(&c->w); iteration++) {
        vy_value t = vy_add(c->w.b, first, vy_int(c->w.b, u, iteration));
        one_iteration(c, loop, u, t, n, x.inside);
        for (uint32_t s = 0; s < slots; s++) nexts[s] = vy_new_arg(&c->w, end, s);
        for (uint32_t s = 0; s < slots; s++) c->w.map[loop + 1 + s] = nexts[s];
    }
    vy_end_loop(c->w.b, 0, slots, nexts, values);
    vy_free(carries);
}

static void emit_sections(chunk *c, uint32_t loop, vy_type u, uint32_t *values)
{
    vy_builder *b = c->w.b;
    const uint32_t f = factor_of(c);
    const vy_value n = count_iterations(c, loop, u), zero = vy_zero(b, u), factor = vy_int(b, u, f);
    vy_value first = zero, end = n;
    const bool checked = !c->factor && c->ranges.count;
    if (!c->factor) end = vy_ranges_common_trips(&c->ranges, &c->w, loop, n);
    if (checked) {
        vy_ranges_find(&c->ranges, &c->w, loop, n, &first, &end);
        emit_section(c, loop, (section){zero, zero, first, 1, false}, n, values);
    }
    const vy_value times = vy_div(b, vy_sub(b, end, first), factor);
    emit_section(c, loop, (section){first, zero, times, f, checked}, n, values);
    const vy_value rest = vy_add(b, first, vy_mul(b, times, factor));
    emit_section(c, loop, (section){zero, rest, n, 1, false}, n, values);
}

static void split(chunk *c, uint32_t loop)
{
    const vy_program *p = c->w.p;
    uint32_t slots = vy_slot_count(p, &c->w.s, loop), end = c->w.s.partner[loop];
    uint32_t *values = vy_realloc(NULL, (slots + 1) * sizeof *values);
    if (!values) {
        c->w.oom = true;
        return;
    }
    vy_rewrite_at(&c->w, loop);
    for (uint32_t s = 0; s < slots; s++)
        values[s] = vy_new_arg(&c->w, loop, vy_init_arg(p, loop) + s);
    emit_sections(c, loop, vy_iteration_type((vy_type)p->insts.data[loop].type), values);
    if (!vy_rewrite_stopped(&c->w)) vy_rewrite_slots(&c->w, end, slots, values);
    vy_free(values);
}

// What keeps lavapipe from ending loops is never too much.
static bool may_copy(const chunk *c, uint32_t loop)
{
    const uint64_t body = c->w.s.partner[loop] - loop;
    return c->factor || vy_may_copy(c->context, c->w.p, body * (WIDE + !!c->ranges.count));
}

static uint32_t instead(void *pass, uint32_t id)
{
    chunk *c = pass;
    const vy_inst *i = &c->w.p->insts.data[id];
    if (i->op != VY_OP_LOOP || !suits(c, id) || !may_copy(c, id)) return 0;
    split(c, id);
    return vy_last_result(c->w.p, &c->w.s, id);
}

static bool prepare(chunk *c)
{
    c->uses = vy_rewrite_uses(&c->w);
    return c->uses && vy_ranges_prepare(&c->ranges, &c->w);
}

bool vy_pass_strip_mine(vy_program *p, vy_pass_context *context)
{
    const bool chunked = vy_is_chunked(p, context->options);
    if (!chunked && !(context->options && context->options->adjacent)) return true;
    if (!(vy_constructs(p) & VY_LOOPS)) return true;
    chunk c = {.factor = chunked ? context->options->chunk : 0, .context = context};
    const bool ok = vy_rewrite_begin(&c.w, p) && (chunked || prepare(&c));
    if (ok) vy_rewrite_run(&c.w, instead, &c);
    return vy_rewrite_end(&c.w, ok, &context->changed);
}
