// SPDX-License-Identifier: MIT
// watch.c: buffers whose last value is there before the run ends (vkrt_plan_watch).
//
// The last step that writes a watched buffer is known: the submission ends behind it, and its
// successor is already on the device when the caller is notified.  Of loops only the outermost is
// cut, whose last iteration counts: a loop in it is one step.
//
//     repeat t in a..b { first(x, h)  second(h, y)  back(y, g2) | back(g2, g1) }     watch g2, g1
#include "vkrt/plan_internal.h"

enum { MOST_CUTS = 8 }; // of the VKRT_KEPT_SEGMENTS that are recorded once

static bool writes(const vy_plan *p, const vy_plan_step *s, uint32_t buffer)
{
    if (s->kind == VY_STEP_FILL || s->kind == VY_STEP_COPY) return s->buffer == buffer;
    if (s->kind != VY_STEP_DISPATCH) return false;
    const vy_kernel *k = &p->kernels[s->kernel];
    for (uint32_t i = 0; i < k->binding_count; i++)
        if (s->args[i].buffer == buffer && k->bindings[i].access != VY_ACCESS_IN) return true;
    return false;
}

static uint32_t end_of(const vy_plan *p, uint32_t repeat)
{
    return repeat + 1 + p->steps[repeat].count;
}

// Walks the steps that are not in a loop of a loop: for each, whether it or one inside writes it.
static vkrt_watched last_write(const vy_plan *p, uint32_t buffer)
{
    vkrt_watched w = {.buffer = buffer, .cut = UINT32_MAX, .loop = UINT32_MAX};
    uint32_t loop = UINT32_MAX;
    for (uint32_t s = 0, next; s < p->step_count; s = next) {
        const bool repeat = p->steps[s].kind == VY_STEP_REPEAT;
        if (loop != UINT32_MAX && s >= end_of(p, loop)) loop = UINT32_MAX;
        next = s + 1;
        if (repeat && loop == UINT32_MAX) {
            loop = s;
            continue;
        }
        if (repeat) next = end_of(p, s);
        for (uint32_t i = s; i < next; i++)
            if (writes(p, &p->steps[i], buffer)) w.cut = next, w.loop = loop;
    }
    return w;
}

// Is there anything to compute from here to the end of its loop, or of the plan?
static bool goes_on(const vy_plan *p, const vkrt_watched *w)
{
    const uint32_t end = w->loop == UINT32_MAX ? p->step_count : end_of(p, w->loop);
    for (uint32_t s = w->cut; s < end; s++)
        if (p->steps[s].kind == VY_STEP_DISPATCH) return true;
    return false;
}

static void cut(vkrt_plan *plan, const vkrt_watched *w, uint32_t *cuts)
{
    if (w->cut == UINT32_MAX || !goes_on(plan->plan, w) || *cuts == MOST_CUTS) return;
    *cuts += !plan->watching.ends[w->cut];
    plan->watching.ends[w->cut] = true;
}

void vkrt_watch_free(vkrt_plan *plan)
{
    free(plan->watching.buffers);
    free(plan->watching.ends);
    plan->watching = (vkrt_watching){0};
}

vkrt_status vkrt_plan_watch(vkrt_plan *plan, const vkrt_watch_desc *desc, vkrt_error *error)
{
    vkrt_watch_desc d;
    uint32_t cuts = 0;
    vkrt_status status = vkrt_take_desc(&d, sizeof d, 0, desc, "vkrt_watch_desc", error);
    if (status) return status;
    if (plan->in_flight)
        return vkrt_fail(error, VKRT_BUSY, "call vkrt_plan_wait first", "the plan is running");
    vkrt_watch_free(plan);
    vkrt_plan_invalidate(plan);
    if (!d.count) return VKRT_OK;
    vkrt_watching *w = &plan->watching;
    w->buffers = calloc(d.count, sizeof *w->buffers);
    w->ends = calloc((size_t)plan->plan->step_count + 1, sizeof *w->ends);
    if (!w->buffers || !w->ends) return vkrt_watch_free(plan), vkrt_fail_memory(error);
    for (uint32_t i = 0; i < d.count; i++) {
        uint32_t buffer;
        if (!vkrt_plan_find_buffer(plan, d.buffers[i], &buffer))
            return vkrt_watch_free(plan),
                   vkrt_fail(error, VKRT_BAD_ARGUMENT, "use one of its buffers",
                             "there is no buffer '%.100s'", d.buffers[i]);
        w->buffers[i] = last_write(plan->plan, buffer);
        cut(plan, &w->buffers[i], &cuts);
    }
    for (uint32_t i = 0; d.final_at && i < d.count; i++) {
        const uint32_t at = w->buffers[i].cut;
        d.final_at[i] = at != UINT32_MAX && w->ends[at] ? at : UINT32_MAX;
    }
    w->count = d.count;
    w->ready = d.ready;
    w->idle = d.idle;
    w->user = d.user;
    return VKRT_OK;
}

// Has all that writes it been done where a submission ended?  The cursor is settled.
static bool is_final(const vkrt_plan *plan, const vkrt_watched *w, const vkrt_cursor *at)
{
    if (w->cut == UINT32_MAX) return false;
    if (w->loop == UINT32_MAX) return at->step >= w->cut;
    const vkrt_frame *f = at->depth ? &at->frames[0] : NULL;
    if (!f || f->step != w->loop) return at->step >= end_of(plan->plan, w->loop);
    return f->iteration + 1 == f->count && at->step >= w->cut;
}

void vkrt_watch_note(vkrt_plan *plan, const vkrt_cursor *at)
{
    for (uint32_t i = 0; i < plan->watching.count; i++) {
        vkrt_watched *w = &plan->watching.buffers[i];
        w->final = is_final(plan, w, at);
    }
}

void vkrt_watch_notify(vkrt_plan *plan)
{
    for (uint32_t i = 0; i < plan->watching.count && plan->in_flight; i++) {
        vkrt_watched *w = &plan->watching.buffers[i];
        if (!w->final || w->notified) continue;
        w->notified = true;
        plan->watching.ready(plan->watching.user, i);
    }
}

void vkrt_watch_begin(vkrt_plan *plan)
{
    for (uint32_t i = 0; i < plan->watching.count; i++)
        plan->watching.buffers[i].notified = plan->watching.buffers[i].final = false;
}

bool vkrt_watch_notified(const vkrt_plan *plan, const char *name, uint32_t *buffer)
{
    if (!plan->in_flight || !vkrt_plan_find_buffer(plan, name, buffer)) return false;
    for (uint32_t i = 0; i < plan->watching.count; i++) {
        const vkrt_watched *w = &plan->watching.buffers[i];
        if (w->buffer == *buffer && w->notified) return true;
    }
    return false;
}
