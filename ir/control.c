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
#include "build.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static build_frame *top(vy_builder *b) { return &b->frames.data[b->frames.count - 1]; }

static bool has_region(build_frame_kind k) { return k != FRAME_FUNCTION && k != FRAME_SCOPE; }

static bool push(vy_builder *b, build_frame_kind kind)
{
    build_frame f = {.kind = kind, .undo_start = b->undo.count, .var_start = b->vars.count};
    bool root = b->frames.count == 0;
    if (has_region(kind) || root) {
        f.serial = ++b->frame_serial;
    } else { // assignments belong to the enclosing construct
        f.serial = top(b)->serial;
        f.undo_start = top(b)->undo_start;
    }
    if (vy_vec_push(&b->frames, f)) return true;
    vy_build_oom(b);
    return false;
}

// ------------------------------------------------------------------------------------- variables
static uint32_t new_variable(vy_builder *b, vy_type type, uint32_t name, uint32_t value)
{
    build_variable v = {.value = value, .name = name, .type = type, .logged = top(b)->serial};
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
    uint32_t offset = name && *name ? vy_intern(&b->m->names, name, strlen(name)) : 0;
    if (offset) vy_name(b, initial, name);
    return (vy_var){new_variable(b, vy_id_type(b->p, initial.id), offset, initial.id)};
}

static bool valid(vy_builder *b, vy_var v, const char *function)
{
    if (vy_builder_failed(b)) return false;
    if (v.id && v.id <= b->vars.count) return true;
    vy_build_fail(b, VY_E_API, "%s: the variable is not declared here", function);
    return false;
}

vy_value vy_get(vy_builder *b, vy_var v)
{
    if (!valid(b, v, "vy_get")) return (vy_value){0};
    return (vy_value){b->vars.data[v.id - 1].value};
}

static void assign(vy_builder *b, uint32_t var, uint32_t value)
{
    build_variable *v = &b->vars.data[var];
    build_frame *f = top(b);
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
    if (!valid(b, v, "vy_set")) return;
    build_variable *var = &b->vars.data[v.id - 1];
    if (!vy_visible(b, value.id) || vy_id_type(b->p, value.id) != var->type) {
        vy_build_fail(b, VY_E_API, "vy_set: the value is of another type or not available here");
        return;
    }
    if (var->name) vy_name(b, value, vy_string(&b->m->names, var->name));
    assign(b, v.id - 1, value.id);
}

// Undoes the assignments logged since `start`; afterwards the variables have their values from
// before.
static void rewind_to(vy_builder *b, uint32_t start)
{
    while (b->undo.count > start) {
        build_undo u = b->undo.data[--b->undo.count];
        if (u.var >= b->vars.count) continue; // declared inside, gone
        b->vars.data[u.var].value = u.value;
        b->vars.data[u.var].logged = u.logged;
    }
}

static void name_result(vy_builder *b, uint32_t var, uint32_t value)
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
    if (push(b, FRAME_IF)) {
        top(b)->then_start = b->then_values.count;
        top(b)->condition = condition.id;
    }
}

static void close_guard(vy_builder *b);

// Leaves the first arm: remembers what it assigned and starts over.
static void finish_then(vy_builder *b)
{
    build_frame *f = top(b);
    for (uint32_t i = f->undo_start; i < b->undo.count && !b->failed; i++) {
        uint32_t var = b->undo.data[i].var;
        if (var >= f->var_start) continue;
        build_undo u = {var, b->vars.data[var].value, 0};
        if (!vy_vec_push(&b->then_values, u)) vy_build_oom(b);
    }
    b->vars.count = f->var_start;
    rewind_to(b, f->undo_start);
    f->serial = ++b->frame_serial;
    f->in_else = true;
    vy_begin_else(b, 0, NULL); // its yields are known at the end
}

void vy_else(vy_builder *b)
{
    if (vy_builder_failed(b)) return;
    close_guard(b);
    if (top(b)->kind != FRAME_IF || top(b)->in_else) {
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
        assign(b, list->data[i].var, results[i]);
        name_result(b, list->data[i].var, results[i]);
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
    if (!top(b)->in_else) finish_then(b);
    build_frame f = *top(b);
    merge_vec list = {0};
    collect_merges(b, &f, &list);
    b->vars.count = f.var_start;
    rewind_to(b, f.undo_start);
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
static void close_guard(vy_builder *b)
{
    if (b->failed || top(b)->kind != FRAME_GUARD) return;
    build_frame f = *top(b);
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
    rewind_to(b, f.undo_start);
    b->frames.count--;
    for (uint32_t i = f.var_start; i < b->vars.count; i++) b->vars.data[i].logged = top(b)->serial;
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
    close_guard(b); // leaves the merged flag
    if (b->failed) return;
    uint32_t live = b->vars.data[flag - 1].value;
    vy_begin_if(b, live);
    if (!push(b, FRAME_GUARD)) return;
    assign(b, flag - 1, vy_bool(b, true).id);
}

// ------------------------------------------------------------------------------------------ loops
static bool carry_var(vy_builder *b, uint32_t var)
{
    build_carried c = {.var = var};
    if (b->vars.data[var].mark == b->mark_serial) return true; // named twice
    b->vars.data[var].mark = b->mark_serial;
    if (vy_vec_push(&b->carried, c)) return true;
    vy_build_oom(b);
    return false;
}

// Appends the variables to carry.  The flags that a `return` in the body clears are those of every
// loop up to the function, and of the function.
static void choose_carried(vy_builder *b, const vy_loop_hint *hint)
{
    ++b->mark_serial;
    if (!hint) {
        for (uint32_t i = 0; i < b->vars.count; i++)
            if (!carry_var(b, i)) return;
        return;
    }
    for (uint32_t i = 0; i < hint->count; i++) {
        if (!valid(b, hint->vars[i], "loop")) return;
        if (!carry_var(b, hint->vars[i].id - 1)) return;
    }
    if (!hint->returns) return;
    for (uint32_t i = b->frames.count; i-- > 0;) {
        build_frame *f = &b->frames.data[i];
        if (f->keep && !carry_var(b, f->keep - 1)) return;
        if (f->live && !carry_var(b, f->live - 1)) return;
        if (f->kind == FRAME_FUNCTION) return;
    }
}

// Initial values of the chosen variables in scratch 1; room for their carries in scratch 2.
static bool initial_values(vy_builder *b, uint32_t start)
{
    uint32_t n = b->carried.count - start;
    b->scratch[1].count = b->scratch[2].count = 0;
    if (!vy_vec_reserve(&b->scratch[1], n + 1) || !vy_vec_reserve(&b->scratch[2], n + 1)) {
        vy_build_oom(b);
        return false;
    }
    for (uint32_t i = 0; i < n; i++)
        b->scratch[1].data[i] = b->vars.data[b->carried.data[start + i].var].value;
    return true;
}

static void enter_loop(vy_builder *b, build_frame_kind kind, uint32_t start)
{
    if (b->failed || !push(b, kind)) return;
    build_frame *f = top(b);
    f->carry_start = start;
    f->carry_count = b->carried.count - start;
    for (uint32_t i = 0; i < f->carry_count; i++) {
        build_carried *c = &b->carried.data[start + i];
        c->carry = b->scratch[2].data[i];
        assign(b, c->var, c->carry);
        name_result(b, c->var, c->carry);
    }
    uint32_t yes = vy_bool(b, true).id;
    uint32_t live = new_variable(b, VY_BOOL, 0, yes), keep = new_variable(b, VY_BOOL, 0, yes);
    top(b)->live = live;
    top(b)->keep = keep;
}

vy_value vy_for_hint(vy_builder *b, const char *name, vy_value from, vy_value to, vy_value step,
                     bool reverse, const vy_loop_hint *hint)
{
    if (vy_builder_failed(b)) return (vy_value){0};
    vy_type type = vy_value_type(b, from);
    if (!vy_visible(b, from.id) || !vy_visible(b, to.id) || !vy_visible(b, step.id) ||
        vy_value_type(b, to) != type || vy_value_type(b, step) != type ||
        vy_rule_type(VY_RULE_I, type) == VY_VOID) {
        vy_build_fail(b, VY_E_API, "vy_for: bounds and step must share one integer type");
        return (vy_value){0};
    }
    uint32_t start = b->carried.count;
    choose_carried(b, hint);
    if (b->failed || !initial_values(b, start)) return (vy_value){0};
    uint32_t k = vy_begin_loop(b, type, reverse ? VY_FLAG_REVERSE : 0, from.id, to.id, step.id,
                               b->carried.count - start, b->scratch[1].data, b->scratch[2].data);
    enter_loop(b, FRAME_LOOP, start);
    vy_name(b, (vy_value){k}, name);
    return (vy_value){b->failed ? 0 : k};
}

vy_value vy_for_step(vy_builder *b, const char *name, vy_value from, vy_value to, vy_value step,
                     bool reverse)
{
    return vy_for_hint(b, name, from, to, step, reverse, NULL);
}

vy_value vy_for(vy_builder *b, const char *name, vy_value from, vy_value to)
{
    if (vy_builder_failed(b)) return (vy_value){0};
    return vy_for_hint(b, name, from, to, vy_int(b, vy_value_type(b, from), 1), false, NULL);
}

void vy_while_hint(vy_builder *b, const vy_loop_hint *hint)
{
    if (vy_builder_failed(b)) return;
    uint32_t start = b->carried.count;
    choose_carried(b, hint);
    if (b->failed || !initial_values(b, start)) return;
    vy_begin_while(b, 0, b->carried.count - start, b->scratch[1].data, b->scratch[2].data);
    enter_loop(b, FRAME_WHILE, start);
}

void vy_while(vy_builder *b) { vy_while_hint(b, NULL); }

void vy_while_test(vy_builder *b, vy_value condition)
{
    if (vy_builder_failed(b)) return;
    close_guard(b);
    build_region *r = &b->regions.data[b->regions.count - 1];
    if (top(b)->kind != FRAME_WHILE || r->middle || !vy_visible(b, condition.id) ||
        vy_value_type(b, condition) != VY_BOOL) {
        vy_build_fail(b, VY_E_API, "vy_while_test: needs an open while and a bool");
        return;
    }
    vy_loop_test(b, condition.id);
}

// Every variable the body assigned must be carried, or its value would be lost.
static void check_carried(vy_builder *b, const build_frame *f)
{
    uint32_t mark = ++b->mark_serial;
    for (uint32_t i = 0; i < f->carry_count; i++)
        b->vars.data[b->carried.data[f->carry_start + i].var].mark = mark;
    for (uint32_t i = f->undo_start; i < b->undo.count; i++) {
        uint32_t var = b->undo.data[i].var;
        if (var < f->var_start && b->vars.data[var].mark != mark)
            vy_build_fail(b, VY_E_API, "a loop's body assigns a variable that its hint omits");
    }
}

static void end_loop(vy_builder *b)
{
    build_frame f = *top(b);
    uint32_t n = f.carry_count, keep = b->vars.data[f.keep - 1].value;
    const vy_scalar *k = vy_id_const(b->p, keep);
    if (f.kind == FRAME_WHILE && !b->regions.data[b->regions.count - 1].middle)
        vy_build_fail(b, VY_E_API, "vy_end: a while without vy_while_test");
    check_carried(b, &f);
    vy_id_vec ids = {0};
    if (b->failed || !vy_vec_reserve(&ids, n * 2 + 1)) {
        if (!b->failed) vy_build_oom(b);
        return;
    }
    uint32_t *nexts = ids.data, *results = nexts + n;
    for (uint32_t i = 0; i < n; i++)
        nexts[i] = b->vars.data[b->carried.data[f.carry_start + i].var].value;
    b->vars.count = f.var_start;
    rewind_to(b, f.undo_start);
    b->frames.count--;
    vy_end_loop(b, k && k->u ? 0 : keep, n, nexts, results);
    for (uint32_t i = 0; i < n && !b->failed; i++) {
        build_carried *c = &b->carried.data[f.carry_start + i];
        if (nexts[i] == c->carry) continue; // untouched: the value from before serves
        assign(b, c->var, results[i]);
        name_result(b, c->var, results[i]);
    }
    b->carried.count = f.carry_start;
    vy_vec_free(&ids);
}

// ------------------------------------------------------------------------------- other constructs
void vy_checkpoint(vy_builder *b)
{
    if (vy_builder_failed(b)) return;
    vy_begin_checkpoint(b);
    push(b, FRAME_CHECKPOINT);
}

static int by_index(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static void end_checkpoint(vy_builder *b)
{
    build_frame f = *top(b);
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
    rewind_to(b, f.undo_start);
    b->frames.count--;
    vy_end_checkpoint(b, kept, yields, results);
    for (uint32_t i = 0; i < kept && !b->failed; i++) {
        assign(b, vars[i], results[i]);
        name_result(b, vars[i], results[i]);
    }
    vy_vec_free(&ids);
}

void vy_scope(vy_builder *b)
{
    if (!vy_builder_failed(b)) push(b, FRAME_SCOPE);
}

// Frames without a region: assignments stay; variables declared inside go.
static void end_plain(vy_builder *b)
{
    b->vars.count = top(b)->var_start;
    b->frames.count--;
}

void vy_function_begin(vy_builder *b)
{
    if (vy_builder_failed(b) || !push(b, FRAME_FUNCTION)) return;
    uint32_t live = new_variable(b, VY_BOOL, 0, vy_bool(b, true).id);
    top(b)->live = live;
}

void vy_function_end(vy_builder *b)
{
    if (vy_builder_failed(b)) return;
    close_guard(b);
    assert(top(b)->kind == FRAME_FUNCTION && b->frames.count > 1);
    end_plain(b);
}

void vy_end(vy_builder *b)
{
    if (vy_builder_failed(b)) return;
    close_guard(b);
    if (b->failed) return;
    switch (top(b)->kind) {
    case FRAME_IF: end_if(b); break;
    case FRAME_LOOP:
    case FRAME_WHILE: end_loop(b); break;
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
        if (f.live) assign(b, f.live - 1, no);
        if (f.keep && !(keep_last_loop && i == last)) assign(b, f.keep - 1, no);
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
    if (!push(b, FRAME_FUNCTION)) return false;
    uint32_t live = new_variable(b, VY_BOOL, 0, vy_bool(b, true).id);
    top(b)->live = live;
    return !b->failed;
}

void vy_control_end(vy_builder *b)
{
    if (vy_builder_failed(b)) return;
    close_guard(b);
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
