// SPDX-License-Identifier: MIT
// groups.c: --groups, how many workgroups run where the program does not say it.
#include "tools/command/bind.h"
#include "tools/data/number.h"

#include <string.h>

bool binding_groups(binding *b, const char *option, vy_diag *d)
{
    uint32_t groups[3] = {1, 1, 1};
    const char *at = option;
    // Of what takes none, the option is refused whatever it says.
    for (int i = 0; at && vys_binding_takes_groups(b); i++) {
        const size_t n = strcspn(at, ",");
        vy_scalar v;
        if (i == 3 || number_parse(VY_U32, at, n, &v) || v.u == 0)
            return fail(d, TOOL_USAGE, "",
                        "--groups %s: one to three counts from 1 up are expected", option);
        groups[i] = (uint32_t)v.u;
        at = at[n] ? at + n + 1 : NULL;
    }
    return vys_binding_groups(b, option ? groups : NULL, d);
}
