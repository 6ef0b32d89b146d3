// SPDX-License-Identifier: MIT
// arrays.c: drops local and shared arrays that no instruction names any more.
//
//   local v: f32[8];   (all uses became values)      →
//
// Their numbers are in instructions, leaves and `?` dimensions, so the rest is renumbered in place;
// nothing else changes.  Shared memory that is declared limits how many workgroups run at once.
#include "pass.h"

static bool used_by_leaf(const vy_program *p, uint32_t id)
{
    return VY_IS_LEAF(id) && p->leaves.data[VY_LEAF_INDEX(id)].kind == VY_LEAF_LEN;
}

static void find_used(const vy_program *p, uint32_t *to)
{
    for (uint32_t b = 1; b < p->buffers.count; b++) {
        const vy_buf *buf = &p->buffers.data[b];
        if (buf->cls <= VY_INOUT) to[b] = 1;
        if (buf->view_of) to[b] = to[buf->view_of] = 1;
    }
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (vy_op_is_memory((vy_op)i->op)) to[i->aux] = 1;
        for (uint32_t k = 0; k < i->nargs; k++)
            if (used_by_leaf(p, vy_arg(p, id, k)))
                to[p->leaves.data[VY_LEAF_INDEX(vy_arg(p, id, k))].index] = 1;
    }
}

static void renumber(vy_program *p, const uint32_t *to)
{
    for (uint32_t b = 1; b < p->buffers.count; b++) {
        if (!to[b]) continue;
        p->buffers.data[to[b]] = p->buffers.data[b];
        p->buffers.data[to[b]].view_of = to[p->buffers.data[b].view_of];
    }
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (vy_op_is_memory((vy_op)p->insts.data[id].op))
            p->insts.data[id].aux = to[p->insts.data[id].aux];
    for (uint32_t i = 0; i < p->leaves.count; i++) {
        vy_leaf *l = &p->leaves.data[i];
        if (l->kind != VY_LEAF_LEN) continue;
        if (to[l->index])
            l->index = to[l->index];
        else
            *l = (vy_leaf){.kind = VY_LEAF_CONST, .type = VY_U32}; // nobody uses it
    }
    for (uint32_t i = 1; i < p->dims.count; i++)
        if (p->dims.data[i].op == VY_DIM_UNKNOWN) p->dims.data[i].value = to[p->dims.data[i].value];
}

bool vy_pass_arrays(vy_program *p, vy_pass_context *c)
{
    uint32_t n = p->buffers.count, kept = 1;
    uint32_t *to = vy_realloc(NULL, n * sizeof *to);
    if (!to) {
        vy_fail_oom(p->module);
        return false;
    }
    for (uint32_t b = 0; b < n; b++) to[b] = 0;
    find_used(p, to);
    for (uint32_t b = 1; b < n; b++)
        if (to[b]) to[b] = kept++;
    if (kept < n) {
        renumber(p, to);
        p->buffers.count = kept;
        c->changed = true;
    }
    vy_free(to);
    return true;
}
