// SPDX-License-Identifier: MIT
// derive_as.c: pipelines in whose place another one is differentiated; see derive_as.h.
#include "ir/core/derive_as.h"

#include "ir/core/dims.h"
#include "ir/core/pipe.h"
#include "ir/core/program_rule.h"

#include <stdio.h>
#include <string.h>

const vy_pipeline *vy_named_as(const vy_pipeline *l)
{
    uint32_t at;
    bool pipeline;
    const bool found = vy_program_rule(l->module, l->signature, VY_DERIVE_AS, &at, &pipeline);
    return found && pipeline ? l->module->pipelines.data[at] : NULL;
}

const vy_pipeline *vy_derived_as(const vy_pipeline *l)
{
    const vy_pipeline *other;
    for (uint32_t n = l->module->pipelines.count; n && (other = vy_named_as(l)); n--) l = other;
    return l;
}

bool vy_exact_sums(const vy_program *p)
{
    bool any = p->exact_sums;
    for (uint32_t i = 1; i < p->buffers.count; i++)
        any |= p->buffers.data[i].made == VY_MADE_SUMS && p->buffers.data[i].type == VY_I32;
    return any;
}

// The next parameter after buffer i; 0: none.
static uint32_t next(const vy_program *p, uint32_t i)
{
    for (i++; i < p->buffers.count; i++)
        if (vy_pipe_binds(&p->buffers.data[i])) return i;
    return 0;
}

static bool same_parameter(const vy_program *p, const vy_buf *x, const vy_program *q,
                           const vy_buf *y)
{
    return strcmp(x->name, y->name) == 0 && x->cls == y->cls && x->type == y->type &&
           x->rank == y->rank && vy_same_lengths(p, x, q, y);
}

const char *vy_derive_as_mismatch(const vy_pipeline *l, char text[240])
{
    const vy_program *p = l->signature, *q;
    if (!p->rules[VY_DERIVE_AS]) return NULL;
    const vy_pipeline *other = vy_named_as(l);
    if (!other) return "there is no pipeline of that name";
    if (other == l) return "it is that pipeline";
    q = other->signature;
    if (vy_derived_as(l)->signature->rules[VY_DERIVE_AS])
        return "nothing is: each names another one that is differentiated in its place";
    if (!vy_same_scalars(p, q)) return "its scalars must be the same, in the same order";
    uint32_t i = next(p, 0), k = next(q, 0);
    for (; i && k; i = next(p, i), k = next(q, k)) {
        const vy_buf *b = &p->buffers.data[i];
        if (same_parameter(p, b, q, &q->buffers.data[k])) continue;
        snprintf(text, 240, "parameter `%.80s` must be the same in both", b->name);
        return text;
    }
    return i || k ? "their parameters must be the same, in the same order" : NULL;
}
