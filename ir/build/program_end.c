// SPDX-License-Identifier: MIT
// program_end.c: finishes a program that a user built: it is cleaned up, checked, its buffers begin
// as inputs do (starts.h), and it is appended to its module.
#include "ir/build/build.h"
#include "ir/build/edit.h"
#include "ir/build/live.h"
#include "ir/build/starts.h"
#include "ir/check/check.h"

vy_program *vy_program_end(vy_builder *b) { return vy_program_end_after(b, NULL, NULL); }

vy_program *vy_program_end_after(vy_builder *b, vy_program_step *step, void *user)
{
    if (!b) return NULL;
    vy_module *m = b->m;
    vy_control_end(b);
    vy_default_workgroup(b->p);
    vy_program *p = vy_rebuild_end(b);
    if (!p) return NULL;
    vy_pass_context c = {0};
    const bool ok = step ? vy_sweep_dead(p) && step(p, user) : vy_pass_cleanup(p, &c);
    if (!ok || !vy_check_program(p) || !vy_resolve_starts(p)) {
        vy_program_free(p);
        return NULL;
    }
    if (!vy_vec_push(&m->programs, p)) {
        vy_program_free(p);
        vy_fail_oom(m);
        return NULL;
    }
    return p;
}
