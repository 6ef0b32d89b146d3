// SPDX-License-Identifier: MIT
// state.c: the tables of one differentiation, made and freed; its errors; its leaves.
#include "autodiff/core/reverse.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void vy_reverse_fail(reverse *r, vy_code code, uint32_t id, const char *fix, const char *format,
                     ...)
{
    char text[sizeof r->out->diag.text];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const vy_inst *i = id ? &r->p->insts.data[id] : NULL;
    vy_fail(r->out, code, i ? i->line : r->p->line, i ? i->column : 0, fix, "%s", text);
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

// clang-format off
#define TABLES(T)                                                                                  \
    T(activity, n) T(home, n) T(scope, n) T(needed, n) T(maskable, n) T(busy, n) T(map, n) T(count, n)         \
    T(adjoint, n) T(mask, n) T(kept, n) T(counter, n) T(tape, n) T(tape_slot, n) T(slot, n) T(own, n) T(adds, n) T(together, n) T(stage, n) T(staged_at, n) T(leaf_activity, leaves)            \
    T(leaf_map, leaves) T(leaf_adjoint, leaves) T(leaf_grad, leaves) T(leaf_slot, leaves)          \
    T(buffers, r->p->buffers.count) T(dims, r->p->dims.count)
// clang-format on

bool vy_reverse_tables(reverse *r)
{
    size_t n = r->p->insts.count, leaves = r->p->leaves.count;
#define T(name, size) r->name = vy_reverse_zeroed(r, size, sizeof *r->name);
    TABLES(T)
#undef T
    if (r->failed) return false;
    if (!vy_structure_make(r->p, &r->s)) {
        vy_fail_oom(r->out);
        r->failed = true;
        return false;
    }
    for (uint32_t k = r->counters.count; k-- > 0;) r->counter[r->counters.data[k].loop] = k + 1;
    r->has_halves = vy_program_computes(r->p, VY_F16);
    for (uint32_t id = 1; id < n; id++) {
        uint32_t up = r->s.parent[id];
        bool loop =
            up && (r->p->insts.data[up].op == VY_OP_LOOP || r->p->insts.data[up].op == VY_OP_WHILE);
        r->home[id] = loop ? up : up ? r->home[up] : 0;
        loop |= up && r->p->insts.data[up].op == VY_OP_CHECKPOINT;
        r->scope[id] = loop ? up : up ? r->scope[up] : 0;
    }
    return true;
}

void vy_reverse_free(reverse *r)
{
#define T(name, size) vy_free(r->name);
    TABLES(T)
#undef T
    vy_vec_free(&r->log);
    vy_vec_free(&r->stages);
    vy_arena_free(&r->arena);
    vy_vec_free(&r->counters);
    vy_structure_free(&r->s);
}

uint32_t vy_reverse_leaf(reverse *r, uint32_t leaf_id)
{
    uint32_t index = VY_LEAF_INDEX(leaf_id), *slot = &r->leaf_map[index];
    if (*slot) return *slot;
    const vy_leaf *l = &r->p->leaves.data[index];
    if (l->kind == VY_LEAF_CONST)
        *slot = vy_leaf_const(r->b, (vy_type)l->type, l->value);
    else if (l->kind == VY_LEAF_LEN)
        *slot = vy_extent_leaf(r->b, r->buffers[l->index].twin, l->axis);
    else
        *slot = vy_leaf_other(r->b, (vy_leaf_kind)l->kind, (vy_type)l->type, l->index, l->axis);
    return *slot;
}
