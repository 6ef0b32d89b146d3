// SPDX-License-Identifier: MIT
// uniform_starts.c: loops that begin at an invocation's place in the domain begin at its
// workgroup's, those that walk back from a number of its own begin at its subgroup's greatest.
//
//   over(h: H, j: T)                    workgroup(64) over(h: H, j: T)
//   for i in j..T {                     for i in wid.x * 64..T {
//       … q[h, i, 0] …             →        if i >= j { … q[h, i, 0] … }
//   }                                   }
//
//   for i in rev(0..j + 1) {       →    for i in rev(0..max(last, last + 1)) {
//       …                                   if i < j + 1 { … }
//                                       }                    last = wid.x * 64 + 63
//
//   for k in rev(0..n) { … }       →    for k in rev(0..@at_least(n)) { if k < n { … } }
//
// Neighbouring lanes of a GPU run their iterations side by side.  From starts of their own they
// load rows that are far apart, in as many transactions as there are lanes, into a vector register
// for each element; from the same start all load the same row, once, into scalar registers.  What
// that costs is a condition in each iteration: a subgroup runs as long as its longest loop, and
// that one has as many iterations as before.  (One on a CPU runs through what its lanes leave out.)
// What that is worth: docs/performance.md, "Gradients compiled by AMD's compiler".
//
// Where iterations are then taken two or four at once (jam_iterations.c), those that all lanes run
// are a loop of their own, without a condition: it begins a workgroup's size behind the start (in
// reverse: at the workgroup's first place).
//
// Every invocation runs the same iterations in the same order, so results have the same bits.  The
// greatest variable of a domain is 2^32 − 2: neither j + 1 nor a start that is at most that wraps
// around; of a workgroup that reaches beyond the domain `last + 1` may, and `max` is `last` then.
//
// The last is the reverse of a loop that invocations leave one after the other: of pixels of a tile
// that are lit by different numbers of splats, all are then at one splat at a time, which they load
// once, and whose gradient they add up before it is added to memory (spirv/facts/combined.c).
//
// Which loops.  Counted ones in steps of 1 from (in reverse: up to) a variable of the domain,
// or that plus 1, or in reverse up to any number, from one that all share, without early exit,
// barrier or subgroup operation: those of which some load then has the same indices in the
// entire workgroup, and the counter in another than the last, so that rows are what it loads;
// not in deep nests, of which it would make nests twice as deep.  A workgroup of no stated
// shape becomes a row where loops gain by that: its other axes would bring rows of their own.
// Runs last of what changes domains or the shape of workgroups, which this code observes; only
// where options->uniform_starts.
#include "ir/build/rewrite.h"
#include "ir/check/uniform.h"
#include "ir/core/flow.h"
#include "ir/pass/device/jam_iterations.h"
#include "ir/pass/pass.h"

typedef struct starts {
    vy_rewrite w;
    const uint32_t *along[3]; // by axis, by instruction: it differs between lanes along that
    uint8_t *same;            // by instruction of the loop that is looked at: what it is, or 0
    bool subgroups;           // the device finds the greatest number of a subgroup
    vy_jam jam;
} starts;

enum { MOST_DEEP = 64 };

enum { SAME = 1, COUNTED = 2 }; // in the entire workgroup; … and made of the counter

// Where a loop begins: at the variable of the domain along an axis of the workgroup, plus 0 or
// 1; or at a number that each invocation has of its own.
typedef struct place {
    uint32_t axis;
    bool next, own;
} place;

static bool is_reverse(const vy_program *p, uint32_t loop)
{
    return p->insts.data[loop].flags & VY_FLAG_REVERSE;
}

static uint32_t own_start(const vy_program *p, uint32_t loop)
{
    return vy_arg(p, loop, is_reverse(p, loop));
}

static uint32_t own_end(const vy_program *p, uint32_t loop)
{
    return vy_arg(p, loop, !is_reverse(p, loop));
}

static bool is_one(const vy_program *p, uint32_t id)
{
    const vy_scalar *c = vy_id_const(p, id);
    return c && c->u == 1;
}

// ---------------------------------------------------------------------------------------- choosing
static bool find_place(const vy_program *p, uint32_t id, place *at)
{
    at->next = !VY_IS_LEAF(id) && p->insts.data[id].op == VY_OP_ADD && is_one(p, vy_arg(p, id, 1));
    if (at->next) id = vy_arg(p, id, 0);
    return vy_has_lone_axis(p, id, &at->axis);
}

static uint8_t kind_of(const starts *x, uint32_t loop, uint32_t id)
{
    if (!VY_IS_LEAF(id) && id >= loop) return x->same[id];
    for (uint32_t axis = 0; axis < 3; axis++) {
        if (x->w.p->workgroup[axis] < 2) continue;
        if (VY_IS_LEAF(id) ? vy_leaf_along(x->w.p, id, axis) : x->along[axis][id] != 0) return 0;
    }
    return SAME;
}

// SAME if all operands are, COUNTED if one is; else 0.
static uint8_t kind_of_operands(const starts *x, uint32_t loop, uint32_t id)
{
    uint8_t all = SAME;
    for (uint32_t k = 0; k < x->w.p->insts.data[id].nargs; k++) {
        const uint8_t kind = kind_of(x, loop, vy_arg(x->w.p, id, k));
        if (!kind) return 0;
        all |= kind;
    }
    return all;
}

static bool is_written(const vy_program *p, uint32_t buffer)
{
    return p->buffers.data[buffer].cls != VY_IN;
}

// Is `id`, of the loop, such a load?  Notes what it is.
static bool look(starts *x, uint32_t loop, uint32_t id)
{
    const vy_program *p = x->w.p;
    const vy_inst *i = &p->insts.data[id];
    const bool load = i->op == VY_OP_LOAD;
    const bool made = vy_op_infos[i->op].effect == VY_PURE || load || i->op == VY_OP_LOOP;
    x->same[id] = made && !(load && is_written(p, i->aux)) ? kind_of_operands(x, loop, id) : 0;
    if (!load || !(x->same[id] & COUNTED) || !vy_is_global(p->buffers.data[i->aux].cls))
        return false;
    return !(kind_of(x, loop, vy_arg(p, id, p->buffers.data[i->aux].rank - 1)) & COUNTED);
}

// Does the loop, with the same counter in all lanes, load rows?
static bool loads_rows(starts *x, uint32_t loop)
{
    const vy_program *p = x->w.p;
    if (!is_one(p, vy_arg(p, loop, 2)) || vy_exits(p, loop)) return false;
    bool any = false;
    x->same[loop] = SAME | COUNTED;
    for (uint32_t id = loop + 1; id < x->w.s.partner[loop]; id++) {
        if (vy_op_infos[p->insts.data[id].op].effect == VY_CONV) return false;
        any |= look(x, loop, id);
    }
    return any;
}

static bool may_walk_back(const vy_program *p, uint32_t loop)
{
    const vy_type t = (vy_type)p->insts.data[loop].type;
    return is_reverse(p, loop) && (t == VY_U32 || t == VY_I32) &&
           !vy_id_const(p, own_start(p, loop));
}

// Does it walk back from a number of its own to one that all share?  Then its subgroup runs as many
// iterations as its longest loop has, as before.  (Not so if each also ended at its own: rows of a
// sparse matrix lie behind each other.)
static bool walks_back(const starts *x, uint32_t loop)
{
    const vy_program *p = x->w.p;
    return x->subgroups && may_walk_back(p, loop) && !kind_of(x, loop, own_start(p, loop)) &&
           kind_of(x, loop, own_end(p, loop));
}

static bool suits(starts *x, uint32_t loop, place *at)
{
    *at = (place){0};
    if (!find_place(x->w.p, own_start(x->w.p, loop), at)) {
        at->own = walks_back(x, loop);
        if (!at->own) return false;
    }
    return loads_rows(x, loop);
}

// Does it load rows if workgroups are rows, beginning or ending at a place in them?
static bool is_along_row(starts *x, uint32_t loop)
{
    const vy_program *p = x->w.p;
    place at;
    const bool begins = find_place(p, own_start(p, loop), &at);
    if (!begins && !kind_of(x, loop, own_start(p, loop))) return false;
    if (!begins && !find_place(p, own_end(p, loop), &at)) return false;
    return at.axis == 0 && loads_rows(x, loop);
}

// --------------------------------------------------------------------------------------- rewriting
static vy_value u32(const starts *x, uint32_t n) { return vy_int(x->w.b, VY_U32, n); }

// Where the loops of all invocations of the workgroup begin.
static vy_value common_start(starts *x, uint32_t loop, const place *at)
{
    vy_builder *b = x->w.b;
    if (at->own) {
        const uint32_t own = vy_new(&x->w, own_start(x->w.p, loop));
        const vy_type type = (vy_type)x->w.p->insts.data[loop].type;
        return (vy_value){vy_emit(b, VY_OP_AT_LEAST, type, 0, 1, &own)};
    }
    const uint32_t size = x->w.p->workgroup[at->axis];
    const vy_value group = vy_builtin_value(b, VY_WID, at->axis);
    const vy_value first = vy_mul(b, group, u32(x, size));
    if (!is_reverse(x->w.p, loop)) return at->next ? vy_add(b, first, u32(x, 1)) : first;
    const vy_value last = vy_add(b, first, u32(x, size - 1));
    return at->next ? vy_max(b, last, vy_add(b, last, u32(x, 1))) : last;
}

static uint32_t instead(void *pass, uint32_t id);

// The iterations of bound[0]..bound[1] that those from `start` on are among (in reverse: before
// it; 0: all); values: what the loop carries, and then its results.
static void emit_loop(starts *x, uint32_t loop, const uint32_t bound[2], uint32_t start,
                      uint32_t *values)
{
    const vy_program *p = x->w.p;
    const vy_inst *i = &p->insts.data[loop];
    const uint32_t end = x->w.s.partner[loop], slots = vy_slot_count(p, &x->w.s, loop);
    vy_builder *b = x->w.b;
    uint32_t *carries = vy_rewrite_table(&x->w, (slots * 2 + 1) * sizeof *carries);
    if (!carries) return;
    uint32_t *nexts = carries + slots;
    const uint32_t one = vy_new_arg(&x->w, loop, 2);
    const vy_value k = {vy_begin_loop(b, (vy_type)i->type, i->flags, bound[0], bound[1], one, slots,
                                      values, carries)};
    vy_rewrite_as(&x->w, loop, k.id);
    for (uint32_t s = 0; s < slots; s++) x->w.map[loop + 1 + s] = carries[s];
    const vy_value from = {start};
    if (start) vy_begin_if(b, (is_reverse(p, loop) ? vy_lt(b, k, from) : vy_le(b, from, k)).id);
    vy_rewrite_range(&x->w, loop + 1 + slots, end, instead, x);
    if (vy_rewrite_stopped(&x->w)) return;
    for (uint32_t s = 0; s < slots; s++) nexts[s] = vy_new_arg(&x->w, end, s);
    if (start) vy_begin_else(b, slots, nexts);
    if (start) vy_end_if(b, slots, carries, nexts);
    vy_end_loop(b, 0, slots, nexts, values);
}

// Where in from..to all invocations of the workgroup are in the loop: behind its size (in reverse:
// before its first place).  No sum wraps around that is taken.
static vy_value all_run(starts *x, uint32_t loop, const place *at, vy_value from, vy_value to)
{
    vy_builder *b = x->w.b;
    const uint32_t size = x->w.p->workgroup[at->axis];
    if (!is_reverse(x->w.p, loop)) {
        const vy_value n = u32(x, size), longer = vy_lt(b, n, vy_sub(b, to, from));
        const vy_value some = vy_and(b, vy_lt(b, from, to), longer), then = vy_add(b, from, n);
        return vy_select(b, some, then, to);
    }
    const vy_value group = vy_builtin_value(b, VY_WID, at->axis);
    const vy_value first = vy_mul(b, group, u32(x, size));
    const vy_value place = at->next ? vy_add(b, first, u32(x, 1)) : first;
    return vy_max(b, from, vy_min(b, place, to));
}

// Is a loop without the condition worth a second copy of its body?
static bool divides(const starts *x, uint32_t loop, const place *at)
{
    return !at->own && vy_jam_sums(&x->jam, loop) && vy_jam_may_copy(&x->jam, loop, 1);
}

static void begin_at(starts *x, uint32_t loop, const place *at)
{
    const vy_program *p = x->w.p;
    const uint32_t end = x->w.s.partner[loop], slots = vy_slot_count(p, &x->w.s, loop);
    uint32_t *values = vy_rewrite_table(&x->w, (slots + 1) * sizeof *values);
    if (!values) return;
    vy_rewrite_at(&x->w, loop);
    for (uint32_t s = 0; s < slots; s++)
        values[s] = vy_new_arg(&x->w, loop, vy_init_arg(p, loop) + s);
    const uint32_t own = vy_new(&x->w, own_start(p, loop));
    uint32_t bound[2] = {vy_new_arg(&x->w, loop, 0), vy_new_arg(&x->w, loop, 1)};
    const bool reverse = is_reverse(p, loop);
    bound[reverse] = common_start(x, loop, at).id;
    if (divides(x, loop, at)) {
        const vy_value from = {bound[0]}, to = {bound[1]}, all = all_run(x, loop, at, from, to);
        vy_jam_emit(&x->jam, loop,
                    (uint32_t[2]){reverse ? all.id : from.id, reverse ? to.id : all.id}, 1, own,
                    values);
        emit_loop(x, loop, (uint32_t[2]){reverse ? from.id : all.id, reverse ? all.id : to.id}, 0,
                  values);
    } else {
        emit_loop(x, loop, bound, own, values);
    }
    if (!vy_rewrite_stopped(&x->w)) vy_rewrite_slots(&x->w, end, slots, values);
}

static uint32_t instead(void *pass, uint32_t id)
{
    starts *x = pass;
    place at;
    if (x->w.p->insts.data[id].op != VY_OP_LOOP || !suits(x, id, &at)) return 0;
    begin_at(x, id, &at);
    return vy_last_result(x->w.p, &x->w.s, id);
}

static bool find_differences(starts *x)
{
    x->same = vy_rewrite_bytes(&x->w);
    x->w.oom |= !vy_differences_by_axis(x->w.p, &x->w.s, &x->w.arena, x->along);
    x->jam.w = &x->w, x->jam.same = x->same;
    return !x->w.oom && vy_jam_tables(&x->jam);
}

// Is there a loop to look at: a counted one that begins or ends at a place, or walks back?
static bool any_at_place(const vy_program *p, bool subgroups)
{
    place at;
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (p->insts.data[id].op == VY_OP_LOOP &&
            (find_place(p, own_start(p, id), &at) || find_place(p, own_end(p, id), &at) ||
             (subgroups && may_walk_back(p, id))))
            return true;
    return false;
}

static bool any_suits(starts *x)
{
    place at;
    for (uint32_t id = 1; id < x->w.p->insts.count; id++)
        if (x->w.p->insts.data[id].op == VY_OP_LOOP && suits(x, id, &at)) return true;
    return false;
}

// ------------------------------------------------------------------------------------------ shapes
static bool any_along_row(starts *x)
{
    for (uint32_t id = 1; id < x->w.p->insts.count; id++)
        if (x->w.p->insts.data[id].op == VY_OP_LOOP && is_along_row(x, id)) return true;
    return false;
}

static bool is_short(const vy_program *p, const vy_opt_options *o, uint32_t size)
{
    const int64_t extent = o->extent ? o->extent(o->user, p, p->overs.count - 1) : -1;
    return extent >= 0 && extent < size;
}

// Where the shape is open, and loops gain by it: workgroups that are rows.  An axis that loops run
// along has many elements, or there is little to do.
static void choose_shape(starts *x, const vy_opt_options *o)
{
    vy_program *p = x->w.p;
    const uint32_t row = p->workgroup[0], y = p->workgroup[1], z = p->workgroup[2];
    const bool open = !p->has_workgroup && y * z > 1 && !vy_sees_workgroup(p);
    if (!open || is_short(p, o, row * y * z)) return;
    p->workgroup[0] = row * y * z, p->workgroup[1] = p->workgroup[2] = 1;
    p->has_workgroup = any_along_row(x);
    if (!p->has_workgroup) p->workgroup[0] = row, p->workgroup[1] = y, p->workgroup[2] = z;
}

bool vy_pass_uniform_starts(vy_program *p, vy_pass_context *context)
{
    const vy_opt_options *o = context->options;
    if (!o || !o->uniform_starts || !p->overs.count) return true;
    starts x = {.subgroups = o->subgroup_add, .jam.context = context};
    if (!any_at_place(p, x.subgroups)) return true;
    bool ok = vy_rewrite_begin(&x.w, p) && find_differences(&x);
    const bool flat = ok && x.w.s.deepest <= MOST_DEEP;
    if (flat) choose_shape(&x, o);
    if (flat && any_suits(&x)) {
        p->has_workgroup = true; // which wid depends on
        vy_rewrite_run(&x.w, instead, &x);
    }
    return vy_rewrite_end(&x.w, ok, &context->changed);
}
