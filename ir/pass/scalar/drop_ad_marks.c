// SPDX-License-Identifier: MIT
// drop_ad_marks.c: removes operations that only differentiation reads from a program that runs.
//
//   t = stop_grad(max x[…])                       t = max x[…]
//   f = straight_through(cams[c, 6], d[i, 6])  →  f = cams[c, 6]
//
// The value of both operations is their first operand.  Left in place, they prevent equal values
// from being shared: a program that obtains a Jacobian by shifts d[i, 0, …], d[i, 1, …]
// (examples/ba.vyre) computes its rows from the same numbers once they are removed, and loads no
// shifts.  Only on request, as text and binary files may be differentiated again.  Keeps everything
// else.
#include "ir/pass/pass.h"

static bool marks(const vy_inst *i)
{
    return i->op == VY_OP_STOP_GRAD || i->op == VY_OP_STRAIGHT_THROUGH ||
           vy_op_is_lowered((vy_op)i->op);
}

static uint32_t instead(void *pass, uint32_t id)
{
    vy_rewrite *w = pass;
    if (!marks(&w->p->insts.data[id])) return 0;
    vy_rewrite_as(w, id, vy_new_arg(w, id, 0));
    return id;
}

bool vy_pass_drop_ad_marks(vy_program *p, vy_pass_context *c)
{
    vy_rewrite w;
    bool any = false;
    if (!c->options->final) return true;
    for (uint32_t id = 1; id < p->insts.count; id++) any |= marks(&p->insts.data[id]);
    if (!any) return true;
    bool ok = vy_rewrite_begin(&w, p);
    if (ok) vy_rewrite_run(&w, instead, &w);
    return vy_rewrite_end(&w, ok, &c->changed);
}
