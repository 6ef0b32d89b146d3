// SPDX-License-Identifier: MIT
// mark_owned.c: atomics on elements that one invocation owns become plain read-modify-writes.
//
//   over(i: N):  atomic_add(g[i, k] @owned, v)      every access to g names i on axis 0
//
// The obvious test, "the index contains the domain variable", is wrong for one access alone: beside
// `g[i] += …` a `g[idx[i]] += …` elsewhere in the program may touch the same element from another
// invocation, and a plain store next to atomics loses additions.  So the proof is made per buffer
// over all its accesses: for each domain variable there is an axis on which every access has
// exactly that variable.  Then different invocations touch different elements, whatever the other
// axes hold.  A domain variable of extent 1 distinguishes no invocations and needs no axis: a
// domain of one invocation owns everything.
//
// A buffer that is declared `@owned` needs no proof.
//
// Needs: nothing; without a domain (`over`) nothing is proved.  Sets VY_STRENGTH_OWNED
// (docs/language.md 16); keeps all else.
#include "ir/core/access.h"
#include "ir/pass/pass.h"

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

bool vy_pass_mark_owned(vy_program *p, vy_pass_context *c)
{
    owner_map m = {.overs = p->overs.count, .stride = p->overs.count + 1};
    size_t n = (size_t)p->buffers.count * m.stride;
    m.axes = vy_realloc(NULL, n * sizeof *m.axes);
    if (!m.axes) {
        vy_fail_oom(p->module);
        return false;
    }
    memset(m.axes, 0xFF, n * sizeof *m.axes);
    for (uint32_t i = 1; i < p->buffers.count; i++) // two views of one memory: nothing is known
        if (p->buffers.data[i].view_of)
            memset(m.axes + p->buffers.data[i].view_of * m.stride, 0, m.stride * sizeof *m.axes);
    for (uint32_t id = 1; id < p->insts.count; id++) {
        vy_op op = (vy_op)p->insts.data[id].op;
        if (vy_op_is_memory(op) && op != VY_OP_ZERO) intersect_axes(p, id, &m);
    }
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (vy_op_is_atomic((vy_op)i->op) && owned(p, i->aux, &m))
            c->changed |= vy_set_strength(p, id, VY_STRENGTH_OWNED);
    }
    vy_free(m.axes);
    return true;
}
