// SPDX-License-Identifier: MIT
// launch.c: what the workgroup's shape tells of a shader that is launched by workgroups.
//
//   workgroup(64, 1, 1)    lid.y         0
//                          gid.z         wid.z, which all of a workgroup have in common
//                          lid.x < 64    true
//
// So `if (gl_GlobalInvocationID.z >= heads) return;` ahead of a barrier is left by entire
// workgroups, where the workgroup has no z, and `if (tid >= 64) return;` by none.
#include "ir/build/rewrite.h"
#include "ir/pass/pass.h"
#include "spirv/read/reading.h"

// Takes ids along axes of one invocation as what they are.  False: there are none.
static bool take_single(vy_rewrite *w)
{
    bool any = false;
    uint32_t size[3];
    vy_program_workgroup(w->p, size);
    for (uint32_t k = 0; k < w->p->leaves.count; k++) {
        vy_leaf *l = &w->p->leaves.data[k];
        if (l->kind != VY_LEAF_BUILTIN || l->index > VY_LID || size[l->axis] != 1) continue;
        if (l->index == VY_LID)
            *l = (vy_leaf){.kind = VY_LEAF_CONST, .type = l->type};
        else
            l->index = VY_WID;
        any = true;
    }
    return any;
}

bool read_launch(vy_program *p)
{
    vy_rewrite w = {0};
    vy_pass_context c = {0};
    if (p->overs.count) return true;
    const bool ok = vy_rewrite_begin(&w, p);
    if (ok && take_single(&w)) vy_rewrite_run(&w, NULL, NULL);
    return vy_rewrite_end(&w, ok, &c.changed) && vy_pass_implied(p, &c);
}
