// SPDX-License-Identifier: MIT
// fit_buffers.c: which buffers a training has, and hashes of what is in them.
#include "tools/verbs/fit/fit.h"

#include <string.h>

bound_buffer *fit_buffer(const fit *f, const char *name)
{
    return name ? vys_binding_find(&f->data, name) : NULL;
}

bool fit_is_size(const fit *f, const char *scalar)
{
    const char *const own[] = {f->made.window, f->made.count, f->made.first, f->made.derivatives};
    for (size_t i = 0; i < COUNT_OF(own); i++)
        if (own[i] && !strcmp(scalar, own[i])) return false;
    return true;
}

bool fit_is_kept(const fit *f, const bound_buffer *b)
{
    bool kept = !strcmp(b->info.name, f->made.step);
    for (uint32_t i = 0; i < f->train.param_count; i++)
        kept |= !strcmp(b->info.name, f->train.params[i]);
    for (uint32_t i = 0; i < f->made.state_count; i++)
        kept |= !strcmp(b->info.name, f->made.states[i]);
    return kept;
}

uint64_t fit_hash(uint64_t hash, const void *data, size_t size)
{
    const unsigned char *at = data;
    hash ^= 0xcbf29ce484222325u;
    for (size_t i = 0; i < size; i++) hash = (hash ^ at[i]) * 0x100000001b3u;
    return hash;
}

uint64_t fit_contents(const fit *f, uint32_t parameter)
{
    const array *a = &fit_buffer(f, f->train.params[parameter])->value;
    return fit_hash(0, a->data, (size_t)(a->count * vy_type_size(a->type)));
}
