// SPDX-License-Identifier: MIT
// prune.c: drops parameters that differentiation made and that turned out unused.
#include "reverse.h"

#include <string.h>

// Removes compiler-made buffers and arrays that no instruction uses, and renumbers the rest.
void vy_drop_unused(vy_program *p, uint32_t *map)
{
    memset(map, 0, p->buffers.count * sizeof *map);
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (vy_op_is_memory((vy_op)i->op)) map[i->aux] = 1;
        for (uint32_t k = 0; k < i->nargs; k++) {
            uint32_t a = vy_arg(p, id, k);
            const vy_leaf *l = VY_IS_LEAF(a) ? &p->leaves.data[VY_LEAF_INDEX(a)] : NULL;
            if (l && l->kind == VY_LEAF_LEN) map[l->index] = 1;
        }
    }
    uint32_t kept = 1, binding = 0;
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        vy_buf buf = p->buffers.data[i];
        bool made = buf.workspace || buf.cls == VY_SHARED || buf.cls == VY_LOCAL;
        if (made && !map[i]) continue;
        if (buf.cls <= VY_INOUT) buf.binding = binding++;
        p->buffers.data[kept] = buf;
        map[i] = kept++;
    }
    p->buffers.count = kept;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        vy_inst *i = &p->insts.data[id];
        if (vy_op_is_memory((vy_op)i->op)) i->aux = map[i->aux];
    }
    for (uint32_t k = 0; k < p->leaves.count; k++) {
        vy_leaf *l = &p->leaves.data[k];
        if (l->kind != VY_LEAF_LEN) continue;
        if (map[l->index])
            l->index = map[l->index];
        else
            *l = (vy_leaf){.kind = VY_LEAF_CONST, .type = l->type}; // nobody uses it
    }
    for (uint32_t i = 1; i < p->dims.count; i++)
        if (p->dims.data[i].op == VY_DIM_UNKNOWN)
            p->dims.data[i].value = map[p->dims.data[i].value];
}
