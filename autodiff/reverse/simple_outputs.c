// SPDX-License-Identifier: MIT
// simple_outputs.c: outputs whose cotangent is their adjoint.
//
//   y[i] = e;  y[i] += f;            each element is stored once, then added to: ct_y is read
//   y[i] = e;  y[j] = f;             an element may be stored twice: adj_y, which is cleared
#include "autodiff/reverse/sweeps.h"
#include "ir/core/access.h"

// Can the two stores not both write one element in one invocation?  They are in different arms of
// one `if`, and not in loops unless they have the same index.
static bool exclusive(const reverse *r, uint32_t x, uint32_t y)
{
    if ((r->facts.home[x] || r->facts.home[y]) && !vy_same_index(r->p, x, y, VY_NO_AXIS))
        return false;
    return vy_in_different_arms(r->p, &r->facts.s, x, y);
}

// The end of the outermost loop around an instruction; the instruction itself if there is none.
static uint32_t end_of(const reverse *r, uint32_t id)
{
    uint32_t end = id;
    for (uint32_t loop = r->facts.home[id]; loop; loop = r->facts.home[loop])
        end = r->facts.s.partner[loop];
    return end;
}

// In a host program: is there one store, which is executed once, and no load?
static bool is_stored_once(const reverse *r, uint32_t buffer)
{
    const buffer_facts *f = &r->facts.buffers[buffer];
    return !f->read && f->first_write == f->last_write && !r->facts.home[f->last_write];
}

// (Different invocations never store to one element, or the program would have a race.)
bool vy_reverse_is_simple(const reverse *r, uint32_t buffer)
{
    enum { MOST = 64 }; // stores are compared in pairs
    if (r->p->host) return is_stored_once(r, buffer);
    uint32_t stores[MOST], n = 0, adds = 0; // the first addition
    bool atomics = false;
    if (r->facts.buffers[buffer].read) return false;
    for (uint32_t id = r->facts.buffers[buffer].first_write;
         id && id <= r->facts.buffers[buffer].last_write; id++) {
        const vy_inst *i = &r->p->insts.data[id];
        if (i->aux != buffer || vy_op_infos[i->op].effect != VY_WRITE) continue;
        if (i->op == VY_OP_ATOMIC_ADD || vy_is_extremum((vy_op)i->op)) {
            atomics = true;
            continue;
        }
        if (r->facts.adds[id]) {
            adds = adds ? adds : id;
            continue;
        }
        if (i->op != VY_OP_STORE || n == MOST || !vy_stores_once(&r->facts, id)) return false;
        for (uint32_t k = 0; k < n; k++)
            if (!exclusive(r, stores[k], id) && !vy_stores_apart(&r->facts, stores[k], id))
                return false;
        stores[n++] = id;
    }
    for (uint32_t k = 0; k < n && adds; k++)
        if (end_of(r, stores[k]) > adds) return false;
    return !(atomics && n);
}
