// SPDX-License-Identifier: MIT
// full_reads.c: local arrays of which every element is read after all writes.
//
//   for j in … { for c in 0..64 { acc[c] += …; } }
//   for c in 0..64 { y[i, c] = acc[c] / l; }
//
// An element of an array may never be used, so arrays have shadows (shadow.c).  Here every element
// is used if the value of the one load in the second loop is: the array needs no shadow as long as
// that value is unconditionally used, which masks.c determines.
#include "autodiff/facts/facts.h"
#include "ir/core/flow.h"

static const vy_inst *inst(const grad_facts *f, uint32_t id) { return &f->p->insts.data[id]; }

// LOOP [0, extent of the axis, 1] without early exit?
static bool visits_all(const grad_facts *f, uint32_t loop, uint32_t buffer, uint32_t axis)
{
    const vy_program *p = f->p;
    const vy_dim_node *extent = &p->dims.data[p->buffers.data[buffer].dims[axis].id];
    if (inst(f, loop)->op != VY_OP_LOOP || vy_exits(f->p, loop)) return false;
    const vy_scalar *from = vy_id_const(p, vy_arg(p, loop, 0));
    const vy_scalar *to = vy_id_const(p, vy_arg(p, loop, 1));
    const vy_scalar *step = vy_id_const(p, vy_arg(p, loop, 2));
    return from && to && step && from->i == 0 && step->i == 1 && extent->op == VY_DIM_CONST &&
           to->i == extent->value;
}

// The outermost loop of a nest in which the load visits every element, or 0.
static uint32_t nest_of(const grad_facts *f, uint32_t load)
{
    uint32_t buffer = inst(f, load)->aux, rank = f->p->buffers.data[buffer].rank, outermost = 0;
    for (uint32_t k = 0, up = f->s.parent[load]; k < rank; k++, up = f->s.parent[up]) {
        uint32_t axis = 0;
        while (axis < rank && vy_arg(f->p, load, axis) != up) axis++;
        if (!up || axis == rank || !visits_all(f, up, buffer, axis)) return 0;
        outermost = up;
    }
    return outermost;
}

// Does `nest` run after `write` whenever the region around it has run `write`?
static bool follows(const grad_facts *f, uint32_t write, uint32_t nest)
{
    uint32_t region = f->s.parent[nest], up = write;
    if (write > nest) return false;
    while (up > region && f->s.parent[up] != region) up = f->s.parent[up];
    if (up <= region) return false;
    if (!region) return true;
    for (uint32_t id = up; id < nest; id++) { // an ELSE or TEST between them
        vy_op op = (vy_op)inst(f, id)->op;
        if (op == VY_OP_TEST && f->s.partner[id] == region) return false;
        if (op == VY_OP_ELSE && f->s.partner[region] == id) return false;
    }
    return true;
}

// May `other` overwrite the value of `write` before the nest reads it?
static bool destroys(const grad_facts *f, uint32_t other, uint32_t write, uint32_t nest)
{
    if (f->adds[other]) return false;
    if (other > write && other < nest) return true;
    // An earlier write runs again in a loop around both that ends before the nest.
    uint32_t region = f->s.parent[nest];
    for (uint32_t up = f->home[write]; up > region; up = f->home[up])
        if (other > up && other < f->s.partner[up]) return true;
    return false;
}

uint32_t vy_covering_load(const grad_facts *f, uint32_t buffer, const uint32_t *writes, uint32_t n)
{
    enum { MOST = 64 };
    if (f->p->buffers.data[buffer].cls != VY_LOCAL || n > MOST) return 0;
    for (uint32_t id = f->p->insts.count; id-- > 1;) {
        if (inst(f, id)->op != VY_OP_LOAD || inst(f, id)->aux != buffer || !vy_is_active(f, id))
            continue;
        uint32_t nest = nest_of(f, id);
        bool all = nest != 0;
        for (uint32_t k = 0; k < n && all; k++) {
            if (inst(f, writes[k])->op == VY_OP_ZERO) continue;
            all = follows(f, writes[k], nest);
            for (uint32_t m = 0; m < n && all; m++)
                all = m == k || !destroys(f, writes[m], writes[k], nest);
            // If several iterations before the nest store one element, all stores but the last are
            // lost.
            all = all && (f->adds[writes[k]] || vy_stores_once(f, writes[k]));
        }
        if (all) return id;
    }
    return 0;
}
