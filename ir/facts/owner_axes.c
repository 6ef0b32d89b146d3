// SPDX-License-Identifier: MIT
// owner_axes.c: buffers each of whose elements only one invocation accesses.
//
//   over(i: N, k: K):  g[i, j, k] = g[i, 0, k] + …      every access to g names i on axis 0, k on 2
//
// The obvious test of one access, "the index contains the domain variable", is wrong: beside
// `g[i] += …` a `g[idx[i]] += …` elsewhere in the program may touch the same element from another
// invocation.  So the proof is made per buffer over all its accesses: for each domain variable
// there is an axis on which every access has exactly that variable.  Then different invocations
// touch different elements, whatever the other axes hold.  A domain variable of extent 1
// distinguishes no invocations and needs no axis: a domain of one invocation owns everything.
//
// A buffer that is declared `@owned` needs no proof.  Of memory with several views nothing is
// known, nor without a domain (`over`).
#include "ir/facts/owner_axes.h"
#include "ir/core/access.h"

#include <string.h>

// Per buffer, one axis mask per domain variable: axes on which every access so far has the
// variable.  An additional mask is 0 where nothing is known about the buffer.
typedef struct owner_map {
    uint32_t *axes; // [buffer * stride + variable]
    uint32_t overs, stride;
} owner_map;

static bool is_over(const vy_program *p, uint32_t id, uint32_t variable)
{
    if (!VY_IS_LEAF(id)) return false;
    const vy_leaf *l = &p->leaves.data[VY_LEAF_INDEX(id)];
    return l->kind == VY_LEAF_OVER && l->index == variable;
}

static bool single(const vy_program *p, uint32_t variable)
{
    const vy_dim_node *d = &p->dims.data[p->overs.data[variable].extent.id];
    return d->op == VY_DIM_CONST && d->value <= 1;
}

static void intersect_axes(const vy_program *p, uint32_t id, owner_map *m)
{
    uint32_t buffer = p->insts.data[id].aux, rank = p->buffers.data[buffer].rank;
    for (uint32_t v = 0; v < m->overs; v++) {
        uint32_t axes = 0;
        for (uint32_t k = 0; k < rank; k++)
            if (is_over(p, vy_arg(p, id, k), v)) axes |= 1u << k;
        m->axes[buffer * m->stride + v] &= axes;
    }
}

static bool owned(const vy_program *p, uint32_t buffer, const owner_map *m)
{
    if (!vy_is_global(p->buffers.data[buffer].cls) || p->buffers.data[buffer].view_of) return false;
    if (!m->axes[buffer * m->stride + m->overs]) return false;
    if (p->buffers.data[buffer].owned) return true;
    if (!m->overs) return false;
    for (uint32_t v = 0; v < m->overs; v++)
        if (!m->axes[buffer * m->stride + v] && !single(p, v)) return false;
    return true;
}

static bool make_axes(const vy_program *p, owner_map *m, vy_arena *arena)
{
    const size_t n = (size_t)p->buffers.count * m->stride;
    m->axes = vy_arena_alloc(arena, n * sizeof *m->axes);
    if (!m->axes) return false;
    memset(m->axes, 0xFF, n * sizeof *m->axes);
    for (uint32_t i = 1; i < p->buffers.count; i++) // two views of one memory: nothing is known
        if (p->buffers.data[i].view_of)
            memset(m->axes + p->buffers.data[i].view_of * m->stride, 0,
                   m->stride * sizeof *m->axes);
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_op op = (vy_op)p->insts.data[id].op;
        if (vy_op_is_memory(op) && op != VY_OP_ZERO) intersect_axes(p, id, m);
    }
    return true;
}

bool *vy_find_owned(const vy_program *p, vy_arena *arena)
{
    owner_map m = {.overs = p->overs.count, .stride = p->overs.count + 1};
    bool *all = vy_arena_alloc(arena, p->buffers.count * sizeof *all);
    if (!all || !make_axes(p, &m, arena)) return NULL;
    for (uint32_t i = 1; i < p->buffers.count; i++) all[i] = owned(p, i, &m);
    return all;
}
