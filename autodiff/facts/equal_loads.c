// SPDX-License-Identifier: MIT
// equal_loads.c: loads of a host program that give the value of an earlier one.
//
//   a = LOAD h;  d = DISPATCH f a, …
//   b = LOAD h;  e = DISPATCH g b, …          again[b] = a
//
// Each operand of a dispatch has a load of its own, and so a share of its own in the adjoint of the
// slice.  But the value is one: copies of the primal have a for b, so the reverse keeps it once.
//
// Looked for are loads between two markers of control flow, of the last few slices of each buffer.
#include "autodiff/facts/facts.h"
#include "ir/core/flow.h"
#include "ir/host/host_build.h"

#include <string.h>

enum { FEW = 4 };

typedef struct recent { // loads from one buffer since the marker, of different slices
    uint32_t marker, count, loads[FEW];
} recent;

static void remember(recent *r, uint32_t id)
{
    if (r->count == FEW) memmove(r->loads, r->loads + 1, --r->count * sizeof *r->loads);
    r->loads[r->count++] = id;
}

static void load(grad_facts *f, uint32_t id, recent *r)
{
    for (uint32_t k = 0; k < r->count; k++)
        if (vy_host_same_slice(f->p, r->loads[k], id)) f->again[id] = r->loads[k];
    if (!f->again[id]) remember(r, id);
}

static void write(const grad_facts *f, uint32_t id, recent *r)
{
    uint32_t left = 0;
    for (uint32_t k = 0; k < r->count; k++)
        if (vy_host_other_slice(f->p, r->loads[k], id)) r->loads[left++] = r->loads[k];
    r->count = left;
}

bool vy_equal_loads(grad_facts *f)
{
    recent *all = vy_realloc(NULL, f->p->buffers.count * sizeof *all);
    if (!all) return false;
    memset(all, 0, f->p->buffers.count * sizeof *all);
    for (uint32_t id = 1, marker = 0; id < f->p->insts.count; id++) {
        const vy_inst *i = &f->p->insts.data[id];
        if (vy_is_marker((vy_op)i->op)) marker = id;
        if (!vy_op_is_memory((vy_op)i->op)) continue;
        recent *r = &all[i->aux];
        if (r->marker != marker) *r = (recent){.marker = marker};
        if (i->op == VY_OP_LOAD)
            load(f, id, r);
        else
            write(f, id, r);
    }
    vy_free(all);
    return true;
}
