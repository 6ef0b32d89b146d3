// SPDX-License-Identifier: MIT
// groups.c: --groups, how many workgroups run where the program does not say it.
#include "tools/bind.h"
#include "tools/number.h"

#include <string.h>

static bool takes_groups(runnable what)
{
    return what.pipeline ? vy_pipeline_takes_groups(what.pipeline)
                         : vy_program_over_count(what.program) == 0;
}

static bool refuse(runnable what, vy_diag *d)
{
    return fail(d, TOOL_USAGE, "leave --groups out",
                what.pipeline ? "pipeline %s says itself how many workgroups it dispatches"
                              : "%s has a domain `over` of its own",
                runnable_name(what));
}

bool binding_groups(binding *b, const char *option, vy_diag *d)
{
    const char *at = option;
    if (!takes_groups(b->what)) return !at || refuse(b->what, d);
    if (!at)
        return fail(d, TOOL_MISSING, "add --groups X,Y,Z",
                    b->what.pipeline ? "%s depends on num_groups: how many workgroups?"
                                     : "%s has no `over`: how many workgroups?",
                    runnable_name(b->what));
    for (int i = 0; i < 3; i++) b->groups[i] = 1;
    for (int i = 0;; i++) {
        const size_t n = strcspn(at, ",");
        vy_scalar v;
        if (i == 3 || number_parse(VY_U32, at, n, &v) || v.u == 0)
            return fail(d, TOOL_USAGE, "",
                        "--groups %s: one to three counts from 1 up are expected", option);
        b->groups[i] = (int64_t)v.u;
        if (!at[n]) return true;
        at += n + 1;
    }
}

bool binding_has_groups(const binding *b, uint32_t groups[3])
{
    for (int i = 0; i < 3 && b->groups[i] >= 0; i++) groups[i] = (uint32_t)b->groups[i];
    return b->groups[0] >= 0;
}
