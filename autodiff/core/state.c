// SPDX-License-Identifier: MIT
// state.c: creates and frees one differentiation; its errors; its leaves.
#include "autodiff/core/reverse.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void vy_reverse_fail(reverse *r, vy_code code, uint32_t id, const char *fix, const char *format,
                     ...)
{
    const vy_inst *i = id ? &r->p->insts.data[id] : NULL;
    va_list args;
    va_start(args, format);
    vy_diag_set_args(&r->out->diag, code, i ? i->line : r->p->line, i ? i->column : 0, fix, format,
                     args);
    va_end(args);
    r->failed = true;
}

void *vy_reverse_zeroed(reverse *r, size_t count, size_t size)
{
    void *p = vy_realloc(NULL, (count + 1) * size);
    if (p) return memset(p, 0, (count + 1) * size);
    vy_fail_oom(r->out);
    r->failed = true;
    return NULL;
}

bool vy_reverse_tables(reverse *r)
{
    if (vy_grad_facts_make(&r->facts, r->p) && vy_storage_make(&r->plan, r->p)) return true;
    vy_fail_oom(r->out);
    r->failed = true;
    return false;
}

void vy_reverse_free(reverse *r)
{
    vy_build_free(&r->build);
    vy_storage_free(&r->plan);
    vy_grad_facts_free(&r->facts);
}

uint32_t vy_reverse_leaf(reverse *r, uint32_t leaf_id)
{
    uint32_t index = VY_LEAF_INDEX(leaf_id), *slot = &r->build.leaf_map[index];
    if (*slot) return *slot;
    const vy_leaf *l = &r->p->leaves.data[index];
    if (l->kind == VY_LEAF_CONST)
        *slot = vy_leaf_const(r->b, (vy_type)l->type, l->value);
    else if (l->kind == VY_LEAF_LEN)
        *slot = vy_extent_leaf(r->b, r->build.buffers[l->index].twin, l->axis);
    else
        *slot = vy_leaf_other(r->b, (vy_leaf_kind)l->kind, (vy_type)l->type, l->index, l->axis);
    return *slot;
}
