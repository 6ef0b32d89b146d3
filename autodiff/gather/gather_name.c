// SPDX-License-Identifier: MIT
// gather_name.c: names that are free in a program that gathers.
#include "autodiff/gather/gather_build.h"

#include <string.h>

bool gather_is_free(const vy_program *p, const char *name, uint32_t overs)
{
    if (!vy_name_printable(name)) return false;
    if (vy_program_find_scalar(p, name) != UINT32_MAX) return false;
    for (uint32_t k = 0; k < overs; k++)
        if (strcmp(p->overs.data[k].name, name) == 0) return false;
    return !vy_program_find_buffer(p, name).id;
}

bool gather_name_is_free(vy_builder *b, const char *name)
{
    const vy_program *p = vy_builder_program(b);
    return gather_is_free(p, name, p->overs.count);
}
