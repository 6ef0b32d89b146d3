// SPDX-License-Identifier: MIT
// explain_access.c: which elements each access of the forward program touches, as isl relations.
//
// Accesses of one line that touch the same elements in the same way are listed once.  isl takes
// part of a millisecond for each, so of a large program only the first ones are analysed, and fewer
// where isl takes long; the explanation says how many were left out.
#include "autodiff/affine/access.h"
#include "autodiff/explain/explain_build.h"

#include <string.h>

enum { MOST_ACCESSES = 256 };

static vy_access_kind kind_of(vy_op op)
{
    return op == VY_OP_LOAD    ? VY_ACCESS_LOAD
           : op == VY_OP_STORE ? VY_ACCESS_STORE
                               : VY_ACCESS_ATOMIC;
}

static bool is_listed(const vy_program *p, uint32_t id)
{
    const vy_inst *i = &p->insts.data[id];
    if (!vy_op_is_memory((vy_op)i->op) || i->op == VY_OP_ZERO) return false;
    const vy_buf *b = &p->buffers.data[i->aux];
    return vy_is_global(b->cls) && vy_type_is_float(b->type);
}

static bool is_same(const vy_explain_access *a, const vy_explain_access *b)
{
    if (a->kind != b->kind || a->line != b->line || strcmp(a->buffer, b->buffer) != 0) return false;
    if (!a->relation || !b->relation)
        return !a->relation && !b->relation && a->axis == b->axis && strcmp(a->why, b->why) == 0;
    return strcmp(a->relation, b->relation) == 0 && a->exact == b->exact;
}

// False: memory.
static bool describe(explaining *x, vy_affine *a, uint32_t id, vy_explain_access *e)
{
    const vy_inst *i = &x->forward->insts.data[id];
    vy_affine_access access;
    vy_affine_reset(a);
    bool made = vy_access_make(&access, a, id, UINT32_MAX);
    *e = (vy_explain_access){.kind = kind_of((vy_op)i->op), .line = i->line, .why = ""};
    e->buffer = vy_explain_text(x, x->forward->buffers.data[i->aux].name);
    for (uint32_t k = access.rank; made && k-- > 0;)
        if (!access.index[k]) e->axis = k, e->why = vy_affine_why_text(access.why[k]);
    if (!made)
        e->why = vy_affine_why_text(VY_AFFINE_LIMIT);
    else if (!*e->why)
        e->relation = vy_access_text(&access, &x->memory->arena);
    if (made && !*e->why && !e->relation) e->why = vy_affine_why_text(VY_AFFINE_LIMIT);
    e->exact = made && e->relation && vy_access_exact(&access);
    vy_access_free(&access);
    return !a->failed;
}

static void list_accesses(explaining *x, vy_affine *a, vy_explain_access *list)
{
    vy_explanation *e = x->e;
    vy_affine_begin_round(a);
    for (uint32_t id = 1; id < x->forward->insts.count && !x->failed; id++) {
        if (!is_listed(x->forward, id)) continue;
        if (e->access_count == MOST_ACCESSES || vy_affine_spent(a)) {
            e->accesses_left_out++;
            continue;
        }
        vy_explain_access *at = &list[e->access_count];
        x->failed = !describe(x, a, id, at);
        bool known = false;
        for (uint32_t k = e->access_count; k-- > 0 && !known;) known = is_same(&list[k], at);
        e->access_count += !known;
    }
}

void vy_explain_accesses(explaining *x)
{
    vy_explain_access *list = vy_explain_array(x, MOST_ACCESSES, sizeof *list);
    vy_structure s;
    vy_affine a;
    if (!list) return;
    x->e->accesses = list;
    if (!vy_structure_make(x->forward, &s)) {
        x->failed = true;
        return;
    }
    if (vy_affine_begin(&a, x->forward, &s))
        list_accesses(x, &a, list);
    else
        x->failed = true;
    x->failed |= !vy_affine_end(&a);
    vy_structure_free(&s);
}
