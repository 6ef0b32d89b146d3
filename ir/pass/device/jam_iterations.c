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
// Where all invocations of a workgroup run the same iterations and load the same rows, for GPUs
// (options->uniform_starts): others would have a remainder of their own each, or rows that occupy a
// register of each lane for each element.  On a CPU driver rows are in memory anyway.  Which loops:
// jam_choice.c.  Runs after the passes that look for loops by their form.  What it is worth:
// docs/performance.md, "Gradients compiled by AMD's compiler".
#include "ir/pass/device/jam_iterations.h"
#include "ir/check/uniform.h"
#include "ir/pass/pass.h"

#include <string.h>

static bool is_reverse(const vy_program *p, uint32_t loop)
{
    return p->insts.data[loop].flags & VY_FLAG_REVERSE;
}

static vy_value u32(const vy_jam *x, uint32_t n) { return vy_int(x->w->b, VY_U32, n); }

static bool is_inside(const vy_jam *x, uint32_t id) { return !VY_IS_LEAF(id) && id >= x->loop; }

// ------------------------------------------------------------------------------------ instructions
typedef uint32_t value_of(vy_jam *x, uint32_t copy, uint32_t id);

// Copies `id` with operands as `of` makes them.
static uint32_t copy_of(vy_jam *x, uint32_t copy, uint32_t id, uint32_t *map, value_of *of)
{
    const uint32_t n = x->w->p->insts.data[id].nargs;
    uint32_t *args = vy_rewrite_table(x->w, (n + 1) * sizeof *args);
    for (uint32_t k = 0; args && k < n; k++) args[k] = of(x, copy, vy_arg(x->w->p, id, k));
    if (!args || vy_rewrite_stopped(x->w)) return 0;
    vy_rewrite_at(x->w, id);
    vy_copy_with(x->w->b, x->w->p, id, args, map);
    return map[id];
}

// A value that waits for no earlier iteration.  (Recursion: a body has at most so many
// instructions.)
static uint32_t early(vy_jam *x, uint32_t copy, uint32_t id)
{
    if (!is_inside(x, id)) return vy_new(x->w, id);
    if (id == x->loop) return x->counter[copy];
    const uint32_t made = x->made[copy][id];
    return made ? made : copy_of(x, copy, id, x->made[copy], early);
}

// A load of a row that all lanes load, into scalar registers, is made anew.
static bool stays(const vy_jam *x, uint32_t copy, uint32_t id)
{
    if (!x->made[copy][id]) return false;
    return x->kind[id] == VY_JAM_EARLY ||
           (x->w->p->insts.data[id].op == VY_OP_LOAD && !x->same[id]);
}

// A value of the part that follows.
static uint32_t later(vy_jam *x, uint32_t copy, uint32_t id)
{
    if (!is_inside(x, id)) return vy_new(x->w, id);
    if (id == x->loop) return x->second[copy];
    if (x->again[id]) return x->again[id];
    if (stays(x, copy, id)) return x->made[copy][id];
    return copy_of(x, copy, id, x->again, later);
}

// --------------------------------------------------------------------------------------- the loops
static void make_early(vy_jam *x, uint32_t factor)
{
    for (uint32_t id = x->first; id < x->end && !vy_rewrite_stopped(x->w); id++)
        for (uint32_t r = 0; r < factor && x->kind[id] == VY_JAM_EARLY; r++) early(x, r, id);
}

// What iteration `copy` carries: from `now` to the same place.
static void make_carried(vy_jam *x, uint32_t copy, uint32_t slots, uint32_t *now)
{
    memset(x->again + x->loop, 0, (x->end - x->loop) * sizeof *x->again);
    for (uint32_t s = 0; s < slots; s++) x->again[x->loop + 1 + s] = now[s];
    for (uint32_t id = x->first; id < x->end && !vy_rewrite_stopped(x->w); id++)
        if (x->kind[id] == VY_JAM_CARRIED) later(x, copy, id);
    for (uint32_t s = 0; s < slots && !vy_rewrite_stopped(x->w); s++)
        now[s] = later(x, copy, vy_slot_next(x->w->p, &x->w->s, x->loop, s));
}

static void begin_copies(vy_jam *x, uint32_t factor, vy_value i, vy_value again)
{
    const bool reverse = is_reverse(x->w->p, x->loop);
    for (uint32_t r = 0; r < factor; r++) {
        const vy_value place = u32(x, reverse ? factor - 1 - r : r);
        x->counter[r] = vy_add(x->w->b, i, place).id;
        x->second[r] = vy_add(x->w->b, again, place).id;
        memset(x->made[r] + x->loop, 0, (x->end - x->loop) * sizeof *x->made[r]);
    }
}

void vy_jam_emit(vy_jam *x, uint32_t loop, const uint32_t bound[2], uint32_t factor, uint32_t start,
                 uint32_t *values)
{
    vy_builder *b = x->w->b;
    const vy_program *p = x->w->p;
    const uint32_t slots = vy_slot_count(p, &x->w->s, loop), flags = p->insts.data[loop].flags;
    const bool reverse = is_reverse(p, loop);
    const vy_value by = u32(x, factor), from = {start};
    uint32_t *now = vy_rewrite_table(x->w, 2 * ((size_t)slots + 1) * sizeof *now);
    if (!now) return;
    uint32_t *carries = now + slots + 1;
    x->loop = loop, x->end = x->w->s.partner[loop], x->first = loop + 1 + slots;
    values[slots] = reverse ? vy_sub(b, (vy_value){bound[1]}, by).id : bound[0];
    const vy_value i = {vy_begin_loop(b, VY_U32, (uint8_t)flags, bound[0], bound[1], by.id,
                                      slots + 1, values, carries)};
    const vy_value again = {carries[slots]};
    memcpy(now, carries, slots * sizeof *now);
    if (start) vy_begin_if(b, (reverse ? vy_lt(b, i, from) : vy_le(b, from, i)).id);
    begin_copies(x, factor, i, again);
    make_early(x, factor);
    for (uint32_t r = 0; r < factor; r++) make_carried(x, r, slots, now);
    if (start) vy_begin_else(b, slots, now);
    if (start) vy_end_if(b, slots, carries, now);
    now[slots] = (reverse ? vy_sub(b, again, by) : vy_add(b, again, by)).id;
    vy_end_loop(b, 0, slots + 1, now, values);
}

// No number wraps around: from + n is `to`, where the loop runs at all.
static void rebuild(vy_jam *x, uint32_t loop, uint32_t factor)
{
    vy_builder *b = x->w->b;
    const vy_program *p = x->w->p;
    const uint32_t slots = vy_slot_count(p, &x->w->s, loop);
    uint32_t *values = vy_rewrite_table(x->w, (slots + 1) * sizeof *values);
    if (!values) return;
    vy_rewrite_at(x->w, loop);
    for (uint32_t s = 0; s < slots; s++) values[s] = vy_new(x->w, vy_slot_init(p, loop, s));
    const vy_value from = {vy_new_arg(x->w, loop, 0)}, to = {vy_new_arg(x->w, loop, 1)};
    const vy_value runs = vy_lt(b, from, to), size = vy_sub(b, to, from), none = u32(x, 0);
    const vy_value n = vy_select(b, runs, size, none);
    const vy_value rest = vy_rem(b, n, u32(x, factor)), taken = vy_sub(b, n, rest);
    const uint32_t first = from.id, last = vy_add(b, from, n).id;
    if (is_reverse(p, loop)) {
        const uint32_t middle = vy_add(b, from, rest).id;
        vy_jam_emit(x, loop, (uint32_t[2]){middle, last}, factor, 0, values);
        vy_jam_emit(x, loop, (uint32_t[2]){first, middle}, 1, 0, values);
    } else {
        const uint32_t middle = vy_add(b, from, taken).id;
        vy_jam_emit(x, loop, (uint32_t[2]){first, middle}, factor, 0, values);
        vy_jam_emit(x, loop, (uint32_t[2]){middle, last}, 1, 0, values);
    }
    if (!vy_rewrite_stopped(x->w)) vy_rewrite_slots(x->w, x->end, slots, values);
}

// How many iterations become one; 0: none.
static uint32_t factor_of(const vy_jam *x, uint32_t loop)
{
    const uint32_t sums = x->same[loop] ? vy_jam_sums(x, loop) : 0;
    const uint32_t factor = sums ? VY_INDEPENDENT_SUMS / sums : 0;
    if (!sums || factor >= VY_MOST_JAMMED) return sums ? VY_MOST_JAMMED : 0;
    return factor < 2 ? 2 : factor;
}

bool vy_jam_may_copy(const vy_jam *x, uint32_t loop, uint32_t times)
{
    const uint64_t body = x->w->s.partner[loop] - loop;
    return vy_may_copy(x->context, x->w->p, body * times);
}

static uint32_t instead(void *pass, uint32_t id)
{
    vy_jam *x = pass;
    const vy_program *p = x->w->p;
    const uint32_t factor = p->insts.data[id].op == VY_OP_LOOP ? factor_of(x, id) : 0;
    if (!factor || !vy_jam_may_copy(x, id, factor)) return 0;
    rebuild(x, id, factor);
    return vy_last_result(p, &x->w->s, id);
}

bool vy_jam_tables(vy_jam *x)
{
    x->kind = vy_rewrite_bytes(x->w);
    x->depth = vy_rewrite_ids(x->w), x->again = vy_rewrite_ids(x->w);
    for (uint32_t r = 0; r < VY_MOST_JAMMED; r++) x->made[r] = vy_rewrite_ids(x->w);
    return !x->w->oom;
}

// What is the same in the workgroup: in all lanes along those of its axes that it has.
static bool prepare(vy_jam *x)
{
    const vy_program *p = x->w->p;
    const uint32_t *along[3];
    uint8_t *same = vy_rewrite_bytes(x->w);
    x->w->oom |= !vy_differences_by_axis(p, &x->w->s, &x->w->arena, along);
    for (uint32_t id = 0; id < p->insts.count && !x->w->oom; id++) {
        same[id] = 1;
        for (uint32_t axis = 0; axis < 3; axis++)
            same[id] &= p->workgroup[axis] < 2 || !along[axis][id];
    }
    x->same = same;
    return !x->w->oom && vy_jam_tables(x);
}

static bool any_suits(vy_jam *x)
{
    for (uint32_t id = 1; id < x->w->p->insts.count; id++)
        if (x->w->p->insts.data[id].op == VY_OP_LOOP && factor_of(x, id)) return true;
    return false;
}

bool vy_pass_jam_iterations(vy_program *p, vy_pass_context *context)
{
    if (!context->options || !context->options->uniform_starts) return true;
    if (!(vy_constructs(p) & VY_LOOPS)) return true;
    vy_rewrite w;
    vy_jam x = {.w = &w, .context = context};
    const bool ok = vy_rewrite_begin(&w, p) && prepare(&x);
    if (ok && any_suits(&x)) vy_rewrite_run(&w, instead, &x);
    return vy_rewrite_end(&w, ok, &context->changed);
}
