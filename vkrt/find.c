// SPDX-License-Identifier: MIT
// find.c: symbols and buffers of a plan by name.
#include "vkrt/plan_internal.h"

bool vkrt_find_symbol(const vkrt_plan *plan, const char *name, uint32_t *index)
{
    for (uint32_t i = 0; i < plan->plan->symbol_count; i++) {
        if (strcmp(plan->plan->symbols[i].name, name) != 0) continue;
        *index = i;
        return true;
    }
    return false;
}

bool vkrt_plan_find_buffer(const vkrt_plan *plan, const char *name, uint32_t *index)
{
    for (uint32_t i = 0; i < plan->plan->buffer_count; i++) {
        if (strcmp(plan->plan->buffers[i].name, name) != 0) continue;
        *index = i;
        return true;
    }
    return false;
}
