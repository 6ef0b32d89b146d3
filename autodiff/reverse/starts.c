// SPDX-License-Identifier: MIT
// starts.c: buffers of a derivative that begin as a copy of another one, and are differentiated
// again.
//
//   program f_grad(x: in f32[N], ct_x: in f32[N], @init(ct_x) grad_x: out f32[N],
//                  @workspace @init(x) x_now: inout f32[N], N: u32) over(i: N)
//
// The adjoint of x is what is left of the adjoint of x_now when the reverse has reached the
// beginning of the program.  So the two are one buffer: x_now has no adjoint of its own, and
// grad2_x is where its elements are added to, read and cleared.  Adding two buffers would take a
// program over their elements, and a pipeline around both.  This is right while the program touches
// x through x_now alone: a store to x_now clears the adjoint of an element, and would clear what a
// load of x has added to it.
#include "autodiff/reverse/sweeps.h"
#include "ir/core/dims.h"

// Is it an open length, or that of a workspace that is as long as a parameter?
static bool is_open(const vy_program *p, vy_dim d)
{
    const vy_dim_node *n = &p->dims.data[d.id];
    if (n->op != VY_DIM_MAX) return n->op == VY_DIM_UNKNOWN;
    const vy_dim_node *zero = &p->dims.data[n->b];
    return zero->op == VY_DIM_CONST && zero->value == 0 && p->dims.data[n->a].op == VY_DIM_UNKNOWN;
}

// Open lengths are equal by what @init means: a derivative and what it is of are bound alike.
bool vy_starts_alike(const vy_program *p, const vy_buf *x, const vy_buf *y)
{
    bool same = x->rank == y->rank && x->type == y->type;
    for (uint32_t k = 0; same && k < x->rank; k++)
        same = vy_equal_dims(p, x->dims[k], y->dims[k]) ||
               (is_open(p, x->dims[k]) && is_open(p, y->dims[k]));
    return same;
}

// `b` begins as a copy of `from`, and both have an adjoint.  (Where those are two, the program is
// differentiated as a pipeline, driver/starts_meet.c.)
static void share_adjoint(reverse *r, uint32_t b, uint32_t from)
{
    buffer_facts *facts = &r->facts.buffers[from];
    const vy_buf *x = &r->p->buffers.data[from], *y = &r->p->buffers.data[b];
    if (facts->heir || facts->loaded || facts->last_write || facts->of || facts->kept ||
        !vy_starts_alike(r->p, y, x))
        vy_reverse_fail(r, VY_E_INTERNAL, 0, NULL, "`%s` and `%s` have two adjoints in a program",
                        y->name, x->name);
    facts->heir = b;
}

bool vy_find_heirs(reverse *r)
{
    for (uint32_t b = 1; b < r->p->buffers.count && !r->failed; b++) {
        const buffer_facts *facts = &r->facts.buffers[b];
        const bool active = (facts->activity & ACTIVE) == ACTIVE;
        if (vy_starts_as(&r->p->buffers.data[b]) == VY_INIT_COPY && active &&
            r->facts.buffers[facts->start].wrt)
            share_adjoint(r, b, facts->start);
    }
    return !r->failed;
}
