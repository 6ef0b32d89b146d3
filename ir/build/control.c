// SPDX-License-Identifier: MIT
// control.c: structured statements on top of SSA: how constructs are closed, and early exits.
//
// Closing an `if` makes the variables assigned in either arm its yields (branches.c); a loop
// carries the variables that its hint names, or all visible ones (loops.c), and one that is not
// assigned keeps its value from before.
//
// Early exits.  `break`, `continue` and `return` become flags: every function body has a variable
// `live`, every loop body `live` (this iteration goes on) and `keep` (the loop goes on).  After a
// construct that may have cleared the flag in force, the rest of the block is put into an implicit
// `if live`, a *guard*.  The obvious way, nesting each rest in the previous one, would nest a
// thousand deep for a thousand early returns; instead the open guard is closed and a new one
// opened, so guards never nest within one block:
//
//   if a { return; }  s; if b { return; }  t;
//       if a {} else { s; live = !b }  if live { t; }
//
// Values defined in a guard but needed after it are yielded through variables, as everywhere.
#include "ir/build/build.h"
#include "ir/build/edit.h"

#include <assert.h>
#include <stdlib.h>

// ----------------------------------------------------------------------------------------- guards
// The flag that says whether control still reaches this point, as variable index + 1.
static uint32_t live_flag(vy_builder *b)
{
    for (uint32_t i = b->frames.count; i-- > 0;)
        if (b->frames.data[i].live) return b->frames.data[i].live;
    return 0;
}

// Opens a guard if control may have left the block early.
static void guard(vy_builder *b)
{
    if (vy_builder_failed(b)) return;
    uint32_t flag = live_flag(b);
    const vy_scalar *k = vy_id_const(b->p, b->vars.data[flag - 1].value);
    if (k && k->u) return;
    vy_guard_close(b); // the flag's value is the merged one now
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
    if (kept > 1) qsort(vars, kept, sizeof *vars, by_index); // as in branches.c
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

// Ends a frame without a region: assignments stay, variables declared inside go out of scope.
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

uint32_t vy_block_begin(vy_builder *b)
{
    if (vy_builder_failed(b) || !vy_frame_push(b, FRAME_BLOCK)) return 0;
    uint32_t live = vy_variable_new(b, VY_BOOL, 0, vy_bool(b, true).id);
    vy_frame_top(b)->live = live;
    return b->frames.count - 1;
}

void vy_end(vy_builder *b)
{
    if (vy_builder_failed(b)) return;
    vy_guard_close(b);
    if (b->failed) return;
    switch (vy_frame_top(b)->kind) {
    case FRAME_IF: vy_if_end(b); break;
    case FRAME_LOOP:
    case FRAME_WHILE: vy_loop_end(b); break;
    case FRAME_CHECKPOINT: end_checkpoint(b); break;
    case FRAME_SCOPE:
    case FRAME_BLOCK: end_plain(b); break;
    default: vy_build_fail(b, VY_E_API, "vy_end: nothing is open"); return;
    }
    guard(b);
}

// ------------------------------------------------------------------------------------ early exits
// Clears the flags of the constructs that are left, innermost first, up to and including frame
// `last`.
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
    vy_build_fail(b, VY_E_API, "%s is not inside a loop", what);
}

void vy_break(vy_builder *b) { leave_loop(b, false, "break"); }
void vy_continue(vy_builder *b) { leave_loop(b, true, "continue"); }

void vy_block_leave(vy_builder *b, uint32_t block)
{
    if (vy_builder_failed(b)) return;
    assert(b->frames.data[block].kind == FRAME_BLOCK);
    clear_flags(b, block, false);
    guard(b);
}

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
