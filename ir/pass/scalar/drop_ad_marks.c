// SPDX-License-Identifier: MIT
// drop_ad_marks.c: what only a derivative would look at is taken out of a program that runs.
//
//   t = stop_grad(max x[…])                       t = max x[…]
//   f = straight_through(cams[c, 6], d[i, 6])  →  f = cams[c, 6]
//
// Both operations give their first operand.  Left in place they keep equal values apart: a program that asks for a
// Jacobian by shifts d[i, 0, …], d[i, 1, …] (examples/ba.vyre) computes its rows from the same numbers, and loads no
// shifts.  Only on request, as text and binary files may be differentiated again.  Keeps everything else.
#include "ir/pass/pass.h"

static bool marks(const vy_inst *i)
{
    return i->op == VY_OP_STOP_GRAD || i->op == VY_OP_STRAIGHT_THROUGH;
}

bool vy_pass_final(vy_program *p, vy_pass_context *c)
{
    bool any = false;
    if (!c->options->final) return true;
    for (uint32_t id = 1; id < p->insts.count; id++) any |= marks(&p->insts.data[id]);
    if (!any) return true;
    uint32_t *map = vy_realloc(NULL, p->insts.count * sizeof *map);
    vy_builder *b = map ? vy_rebuild_begin(p) : NULL;
    if (!map) vy_fail_oom(p->module);
    for (uint32_t id = 1; b && id < p->insts.count && !vy_builder_failed(b); id++) {
        if (marks(&p->insts.data[id])) {
            map[id] = vy_map(map, vy_arg(p, id, 0));
            vy_pass_name(b, p, id, map[id]);
        } else {
            vy_copy_inst(b, p, id, map);
        }
    }
    bool ok = b && vy_pass_finish(b, p);
    vy_free(map);
    c->changed |= ok;
    return ok;
}
