// SPDX-License-Identifier: MIT
// jam_allowed.c: may several iterations of a loop run side by side (jam_loops.c)?
//
// The body is cut into units: what is between the markers of the loops that the copies run
// together.  A unit is executed for copy 0, then for copy 1, …, in each iteration of the loops in
// common around it; so of two accesses of different copies, those of the later iteration come first
// where their unit is earlier, or where an iteration of a loop in common is.  That is unobservable
// if these are never of one element that one of them writes:
//
//   - an index of both is the loop's counter plus what does not change, or the number of its
//     iteration: (counter - from)/step.  Then no two iterations have an element in common; or
//   - both are in one unit, and each loop in common around it has an index of both, its counter
//     plus what does not change in it and is the same in all copies.  Then only what one iteration
//     of these loops accesses may be one element, and there the order stays: copy by copy; or
//   - constants differ on some axis.
//
// What the loop carries goes from copy to copy: each use comes in the unit that computes the next
// value, or behind it.  Nothing is computed in another way or added in another order.
#include "ir/facts/addition.h"
#include "ir/pass/scalar/follows.h"
#include "ir/pass/target/jam_loops.h"

#include <string.h>

enum {
    MOST_ACCESSES = 64, // of a loop to memory that it writes: they are compared in pairs
    ROUNDS = 8,         // until it is known what differs
};

static const vy_inst *inst(const vy_loop_jam *x, uint32_t id) { return &x->w.p->insts.data[id]; }

static uint32_t first_of(const vy_loop_jam *x, uint32_t loop)
{
    return loop + 1 + vy_slot_count(x->w.p, &x->w.s, loop);
}

static bool is_inside(uint32_t id, uint32_t loop) { return !VY_IS_LEAF(id) && id >= loop; }

// ------------------------------------------------------------------------------------------ memory
// False: it does something that is ordered in another way than by what it accesses.
static bool is_plain(const vy_loop_jam *x, uint32_t id)
{
    const vy_op op = (vy_op)inst(x, id)->op;
    if (vy_op_infos[op].effect == VY_CONV || vy_clears_shared(x->w.p, id)) return false;
    if (op == VY_OP_CHECKPOINT) return false;
    return !vy_op_is_atomic(op) || (op == VY_OP_ATOMIC_ADD && !x->uses[id]);
}

static uint32_t memory_of(const vy_loop_jam *x, uint32_t id)
{
    return vy_memory_of(x->w.p, inst(x, id)->aux);
}

static bool find_accesses(vy_loop_jam *x, uint32_t loop)
{
    const vy_program *p = x->w.p;
    memset(x->written, 0, p->buffers.count);
    x->accesses = 0;
    for (uint32_t id = loop + 1; id < x->w.s.partner[loop]; id++) {
        if (!is_plain(x, id)) return false;
        if (vy_op_infos[inst(x, id)->op].effect == VY_WRITE) x->written[memory_of(x, id)] = 1;
    }
    for (uint32_t id = loop + 1; id < x->w.s.partner[loop]; id++) {
        if (!vy_op_is_memory((vy_op)inst(x, id)->op) || !x->written[memory_of(x, id)]) continue;
        if (x->accesses == MOST_ACCESSES) return false;
        x->access[x->accesses++] = id;
    }
    return true;
}

// ----------------------------------------------------------------------------------- what differs
static bool differs(const vy_loop_jam *x, uint32_t loop, uint32_t id)
{
    return is_inside(id, loop) && x->differs[id];
}

static bool any_differs(const vy_loop_jam *x, uint32_t loop, uint32_t id, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++)
        if (differs(x, loop, vy_arg(x->w.p, id, k))) return true;
    return false;
}

static bool is_joint(const vy_loop_jam *x, uint32_t loop, uint32_t id)
{
    return inst(x, id)->op == VY_OP_LOOP && !vy_exits(x->w.p, id) && !any_differs(x, loop, id, 3);
}

// The marker of a loop in common.  x->differs of what it carries is kept from round to round.
static void open_joint(vy_loop_jam *x, uint32_t loop, uint32_t id, uint32_t *unit)
{
    *unit += 1;
    x->joint[id] = 1, x->differs[id] = 0, x->unit[id] = *unit;
    for (uint32_t k = 0; k < vy_slot_count(x->w.p, &x->w.s, id); k++) {
        x->differs[vy_carry(id, k)] |= differs(x, loop, vy_slot_init(x->w.p, id, k));
        x->unit[vy_carry(id, k)] = *unit;
    }
    *unit += 1;
}

// True: a carried value that was taken to be the same differs.
static bool close_joint(vy_loop_jam *x, uint32_t loop, uint32_t end, uint32_t *unit)
{
    const uint32_t opener = x->w.s.partner[end];
    bool news = false;
    *unit += 1;
    x->differs[end] = 0, x->unit[end] = *unit;
    for (uint32_t k = 0; k < vy_slot_count(x->w.p, &x->w.s, opener); k++) {
        uint8_t *carry = &x->differs[vy_carry(opener, k)];
        const bool next = differs(x, loop, vy_slot_next(x->w.p, &x->w.s, opener, k));
        news |= next && !*carry;
        *carry |= next;
        x->differs[end + 1 + k] = *carry, x->unit[end + 1 + k] = *unit;
    }
    *unit += 1;
    return news;
}

static bool has_own(const vy_loop_jam *x, uint32_t loop, uint32_t id)
{
    const vy_inst *i = inst(x, id);
    if (vy_op_infos[i->op].effect == VY_WRITE || any_differs(x, loop, id, i->nargs)) return true;
    return i->op == VY_OP_LOAD && x->written[memory_of(x, id)];
}

static bool find_units(vy_loop_jam *x, uint32_t loop)
{
    const uint32_t end = x->w.s.partner[loop];
    uint32_t unit = 0;
    bool news = false;
    for (uint32_t id = first_of(x, loop); id < end; id++) {
        const vy_op op = (vy_op)inst(x, id)->op;
        if (is_joint(x, loop, id)) {
            open_joint(x, loop, id, &unit);
            id += vy_slot_count(x->w.p, &x->w.s, id);
        } else if (op == VY_OP_ENDLOOP) {
            const uint32_t slots = vy_slot_count(x->w.p, &x->w.s, x->w.s.partner[id]);
            news |= close_joint(x, loop, id, &unit);
            id += slots;
        } else if (vy_op_opens(op)) { // all of it for each copy
            const uint32_t last = vy_last_result(x->w.p, &x->w.s, id);
            for (; id <= last; id++) x->joint[id] = 0, x->differs[id] = 1, x->unit[id] = unit;
            id = last;
        } else {
            x->differs[id] = has_own(x, loop, id), x->unit[id] = unit;
        }
    }
    return news;
}

static bool find_differences(vy_loop_jam *x, uint32_t loop)
{
    const uint32_t first = first_of(x, loop), end = x->w.s.partner[loop];
    memset(x->differs + loop, 0, end - loop);
    memset(x->joint + loop, 0, end - loop);
    memset(x->differs + loop, 1, first - loop);
    for (uint32_t round = 0; round < ROUNDS; round++)
        if (!find_units(x, loop)) return true;
    return false;
}

// ------------------------------------------------------------------------------- what it carries
// Is value `next` of a copy there when `use` of the next copy is made?  A marker in common takes
// the values of all copies, and what follows it are its results.
static bool is_ready(const vy_loop_jam *x, uint32_t next, uint32_t use)
{
    const bool marker = x->unit[use] & 1;
    return x->unit[next] < x->unit[use] || (!marker && x->unit[next] == x->unit[use]);
}

// Is the value that each use of a carried one needs computed by then?
static bool carries_forward(const vy_loop_jam *x, uint32_t loop)
{
    const uint32_t first = first_of(x, loop), end = x->w.s.partner[loop];
    for (uint32_t s = loop + 1; s < first; s++) {
        const uint32_t next = vy_slot_next(x->w.p, &x->w.s, loop, s - loop - 1);
        if (is_inside(next, loop) && next < first && next != s) return false;
    }
    for (uint32_t id = first; id < end; id++)
        for (uint32_t k = 0; k < inst(x, id)->nargs; k++) {
            const uint32_t a = vy_arg(x->w.p, id, k);
            if (!is_inside(a, loop + 1) || a >= first) continue;
            const uint32_t next = vy_slot_next(x->w.p, &x->w.s, loop, a - loop - 1);
            if (is_inside(next, first) && !is_ready(x, next, id)) return false;
        }
    return true;
}

// ------------------------------------------------------------------------------- pairs of accesses
// (counter - from)/step: below 2³², and no two iterations have the same.
static bool is_number(const vy_program *p, uint32_t id, uint32_t loop)
{
    if (VY_IS_LEAF(id) || p->insts.data[id].op != VY_OP_DIV || id < loop) return false;
    const uint32_t from = vy_arg(p, loop, 0), way = vy_arg(p, id, 0);
    if (p->insts.data[id].type != VY_U32 || vy_arg(p, id, 1) != vy_arg(p, loop, 2)) return false;
    return !VY_IS_LEAF(way) && p->insts.data[way].op == VY_OP_SUB && vy_arg(p, way, 0) == loop &&
           vy_arg(p, way, 1) == from;
}

// Has each iteration elements of its own?
static bool has_own_elements(const vy_program *p, uint32_t loop, uint32_t a, uint32_t b)
{
    for (uint32_t k = 0; k < vy_rank_of(p, a); k++) {
        const uint32_t index = vy_arg(p, a, k);
        if (index != vy_arg(p, b, k)) continue;
        if (vy_follows(p, index, loop) || is_number(p, index, loop)) return true;
    }
    return false;
}

// … each iteration of `inner`, the same ones in all copies?
static bool has_own_in(const vy_loop_jam *x, uint32_t loop, uint32_t inner, uint32_t a, uint32_t b)
{
    const vy_program *p = x->w.p;
    for (uint32_t k = 0; k < vy_rank_of(p, a); k++) {
        const uint32_t index = vy_arg(p, a, k);
        if (index == vy_arg(p, b, k) && !differs(x, loop, index) && vy_follows(p, index, inner))
            return true;
    }
    return false;
}

static bool stays_in_order(const vy_loop_jam *x, uint32_t loop, uint32_t a, uint32_t b)
{
    if (x->unit[a] != x->unit[b]) return false;
    for (uint32_t up = x->w.s.parent[a]; up != loop; up = x->w.s.parent[up])
        if (x->joint[up] && !has_own_in(x, loop, up, a, b)) return false;
    return true;
}

static bool is_zero(const vy_loop_jam *x, uint32_t id) { return inst(x, id)->op == VY_OP_ZERO; }

// Without an index of both: clearing an array, accesses to views of another shape.
static bool has_no_common_index(const vy_loop_jam *x, uint32_t a, uint32_t b)
{
    return is_zero(x, a) || is_zero(x, b) || inst(x, a)->aux != inst(x, b)->aux;
}

// In a unit that no loop in common is around, everything stays in order.  (Others are refused,
// though what is cleared there is read in the same iteration alone: text has arrays in blocks.)
static bool is_outside(const vy_loop_jam *x, uint32_t loop, uint32_t a)
{
    for (uint32_t up = x->w.s.parent[a]; up != loop; up = x->w.s.parent[up])
        if (x->joint[up]) return false;
    return true;
}

static bool pair_allowed(const vy_loop_jam *x, uint32_t loop, uint32_t a, uint32_t b)
{
    if (memory_of(x, a) != memory_of(x, b)) return true;
    if (inst(x, a)->op == VY_OP_LOAD && inst(x, b)->op == VY_OP_LOAD) return true;
    if (has_no_common_index(x, a, b)) return x->unit[a] == x->unit[b] && is_outside(x, loop, a);
    return vy_different_elements(x->w.p, a, b) || has_own_elements(x->w.p, loop, a, b) ||
           stays_in_order(x, loop, a, b);
}

static bool accesses_allowed(const vy_loop_jam *x, uint32_t loop)
{
    for (uint32_t i = 0; i < x->accesses; i++)
        for (uint32_t k = 0; k <= i; k++)
            if (!pair_allowed(x, loop, x->access[k], x->access[i])) return false;
    return true;
}

// ---------------------------------------------------------------------------------------- the loop
bool vy_loop_jam_tables(vy_loop_jam *x)
{
    vy_rewrite *w = &x->w;
    x->uses = vy_rewrite_uses(w);
    x->differs = vy_rewrite_bytes(w), x->joint = vy_rewrite_bytes(w);
    x->unit = vy_rewrite_ids(w);
    x->written = vy_rewrite_table(w, w->p->buffers.count);
    x->access = vy_rewrite_table(w, MOST_ACCESSES * sizeof *x->access);
    for (uint32_t q = 0; q < VY_LOOPS_JAMMED; q++) x->maps[q] = q ? vy_rewrite_ids(w) : w->map;
    return !w->oom;
}

bool vy_loop_jam_allowed(vy_loop_jam *x, uint32_t loop)
{
    if (inst(x, loop)->op != VY_OP_LOOP || vy_exits(x->w.p, loop)) return false;
    if (x->w.s.partner[loop] - loop > VY_LARGEST_JAMMED / VY_LEAST_JAMMED) return false;
    x->loop = loop;
    return find_accesses(x, loop) && find_differences(x, loop) && carries_forward(x, loop) &&
           accesses_allowed(x, loop);
}
