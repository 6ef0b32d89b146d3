// SPDX-License-Identifier: MIT
// control.c: mutable variables and structured statements on top of SSA.
//
// Variables.  A builder variable is just its current value.  On entering a construct nothing is
// copied; the first assignment inside logs the old value, so that closing the construct costs what
// was assigned in it.  Closing an `if` turns the variables assigned in either arm into yields; a
// loop carries the variables that its hint names (or all visible ones) and an untouched one keeps
// its value from before.
//
// Early exits.  `break`, `continue` and `return` become flags: every function body has a variable
// `live`, every loop body `live` (this iteration goes on) and `keep` (the loop goes on).  After a
// construct that may have cleared the flag in force, the rest of the block is put into an implicit
// `if live`, a *guard*.  The obvious way, nesting each rest in the one before, would nest a thousand
// deep for a thousand early returns; instead the open guard is closed and a new one opened, so guards
// never nest within one block:
//
//   if a { return; }  s; if b { return; }  t;
//       if a {} else { s; live = !b }  if live { t; }
//
// Values made in a guard but needed after it travel through variables like all others.
#include "ir/build/build.h"
#include "ir/build/edit.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

build_frame *vy_frame_top(vy_builder *b) { return &b->frames.data[b->frames.count - 1]; }

static bool has_region(build_frame_kind k) { return k != FRAME_FUNCTION && k != FRAME_SCOPE; }

bool vy_frame_push(vy_builder *b, build_frame_kind kind)
{
    build_frame f = {.kind = kind, .undo_start = b->undo.count, .var_start = b->vars.count};
    bool root = b->frames.count == 0;
    if (has_region(kind) || root) {
        f.serial = ++b->frame_serial;
    } else { // assignments belong to the enclosing construct
        f.serial = vy_frame_top(b)->serial;
        f.undo_start = vy_frame_top(b)->undo_start;
    }
    if (vy_vec_push(&b->frames, f)) return true;
    vy_build_oom(b);
    return false;
}

// ------------------------------------------------------------------------------------- variables
uint32_t vy_variable_new(vy_builder *b, vy_type type, uint32_t name, uint32_t value)
{
    build_variable v = {.value = value,
                        .name = name,
                        .type = type,
                        .logged = vy_frame_top(b)->serial};
    if (!vy_vec_push(&b->vars, v)) {
        vy_build_oom(b);
        return 0;
    }
    return b->vars.count; // index + 1
}

vy_var vy_var_new(vy_builder *b, const char *name, vy_value initial)
{
    if (vy_builder_failed(b)) return (vy_var){0};
    if (!vy_visible(b, initial.id)) {
        vy_build_fail(b, VY_E_API, "vy_var_new: the initial value is not available here");
        return (vy_var){0};
    }
    uint32_t offset =
        name && vy_name_printable(name) ? vy_intern(&b->m->names, name, strlen(name)) : 0;
    if (offset) vy_name(b, initial, name);
    return (vy_var){vy_variable_new(b, vy_id_type(b->p, initial.id), offset, initial.id)};
}

bool vy_variable_valid(vy_builder *b, vy_var v, const char *function)
{
    if (vy_builder_failed(b)) return false;
    if (v.id && v.id <= b->vars.count) return true;
    vy_build_fail(b, VY_E_API, "%s: the variable is not declared here", function);
    return false;
}

vy_value vy_get(vy_builder *b, vy_var v)
{
    if (!vy_variable_valid(b, v, "vy_get")) return (vy_value){0};
    return (vy_value){b->vars.data[v.id - 1].value};
}

void vy_variable_assign(vy_builder *b, uint32_t var, uint32_t value)
{
    build_variable *v = &b->vars.data[var];
    build_frame *f = vy_frame_top(b);
    if (v->logged != f->serial) {
        build_undo u = {var, v->value, v->logged};
        if (!vy_vec_push(&b->undo, u)) {
            vy_build_oom(b);
            return;
        }
        v->logged = f->serial;
    }
    v->value = value;
}

void vy_set(vy_builder *b, vy_var v, vy_value value)
{
    if (!vy_variable_valid(b, v, "vy_set")) return;
    build_variable *var = &b->vars.data[v.id - 1];
    if (!vy_visible(b, value.id) || vy_id_type(b->p, value.id) != var->type) {
        vy_build_fail(b, VY_E_API, "vy_set: the value is of another type or not available here");
        return;
    }
    if (var->name) vy_name(b, value, vy_string(&b->m->names, var->name));
    vy_variable_assign(b, v.id - 1, value.id);
}

// Undoes the assignments logged since `start`; afterwards the variables have their values from
// before.
void vy_variables_rewind(vy_builder *b, uint32_t start)
{
    while (b->undo.count > start) {
        build_undo u = b->undo.data[--b->undo.count];
        if (u.var >= b->vars.count) continue; // declared inside, gone
        b->vars.data[u.var].value = u.value;
        b->vars.data[u.var].logged = u.logged;
    }
}

void vy_variable_name(vy_builder *b, uint32_t var, uint32_t value)
{
    if (b->vars.data[var].name)
        vy_name(b, (vy_value){value}, vy_string(&b->m->names, b->vars.data[var].name));
}

// ---------------------------------------------------------------------------------- constructs: if
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

// Leaves the first arm: remembers what it assigned and starts over.
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

// One merged variable: values in the two arms.
typedef struct merge {
    uint32_t var, then_value, else_value;
} merge;
VY_VEC_TYPE(merge_vec, merge);

static int by_variable(const void *a, const void *b)
{
    uint32_t x = ((const merge *)a)->var, y = ((const merge *)b)->var;
    return x < y ? -1 : x > y;
}

// Emits yields and gives the variables their merged values in the enclosing frame.  They are handed
// on in the order of their declaration, whatever the order of assignment: the printer relies on it.
static void emit_merges(vy_builder *b, merge_vec *list)
{
    uint32_t n = list->count;
    if (n > 1) qsort(list->data, n, sizeof *list->data, by_variable);
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

static void end_if(vy_builder *b)
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
// The flag that says whether control still runs here, as variable index + 1.
static uint32_t live_flag(vy_builder *b)
{
    for (uint32_t i = b->frames.count; i-- > 0;)
        if (b->frames.data[i].live) return b->frames.data[i].live;
    return 0;
}

// Closes the guard on top, if there is one.  Variables declared inside live on.
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

// Opens a guard if control may have left.
static void guard(vy_builder *b)
{
    if (vy_builder_failed(b)) return;
    uint32_t flag = live_flag(b);
    const vy_scalar *k = vy_id_const(b->p, b->vars.data[flag - 1].value);
    if (k && k->u) return;
    vy_guard_close(b); // leaves the merged flag
    if (b->failed) return;
    uint32_t live = b->vars.data[flag - 1].value;
    vy_begin_if(b, live);
    if (!vy_frame_push(b, FRAME_GUARD)) return;
    vy_variable_assign(b, flag - 1, vy_bool(b, true).id);
}

// ------------------------------------------------------------------------------- other constructs
void vy_checkpoint(vy_builder *b)
{
    if (vy_builder_failed(b)) return;
    vy_begin_checkpoint(b);
    vy_frame_push(b, FRAME_CHECKPOINT);
}

static int by_index(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static void end_checkpoint(vy_builder *b)
{
    build_frame f = *vy_frame_top(b);
    uint32_t n = b->undo.count - f.undo_start, kept = 0;
    vy_id_vec ids = {0};
    if (!vy_vec_reserve(&ids, n * 3 + 1)) {
        vy_build_oom(b);
        return;
    }
    uint32_t *vars = ids.data, *yields = vars + n, *results = yields + n;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t var = b->undo.data[f.undo_start + i].var;
        if (var < f.var_start) vars[kept++] = var;
    }
    if (kept > 1) qsort(vars, kept, sizeof *vars, by_index); // as in emit_merges
    for (uint32_t i = 0; i < kept; i++) yields[i] = b->vars.data[vars[i]].value;
    b->vars.count = f.var_start;
    vy_variables_rewind(b, f.undo_start);
    b->frames.count--;
    vy_end_checkpoint(b, kept, yields, results);
    for (uint32_t i = 0; i < kept && !b->failed; i++) {
        vy_variable_assign(b, vars[i], results[i]);
        vy_variable_name(b, vars[i], results[i]);
    }
    vy_vec_free(&ids);
}

void vy_scope(vy_builder *b)
{
    if (!vy_builder_failed(b)) vy_frame_push(b, FRAME_SCOPE);
}

// Frames without a region: assignments stay; variables declared inside go.
static void end_plain(vy_builder *b)
{
    b->vars.count = vy_frame_top(b)->var_start;
    b->frames.count--;
}

void vy_function_begin(vy_builder *b)
{
    if (vy_builder_failed(b) || !vy_frame_push(b, FRAME_FUNCTION)) return;
    uint32_t live = vy_variable_new(b, VY_BOOL, 0, vy_bool(b, true).id);
    vy_frame_top(b)->live = live;
}

void vy_function_end(vy_builder *b)
{
    if (vy_builder_failed(b)) return;
    vy_guard_close(b);
    assert(vy_frame_top(b)->kind == FRAME_FUNCTION && b->frames.count > 1);
    end_plain(b);
}

void vy_end(vy_builder *b)
{
    if (vy_builder_failed(b)) return;
    vy_guard_close(b);
    if (b->failed) return;
    switch (vy_frame_top(b)->kind) {
    case FRAME_IF: end_if(b); break;
    case FRAME_LOOP:
    case FRAME_WHILE: vy_loop_end(b); break;
    case FRAME_CHECKPOINT: end_checkpoint(b); break;
    case FRAME_SCOPE: end_plain(b); break;
    default: vy_build_fail(b, VY_E_API, "vy_end: nothing is open"); return;
    }
    guard(b);
}

// ------------------------------------------------------------------------------------ early exits
// Clears the flags of the constructs left, innermost first, up to and including frame `last`.
static void clear_flags(vy_builder *b, uint32_t last, bool keep_last_loop)
{
    uint32_t no = vy_bool(b, false).id;
    for (uint32_t i = b->frames.count; i-- > last && !b->failed;) {
        build_frame f = b->frames.data[i];
        if (f.live) vy_variable_assign(b, f.live - 1, no);
        if (f.keep && !(keep_last_loop && i == last)) vy_variable_assign(b, f.keep - 1, no);
    }
}

static void leave_loop(vy_builder *b, bool go_on, const char *what)
{
    if (vy_builder_failed(b)) return;
    for (uint32_t i = b->frames.count; i-- > 0;) {
        build_frame_kind k = b->frames.data[i].kind;
        if (k == FRAME_FUNCTION) break;
        if (k != FRAME_LOOP && k != FRAME_WHILE) continue;
        clear_flags(b, i, go_on);
        guard(b);
        return;
    }
    vy_build_fail(b, VY_E_API, "%s stands in no loop", what);
}

void vy_break(vy_builder *b) { leave_loop(b, false, "break"); }
void vy_continue(vy_builder *b) { leave_loop(b, true, "continue"); }

void vy_return(vy_builder *b)
{
    if (vy_builder_failed(b)) return;
    uint32_t i = b->frames.count - 1;
    while (b->frames.data[i].kind != FRAME_FUNCTION) i--;
    clear_flags(b, i, false);
    guard(b);
}

// ------------------------------------------------------------------------------------- begin, end
bool vy_control_begin(vy_builder *b)
{
    if (!vy_frame_push(b, FRAME_FUNCTION)) return false;
    uint32_t live = vy_variable_new(b, VY_BOOL, 0, vy_bool(b, true).id);
    vy_frame_top(b)->live = live;
    return !b->failed;
}

void vy_control_end(vy_builder *b)
{
    if (vy_builder_failed(b)) return;
    vy_guard_close(b);
    if (!b->failed && b->frames.count != 1)
        vy_build_fail(b, VY_E_API, "vy_program_end: a construct is still open");
}

void vy_control_free(vy_builder *b)
{
    vy_vec_free(&b->vars);
    vy_vec_free(&b->undo);
    vy_vec_free(&b->then_values);
    vy_vec_free(&b->frames);
    vy_vec_free(&b->carried);
}
