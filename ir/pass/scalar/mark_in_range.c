// SPDX-License-Identifier: MIT
// mark_in_range.c: marks accesses that need no range check (VY_FLAG_INRANGE).
//
// Every access is checked unless proved: an out-of-range load gives zero.  A check costs a compare
// and a branch per axis, and most indices are obviously in range; range.c proves which.
//
//   over(i: N), x: f32[N]          load x[i]       →  load x[i]  INRANGE
//   over(i: N), y: f32[N, M]       load y[i, k]    →  load y[i, k]  FIRST × 1
//
// Changes nothing but the flag.  The proof holds only at that place, so no later pass may move a
// flagged access: hence this runs last.  With `unchecked` all accesses are marked: an access out of
// range is then undefined.
#include "ir/core/access.h"
#include "ir/facts/range.h"
#include "ir/pass/pass.h"

// An access whose first `axes` indices are proved, with its mark: does that say more?
static bool set(vy_program *p, uint32_t id, uint32_t axes)
{
    const uint32_t most = VY_FLAG_FIRSTS / VY_FLAG_FIRST, rank = vy_rank_of(p, id);
    vy_inst *i = &p->insts.data[id];
    const uint8_t before = i->flags;
    i->flags &= (uint8_t) ~(VY_FLAG_INRANGE | VY_FLAG_FIRSTS);
    i->flags |=
        axes >= rank ? VY_FLAG_INRANGE : (uint8_t)(VY_FLAG_FIRST * (axes < most ? axes : most));
    return i->flags != before;
}

static bool mark(vy_program *p, vy_pass_context *c, const vy_structure *s)
{
    vy_arena arena = {0};
    uint8_t *axes = vy_arena_alloc(&arena, p->insts.count);
    bool all = c->options && c->options->unchecked;
    bool ok = axes && (all || vy_prove_axes(p, s, &arena, axes));
    if (!ok) vy_fail_oom(p->module);
    for (uint32_t id = 1; ok && id < p->insts.count; id++) {
        const vy_op op = (vy_op)p->insts.data[id].op;
        if (!vy_op_is_memory(op) || op == VY_OP_ZERO) continue;
        c->changed |= set(p, id, all ? VY_MAX_RANK : axes[id]);
    }
    vy_arena_free(&arena);
    return ok;
}

bool vy_pass_mark_in_range(vy_program *p, vy_pass_context *c)
{
    vy_structure s;
    if (!vy_structure_make(p, &s)) {
        vy_fail_oom(p->module);
        return false;
    }
    bool ok = mark(p, c, &s);
    vy_structure_free(&s);
    return ok;
}
