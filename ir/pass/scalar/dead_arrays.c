// SPDX-License-Identifier: MIT
// dead_arrays.c: removes local and shared arrays that no instruction uses any more.
//
//   local v: f32[8];   (all uses became values)      →
//
// Instructions, leaves and `?` dimensions refer to buffers by number, so the remaining buffers are
// renumbered in place; nothing else changes.  Removing shared memory matters: the declared amount
// limits how many workgroups run at once.
//
// Local arrays are placed last, as in a program that was read from text; passes may have declared
// other buffers after them.
#include "ir/pass/pass.h"

#include <string.h>

static bool used_by_leaf(const vy_program *p, uint32_t id)
{
    return VY_IS_LEAF(id) && p->leaves.data[VY_LEAF_INDEX(id)].kind == VY_LEAF_LEN;
}

static void find_used(const vy_program *p, uint32_t *to)
{
    for (uint32_t b = 1; b < p->buffers.count; b++) {
        const vy_buf *buf = &p->buffers.data[b];
        if (vy_is_global(buf->cls)) to[b] = 1;
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

static void move_buffers(vy_program *p, const uint32_t *to, vy_buf *old)
{
    memcpy(old, p->buffers.data, p->buffers.count * sizeof *old);
    for (uint32_t b = 1; b < p->buffers.count; b++) {
        if (!to[b]) continue;
        p->buffers.data[to[b]] = old[b];
        p->buffers.data[to[b]].view_of = to[old[b].view_of];
    }
    vy_renumber_buffers(p, to);
}

// Replaces the marks of used buffers in `to` by their new numbers.  Returns how many there are;
// *moved is set if any number changes.
static uint32_t renumber_buffers(const vy_program *p, uint32_t *to, bool *moved)
{
    uint32_t n = p->buffers.count, kept = 1;
    for (uint32_t local = 0; local < 2; local++)
        for (uint32_t b = 1; b < n; b++) {
            if (!to[b] || (p->buffers.data[b].cls == VY_LOCAL) != local) continue;
            *moved |= kept != b;
            to[b] = kept++;
        }
    return kept;
}

bool vy_pass_dead_arrays(vy_program *p, vy_pass_context *c)
{
    uint32_t n = p->buffers.count;
    uint32_t *to = vy_realloc(NULL, n * sizeof *to);
    vy_buf *old = vy_realloc(NULL, n * sizeof *old);
    bool moved = false;
    if (!to || !old) {
        vy_free(to);
        vy_free(old);
        vy_fail_oom(p->module);
        return false;
    }
    memset(to, 0, n * sizeof *to);
    find_used(p, to);
    uint32_t kept = renumber_buffers(p, to, &moved);
    if (kept < n || moved) {
        move_buffers(p, to, old);
        p->buffers.count = kept;
        c->changed = true;
    }
    vy_free(to);
    vy_free(old);
    return true;
}
