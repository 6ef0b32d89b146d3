// SPDX-License-Identifier: MIT
// plan.c: one program as a plan (plan.h): fills and copies for the buffers the compiler made, then
// the dispatch.  Clearing `out` buffers and workspaces belongs to the dispatch
// (vy_kernel_binding.clear).
#include "spirv/emit/emit.h"
#include "spirv/plan/make.h"

#include <string.h>

// ------------------------------------------------------------------------------------------- steps
uint64_t vy_plan_one(const char *type)
{
    vy_type t = VY_VOID;
    vy_type_from_name(type, strlen(type), &t);
    uint64_t bits = 0;
    vy_scalar v = {.u = 1};
    if (vy_type_is_float(t)) v.f = 1;
    vy_scalar_write(t, v, &bits);
    return bits;
}

static uint32_t find_binding(const vy_kernel *k, const char *name)
{
    for (uint32_t i = 0; i < k->binding_count; i++)
        if (strcmp(k->bindings[i].name, name) == 0) return i;
    return UINT32_MAX;
}

vy_role vy_plan_role(const vy_kernel_binding *b)
{
    if (b->workspace) return VY_ROLE_WORKSPACE;
    return b->access == VY_ACCESS_IN    ? VY_ROLE_IN
           : b->access == VY_ACCESS_OUT ? VY_ROLE_OUT
                                        : VY_ROLE_INOUT;
}

// What a buffer needs before the dispatch; false for nothing.
static bool start_step(const vy_kernel *k, uint32_t index, vy_plan_step *step)
{
    const vy_kernel_binding *b = &k->bindings[index];
    *step = (vy_plan_step){.kind = VY_STEP_FILL, .buffer = index};
    if (b->init && strcmp(b->init, "1") == 0) {
        step->pattern = vy_plan_one(b->type);
        return true;
    }
    if (b->init) {
        step->kind = VY_STEP_COPY;
        step->source = find_binding(k, b->init);
        return step->source != UINT32_MAX;
    }
    return false;
}

// After the dispatch: the symbol that the word is read into, and its check.
static bool add_watch(vy_plan *plan, vy_plan_step *steps, vy_arena *arena)
{
    const uint32_t n = plan->symbol_count, e = plan->expr_count;
    vy_symbol *symbols = vy_arena_alloc(arena, (n + 1) * sizeof *symbols);
    vy_expr *exprs = vy_arena_alloc(arena, (e + 3) * sizeof *exprs);
    if (!symbols || !exprs) return false;
    if (n) memcpy(symbols, plan->symbols, n * sizeof *symbols);
    if (e) memcpy(exprs, plan->exprs, e * sizeof *exprs);
    symbols[n] = (vy_symbol){.name = VY_WATCH_NAME, .kind = VY_SYMBOL_READBACK, .type = "i64"};
    exprs[e] = (vy_expr){.op = VY_EXPR_SYMBOL, .value = n};
    exprs[e + 1] = (vy_expr){.op = VY_EXPR_CONST, .value = 0};
    exprs[e + 2] = (vy_expr){.op = VY_EXPR_CONST, .value = 1};
    steps[plan->step_count++] = (vy_plan_step){.kind = VY_STEP_READBACK,
                                               .buffer = plan->buffer_count - 1,
                                               .expr = e + 1,
                                               .symbol = n};
    steps[plan->step_count++] = vy_plan_watch_check(e, e + 2);
    plan->symbols = symbols;
    plan->symbol_count = n + 1;
    plan->exprs = exprs;
    plan->expr_count = e + 3;
    return true;
}

vy_plan_step vy_plan_watch_check(uint32_t word, uint32_t one)
{
    return (vy_plan_step){.kind = VY_STEP_CHECK,
                          .check = VY_CHECK_LOOPS,
                          .expr = word,
                          .limit = one,
                          .text = "the driver ended a loop that was not done"};
}

bool vy_plan_make(const vy_kernel *k, vy_arena *arena, vy_plan *plan)
{
    vy_plan_buffer *buffers = vy_arena_alloc(arena, (k->binding_count + 1) * sizeof *buffers);
    vy_plan_step *steps =
        vy_arena_alloc(arena, (k->binding_count + k->need_count + 3) * sizeof *steps);
    vy_plan_arg *args = vy_arena_alloc(arena, (k->binding_count + 1) * sizeof *args);
    uint32_t *symbols = vy_arena_alloc(arena, (k->symbol_count + 1) * sizeof *symbols);
    if (!buffers || !steps || !args || !symbols) return false;
    uint32_t count = 0;
    for (uint32_t i = 0; i < k->binding_count; i++) {
        const vy_kernel_binding *b = &k->bindings[i];
        buffers[i] =
            (vy_plan_buffer){b->name, vy_plan_role(b), b->type, b->elem_size, b->rank, b->dims};
        args[i] = (vy_plan_arg){i, VY_NO_EXPR};
        if (start_step(k, i, &steps[count])) count++;
    }
    for (uint32_t i = 0; i < k->need_count; i++)
        steps[count++] = (vy_plan_step){.kind = VY_STEP_CHECK,
                                        .check = VY_CHECK_BELOW,
                                        .expr = k->needs[i].expr,
                                        .limit = k->needs[i].limit,
                                        .text = k->needs[i].text};
    for (uint32_t i = 0; i < k->symbol_count; i++)
        symbols[i] = i; // symbols are the first expressions
    steps[count++] = (vy_plan_step){.kind = VY_STEP_DISPATCH, .args = args, .symbols = symbols};
    *plan = (vy_plan){.name = k->name,
                      .kernels = k,
                      .kernel_count = 1,
                      .buffers = buffers,
                      .buffer_count = k->binding_count,
                      .symbols = k->symbols,
                      .symbol_count = k->symbol_count,
                      .exprs = k->exprs,
                      .expr_count = k->expr_count,
                      .steps = steps,
                      .step_count = count};
    return !k->watched || add_watch(plan, steps, arena);
}
