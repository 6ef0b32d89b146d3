// SPDX-License-Identifier: MIT
// eval_marks.c: checks that marks hold (ir/core/marks.c).
//
//   y[i + 1] @in_range = 0;      error where i + 1 is out of range
//   atomic_add(y[0] @owned, e)   error where a second invocation updates y[0]
//   … @owned @once               error where y[0] is not zero before
//   @owned x: in f32[N]          error where a second invocation accesses an element of x
//
// A device trusts marks: it omits checks, and stores instead of adding.  Here all marks, including
// those set by passes, are checked in each run, so that a wrong proof ends in an error and not in
// other numbers.  Loads and stores of an owned element by other invocations are data races with or
// without the mark (eval_shadow.c).
#include "ir/eval/eval.h"

#define OWNED 0x80000000u // combined with the number of an invocation that used an owned atomic
#define SEVERAL 0x7fffffffu

static uint32_t lanes_per_group(const vy_machine *m)
{
    return m->workgroup[0] * m->workgroup[1] * m->workgroup[2];
}

// If the numbers of all invocations do not fit, nothing is recorded.
bool vy_marks_make(vy_machine *m)
{
    if (m->group_count >= SEVERAL / lanes_per_group(m)) return true;
    for (uint32_t k = 1; k < m->p->buffers.count; k++) {
        if (!m->p->buffers.data[k].owned || m->p->signature) continue;
        vy_bound *b = &m->bounds[k];
        b->one_owner = true;
        if (!(b->owner = vy_eval_alloc(m, b->count, sizeof *b->owner))) return false;
    }
    for (uint32_t id = 1; id < m->p->insts.count; id++) {
        const vy_inst *i = &m->p->insts.data[id];
        if (!vy_op_is_atomic((vy_op)i->op) || !(i->flags & VY_FLAG_OWNED)) continue;
        vy_bound *b = &m->bounds[i->aux];
        if (b->cls == VY_LOCAL || b->cls == VY_SHARED || b->owner) continue;
        if (!(b->owner = vy_eval_alloc(m, b->count, sizeof *b->owner))) return false;
    }
    return true;
}

static void disprove(vy_machine *m, const vy_xinst *x, uint8_t mark, const char *why)
{
    const vy_inst *i = &m->p->insts.data[x->inst];
    if (m->failed) return;
    vy_eval_fail(m, VY_E_EVAL_MARK, i->line, i->column, "mark `@%s` of `%s` does not hold: %s",
                 vy_mark_name(mark), m->p->buffers.data[x->aux].name, why);
}

void vy_mark_out_of_range(vy_machine *m, const vy_xinst *x)
{
    disprove(m, x, VY_FLAG_INRANGE, "an index is out of range");
}

static uint32_t number_of(const vy_machine *m, uint32_t lane)
{
    return (uint32_t)(m->group * lanes_per_group(m)) + m->linear[lane] + 1;
}

void vy_mark_access(vy_machine *m, const vy_xinst *x)
{
    uint32_t *owner = m->bounds[x->aux].owner;
    for (uint32_t k = 0; k < m->nact; k++) {
        const uint32_t l = m->act[k], me = number_of(m, l);
        if (m->offsets[l] < 0) continue;
        uint32_t *at = &owner[m->offsets[l]];
        if (*at && (*at & ~OWNED) != me)
            disprove(m, x, VY_FLAG_OWNED, "several invocations access one element");
        *at = me | (*at & OWNED);
    }
}

void vy_mark_update(vy_machine *m, const vy_xinst *x, uint32_t lane, uint64_t at, vy_scalar old)
{
    uint32_t *owner = m->bounds[x->aux].owner ? &m->bounds[x->aux].owner[at] : NULL;
    const uint32_t me = number_of(m, lane);
    const uint32_t mine = x->flags & VY_FLAG_OWNED ? OWNED : 0;
    const uint32_t who = owner ? *owner & ~OWNED : 0;
    const bool other = who && who != me;
    if (other && (mine || *owner & OWNED))
        disprove(m, x, VY_FLAG_OWNED, "several invocations update one element");
    if (x->flags & VY_FLAG_ONCE && old.u)
        disprove(m, x, VY_FLAG_ONCE, "its element is not zero any more");
    if (owner) *owner = (other ? SEVERAL : me) | (*owner & OWNED) | mine;
}
