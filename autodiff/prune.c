// SPDX-License-Identifier: MIT
// prune.c: drops parameters that differentiation made and that turned out unused.
#include "reverse.h"

#include <string.h>

// Removes compiler-made buffers and arrays that no instruction uses (with `all`, any buffer), and
// renumbers the rest.
void vy_drop_unused(vy_program *p, bool all, uint32_t *map)
{
    memset(map, 0, p->buffers.count * sizeof *map);
    for (uint32_t i = 1; all && i < p->dims.count; i++) // lengths that others may refer to
        if (p->dims.data[i].op == VY_DIM_UNKNOWN) map[p->dims.data[i].value] = 1;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (vy_op_is_memory((vy_op)i->op)) map[i->aux] = 1;
        for (uint32_t k = 0; k < i->nargs; k++) {
            uint32_t a = vy_arg(p, id, k);
            const vy_leaf *l = VY_IS_LEAF(a) ? &p->leaves.data[VY_LEAF_INDEX(a)] : NULL;
            if (l && l->kind == VY_LEAF_LEN) map[l->index] = 1;
        }
    }
    for (uint32_t i = 1; all && i < p->buffers.count; i++) { // a copy needs what it is a copy of
        const vy_buf *b = &p->buffers.data[i];
        if (map[i] && b->init == VY_INIT_COPY) map[vy_program_find_buffer(p, b->init_from).id] = 1;
    }
    uint32_t kept = 1, binding = 0;
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        vy_buf buf = p->buffers.data[i];
        bool made = all || buf.workspace || buf.cls == VY_SHARED || buf.cls == VY_LOCAL;
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

static bool is_extent(const vy_program *p, uint32_t scalar)
{
    for (uint32_t i = 1; i < p->buffers.count; i++)
        for (uint32_t k = 0; k < p->buffers.data[i].rank; k++) {
            const vy_dim_node *d = &p->dims.data[p->buffers.data[i].dims[k].id];
            if (d->op == VY_DIM_SCALAR && d->value == scalar) return true;
        }
    return false;
}

// Renumbers the scalars without number s.
static void drop_scalar(vy_program *p, uint32_t s)
{
    for (uint32_t k = s + 1; k < p->scalars.count; k++) p->scalars.data[k - 1] = p->scalars.data[k];
    p->scalars.count--;
    for (uint32_t i = 1; i < p->dims.count; i++) {
        vy_dim_node *d = &p->dims.data[i];
        if (d->op == VY_DIM_SCALAR && d->value == s) *d = (vy_dim_node){.op = VY_DIM_CONST};
        if (d->op == VY_DIM_SCALAR && d->value > s) d->value--;
    }
    for (uint32_t k = 0; k < p->leaves.count; k++) {
        vy_leaf *l = &p->leaves.data[k];
        if (l->kind != VY_LEAF_SCALAR || l->index < s) continue;
        if (l->index == s)
            *l = (vy_leaf){.kind = VY_LEAF_CONST, .type = l->type};
        else
            l->index--;
    }
}

void vy_drop_scalars(vy_program *p, uint32_t first)
{
    for (uint32_t s = p->scalars.count; s-- > first;)
        if (!is_extent(p, s)) drop_scalar(p, s);
}

// Marks the scalars that the dimensions in use are made of; dims: scratch, one per dimension.
static void use_dims(const vy_program *p, uint8_t *dims, uint8_t *scalars)
{
    for (uint32_t i = 1; i < p->buffers.count; i++)
        for (uint32_t k = 0; k < p->buffers.data[i].rank; k++)
            dims[p->buffers.data[i].dims[k].id] = 1;
    for (uint32_t k = 0; k < p->overs.count; k++) dims[p->overs.data[k].extent.id] = 1;
    for (uint32_t i = p->dims.count; i-- > 1;) { // operands come before their users
        const vy_dim_node *d = &p->dims.data[i];
        if (!dims[i]) continue;
        if (d->op == VY_DIM_SCALAR) scalars[d->value] = 1;
        if (d->op >= VY_DIM_ADD) dims[d->a] = dims[d->b] = 1;
    }
}

bool vy_drop_unused_scalars(vy_program *p)
{
    size_t n = (size_t)p->dims.count + p->scalars.count;
    uint8_t *dims = vy_realloc(NULL, n + 1);
    if (!dims) {
        vy_fail_oom(p->module);
        return false;
    }
    uint8_t *scalars = dims + p->dims.count;
    memset(dims, 0, n + 1);
    use_dims(p, dims, scalars);
    for (uint32_t id = 1; id < p->insts.count; id++)
        for (uint32_t k = 0; k < p->insts.data[id].nargs; k++) {
            uint32_t a = vy_arg(p, id, k);
            const vy_leaf *l = VY_IS_LEAF(a) ? &p->leaves.data[VY_LEAF_INDEX(a)] : NULL;
            if (l && l->kind == VY_LEAF_SCALAR) scalars[l->index] = 1;
        }
    for (uint32_t s = p->scalars.count; s-- > 0;)
        if (!scalars[s]) drop_scalar(p, s);
    vy_free(dims);
    return true;
}
