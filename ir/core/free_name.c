// SPDX-License-Identifier: MIT
// free_name.c: names that no buffer, scalar or shared array has yet.
//
// Names made before are numbered from 2 without gaps: where the numbers end is found by doubling
// and halving, so that many names are near-linear work.
#include "ir/core/ir.h"

#include <stdio.h>

static bool is_free(const vy_program *p, const char *prefix, uint32_t k, const char *of,
                    char text[320])
{
    if (k == 1)
        snprintf(text, 320, "%s_%.300s", prefix, of);
    else
        snprintf(text, 320, "%s%u_%.290s", prefix, k, of);
    return !vy_program_find_buffer(p, text).id && vy_program_find_scalar(p, text) == UINT32_MAX;
}

const char *vy_free_name(const vy_program *p, const char *prefix, const char *of, char text[320])
{
    uint32_t taken = 0, open = 1;
    while (!is_free(p, prefix, open, of, text)) taken = open, open *= 2;
    while (open - taken > 1) {
        const uint32_t middle = taken + (open - taken) / 2;
        if (is_free(p, prefix, middle, of, text))
            open = middle;
        else
            taken = middle;
    }
    is_free(p, prefix, open, of, text);
    return text;
}
