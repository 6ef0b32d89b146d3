// SPDX-License-Identifier: MIT
// mark_in_range.c: marks accesses that need no range check (VY_FLAG_INRANGE).
//
// Every access is checked unless proved: an out-of-range load gives zero.  A check costs a compare
// and a branch per axis, and most indices are obviously in range; range.c proves which.
//
//   over(i: N), x: f32[N]       load x[i]          →   load x[i]  INRANGE
//
// Changes nothing but the flag.  The proof holds only at that place, so no later pass may move a
// flagged access: hence this runs last.  With `unchecked` all accesses are marked: an access out of
// range is then undefined.
#include "ir/facts/range.h"
#include "ir/pass/pass.h"

static bool mark(vy_program *p, vy_pass_context *c, const vy_structure *s)
{
    vy_arena arena = {0};
    uint8_t *proved = vy_arena_alloc(&arena, p->insts.count);
    bool all = c->options && c->options->unchecked;
    bool ok = proved && (all || vy_prove_ranges(p, s, &arena, proved));
    if (!ok) vy_fail_oom(p->module);
    for (uint32_t id = 1; ok && id < p->insts.count; id++) {
        vy_inst *i = &p->insts.data[id];
        if (!vy_op_is_memory((vy_op)i->op) || i->op == VY_OP_ZERO) continue;
        if ((!all && !proved[id]) || (i->flags & VY_FLAG_INRANGE)) continue;
        i->flags |= VY_FLAG_INRANGE;
        c->changed = true;
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
