// SPDX-License-Identifier: MIT
// array.c: see array.h.
#include "session/array.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void vys_array_free(vys_array *a)
{
    free(a->data);
    *a = (vys_array){0};
}

// Linux overcommits memory and kills the process that touches it, so check first.
static bool beyond_machine(uint64_t bytes)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 && bytes / (uint64_t)page >= (uint64_t)pages;
}

bool vys_array_alloc(vys_array *a, const char *name, vy_type type, vy_diag *d)
{
    uint64_t count = 1, bytes;
    bool empty = false, overflow = false;
    for (uint32_t i = 0; i < a->rank; i++) {
        if (a->shape[i] == 0)
            empty = true;
        else
            overflow |= __builtin_mul_overflow(count, a->shape[i], &count);
    }
    if (empty) count = 0, overflow = false;
    overflow |= __builtin_mul_overflow(count, vy_type_size(type), &bytes);
    if (overflow || bytes > PTRDIFF_MAX)
        return vys_fail(d, VYS_SHAPE, "make it smaller", "%s has more bytes than 64 bits can count",
                        name);
    a->type = type;
    a->count = count;
    if (!beyond_machine(bytes)) a->data = calloc(bytes ? bytes : 1, 1);
    if (!a->data)
        return vys_fail(d, VYS_MEMORY, "use a smaller one", "no memory for %s: %llu bytes", name,
                        (unsigned long long)bytes);
    return true;
}
