// SPDX-License-Identifier: MIT
// mark_owned.c: atomics on elements that one invocation owns become plain read-modify-writes.
//
//   over(i: N):  atomic_add(g[i, k] @owned, v)      every access to g names i on axis 0
//
// What is owned: ir/facts/owner_axes.c.  All accesses of a buffer have to be, as a plain store next
// to atomics loses additions.
//
// Needs: nothing; without a domain (`over`) nothing is proved.  Sets VY_STRENGTH_OWNED
// (docs/language.md 16); keeps all else.
#include "ir/facts/owner_axes.h"
#include "ir/core/access.h"
#include "ir/pass/pass.h"

static bool has_atomics(const vy_program *p)
{
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (vy_op_is_atomic((vy_op)p->insts.data[id].op)) return true;
    return false;
}

bool vy_pass_mark_owned(vy_program *p, vy_pass_context *c)
{
    if (!has_atomics(p)) return true;
    vy_arena arena = {0};
    const bool *owned = vy_find_owned(p, &arena);
    if (!owned) vy_fail_oom(p->module);
    for (uint32_t id = 1; id < p->insts.count && owned; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (vy_op_is_atomic((vy_op)i->op) && owned[i->aux])
            c->changed |= vy_set_strength(p, id, VY_STRENGTH_OWNED);
    }
    vy_arena_free(&arena);
    return owned != NULL;
}
