// SPDX-License-Identifier: MIT
// sizes.c: the known sizes of a launch, in the form that cost formulas take.
#include "session/bind.h"

#include <stdlib.h>

bool vys_sizes_of(vys_sizes *z, const vys_binding *b, vy_diag *d)
{
    uint32_t groups[3] = {0};
    vys_binding_has_groups(b, groups);
    const uint32_t buffers = vy_program_buffer_count(b->program);
    uint32_t local[3];
    vy_program_workgroup(b->program, local);
    *z = (vys_sizes){.lengths = calloc(buffers + 1, sizeof *z->lengths)};
    if (!z->lengths) return vys_fail_memory(d);
    for (uint32_t i = 0; i <= buffers; i++) z->lengths[i] = UINT64_MAX;
    for (uint32_t i = 0; i < b->buffer_count; i++) {
        const vys_bound *buf = &b->buffers[i];
        if (buf->state == VYS_SHAPE_FULL && buf->info.rank)
            z->lengths[vy_program_find_buffer(b->program, buf->info.name).id] = buf->value.shape[0];
    }
    z->sizes = (vy_sizes){.scalars = b->values, .known = b->known, .lengths = z->lengths};
    if (!vys_binding_has_groups(b, z->sizes.groups)) return true;
    z->sizes.invocations = 1;
    for (int i = 0; i < 3; i++) {
        const uint64_t n = (uint64_t)z->sizes.groups[i] * local[i]; // below 2^64
        if (__builtin_mul_overflow(z->sizes.invocations, n, &z->sizes.invocations))
            z->sizes.invocations = 0;
    }
    return true;
}

void vys_sizes_free(vys_sizes *z)
{
    free(z->lengths);
    *z = (vys_sizes){0};
}
