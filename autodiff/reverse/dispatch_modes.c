// SPDX-License-Identifier: MIT
// dispatch_modes.c: where the derivative of a dispatched program leaves the gradient of an operand.
//
// A gradient is added by the derivative itself to the adjoint of the slice that the operand was
// loaded from, or written there if that adjoint is 0.  Not so for what the callee updates in place:
// there the gradient takes the place of the cotangent.
#include "autodiff/core/adjoint.h"
#include "autodiff/reverse/sweep_dispatch.h"
#include "ir/host/host_build.h"

#include <string.h>

// The LOAD that an operand is, if its buffer has an adjoint in memory and nothing writes to it
// before the dispatch; else 0.
static uint32_t slice_of(const dispatch *d, uint32_t operand)
{
    const reverse *r = d->r;
    if (VY_IS_LEAF(operand)) return 0;
    const vy_inst *i = &r->p->insts.data[operand];
    if (i->op != VY_OP_LOAD || r->facts.s.parent[operand] != r->facts.s.parent[d->id]) return 0;
    for (uint32_t id = operand + 1; id < d->id; id++)
        if (vy_op_is_memory((vy_op)r->p->insts.data[id].op) &&
            r->p->insts.data[id].op != VY_OP_LOAD)
            return 0;
    return r->build.buffers[i->aux].kind == ADJ_MEMORY ? operand : 0;
}

// Is it the only load of its slice while that lives, so that the slice's adjoint is what this
// dispatch gives?
static bool is_only_load(const reverse *r, uint32_t load)
{
    const uint32_t buffer = r->p->insts.data[load].aux;
    const vy_buffer_class cls = r->p->buffers.data[buffer].cls;
    const buffer_facts *f = &r->facts.buffers[buffer];
    if ((cls != VY_IN && cls != VY_LOCAL) || f->sites != 1 || f->kept) return false;
    for (uint32_t l = r->facts.home[load]; l > f->home; l = r->facts.home[l]) {
        bool found = false;
        for (uint32_t k = 0; k < vy_index_count(r->p, load); k++)
            found |= vy_arg(r->p, load, k) == l;
        if (!found) return false;
    }
    return true;
}

// Is the slice that the operand was loaded from what the result is stored to, at once?  Then its
// adjoint has just been taken, and is 0.
static bool is_updated(const dispatch *d, uint32_t load, uint32_t pick)
{
    const vy_program *p = d->r->p;
    for (uint32_t id = d->id + 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (i->op != VY_OP_PICK && i->op != VY_OP_STORE) return false;
        if (i->op == VY_OP_STORE && vy_arg(p, id, i->nargs - 1) == pick)
            return vy_host_same_slice(p, load, id);
    }
    return false;
}

// Is the slice surely another one than those of the parameters before `i`, to which the derivative
// adds as well?
static bool is_apart(const dispatch *d, uint32_t i, uint32_t load)
{
    for (uint32_t k = 1; k < i; k++) {
        const bound_param *p = &d->params[k];
        const uint32_t other = p->wrt ? slice_of(d, p->operand) : 0;
        if (!other || d->r->p->insts.data[other].aux != d->r->p->insts.data[load].aux) continue;
        if (d->callee->buffers.data[k].cls == VY_INOUT) continue; // updated: it is apart from all
        if (!vy_host_other_slice(d->r->p, other, load)) return false;
    }
    return true;
}

// Does another parameter begin as a copy of this one?  Then the gradient of both takes the place of
// what it would be added to (starts.c).
static bool is_copied(const vy_program *callee, uint32_t i)
{
    bool any = false;
    for (uint32_t k = 1; k < callee->buffers.count; k++) {
        const vy_buf *b = &callee->buffers.data[k];
        any |= vy_starts_as(b) == VY_INIT_COPY &&
               strcmp(b->init_from, callee->buffers.data[i].name) == 0;
    }
    return any;
}

void vy_dispatch_modes(dispatch *d)
{
    for (uint32_t i = 1; i < d->callee->buffers.count; i++) {
        bound_param *p = &d->params[i];
        if (!p->wrt) continue;
        const uint32_t load = slice_of(d, p->operand);
        if (d->callee->buffers.data[i].cls == VY_INOUT) {
            if (load && is_updated(d, load, p->pick)) p->add = SET_SLICE;
            continue;
        }
        bool again = false; // the same value as an operand before
        for (uint32_t k = 1; k < i; k++) again |= d->params[k].operand == p->operand;
        if (again || d->r->build.adjoint[p->operand] || !load || !is_apart(d, i, load)) continue;
        const bool first = load == d->r->facts.buffers[d->r->p->insts.data[load].aux].last_load;
        if (first || is_only_load(d->r, load))
            p->add = SET_SLICE;
        else if (!is_copied(d->callee, i))
            p->add = ADD_TO_SLICE;
    }
}
