// SPDX-License-Identifier: MIT
// components_slots.c: groups of what constructs carry and yield (ir/core/vector_slots.h).
//
// Carries and results stay where they are; their groups are those from which others follow, as from
// loaded rows, and what they take are groups as what rows store is.
#include "ir/facts/component_finder.h"

typedef vy_component_finder finder;

static bool enter_all(finder *f, uint32_t first, uint32_t n)
{
    if (!vy_vec_push(&f->c->groups, (vy_group){.size = n})) return false;
    const uint32_t number = f->c->groups.count - 1;
    bool ok = true;
    for (uint32_t k = 0; ok && k < n; k++) ok = vy_component_enter(f, first + k, number, k);
    return ok;
}

static bool enter_slots(finder *f, uint32_t opener, uint32_t k, uint32_t n)
{
    return enter_all(f, vy_result(f->p, f->s, opener, k), n) &&
           (!vy_is_loop((vy_op)f->p->insts.data[opener].op) ||
            enter_all(f, vy_carry(opener, k), n));
}

bool vy_component_slots(finder *f)
{
    bool ok = true;
    for (uint32_t id = 1; ok && id < f->p->insts.count; id++) {
        if (!vy_op_opens((vy_op)f->p->insts.data[id].op)) continue;
        const uint32_t slots = vy_slot_count(f->p, f->s, id);
        for (uint32_t k = 0, n; ok && k < slots; k += n ? n : 1) {
            n = vy_vector_at_slot(f->p, f->s, id, k);
            ok = !n || enter_slots(f, id, k, n);
        }
    }
    return ok;
}

// What the n slots from k on of a construct take, at its opening, its middle and its end.
static void slot_values(finder *f, uint32_t opener, uint32_t k, uint32_t n, vy_component_take *take,
                        void *to)
{
    const vy_op op = (vy_op)f->p->insts.data[opener].op;
    uint32_t other[VY_MOST_COMPONENTS], last[VY_MOST_COMPONENTS];
    for (uint32_t j = 0; j < n; j++) {
        last[j] = vy_slot_yield(f->p, f->s, opener, k + j);
        if (op == VY_OP_IF) other[j] = vy_slot_then(f->p, f->s, opener, k + j);
        if (vy_is_loop(op)) other[j] = vy_slot_init(f->p, opener, k + j);
    }
    take(f, last, n, to);
    if (op == VY_OP_IF || vy_is_loop(op)) take(f, other, n, to);
}

void vy_component_slot_values(finder *f, vy_component_take *take, void *to)
{
    for (uint32_t id = 1; id < f->p->insts.count; id++) {
        const bool result = f->p->insts.data[id].op == VY_OP_RESULT && f->c->group[id];
        if (!result || f->c->component[id]) continue;
        const uint32_t opener = vy_opener(f->p, f->s, id);
        const uint32_t k = id - vy_result(f->p, f->s, opener, 0);
        slot_values(f, opener, k, f->c->groups.data[f->c->group[id]].size, take, to);
    }
}
