// SPDX-License-Identifier: MIT
// raise_lowered.c: operations that exist only in lowered programs, in the language's own words.
//
//   @derive_as(x, y)    →   straight_through(x, y)    the value of x, with the derivative of y
//   @candidate(v, n)    →   v                         its number is found again (extremum.c)
//   @at_least(n)        →   n                         the least such number
//
// A text of what one phase of differentiation passes on to the next one is a program like any
// other, and so has a derivative.  This runs first, so that the phases find only what they made
// themselves.
#include "autodiff/rewrite/rewrite.h"

static uint32_t instead(void *pass, uint32_t id)
{
    vy_rewrite *w = pass;
    const vy_inst *i = &w->p->insts.data[id];
    if (!vy_op_is_lowered((vy_op)i->op)) return 0;
    uint32_t value = vy_new_arg(w, id, 0);
    const bool derives = i->op == VY_OP_DERIVE_AS;
    if (derives)
        value = vy_emit(w->b, VY_OP_STRAIGHT_THROUGH, (vy_type)i->type, 0, 2,
                        (uint32_t[]){value, vy_new_arg(w, id, 1)});
    vy_rewrite_as(w, id, value);
    return id;
}

bool vy_raise_lowered(vy_program *p)
{
    vy_rewrite w;
    bool any = false, changed = false;
    for (uint32_t id = 1; id < p->insts.count; id++)
        any |= vy_op_is_lowered((vy_op)p->insts.data[id].op);
    if (!any) return true;
    const bool ok = vy_rewrite_begin(&w, p);
    if (ok) vy_rewrite_run(&w, instead, &w);
    return vy_rewrite_end(&w, ok, &changed);
}
