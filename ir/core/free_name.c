// SPDX-License-Identifier: MIT
// free_name.c: names that no parameter or shared array has yet.
#include "ir/core/ir.h"

#include <stdio.h>

const char *vy_free_name(const vy_program *p, const char *prefix, const char *of, char text[320])
{
    snprintf(text, 320, "%s_%.300s", prefix, of);
    for (uint32_t k = 2; vy_program_find_buffer(p, text).id; k++)
        snprintf(text, 320, "%s%u_%.290s", prefix, k, of);
    return text;
}
