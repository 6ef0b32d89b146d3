// SPDX-License-Identifier: MIT
// find.c: symbols and buffers of a plan by name, each through a hash table that is made with the
// plan.  Of equal names the first is found.
#include "vkrt/plan_internal.h"

typedef const char *(*name_at)(const vy_plan *p, uint32_t i);

static const char *symbol_name(const vy_plan *p, uint32_t i) { return p->symbols[i].name; }
static const char *buffer_name(const vy_plan *p, uint32_t i) { return p->buffers[i].name; }

static uint32_t hash_of(const char *name)
{
    uint32_t h = 2166136261u;
    for (; *name; name++) h = (h ^ (unsigned char)*name) * 16777619u;
    return h;
}

// The slot that has the name, or the free one where it belongs.
static uint32_t *slot_of(const vkrt_names *n, const vy_plan *p, name_at at, const char *name)
{
    size_t slot = hash_of(name) & n->mask;
    while (n->slots[slot] && strcmp(at(p, n->slots[slot] - 1), name) != 0)
        slot = (slot + 1) & n->mask;
    return &n->slots[slot];
}

static bool make(vkrt_names *n, const vy_plan *p, name_at at, uint32_t count)
{
    size_t size = 4;
    while (size / 2 < count) size *= 2;
    n->slots = calloc(size, sizeof *n->slots);
    n->mask = size - 1;
    for (uint32_t i = 0; n->slots && i < count; i++) {
        uint32_t *slot = slot_of(n, p, at, at(p, i));
        if (!*slot) *slot = i + 1;
    }
    return n->slots;
}

bool vkrt_names_make(vkrt_plan *x)
{
    const vy_plan *p = x->plan;
    return make(&x->symbol_names, p, symbol_name, p->symbol_count) &&
           make(&x->buffer_names, p, buffer_name, p->buffer_count);
}

static bool place_called(const vkrt_names *n, const vy_plan *p, name_at at, const char *name,
                         uint32_t *index)
{
    const uint32_t found = *slot_of(n, p, at, name);
    if (found) *index = found - 1;
    return found;
}

bool vkrt_find_symbol(const vkrt_plan *plan, const char *name, uint32_t *index)
{
    return place_called(&plan->symbol_names, plan->plan, symbol_name, name, index);
}

bool vkrt_plan_find_buffer(const vkrt_plan *plan, const char *name, uint32_t *index)
{
    return place_called(&plan->buffer_names, plan->plan, buffer_name, name, index);
}
