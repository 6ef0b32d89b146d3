// SPDX-License-Identifier: MIT
// loops.c: structured loops over variables, on top of control.c; numbers of iterations.
#include "ir/build/build.h"
#include "ir/build/edit.h"

// --------------------------------------------------------------------------- numbers of iterations
vy_value vy_iteration_number(vy_builder *b, vy_type u, vy_value k, vy_value from, vy_value step)
{
    k = vy_cast(b, u, k);
    from = vy_cast(b, u, from);
    step = vy_cast(b, u, step);
    return vy_div(b, vy_sub(b, k, from), step);
}

vy_value vy_iteration_last(vy_builder *b, vy_type u, vy_value from, vy_value to, vy_value step)
{
    from = vy_cast(b, u, from);
    to = vy_cast(b, u, to);
    step = vy_cast(b, u, step);
    const vy_value one = vy_int(b, u, 1);
    return vy_div(b, vy_sub(b, vy_sub(b, to, from), one), step);
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

// Appends the flags that the body may clear.  A `return` clears those of every loop and block up to
// the function, and those of the function; what leaves a block, up to that block.
static void carry_flags(vy_builder *b, const vy_loop_hint *hint)
{
    const uint32_t last = hint->returns ? 0 : hint->leaves ? hint->leaves : b->frames.count;
    for (uint32_t i = b->frames.count; i-- > last;) {
        build_frame *f = &b->frames.data[i];
        if (f->keep && !carry_var(b, f->keep - 1)) return;
        if (f->live && !carry_var(b, f->live - 1)) return;
        if (f->kind == FRAME_FUNCTION) return;
    }
}

// Appends the variables to carry.
static void choose_carried(vy_builder *b, const vy_loop_hint *hint)
{
    ++b->mark_serial;
    if (!hint) {
        for (uint32_t i = 0; i < b->vars.count; i++)
            if (!carry_var(b, i)) return;
        return;
    }
    for (uint32_t i = 0; i < hint->count; i++) {
        if (!vy_variable_valid(b, hint->vars[i], "loop")) return;
        if (!carry_var(b, hint->vars[i].id - 1)) return;
    }
    carry_flags(b, hint);
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
    if (b->failed || !vy_frame_push(b, kind)) return;
    build_frame *f = vy_frame_top(b);
    f->carry_start = start;
    f->carry_count = b->carried.count - start;
    for (uint32_t i = 0; i < f->carry_count; i++) {
        build_carried *c = &b->carried.data[start + i];
        c->carry = b->scratch[2].data[i];
        vy_variable_assign(b, c->var, c->carry);
        vy_variable_name(b, c->var, c->carry);
    }
    uint32_t yes = vy_bool(b, true).id;
    uint32_t live = vy_variable_new(b, VY_BOOL, 0, yes), keep = vy_variable_new(b, VY_BOOL, 0, yes);
    vy_frame_top(b)->live = live;
    vy_frame_top(b)->keep = keep;
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
    vy_guard_close(b);
    build_region *r = &b->regions.data[b->regions.count - 1];
    if (vy_frame_top(b)->kind != FRAME_WHILE || r->middle || !vy_visible(b, condition.id) ||
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

void vy_loop_end(vy_builder *b)
{
    build_frame f = *vy_frame_top(b);
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
    vy_variables_rewind(b, f.undo_start);
    b->frames.count--;
    vy_end_loop(b, k && k->u ? 0 : keep, n, nexts, results);
    for (uint32_t i = 0; i < n && !b->failed; i++) {
        build_carried *c = &b->carried.data[f.carry_start + i];
        if (nexts[i] == c->carry) continue; // not assigned: it keeps its value from before
        vy_variable_assign(b, c->var, results[i]);
        vy_variable_name(b, c->var, results[i]);
    }
    b->carried.count = f.carry_start;
    vy_vec_free(&ids);
}

vy_value vy_and_in_range(vy_builder *b, vy_value so_far, vy_value index, vy_value extent)
{
    const vy_type t = vy_value_type(b, index);
    if (vy_type_is_signed(t)) so_far = vy_and(b, so_far, vy_le(b, vy_zero(b, t), index));
    if (t == VY_I32)
        index = vy_cast(b, VY_U32, index);
    else
        extent = vy_cast(b, t, extent);
    return vy_and(b, so_far, vy_lt(b, index, extent));
}
