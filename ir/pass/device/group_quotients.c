// SPDX-License-Identifier: MIT
// group_quotients.c: a place in the domain over a multiple of the workgroup's size is one number
// for the whole workgroup, and made of the workgroup's.
//
//   workgroup(16, 8) over(y: H, x: W)
//   tile = y / 16 * tiles + x / 16         →    tile = wid.y / 2 * tiles + wid.x
//
// The variable is that of the first invocation of the workgroup plus less than its size, also where
// padding has the variable of the nearest invocation inside.  What follows from such a number, here
// all that the pixels of a tile load together, is loaded once for all lanes of a GPU, which sees
// that a workgroup's number is the same in all of them, and not that a quotient is
// (uniform_starts.c, which runs next, needs it, too).
//
// Fixes the shape of the workgroup, where it was open.  Only where options->uniform_starts.
#include "ir/build/rewrite.h"
#include "ir/check/uniform.h"
#include "ir/pass/pass.h"

// How many workgroups along *axis have one quotient: 0, it is none of these.
static uint32_t groups_of(const vy_program *p, uint32_t id, uint32_t *axis)
{
    if (p->insts.data[id].op != VY_OP_DIV || p->insts.data[id].type != VY_U32) return 0;
    const vy_scalar *by = vy_id_const(p, vy_arg(p, id, 1));
    if (!by || !vy_has_lone_axis(p, vy_arg(p, id, 0), axis)) return 0;
    const uint32_t size = p->workgroup[*axis];
    return by->u % size ? 0 : (uint32_t)(by->u / size);
}

static uint32_t instead(void *pass, uint32_t id)
{
    vy_rewrite *w = pass;
    uint32_t axis;
    const uint32_t groups = groups_of(w->p, id, &axis);
    if (!groups) return 0;
    const vy_value group = vy_builtin_value(w->b, VY_WID, axis);
    vy_rewrite_as(w, id, vy_div(w->b, group, vy_int(w->b, VY_U32, groups)).id);
    return id;
}

bool vy_pass_group_quotients(vy_program *p, vy_pass_context *context)
{
    const vy_opt_options *o = context->options;
    uint32_t axis;
    bool any = false;
    if (!o || !o->uniform_starts || !p->overs.count) return true;
    for (uint32_t id = 1; id < p->insts.count && !any; id++) any = groups_of(p, id, &axis) != 0;
    if (!any) return true;
    vy_rewrite w;
    const bool ok = vy_rewrite_begin(&w, p);
    if (ok) {
        p->has_workgroup = true; // which wid depends on
        vy_rewrite_run(&w, instead, &w);
    }
    return vy_rewrite_end(&w, ok, &context->changed);
}
