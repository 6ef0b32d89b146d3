// SPDX-License-Identifier: MIT
// jam_choice.c: which loops jam_iterations.c takes, and the order of what is in them.
//
// Counted loops of one step, straight code of values and of loads from memory that nothing writes,
// in which few sums are made at a time, each a long chain of additions that wait for each other.
// So whatever order their instructions get, as long as operands come first, is right, to the bit.
#include "ir/pass/device/jam_iterations.h"

#include <string.h>

enum {
    LARGEST = 1024, // instructions of a body
    LONG = 16,      // additions one after the other
    OWN_LOADS = 8,
};

static bool is_plain(const vy_program *p, uint32_t id)
{
    const vy_inst *i = &p->insts.data[id];
    if (i->op == VY_OP_LOAD) return p->buffers.data[i->aux].cls == VY_IN;
    return vy_op_infos[i->op].effect == VY_PURE;
}

static bool suits(const vy_rewrite *w, uint32_t loop)
{
    const vy_program *p = w->p;
    const vy_inst *i = &p->insts.data[loop];
    if (i->op != VY_OP_LOOP || i->type != VY_U32 || vy_exits(p, loop)) return false;
    const vy_scalar *step = vy_id_const(p, vy_arg(p, loop, 2));
    const uint32_t end = w->s.partner[loop], first = loop + 1 + vy_slot_count(p, &w->s, loop);
    if (!step || step->u != 1 || end - first > LARGEST) return false;
    for (uint32_t id = first; id < end; id++)
        if (!is_plain(p, id)) return false;
    return true;
}

static bool is_float_value(const vy_program *p, uint32_t id)
{
    const vy_type t = (vy_type)p->insts.data[id].type;
    return vy_type_is_float(t) && p->insts.data[id].op != VY_OP_LOAD;
}

// What depends on what the loop carries.
static void find_carried(const vy_rewrite *w, uint32_t loop, uint8_t *kind)
{
    const vy_program *p = w->p;
    const uint32_t end = w->s.partner[loop], first = loop + 1 + vy_slot_count(p, &w->s, loop);
    memset(kind + loop, VY_JAM_EARLY, end - loop);
    memset(kind + loop + 1, VY_JAM_CARRIED, first - loop - 1);
    for (uint32_t id = first; id < end; id++) {
        kind[id] = is_float_value(p, id) ? VY_JAM_EARLY : VY_JAM_LAZY;
        for (uint32_t k = 0; k < p->insts.data[id].nargs; k++) {
            const uint32_t a = vy_arg(p, id, k);
            if (!VY_IS_LEAF(a) && a > loop && kind[a] == VY_JAM_CARRIED) kind[id] = VY_JAM_CARRIED;
        }
    }
}

// A value with one use, in what is carried, as the product that is added: next to that.
static void find_late(const vy_rewrite *w, uint32_t loop, uint8_t *kind, uint32_t *user)
{
    const vy_program *p = w->p;
    const uint32_t end = w->s.partner[loop], many = UINT32_MAX;
    memset(user + loop, 0, (end - loop) * sizeof *user);
    for (uint32_t id = end + 1; id-- > loop + 1;) {
        if (id < end && kind[id] == VY_JAM_EARLY && user[id] && user[id] != many &&
            (user[id] == end || kind[user[id]] >= VY_JAM_LATE))
            kind[id] = VY_JAM_LATE;
        for (uint32_t k = 0; k < p->insts.data[id].nargs; k++) {
            const uint32_t a = vy_arg(p, id, k);
            if (!VY_IS_LEAF(a) && a > loop) user[a] = user[a] ? many : id;
        }
    }
}

static bool is_addition(vy_op op) { return op == VY_OP_ADD || op == VY_OP_SUB; }

// How many sums are made at a time by what does not wait for earlier iterations, about; 0: none
// that is long.
static uint32_t count_sums(const vy_rewrite *w, uint32_t loop, const uint8_t *kind, uint32_t *depth)
{
    const vy_program *p = w->p;
    uint32_t additions = 0, longest = 0;
    for (uint32_t id = loop; id < w->s.partner[loop]; id++) {
        depth[id] = 0;
        if (id == loop || kind[id] != VY_JAM_EARLY) continue;
        for (uint32_t k = 0; k < p->insts.data[id].nargs; k++) {
            const uint32_t a = vy_arg(p, id, k);
            if (!VY_IS_LEAF(a) && a > loop && depth[a] > depth[id]) depth[id] = depth[a];
        }
        const bool addition = is_addition((vy_op)p->insts.data[id].op);
        additions += addition;
        depth[id] += addition;
        if (depth[id] > longest) longest = depth[id];
    }
    return longest < LONG ? 0 : (additions + longest / 2) / longest;
}

// Does it load rows of a lane's own?  Those of several iterations would need a register for each
// element.
static bool loads_own_rows(const vy_jam *x, uint32_t loop)
{
    uint32_t own = 0;
    for (uint32_t id = loop + 1; id < x->w->s.partner[loop]; id++)
        own += x->w->p->insts.data[id].op == VY_OP_LOAD && !x->same[id];
    return own > OWN_LOADS;
}

uint32_t vy_jam_sums(const vy_jam *x, uint32_t loop)
{
    if (!suits(x->w, loop) || loads_own_rows(x, loop)) return 0;
    find_carried(x->w, loop, x->kind);
    find_late(x->w, loop, x->kind, x->depth);
    const uint32_t sums = count_sums(x->w, loop, x->kind, x->depth);
    return sums < VY_INDEPENDENT_SUMS ? sums : 0;
}
