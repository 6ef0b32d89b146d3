// SPDX-License-Identifier: MIT
// totals.c: the frame of a program that makes the total of a buffer.
#include "autodiff/deterministic/ordering.h"
#include "autodiff/stages/stages.h"
#include "autodiff/reverse/sweeps.h"
#include "ir/pass/pass.h"

#include <stdio.h>

bool vy_total_starts(const vy_ordering *o, uint32_t id)
{
    const vy_buf *b = &o->w.p->buffers.data[id];
    return b->cls == VY_OUT && b->init == VY_INIT_NONE && !(o->use[id] & VY_USE_PLAIN);
}

vy_builder *vy_total_begin(vy_ordering *o, uint32_t id, const char *suffix)
{
    char text[120];
    snprintf(text, sizeof text, "%s_%.80s", suffix, o->w.p->buffers.data[id].name);
    const char *own = vy_stage_name(o->m, o->w.p, text);
    vy_builder *b = own ? vy_rebuild_begin(o->w.p) : NULL;
    if (!b) return NULL;
    vy_program *p = vy_builder_program(b);
    vy_buf *buf = &p->buffers.data[id];
    if (o->use[id] & VY_USE_PLAIN) buf->cls = VY_INOUT, buf->init = VY_INIT_NONE;
    p->name = own;
    p->overs.count = 0;
    for (uint32_t i = 1; i < p->buffers.count; i++) p->buffers.data[i].owned = false;
    vy_workgroup(b, 64, 1, 1);
    p->has_workgroup = false;
    return b;
}

vy_program *vy_total_end(vy_builder *b)
{
    vy_program *p = vy_rebuild_end(b);
    for (uint32_t k = 0; p && k < p->leaves.count; k++) { // domain variables that were removed
        vy_leaf *l = &p->leaves.data[k];
        if (l->kind == VY_LEAF_OVER && l->index >= p->overs.count) vy_leaf_drop(l);
    }
    vy_pass_context c = {0};
    if (p && vy_pass_cleanup(p, &c) && vy_drop_stage(p)) return p;
    vy_program_free(p);
    return NULL;
}

void vy_split_index(vy_builder *b, vy_buffer buf, uint32_t n, vy_value e, vy_value *at)
{
    for (uint32_t k = n; k-- > 1;) {
        vy_value length = vy_len(b, buf, k);
        at[k] = vy_rem(b, e, length);
        e = vy_div(b, e, length);
    }
    if (n) at[0] = e;
}
