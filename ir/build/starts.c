// SPDX-License-Identifier: MIT
// starts.c: what buffers begin as, without detours.
//
//   @init(x) b, @init(b) c             →   @init(x) b, @init(x) c
//   @workspace b, @init(b) c           →   @workspace b, c         (zeros)
//   @init(ones) b, @init(b) c          →   @init(ones) b, @init(ones) c
//
// `@init(b)` means what b begins as, in whatever order the two are declared.  Engines fill buffers
// in some order, and differentiation asks which input a buffer is a copy of: neither need know of
// chains, if programs have none.  Every program that a user builds goes through this; what is
// derived from it has none either.
#include "ir/build/starts.h"

#include "ir/check/check.h"

// The buffer whose beginning decides: an input, or one that begins as no copy.  0: a cycle.
static uint32_t root_of(const vy_program *p, uint32_t i)
{
    for (uint32_t n = 0; n < p->buffers.count; n++) {
        const vy_buf *b = &p->buffers.data[i];
        if (!vy_begins_as_copy(b)) return i;
        i = vy_program_find_buffer(p, b->init_from).id;
    }
    return 0;
}

// From buffer i on, each begins as the root does: so the next walk is short.
static void shorten(vy_program *p, uint32_t i, uint32_t root)
{
    const vy_buf r = p->buffers.data[root];
    const bool input = !r.workspace && r.cls != VY_OUT;
    while (i != root) {
        vy_buf *b = &p->buffers.data[i];
        i = vy_program_find_buffer(p, b->init_from).id;
        b->init = input ? VY_INIT_COPY : r.init;
        b->init_from = input ? r.name : NULL;
    }
}

bool vy_resolve_starts(vy_program *p)
{
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        const vy_buf *b = &p->buffers.data[i];
        const uint32_t root = root_of(p, i);
        if (root) {
            shorten(p, i, root);
            continue;
        }
        vy_fail(p->module, VY_E_NAME_KIND, b->line, vy_check_column(p->module, b->line, b->name),
                "name a parameter that does not begin as a copy of this one",
                "`%s` begins as a copy of itself, directly or through others", b->name);
        return false;
    }
    return true;
}
