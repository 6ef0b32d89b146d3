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

#include <stdio.h>

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

static void refuse(reverse *r, uint32_t b, const char *why)
{
    char fix[200];
    const char *from = r->p->buffers.data[b].init_from;
    snprintf(fix, sizeof fix,
             "differentiate with respect to other inputs than `%.40s`, or differentiate the "
             "original program in another way",
             from);
    vy_reverse_fail(r, VY_E_GRAD_UNSUPPORTED, 0, fix, "`%s` begins as a copy of `%s`, %s",
                    r->p->buffers.data[b].name, from, why);
}

// `b` begins as a copy of `from`, and both have an adjoint.  (What is refused first is done by a
// pipeline, driver/starts_meet.c, unless somebody wants to see how the program itself is reversed.)
static void share_adjoint(reverse *r, uint32_t b, uint32_t from)
{
    buffer_facts *facts = &r->facts.buffers[from];
    if (facts->heir)
        refuse(r, b, "and so does another buffer; the sum of their adjoints takes a pipeline");
    else if (facts->loaded || facts->last_write || facts->of)
        refuse(r, b, "which is also used directly; the sum of their adjoints takes a pipeline");
    else if (facts->kept)
        refuse(r, b, "and the adjoint of both takes the place of what would be added to");
    else if (!vy_starts_alike(r->p, &r->p->buffers.data[b], &r->p->buffers.data[from]))
        refuse(r, b, "which may have another shape; that is not supported yet");
    facts->heir = b;
}

// The result has all inputs, with the contents that they have at the beginning.
static bool begins_as_input(const vy_buf *from)
{
    return !from->workspace && (from->cls == VY_IN || from->cls == VY_INOUT);
}

// Outputs begin as zeros, unless they begin as something else.
static bool begins_as_zero(const vy_buf *from)
{
    return !from->workspace && from->cls == VY_OUT && vy_starts_as(from) == VY_INIT_NONE;
}

bool vy_find_heirs(reverse *r)
{
    for (uint32_t b = 1; b < r->p->buffers.count && !r->failed; b++) {
        const buffer_facts *facts = &r->facts.buffers[b];
        const vy_buf *from = &r->p->buffers.data[facts->start];
        if (vy_starts_as(&r->p->buffers.data[b]) != VY_INIT_COPY || begins_as_zero(from)) continue;
        if (!begins_as_input(from))
            refuse(r, b, "which is no input of the program");
        else if ((facts->activity & ACTIVE) == ACTIVE && r->facts.buffers[facts->start].wrt)
            share_adjoint(r, b, facts->start);
    }
    return !r->failed;
}
