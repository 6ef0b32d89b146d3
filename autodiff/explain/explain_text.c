// SPDX-License-Identifier: MIT
// explain_text.c: arrays and texts of an explanation, in its memory.
#include "autodiff/explain/explain_build.h"

#include "ir/text/print.h"

#include <string.h>

void *vy_explain_array(explaining *x, size_t count, size_t size)
{
    void *p = count ? vy_arena_alloc(&x->memory->arena, count * size) : NULL;
    if (count && !p) x->failed = true;
    return p;
}

const char *vy_explain_text(explaining *x, const char *s)
{
    const char *copy = vy_arena_strdup(&x->memory->arena, s, strlen(s));
    if (!copy) x->failed = true;
    return copy ? copy : "";
}

const char *vy_explain_shape(explaining *x, const vy_program *p, uint32_t buffer)
{
    printer o = {.p = p, .pipeline = x->pipeline};
    if (x->steps && p == x->steps->signature) o.pipeline = x->steps;
    print_dims(&o, &p->buffers.data[buffer]);
    // "[K, D]"
    bool ok = !o.failed && o.out.count >= 2;
    const char *copy =
        ok ? vy_arena_strdup(&x->memory->arena, o.out.data + 1, o.out.count - 2) : NULL;
    vy_vec_free(&o.out);
    if (!copy) x->failed = true;
    return copy ? copy : "";
}
