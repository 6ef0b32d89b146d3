// SPDX-License-Identifier: MIT
// leaf.c: leaves, interned: equal leaves have equal ids.
#include "ir/build/build.h"
#include "ir/build/edit.h"

#include <string.h>

// ----------------------------------------------------------------------------------------- leaves
// A product carries differences upwards only, and short numbers differ in the top bits of their
// double alone: those are brought down before the last product.
static uint32_t leaf_hash(const vy_leaf *l)
{
    uint64_t h = ((uint64_t)l->kind << 8 | l->type) * 0x9E3779B97F4A7C15u;
    h = (h ^ l->index ^ ((uint64_t)l->axis << 32)) * 0x9E3779B97F4A7C15u;
    h ^= l->value.u;
    h = (h ^ h >> 32) * 0x9E3779B97F4A7C15u;
    return (uint32_t)(h >> 32);
}

static bool leaf_same(const vy_leaf *a, const vy_leaf *b)
{
    return a->kind == b->kind && a->type == b->type && a->index == b->index && a->axis == b->axis &&
           a->value.u == b->value.u;
}

bool vy_leaf_insert(vy_builder *b, uint32_t index)
{
    const vy_leaf *leaves = b->p->leaves.data;
    if ((index + 1) * 2 > b->leaf_table_size) {
        uint32_t size = b->leaf_table_size ? b->leaf_table_size * 2 : 64;
        uint32_t *t = vy_realloc(NULL, (size_t)size * sizeof *t);
        if (!t) return false;
        memset(t, 0, (size_t)size * sizeof *t);
        vy_free(b->leaf_table);
        b->leaf_table = t;
        b->leaf_table_size = size;
        for (uint32_t i = 0; i < index; i++) vy_leaf_insert(b, i); // fits: no further growth
    }
    uint32_t mask = b->leaf_table_size - 1, slot = leaf_hash(&leaves[index]) & mask;
    while (b->leaf_table[slot]) slot = (slot + 1) & mask;
    b->leaf_table[slot] = index + 1;
    return true;
}

static uint32_t leaf_get(vy_builder *b, vy_leaf l)
{
    if (b->failed) return 0;
    if (b->leaf_table_size) {
        uint32_t mask = b->leaf_table_size - 1, slot = leaf_hash(&l) & mask;
        for (; b->leaf_table[slot]; slot = (slot + 1) & mask) {
            uint32_t index = b->leaf_table[slot] - 1;
            if (leaf_same(&b->p->leaves.data[index], &l)) return index | VY_LEAF_BIT;
        }
    }
    if (!vy_vec_push(&b->p->leaves, l) || !vy_leaf_insert(b, b->p->leaves.count - 1)) {
        vy_build_oom(b);
        return 0;
    }
    return (b->p->leaves.count - 1) | VY_LEAF_BIT;
}

// A constant that no other leaf equals: as a plain zero it would be a second leaf for that
// constant, and equal values would have different ids.
void vy_leaf_drop(vy_leaf *l)
{
    *l = (vy_leaf){.kind = VY_LEAF_CONST, .type = VY_U32, .index = UINT32_MAX};
}

void vy_renumber_buffers(vy_program *p, const uint32_t *to)
{
    vy_names_drop(p);
    for (uint32_t id = 1; id < p->insts.count; id++) {
        vy_inst *i = &p->insts.data[id];
        if (vy_op_is_memory((vy_op)i->op)) i->aux = to[i->aux];
    }
    for (uint32_t k = 0; k < p->leaves.count; k++) {
        vy_leaf *l = &p->leaves.data[k];
        if (l->kind != VY_LEAF_LEN) continue;
        if (to[l->index])
            l->index = to[l->index];
        else
            vy_leaf_drop(l);
    }
    for (uint32_t i = 1; i < p->dims.count; i++) {
        vy_dim_node *d = &p->dims.data[i];
        if (d->op != VY_DIM_UNKNOWN) continue;
        if (to[d->value])
            d->value = to[d->value];
        else
            *d = (vy_dim_node){.op = VY_DIM_CONST}; // it has no uses
    }
}

uint32_t vy_leaf_const(vy_builder *b, vy_type type, vy_scalar value)
{
    // All NaNs are one, so that equal programs have equal leaves.
    if (vy_type_is_float(type) && value.f != value.f) value.u = 0x7FF8000000000000u;
    return leaf_get(b, (vy_leaf){.kind = VY_LEAF_CONST, .type = (uint8_t)type, .value = value});
}

uint32_t vy_leaf_other(vy_builder *b, vy_leaf_kind kind, vy_type type, uint32_t index,
                       uint32_t axis)
{
    return leaf_get(
        b, (vy_leaf){.kind = (uint8_t)kind, .type = (uint8_t)type, .index = index, .axis = axis});
}

uint32_t vy_extent_leaf(vy_builder *b, uint32_t buffer, uint32_t axis)
{
    const vy_buf *buf = &b->p->buffers.data[buffer];
    const vy_dim_node *d = &b->p->dims.data[buf->dims[axis].id];
    if (d->op == VY_DIM_CONST && d->value >= 0 && d->value <= UINT32_MAX)
        return vy_leaf_const(b, VY_U32, (vy_scalar){.u = (uint64_t)d->value});
    if (d->op == VY_DIM_SCALAR && b->p->scalars.data[d->value].type == VY_U32)
        return vy_leaf_other(b, VY_LEAF_SCALAR, VY_U32, (uint32_t)d->value, 0);
    if (d->op == VY_DIM_GROUPS)
        return vy_leaf_other(b, VY_LEAF_BUILTIN, VY_U32, VY_NUM_GROUPS, (uint32_t)d->value);
    return vy_leaf_other(b, VY_LEAF_LEN, VY_U32, buffer, axis);
}
