// SPDX-License-Identifier: MIT
// jam_iterations.c: two or four iterations of a loop become one, their long sums side by side.
//
//   for i in a..b {                           var again = a;
//       let s = x[0] * q[i, 0] + …;           for i in a..b - n % 2 step 2 {      n = b - a
//       let p = exp(s);               →           let s0 = x[0] * q[i, 0] + …;
//       g += p * q[i, 0];                         let s1 = x[0] * q[i + 1, 0] + …;
//   }                                             let p0 = exp(s0); let p1 = exp(s1);
//                                                 g += p0 * q[again, 0];
//                                                 g += p1 * q[again + 1, 0];
//                                                 again += 2;
//                                             }
//                                             for i in b - n % 2..b { … }
//
// A sum of 64 products is a chain of additions that wait for each other; neighbouring iterations
// have one each.  So their instructions alternate as long as nothing depends on what an iteration
// leaves to the next one; what does follows iteration by iteration, in the program's order.  The
// same operations on the same values: the same bits.  Only straight code of values, and of loads
// from buffers that nothing writes, so any order in which operands come first is right.
//
// A GPU loads what all lanes want into scalar registers, of which there are some hundred: a row of
// 64 elements that is used by the sums and then by what is carried occupies most of them in
// between, and two rows do not fit.  So the carried part loads rows anew, at a number of its own
// that is always the counter's: a compiler that does not see that they are equal cannot merge the
// loads.
//
// Where all invocations of a workgroup run the same iterations, for GPUs (options->uniform_starts):
// others would have a remainder of their own each, of rows that are far apart.  On a CPU driver
// rows are in memory anyway.  Which loops: jam_choice.c.  Runs after the passes that look for loops
// by their form.  What it is worth: docs/performance.md, "Gradients compiled by AMD's compiler".
#include "ir/pass/device/jam_iterations.h"
#include "ir/check/uniform.h"
#include "ir/pass/pass.h"

#include <string.h>

typedef struct jam {
    vy_rewrite w;
    const uint32_t *along[3];       // by axis, by instruction: it differs between lanes along that
    uint8_t *kind;                  // vy_jam_kind, of the instructions of the loop
    uint32_t *depth;                // scratch
    uint32_t *made[VY_MOST_JAMMED]; // by copy, by instruction: what is early, and what that uses
    uint32_t *again;                // of one copy, by instruction: what follows
    uint32_t loop, end, first;      // `first` behind its CARRYs
    uint32_t counter[VY_MOST_JAMMED], second[VY_MOST_JAMMED]; // by copy
} jam;

static bool is_reverse(const vy_program *p, uint32_t loop)
{
    return p->insts.data[loop].flags & VY_FLAG_REVERSE;
}

static vy_value u32(const jam *x, uint32_t n) { return vy_int(x->w.b, VY_U32, n); }

static bool differs(const jam *x, uint32_t id)
{
    for (uint32_t axis = 0; axis < 3; axis++)
        if (x->w.p->workgroup[axis] > 1 && x->along[axis][id]) return true;
    return false;
}

static bool is_inside(const jam *x, uint32_t id) { return !VY_IS_LEAF(id) && id >= x->loop; }

// ------------------------------------------------------------------------------------ instructions
typedef uint32_t value_of(jam *x, uint32_t copy, uint32_t id);

// Copies `id` with operands as `of` makes them.
static uint32_t copy_of(jam *x, uint32_t copy, uint32_t id, uint32_t *map, value_of *of)
{
    const uint32_t n = x->w.p->insts.data[id].nargs;
    uint32_t *args = vy_rewrite_table(&x->w, (n + 1) * sizeof *args);
    for (uint32_t k = 0; args && k < n; k++) args[k] = of(x, copy, vy_arg(x->w.p, id, k));
    if (!args || vy_rewrite_stopped(&x->w)) return 0;
    vy_rewrite_at(&x->w, id);
    vy_copy_with(x->w.b, x->w.p, id, args, map);
    return map[id];
}

// A value that waits for no earlier iteration.  (Recursion: a body has at most so many
// instructions.)
static uint32_t early(jam *x, uint32_t copy, uint32_t id)
{
    if (!is_inside(x, id)) return vy_new(&x->w, id);
    if (id == x->loop) return x->counter[copy];
    const uint32_t made = x->made[copy][id];
    return made ? made : copy_of(x, copy, id, x->made[copy], early);
}

// A load of a row that all lanes load, into scalar registers, is made anew.
static bool stays(const jam *x, uint32_t copy, uint32_t id)
{
    if (!x->made[copy][id]) return false;
    return x->kind[id] == VY_JAM_EARLY ||
           (x->w.p->insts.data[id].op == VY_OP_LOAD && differs(x, id));
}

// A value of the part that follows.
static uint32_t later(jam *x, uint32_t copy, uint32_t id)
{
    if (!is_inside(x, id)) return vy_new(&x->w, id);
    if (id == x->loop) return x->second[copy];
    if (x->again[id]) return x->again[id];
    if (stays(x, copy, id)) return x->made[copy][id];
    return copy_of(x, copy, id, x->again, later);
}

// ---------------------------------------------------------------------------------------- the loops
static void make_early(jam *x, uint32_t factor)
{
    for (uint32_t id = x->first; id < x->end && !vy_rewrite_stopped(&x->w); id++)
        for (uint32_t r = 0; r < factor && x->kind[id] == VY_JAM_EARLY; r++) early(x, r, id);
}

// What iteration `copy` carries: from `now` to the same place.
static void make_carried(jam *x, uint32_t copy, uint32_t slots, uint32_t *now)
{
    memset(x->again + x->loop, 0, (x->end - x->loop) * sizeof *x->again);
    for (uint32_t s = 0; s < slots; s++) x->again[x->loop + 1 + s] = now[s];
    for (uint32_t id = x->first; id < x->end && !vy_rewrite_stopped(&x->w); id++)
        if (x->kind[id] == VY_JAM_CARRIED) later(x, copy, id);
    for (uint32_t s = 0; s < slots && !vy_rewrite_stopped(&x->w); s++)
        now[s] = later(x, copy, vy_slot_next(x->w.p, &x->w.s, x->loop, s));
}

// `factor` iterations at a time, from..to; values: what it carries, and then its results.
static void emit_jammed(jam *x, vy_value from, vy_value to, uint32_t factor, uint32_t *values)
{
    vy_builder *b = x->w.b;
    const vy_program *p = x->w.p;
    const uint32_t slots = x->first - x->loop - 1, flags = p->insts.data[x->loop].flags;
    const bool reverse = is_reverse(p, x->loop);
    const vy_value by = u32(x, factor);
    uint32_t *now = vy_rewrite_table(&x->w, (slots + 1) * sizeof *now);
    if (!now) return;
    values[slots] = reverse ? vy_sub(b, to, by).id : from.id;
    const vy_value i = {
        vy_begin_loop(b, VY_U32, (uint8_t)flags, from.id, to.id, by.id, slots + 1, values, now)};
    const vy_value again = {now[slots]};
    for (uint32_t r = 0; r < factor; r++) {
        const vy_value place = u32(x, reverse ? factor - 1 - r : r);
        x->counter[r] = vy_add(b, i, place).id, x->second[r] = vy_add(b, again, place).id;
        memset(x->made[r] + x->loop, 0, (x->end - x->loop) * sizeof *x->made[r]);
    }
    make_early(x, factor);
    for (uint32_t r = 0; r < factor; r++) make_carried(x, r, slots, now);
    now[slots] = (reverse ? vy_sub(b, again, by) : vy_add(b, again, by)).id;
    vy_end_loop(b, 0, slots + 1, now, values);
}

// The iterations that are left, one at a time.
static void emit_rest(jam *x, vy_value from, vy_value to, uint32_t *values)
{
    vy_remade l;
    if (!vy_remake(&x->w, &l, x->loop, 0)) return;
    memcpy(l.in, values, l.own * sizeof *values);
    const uint32_t bounds[3] = {from.id, to.id, u32(x, 1).id};
    const uint32_t flags = x->w.p->insts.data[x->loop].flags;
    x->w.map[x->loop] = vy_remake_counted(&x->w, &l, VY_U32, (uint8_t)flags, bounds);
    vy_remake_body(&x->w, &l, NULL, NULL);
    vy_remake_next(&x->w, &l);
    vy_remake_end(&x->w, &l);
}

// No number wraps around: from + n is `to`, where the loop runs at all.
static void rebuild(jam *x, uint32_t factor)
{
    vy_builder *b = x->w.b;
    const vy_program *p = x->w.p;
    const uint32_t slots = x->first - x->loop - 1;
    uint32_t *values = vy_rewrite_table(&x->w, (slots + 1) * sizeof *values);
    if (!values) return;
    vy_rewrite_at(&x->w, x->loop);
    for (uint32_t s = 0; s < slots; s++) values[s] = vy_new(&x->w, vy_slot_init(p, x->loop, s));
    const vy_value from = {vy_new_arg(&x->w, x->loop, 0)}, to = {vy_new_arg(&x->w, x->loop, 1)};
    const vy_value n = vy_select(b, vy_lt(b, from, to), vy_sub(b, to, from), u32(x, 0));
    const vy_value rest = vy_rem(b, n, u32(x, factor)), taken = vy_sub(b, n, rest);
    const bool reverse = is_reverse(p, x->loop);
    const vy_value middle = vy_add(b, from, reverse ? rest : taken);
    const vy_value last = vy_add(b, from, n);
    if (reverse) {
        emit_jammed(x, middle, last, factor, values);
        emit_rest(x, from, middle, values);
    } else {
        emit_jammed(x, from, middle, factor, values);
        emit_rest(x, middle, last, values);
    }
}

static uint32_t factor_of(jam *x, uint32_t loop)
{
    const uint32_t sums = differs(x, loop) ? 0 : vy_jam_sums(&x->w, loop, x->kind, x->depth);
    if (!sums) return 0;
    const uint32_t factor = VY_INDEPENDENT_SUMS / sums;
    return factor < 2 ? 2 : factor < VY_MOST_JAMMED ? factor : VY_MOST_JAMMED;
}

static uint32_t instead(void *pass, uint32_t id)
{
    jam *x = pass;
    const vy_program *p = x->w.p;
    const uint32_t factor = p->insts.data[id].op == VY_OP_LOOP ? factor_of(x, id) : 0;
    if (!factor) return 0;
    x->loop = id, x->end = x->w.s.partner[id];
    x->first = id + 1 + vy_slot_count(p, &x->w.s, id);
    rebuild(x, factor);
    return vy_last_result(p, &x->w.s, id);
}

static bool prepare(jam *x)
{
    const vy_program *p = x->w.p;
    uint8_t *sources = vy_rewrite_table(&x->w, p->buffers.count);
    for (uint32_t k = 1; sources && k < p->buffers.count; k++)
        sources[k] = p->buffers.data[k].cls != VY_IN;
    for (uint32_t axis = 0; axis < 3 && !x->w.oom; axis++) {
        x->along[axis] = vy_differences_along(p, &x->w.s, axis, sources, &x->w.arena);
        x->w.oom |= !x->along[axis];
    }
    x->kind = vy_rewrite_bytes(&x->w);
    x->depth = vy_rewrite_ids(&x->w), x->again = vy_rewrite_ids(&x->w);
    for (uint32_t r = 0; r < VY_MOST_JAMMED; r++) x->made[r] = vy_rewrite_ids(&x->w);
    return !x->w.oom;
}

static bool any_suits(jam *x)
{
    for (uint32_t id = 1; id < x->w.p->insts.count; id++)
        if (x->w.p->insts.data[id].op == VY_OP_LOOP && factor_of(x, id)) return true;
    return false;
}

bool vy_pass_jam_iterations(vy_program *p, vy_pass_context *context)
{
    if (!context->options || !context->options->uniform_starts) return true;
    if (!(vy_constructs(p) & VY_LOOPS)) return true;
    jam x = {0};
    const bool ok = vy_rewrite_begin(&x.w, p) && prepare(&x);
    if (ok && any_suits(&x)) vy_rewrite_run(&x.w, instead, &x);
    return vy_rewrite_end(&x.w, ok, &context->changed);
}
