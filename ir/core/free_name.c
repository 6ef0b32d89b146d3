// SPDX-License-Identifier: MIT
// free_name.c: names that no buffer, scalar or shared array has yet.
//
// Names made before are numbered from 2 without gaps: where the numbers end is found by doubling
// and halving, so that many names are near-linear work; whoever makes one after the other remembers
// the last number and asks once for each.
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

const char *vy_next_free_name(const vy_program *p, const char *prefix, const char *of,
                              uint32_t *last, char text[320])
{
    const uint32_t known = *last;
    uint32_t taken = known, open = known + 1;
    while (!is_free(p, prefix, open, of, text)) {
        taken = open;
        open += taken - known;
    }
    while (open - taken > 1) {
        const uint32_t middle = taken + (open - taken) / 2;
        if (is_free(p, prefix, middle, of, text))
            open = middle;
        else
            taken = middle;
    }
    is_free(p, prefix, open, of, text);
    *last = open;
    return text;
}

const char *vy_free_name(const vy_program *p, const char *prefix, const char *of, char text[320])
{
    uint32_t last = 0;
    return vy_next_free_name(p, prefix, of, &last, text);
}
