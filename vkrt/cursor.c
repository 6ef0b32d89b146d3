// SPDX-License-Identifier: MIT
// cursor.c: walking the steps of a plan, bodies of repeats included.
#include "vkrt/plan_internal.h"

bool vkrt_cursor_alloc(const vkrt_plan *plan, vkrt_cursor *c)
{
    size_t symbols = plan->plan->symbol_count + 1; // never an empty allocation
    c->frames = calloc(plan->max_depth + 1, sizeof *c->frames);
    c->symbols = calloc(symbols, sizeof *c->symbols);
    c->known = calloc(symbols, sizeof *c->known);
    return c->frames && c->symbols && c->known;
}

void vkrt_cursor_free(vkrt_cursor *c)
{
    free(c->frames);
    free(c->symbols);
    free(c->known);
    *c = (vkrt_cursor){0};
}

void vkrt_cursor_copy(const vkrt_plan *plan, vkrt_cursor *to, const vkrt_cursor *from)
{
    size_t symbols = plan->plan->symbol_count;
    to->step = from->step;
    to->depth = from->depth;
    to->part = from->part;
    memcpy(to->frames, from->frames, from->depth * sizeof *to->frames);
    memcpy(to->symbols, from->symbols, symbols * sizeof *to->symbols);
    memcpy(to->known, from->known, symbols * sizeof *to->known);
}

bool vkrt_cursor_equal(const vkrt_plan *plan, const vkrt_cursor *a, const vkrt_cursor *b)
{
    if (a->step != b->step || a->depth != b->depth || a->part != b->part) return false;
    for (uint32_t i = 0; i < a->depth; i++) {
        vkrt_frame f = a->frames[i], g = b->frames[i];
        if (f.step != g.step || f.iteration != g.iteration || f.count != g.count) return false;
    }
    for (uint32_t i = 0; i < plan->plan->symbol_count; i++)
        if (a->known[i] != b->known[i] || (a->known[i] && a->symbols[i] != b->symbols[i]))
            return false;
    return true;
}

void vkrt_cursor_reset(vkrt_plan *plan)
{
    vkrt_cursor *c = &plan->at;
    c->step = c->depth = 0;
    c->part = 0;
    for (uint32_t i = 0; i < plan->plan->symbol_count; i++) {
        c->known[i] = plan->sources[i] != VKRT_SOURCE_NONE;
        c->symbols[i] = c->known[i] ? plan->symbols[i] : 0;
    }
    plan->evaluated = plan->resized = false;
}

bool vkrt_cursor_settle(vkrt_plan *plan)
{
    vkrt_cursor *c = &plan->at;
    while (c->depth > 0) {
        vkrt_frame *f = &c->frames[c->depth - 1];
        if (c->step < f->end) break;
        uint32_t symbol = plan->plan->steps[f->step].symbol;
        plan->evaluated = false;
        plan->resized |= plan->sizing[symbol];
        if (++f->iteration < f->count) {
            c->symbols[symbol] = f->iteration;
            c->step = f->step + 1;
            break; // the body is not empty: an empty one is never entered
        }
        c->known[symbol] = false;
        c->step = f->end;
        c->depth--;
    }
    return c->step < plan->plan->step_count;
}

vkrt_status vkrt_cursor_repeat(vkrt_plan *plan, vkrt_error *error)
{
    vkrt_cursor *c = &plan->at;
    const vy_plan_step *s = &plan->plan->steps[c->step];
    int64_t count = 0;
    vkrt_status status = vkrt_plan_value(plan, s->expr, "the number of repetitions", &count, error);
    if (status) return status;
    uint32_t end = c->step + 1 + s->count;
    if (count <= 0 || s->count == 0) {
        c->step = end;
        return VKRT_OK;
    }
    c->frames[c->depth++] = (vkrt_frame){c->step, end, 0, count};
    c->symbols[s->symbol] = 0;
    c->known[s->symbol] = true;
    plan->evaluated = false;
    plan->resized |= plan->sizing[s->symbol];
    c->step++;
    return VKRT_OK;
}

vkrt_status vkrt_cursor_test(vkrt_plan *plan, vkrt_error *error)
{
    vkrt_cursor *c = &plan->at;
    int64_t goes_on = 0;
    const uint32_t expr = plan->plan->steps[c->step].expr;
    vkrt_status status = vkrt_plan_value(plan, expr, "the condition", &goes_on, error);
    if (!status && !goes_on) { // as after the last iteration
        vkrt_frame *f = &c->frames[c->depth - 1];
        f->count = f->iteration;
        c->step = f->end;
    } else {
        c->step++;
    }
    return status;
}

void vkrt_plan_invalidate(vkrt_plan *plan)
{
    for (uint32_t i = 0; i < VKRT_KEPT_SEGMENTS; i++) plan->segments[i].valid = false;
}
