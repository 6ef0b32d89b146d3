// SPDX-License-Identifier: MIT
// eval_partial.c: shared arrays that the domain's last workgroups fill in part.
//
// Invocations outside of the domain store nothing.  What one of them would have stored to a shared array stays
// undefined, and an invocation inside that reads it computes with whatever a device had there.  So in a
// launch with such invocations the interpreter keeps, for each element of a shared array, whether a store to it
// was dropped in this workgroup and whether it was filled; to read what was dropped and not filled is an error,
// asked for reports or not.
//
// Variables of the domain are at most its last point in invocations outside.  So a store whose place depends on them seems to
// aim at what that point fills; then all that is unfilled counts as dropped.
#include "eval.h"

#include <stdio.h>

bool vy_partial_make(vy_machine *m)
{
    bool partial = false;
    if (!m->p->overs.count) return true;
    for (uint32_t k = 0; k < 3; k++) partial |= m->size[k] % m->workgroup[k] != 0;
    for (uint32_t id = 1; partial && id < m->p->buffers.count; id++) {
        vy_bound *b = &m->bounds[id];
        if (b->cls != VY_SHARED) continue;
        b->dropped = vy_eval_alloc(m, b->count, sizeof *b->dropped);
        b->filled = vy_eval_alloc(m, b->count, sizeof *b->filled);
        if (m->failed) return false;
    }
    return true;
}

// Where a lane outside of the domain would have stored; false: nowhere.
static bool aimed_at(const vy_machine *m, const vy_xinst *x, const vy_bound *b, uint32_t lane,
                     uint64_t *place)
{
    *place = 0;
    for (uint32_t axis = 0; axis < b->rank; axis++) {
        const uint64_t index = vy_reg(m, m->operands[x->args + axis])[lane].u;
        if (index >= b->dims[axis]) return false;
        *place = *place * b->dims[axis] + index;
    }
    return true;
}

void vy_partial_store(vy_machine *m, const vy_xinst *x, vy_bound *b)
{
    const uint64_t now = m->group + 1;
    VY_EACH_ACTIVE(m, l, if (m->offsets[l] >= 0) b->filled[m->offsets[l]] = now;)
    VY_EACH_ACTIVE(m, l, {
        uint64_t place;
        if (m->offsets[l] >= 0 || !m->padding[l] || !aimed_at(m, x, b, l, &place)) continue;
        if (b->filled[place] == now) b->blind = now;
        b->dropped[place] = now;
    })
}

void vy_partial_zero(vy_machine *m, const vy_bound *b)
{
    for (uint64_t e = 0; e < b->count; e++) b->filled[e] = m->group + 1;
}

void vy_partial_load(vy_machine *m, const vy_xinst *x, const vy_bound *b)
{
    const uint64_t now = m->group + 1,
                   all = (uint64_t)m->workgroup[0] * m->workgroup[1] * m->workgroup[2];
    VY_EACH_ACTIVE(m, l, {
        const int64_t off = m->offsets[l];
        if (off < 0 || b->filled[off] == now || m->failed) continue;
        if (b->dropped[off] != now && b->blind != now) continue;
        const vy_inst *i = &m->p->insts.data[x->inst];
        const uint64_t number = m->group * all + m->linear[l] + 1;
        char who[96] = "";
        if (number <= UINT32_MAX) vy_eval_who(m, (uint32_t)number, who, sizeof who);
        vy_eval_fail(m, VY_E_EVAL_PARTIAL, i->line, i->column,
                     "invocation (%s) reads an element of `%s` that an invocation outside of the "
                     "domain would have stored: sizes are no multiples of the workgroup's",
                     who, m->p->buffers.data[x->aux].name);
    })
}
