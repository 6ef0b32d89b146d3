// SPDX-License-Identifier: MIT
// jam_saving.c: what is saved where four iterations of a loop run side by side (jam_loops.c).
//
// Per iteration, in the prices of a CPU's lanes (ir/facts/price.h), with the trip counts of the
// loops inside: what all copies have in common is executed for the first of them.  That is a loop
// that they run together, what does not differ, and accesses to an element that all copies load or
// store, one after the other, in one iteration of it: `adj[j] += v` is one load and one store.
//
// For a GPU (x->arrays_alone) only loops whose iterations share elements of local arrays, which it
// has in memory too: other loads that all iterations make are of what caches and registers hold.
#include "ir/core/access.h"
#include "ir/facts/memory.h"
#include "ir/facts/price.h"
#include "ir/pass/target/jam_loops.h"

enum {
    LOOP_PRICE = 8,    // of an iteration: a branch, a comparison, the counter
    MOST_CARRIED = 40, // values of a loop in common: each takes a register
    LARGEST_BODY = 96, // of a loop in common, in instructions: strip_mine.c takes no larger ones
};
static const double least_gain = 1.25;

static const vy_inst *inst(const vy_loop_jam *x, uint32_t id) { return &x->w.p->insts.data[id]; }

// Is it an access to an element that the same unit stores, in range, and all copies alike?
static bool is_kept(const vy_loop_jam *x, uint32_t id)
{
    const vy_program *p = x->w.p;
    bool stored = false;
    if (inst(x, id)->op != VY_OP_LOAD && inst(x, id)->op != VY_OP_STORE) return false;
    if (!x->written[vy_memory_of(p, inst(x, id)->aux)]) return false;
    for (uint32_t k = 0; k < vy_rank_of(p, id); k++) {
        const uint32_t index = vy_arg(p, id, k);
        if (!VY_IS_LEAF(index) && index >= x->loop && x->differs[index]) return false;
    }
    for (uint32_t k = 0; k < x->accesses; k++) {
        const uint32_t other = x->access[k];
        if (x->unit[other] != x->unit[id] || inst(x, other)->aux != inst(x, id)->aux) continue;
        if (!vy_same_element(p, id, other)) return false;
        stored |= inst(x, other)->op == VY_OP_STORE && inst(x, other)->flags & VY_FLAG_INRANGE;
    }
    return stored;
}

static double price(const vy_loop_jam *x, uint32_t id)
{
    const vy_inst *i = inst(x, id);
    const vy_price *price = vy_price_of((vy_op)i->op);
    const bool checked = vy_op_is_memory((vy_op)i->op) && !(i->flags & VY_FLAG_INRANGE);
    const uint32_t once = vy_type_is_float((vy_type)i->type) ? price->cpu : price->cpu_whole;
    return once + (checked ? VY_PRICE_CHECK : 0) + (vy_is_loop((vy_op)i->op) ? LOOP_PRICE : 0);
}

// Is the code short enough, and are there enough registers, of a loop in common?
static bool fits(const vy_loop_jam *x, uint32_t opener, uint32_t factor)
{
    const uint32_t last_carry = opener + vy_slot_count(x->w.p, &x->w.s, opener);
    uint32_t carried = 0, size = 0;
    bool innermost = true;
    for (uint32_t id = opener + 1; id < x->w.s.partner[opener]; id++) {
        const uint32_t copies = x->differs[id] ? factor : 1;
        innermost &= !vy_is_loop((vy_op)inst(x, id)->op);
        size += copies;
        if (id <= last_carry) carried += copies;
    }
    return carried <= MOST_CARRIED && (!innermost || size <= LARGEST_BODY);
}

static bool all_fit(const vy_loop_jam *x, uint32_t loop, uint32_t factor)
{
    const uint32_t end = x->w.s.partner[loop];
    uint64_t trips;
    bool joint = false;
    if (vy_constant_trips(x->w.p, loop, &trips) && trips < factor) return false;
    if ((end - loop) * factor > VY_LARGEST_JAMMED) return false;
    for (uint32_t id = loop + 1; id < end; id++) {
        if (x->joint[id] && !fits(x, id, factor)) return false;
        joint |= x->joint[id];
    }
    return joint;
}

// Do copies have a load from a local array in common, in a loop that they run together?
static bool shares_an_array(const vy_loop_jam *x, uint32_t loop)
{
    const vy_program *p = x->w.p;
    for (uint32_t id = loop + 1; id < x->w.s.partner[loop]; id++) {
        if (inst(x, id)->op != VY_OP_LOAD || p->buffers.data[inst(x, id)->aux].cls != VY_LOCAL)
            continue;
        if (x->joint[x->w.s.parent[id]] && (!x->differs[id] || is_kept(x, id))) return true;
    }
    return false;
}

// What an iteration costs that each copy has of its own, and what they have in common.
static void find_costs(const vy_loop_jam *x, uint32_t loop, double *own, double *common)
{
    const vy_program *p = x->w.p;
    double weight = 1;
    *own = 0, *common = LOOP_PRICE;
    for (uint32_t id = loop + 1 + vy_slot_count(p, &x->w.s, loop); id < x->w.s.partner[loop];
         id++) {
        const vy_op op = (vy_op)inst(x, id)->op;
        if (op == VY_OP_ENDLOOP) weight /= vy_expected_trips(p, x->w.s.partner[id]);
        if (vy_is_loop(op)) weight *= vy_expected_trips(p, id);
        *(x->differs[id] && !is_kept(x, id) ? own : common) += weight * price(x, id);
    }
}

double vy_loop_jam_saves(const vy_loop_jam *x, uint32_t loop, uint32_t *factor)
{
    double own, common, now, best = 0;
    *factor = 0;
    if (x->arrays_alone && !shares_an_array(x, loop)) return 0;
    find_costs(x, loop, &own, &common);
    now = own + common;
    for (uint32_t f = VY_LEAST_JAMMED; f <= x->most && all_fit(x, loop, f); f *= 2) {
        const double then = own + common / f;
        if (now < least_gain * then) break;
        best += now - then, now = then;
        *factor = f;
    }
    return best * vy_expected_trips(x->w.p, loop);
}
