// SPDX-License-Identifier: MIT
// branches.c: if, else and guards: the variables that either arm assigned become the yields of
// both.  For the purpose of guards see control.c.
#include "ir/build/build.h"
#include "ir/build/edit.h"

#include <stdlib.h>

void vy_if(vy_builder *b, vy_value condition)
{
    if (vy_builder_failed(b)) return;
    if (!vy_visible(b, condition.id) || vy_id_type(b->p, condition.id) != VY_BOOL) {
        vy_build_fail(b, VY_E_API, "vy_if: the condition is not a bool available here");
        return;
    }
    vy_begin_if(b, condition.id);
    if (vy_frame_push(b, FRAME_IF)) {
        vy_frame_top(b)->then_start = b->then_values.count;
        vy_frame_top(b)->condition = condition.id;
    }
}

// Ends the first arm: records what it assigned and restores the variables for the second.
static void finish_then(vy_builder *b)
{
    build_frame *f = vy_frame_top(b);
    for (uint32_t i = f->undo_start; i < b->undo.count && !b->failed; i++) {
        uint32_t var = b->undo.data[i].var;
        if (var >= f->var_start) continue;
        build_undo u = {var, b->vars.data[var].value, 0};
        if (!vy_vec_push(&b->then_values, u)) vy_build_oom(b);
    }
    b->vars.count = f->var_start;
    vy_variables_rewind(b, f->undo_start);
    f->serial = ++b->frame_serial;
    f->in_else = true;
    vy_begin_else(b, 0, NULL); // its yields are known at the end
}

void vy_else(vy_builder *b)
{
    if (vy_builder_failed(b)) return;
    vy_guard_close(b);
    if (vy_frame_top(b)->kind != FRAME_IF || vy_frame_top(b)->in_else) {
        vy_build_fail(b, VY_E_API, "vy_else: the innermost open construct is not an if");
        return;
    }
    finish_then(b);
}

// One merged variable: its values at the ends of the two arms.
typedef struct merge {
    uint32_t var, then_value, else_value;
} merge;

VY_VEC_TYPE(merge_vec, merge);

static int by_variable(const void *a, const void *b)
{
    uint32_t x = ((const merge *)a)->var, y = ((const merge *)b)->var;
    return x < y ? -1 : x > y;
}

static bool is_sorted(const merge_vec *list)
{
    for (uint32_t i = 1; i < list->count; i++)
        if (list->data[i - 1].var > list->data[i].var) return false;
    return true;
}

// Emits yields and gives the variables their merged values in the enclosing frame.  The yields are
// in the order of declaration, whatever the order of assignment: the printer relies on it.
static void emit_merges(vy_builder *b, merge_vec *list)
{
    uint32_t n = list->count;
    if (!is_sorted(list)) qsort(list->data, n, sizeof *list->data, by_variable); // qsort allocates
    vy_id_vec ids = {0};
    if (!vy_vec_reserve(&ids, n * 3 + 1)) {
        vy_build_oom(b);
        return;
    }
    uint32_t *thens = ids.data, *elses = thens + n, *results = elses + n;
    for (uint32_t i = 0; i < n; i++) {
        thens[i] = list->data[i].then_value;
        elses[i] = list->data[i].else_value;
    }
    vy_else_yields(b, n, thens);
    vy_end_if(b, n, elses, results);
    for (uint32_t i = 0; i < n && !b->failed; i++) {
        vy_variable_assign(b, list->data[i].var, results[i]);
        vy_variable_name(b, list->data[i].var, results[i]);
    }
    vy_vec_free(&ids);
}

// Collects the variables that either arm assigned.
static void collect_merges(vy_builder *b, build_frame *f, merge_vec *list)
{
    uint32_t mark = ++b->mark_serial;
    for (uint32_t i = f->then_start; i < b->then_values.count && !b->failed; i++) {
        build_undo *t = &b->then_values.data[i];
        merge m = {t->var, t->value, b->vars.data[t->var].value};
        b->vars.data[t->var].mark = mark;
        if (!vy_vec_push(list, m)) vy_build_oom(b);
    }
    for (uint32_t i = f->undo_start; i < b->undo.count && !b->failed; i++) {
        build_undo *u = &b->undo.data[i];
        if (u->var >= f->var_start || b->vars.data[u->var].mark == mark) continue;
        merge m = {u->var, u->value, b->vars.data[u->var].value};
        if (!vy_vec_push(list, m)) vy_build_oom(b);
    }
    b->then_values.count = f->then_start;
}

void vy_if_end(vy_builder *b)
{
    if (!vy_frame_top(b)->in_else) finish_then(b);
    build_frame f = *vy_frame_top(b);
    merge_vec list = {0};
    collect_merges(b, &f, &list);
    b->vars.count = f.var_start;
    vy_variables_rewind(b, f.undo_start);
    b->frames.count--;
    if (!b->failed) emit_merges(b, &list);
    vy_vec_free(&list);
}

// ----------------------------------------------------------------------------------------- guards

// Closes the innermost frame if it is a guard.  Variables declared inside stay declared.
void vy_guard_close(vy_builder *b)
{
    if (b->failed || vy_frame_top(b)->kind != FRAME_GUARD) return;
    build_frame f = *vy_frame_top(b);
    uint32_t opener = b->regions.data[b->regions.count - 1].opener;
    merge_vec list = {0};
    for (uint32_t i = f.undo_start; i < b->undo.count && !b->failed; i++) {
        build_undo *u = &b->undo.data[i];
        if (u->var >= f.var_start) continue;
        merge m = {u->var, b->vars.data[u->var].value, u->value};
        if (!vy_vec_push(&list, m)) vy_build_oom(b);
    }
    for (uint32_t i = f.var_start; i < b->vars.count && !b->failed; i++) {
        build_variable *v = &b->vars.data[i];
        if (VY_IS_LEAF(v->value) || v->value < opener) continue;
        merge m = {i, v->value, vy_zero(b, v->type).id};
        if (!vy_vec_push(&list, m)) vy_build_oom(b);
    }
    vy_variables_rewind(b, f.undo_start);
    b->frames.count--;
    for (uint32_t i = f.var_start; i < b->vars.count; i++)
        b->vars.data[i].logged = vy_frame_top(b)->serial;
    if (!b->failed) {
        vy_begin_else(b, 0, NULL);
        emit_merges(b, &list);
    }
    vy_vec_free(&list);
}
