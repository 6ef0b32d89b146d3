// SPDX-License-Identifier: MIT
// planner.c: steps, expressions and checks of a plan under construction.
#include "spirv/plan/planner.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void *vy_planner_room(vy_planner *w, size_t count, size_t size)
{
    void *block = vy_arena_alloc(w->d.arena, (count + 1) * size);
    if (!block) w->d.oom = true;
    return block;
}

void vy_planner_step(vy_planner *w, vy_plan_step s)
{
    if (!vy_vec_push(&w->steps, s)) w->d.oom = true;
}

uint32_t vy_planner_const(vy_planner *w, int64_t value)
{
    return vy_describe_expr(&w->d, (vy_expr){.op = VY_EXPR_CONST, .value = value});
}

const char *vy_planner_print(vy_planner *w, const char *format, ...)
{
    char text[300];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    char *copy = vy_arena_strdup(w->d.arena, text, strlen(text));
    if (!copy) w->d.oom = true;
    return copy ? copy : "";
}

void vy_planner_fill(vy_planner *w, uint32_t buffer, uint64_t pattern, const vy_plan_part *part)
{
    vy_planner_step(w, (vy_plan_step){.kind = VY_STEP_FILL,
                                      .buffer = buffer,
                                      .pattern = pattern,
                                      .part = part});
}

void vy_planner_copy(vy_planner *w, uint32_t to, uint32_t from, const vy_plan_part *part)
{
    vy_planner_step(
        w, (vy_plan_step){.kind = VY_STEP_COPY, .buffer = to, .source = from, .part = part});
}

void vy_planner_check(vy_planner *w, vy_check how, uint32_t expr, uint32_t limit, const char *text)
{
    if (w->d.oom || (how == VY_CHECK_EQUAL && expr == limit)) return;
    const vy_expr *e = &w->d.exprs.data[expr], *l = &w->d.exprs.data[limit];
    const bool constants = e->op == VY_EXPR_CONST && l->op == VY_EXPR_CONST;
    if (how == VY_CHECK_BELOW && constants && e->value >= 0 && e->value < l->value) return;
    vy_planner_step(w, (vy_plan_step){.kind = VY_STEP_CHECK,
                                      .check = how,
                                      .expr = expr,
                                      .limit = limit,
                                      .text = text});
}

// Element number of buffer[index…] as an expression, each index checked.
uint32_t vy_planner_element(vy_planner *w, const vy_pipe_step *s, vy_buffer b, uint32_t rank,
                            const vy_dim *index)
{
    const vy_plan_buffer *buffer = &w->buffers.data[vy_planner_buffer(b)];
    char line[120];
    uint32_t at = vy_planner_const(w, 0);
    for (uint32_t k = 0; k < buffer->rank && !w->d.oom; k++) {
        if (k) at = vy_describe_binary(&w->d, VY_EXPR_MUL, at, buffer->dims[k]);
        if (k >= rank) continue;
        const uint32_t i = vy_describe_dim(&w->d, index[k]);
        vy_planner_check(w, VY_CHECK_BELOW, i, buffer->dims[k],
                         vy_planner_print(w, "%s: index %u of `%.80s` is out of range",
                                          vy_planner_line(w, s, line), k, buffer->name));
        at = k ? vy_describe_binary(&w->d, VY_EXPR_ADD, at, i) : i;
    }
    return at;
}
