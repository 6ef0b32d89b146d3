// SPDX-License-Identifier: MIT
// filled.c: outputs all of which are stored.
//
//   over(i: N), y: out f32[N, D]
//   for k in 0..D { y[i, k] = …; }         each index of y is that of one store
//
// The first access to the buffer decides: a store under no condition, whose indices are the
// variables of the domain and of the loops around it, each once, on an axis that is as long as the
// variable goes.  Until the outermost of these loops ends, nothing but stores may access the
// buffer: what is loaded there may be the element of a later iteration.
#include "ir/facts/filled.h"
#include "ir/core/dims.h"
#include "ir/core/flow.h"

#include <string.h>

// Is a number of iterations, from 0 on, the extent of an axis?
static bool is_extent(const vy_program *p, uint32_t number, vy_dim extent)
{
    if (!VY_IS_LEAF(number)) return false;
    const vy_leaf *l = &p->leaves.data[VY_LEAF_INDEX(number)];
    const vy_dim_node *d = &p->dims.data[extent.id];
    if (l->kind == VY_LEAF_CONST) return d->op == VY_DIM_CONST && (uint64_t)d->value == l->value.u;
    return l->kind == VY_LEAF_SCALAR && d->op == VY_DIM_SCALAR && d->value == l->index;
}

// Which of the program's variables, from 1 on, an index is; 0: none that goes along the whole axis.
// Those of the domain come first, then the loops around the store, from the innermost one.
static uint32_t variable_of(const vy_program *p, const vy_structure *s, uint32_t store, uint32_t k)
{
    const uint32_t index = vy_arg(p, store, k);
    const vy_dim extent = p->buffers.data[p->insts.data[store].aux].dims[k];
    if (VY_IS_LEAF(index)) {
        const vy_leaf *l = &p->leaves.data[VY_LEAF_INDEX(index)];
        return l->kind == VY_LEAF_OVER && vy_equal_dims(p, extent, p->overs.data[l->index].extent)
                   ? l->index + 1
                   : 0;
    }
    uint32_t number = p->overs.count + 1;
    for (uint32_t up = s->parent[store]; up; up = s->parent[up], number++) {
        if (up != index) continue;
        const vy_scalar *from = vy_id_const(p, vy_arg(p, up, 0));
        const vy_scalar *step = vy_id_const(p, vy_arg(p, up, 2));
        const bool all = from && step && from->u == 0 && step->u == 1;
        return all && is_extent(p, vy_arg(p, up, 1), extent) ? number : 0;
    }
    return 0;
}

// The outermost loop around the store, or the store itself; 0: something else is around it, or more
// loops than an index can have.
static uint32_t outermost(const vy_program *p, const vy_structure *s, uint32_t store,
                          uint32_t *loops)
{
    uint32_t last = store;
    *loops = 0;
    for (uint32_t up = s->parent[store]; up; last = up, up = s->parent[up])
        if (p->insts.data[up].op != VY_OP_LOOP || vy_exits(p, up) || ++*loops > VY_MAX_RANK)
            return 0;
    return last;
}

static bool fills(const vy_program *p, const vy_structure *s, uint32_t store)
{
    bool seen[2 * VY_MAX_RANK + 1] = {0};
    uint32_t loops;
    const uint32_t buffer = p->insts.data[store].aux, rank = p->buffers.data[buffer].rank;
    const uint32_t first = outermost(p, s, store, &loops);
    if (!first || rank > VY_MAX_RANK || rank != p->overs.count + loops) return false;
    for (uint32_t k = 0; k < rank; k++) {
        const uint32_t number = variable_of(p, s, store, k);
        if (!number || seen[number]) return false;
        seen[number] = true;
    }
    for (uint32_t id = first; first != store && id < vy_closer(p, s, first); id++) {
        const vy_inst *i = &p->insts.data[id];
        if (vy_op_is_memory((vy_op)i->op) && i->aux == buffer && i->op != VY_OP_STORE) return false;
    }
    return true;
}

void vy_find_filled(const vy_program *p, const vy_structure *s, uint8_t *filled)
{
    enum { UNKNOWN, FILLED, NOT_FILLED };
    memset(filled, UNKNOWN, p->buffers.count);
    for (uint32_t i = 1; i < p->buffers.count; i++) { // two views of one memory: nothing is known
        const vy_buf *b = &p->buffers.data[i];
        if (b->cls != VY_OUT || b->init != VY_INIT_NONE || b->view_of) filled[i] = NOT_FILLED;
        if (b->view_of) filled[b->view_of] = NOT_FILLED;
    }
    for (uint32_t id = 1; p->overs.count && id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (!vy_op_is_memory((vy_op)i->op) || filled[i->aux] != UNKNOWN) continue;
        filled[i->aux] = i->op == VY_OP_STORE && fills(p, s, id) ? FILLED : NOT_FILLED;
    }
    for (uint32_t i = 0; i < p->buffers.count; i++) filled[i] = filled[i] == FILLED;
}
