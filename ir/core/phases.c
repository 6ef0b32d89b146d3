// SPDX-License-Identifier: MIT
// phases.c: see phases.h.  A forward data flow for `before`, a backward one for `after`, iterated
// to a fixpoint at the heads of loops.  Not with ir/core/dataflow.h: these facts are about program
// points and flow from instruction to instruction, not from a value to its users.
#include "ir/core/phases.h"

#include <string.h>

bool vy_phases_make(vy_phases *f, const vy_program *p, const vy_structure *s, vy_arena *arena)
{
    size_t n = p->insts.count;
    *f = (vy_phases){.p = p, .s = s};
    vy_phase_access **tables[] = {&f->touch, &f->before, &f->after, &f->phase, &f->head, &f->side};
    for (size_t k = 0; k < sizeof tables / sizeof *tables; k++)
        if (!(*tables[k] = vy_arena_alloc(arena, n * sizeof **tables[k]))) return false;
    return (f->removed = vy_arena_alloc(arena, n)) != NULL;
}

static bool same(vy_phase_access x, vy_phase_access y)
{
    return x.loads == y.loads && x.stores == y.stores && x.updates == y.updates;
}

// Joins `t` into the state at a loop's head.
static vy_phase_access grow(vy_phases *f, uint32_t loop, vy_phase_access t, bool *grew)
{
    vy_phase_access sum = vy_touch_both(f->head[loop], t);
    *grew |= !same(sum, f->head[loop]);
    return f->head[loop] = sum;
}

static bool stops(const vy_phases *f, uint32_t id)
{
    return f->p->insts.data[id].op == VY_OP_BARRIER && !f->removed[id];
}

// From the state before instruction `id` to that after it.
static vy_phase_access forward(vy_phases *f, uint32_t id, vy_phase_access t, bool *grew)
{
    uint32_t partner = f->s->partner[id];
    f->before[id] = t;
    switch ((vy_op)f->p->insts.data[id].op) {
    case VY_OP_BARRIER: return stops(f, id) ? (vy_phase_access){0} : t;
    case VY_OP_ELSE: {
        uint32_t opener = f->s->partner[partner];
        f->side[opener] = t;
        return f->before[opener];
    }
    case VY_OP_ENDIF: return vy_touch_both(t, f->side[partner]);
    case VY_OP_LOOP:
    case VY_OP_WHILE: return grow(f, id, t, grew);
    case VY_OP_TEST: return f->side[partner] = t;
    case VY_OP_ENDLOOP: return vy_touch_both(grow(f, partner, t, grew), f->side[partner]);
    default: return vy_touch_both(t, f->touch[id]);
    }
}

// From the state after instruction `id` to that before it.
static vy_phase_access backward(vy_phases *f, uint32_t id, vy_phase_access t, bool *grew)
{
    uint32_t partner = f->s->partner[id];
    f->after[id] = t;
    switch ((vy_op)f->p->insts.data[id].op) {
    case VY_OP_BARRIER: return stops(f, id) ? (vy_phase_access){0} : t;
    case VY_OP_ENDIF: return f->side[partner] = t; // after the construct
    case VY_OP_ELSE: {
        uint32_t opener = f->s->partner[partner];
        vy_phase_access behind = f->side[opener];
        f->side[opener] = t; // before the second arm
        return behind;
    }
    case VY_OP_IF: return vy_touch_both(t, f->side[id]);
    case VY_OP_ENDLOOP: f->side[partner] = t; return vy_touch_both(t, f->head[partner]);
    case VY_OP_TEST: return vy_touch_both(t, f->side[partner]);
    case VY_OP_LOOP:
    case VY_OP_WHILE: return grow(f, id, vy_touch_both(t, f->side[id]), grew);
    default: return vy_touch_both(t, f->touch[id]);
    }
}

// All invocations reach a barrier together; from there, some may take any path to the next one.
static vy_phase_access carry(vy_phases *f, uint32_t id, vy_phase_access t, bool *grew)
{
    uint32_t partner = f->s->partner[id];
    f->phase[id] = t;
    switch ((vy_op)f->p->insts.data[id].op) {
    case VY_OP_BARRIER: return stops(f, id) ? f->after[id] : t;
    case VY_OP_ELSE: {
        uint32_t opener = f->s->partner[partner];
        f->side[opener] = t;
        return f->phase[opener];
    }
    case VY_OP_ENDIF: return vy_touch_both(t, f->side[partner]);
    case VY_OP_LOOP:
    case VY_OP_WHILE: return grow(f, id, t, grew);
    case VY_OP_TEST: return f->side[partner] = t;
    case VY_OP_ENDLOOP: return vy_touch_both(grow(f, partner, t, grew), f->side[partner]);
    default: return t;
    }
}

void vy_phases_fill(vy_phases *f)
{
    uint32_t n = f->p->insts.count;
    memset(f->head, 0, n * sizeof *f->head);
    memset(f->side, 0, n * sizeof *f->side);
    for (bool grew = true; grew; f->work += n) {
        vy_phase_access t = f->start;
        grew = false;
        for (uint32_t id = 1; id < n; id++) t = carry(f, id, t, &grew);
    }
}

void vy_phases_find(vy_phases *f)
{
    uint32_t n = f->p->insts.count;
    memset(f->head, 0, n * sizeof *f->head);
    memset(f->side, 0, n * sizeof *f->side);
    for (bool grew = true; grew; f->work += n) {
        vy_phase_access t = {0};
        grew = false;
        for (uint32_t id = 1; id < n; id++) t = forward(f, id, t, &grew);
    }
    memset(f->head, 0, n * sizeof *f->head);
    for (bool grew = true; grew; f->work += n) {
        vy_phase_access t = {0};
        grew = false;
        for (uint32_t id = n; id-- > 1;) t = backward(f, id, t, &grew);
        f->start = t;
    }
}
