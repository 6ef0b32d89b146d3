// SPDX-License-Identifier: MIT
// run.c: a run of a plan: segment by segment submit, wait, read back.
#include "vkrt/plan_internal.h"

#include <stdio.h>

// --- Readback ------------------------------------------------------------------------------------

static vkrt_status read_back(vkrt_plan *plan, vkrt_error *error)
{
    const vy_plan_step *step = &plan->plan->steps[plan->at.step];
    const vy_plan_buffer *declared = &plan->plan->buffers[step->buffer];
    const vkrt_plan_buf *b = &plan->buffers[step->buffer];
    int64_t index = 0;
    vkrt_plan_evaluate(plan);
    vkrt_status status = vkrt_plan_value(plan, step->expr, "the index to read back", &index, error);
    if (!status) status = vkrt_plan_need(plan, step->buffer, error);
    if (status) return status;
    uint64_t count = b->bytes / declared->elem_size;
    if (index < 0 || (uint64_t)index >= count)
        return vkrt_fail(error, VKRT_BAD_SHAPE, "check the index",
                         "cannot read back element %lld of buffer '%s', which has %llu",
                         (long long)index, declared->name, (unsigned long long)count);
    unsigned char element[8] = {0};
    status = vkrt_buffer_read(plan->device, &b->memory, (uint64_t)index * declared->elem_size,
                              element, declared->elem_size, error);
    if (status) return status;
    const int64_t value = vkrt_unpack_int(declared->type, element);
    if (value < 0 && declared->type[0] == 'u')
        return vkrt_fail(error, VKRT_BAD_SHAPE, "check what computes it",
                         "element %lld of buffer '%s' is %llu, which does not fit 63 bits",
                         (long long)index, declared->name, (unsigned long long)value);
    plan->at.symbols[step->symbol] = value;
    plan->at.known[step->symbol] = true;
    plan->at.step++;
    plan->evaluated = false;
    return VKRT_OK;
}

// --- Times ---------------------------------------------------------------------------------------

static uint64_t ticks_between(const vkrt_plan *plan, uint64_t from, uint64_t to)
{
    uint32_t bits = plan->device->physical.timestamp_bits;
    uint64_t mask = bits >= 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
    return (uint64_t)((double)((to - from) & mask) * plan->device->physical.info.timestamp_ns);
}

static bool reserve_times(vkrt_plan *plan, uint32_t more)
{
    uint32_t need = plan->stats.time_count + more;
    if (need <= plan->time_capacity) return true;
    uint32_t capacity = need + need / 2 + 16;
    vkrt_dispatch_time *grown = realloc(plan->times, capacity * sizeof *grown);
    if (!grown) return false;
    plan->times = grown;
    plan->time_capacity = capacity;
    return true;
}

static vkrt_status collect_times(vkrt_plan *plan, const vkrt_segment *s, vkrt_error *error)
{
    if (!s->queries) return vkrt_part_measured(plan, s, vkrt_now_ns() - s->submitted_ns), VKRT_OK;
    uint32_t count = 2 + 2 * s->timed_count;
    uint64_t few[2], *ticks = count > 2 ? calloc(count, sizeof *ticks) : few;
    if (!ticks || !reserve_times(plan, s->timed_count)) {
        if (ticks != few) free(ticks);
        return vkrt_fail_memory(error);
    }
    vkrt_device *device = plan->device;
    VkResult r =
        device->vk.vkGetQueryPoolResults(device->handle, s->queries, 0, count,
                                         count * sizeof *ticks, ticks, sizeof *ticks,
                                         VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
    if (r == VK_SUCCESS) {
        plan->stats.has_device_ns = true;
        plan->stats.device_ns += ticks_between(plan, ticks[0], ticks[1]);
        vkrt_part_measured(plan, s, ticks_between(plan, ticks[0], ticks[1]));
        uint32_t first = 0;
        if (s->timed_count && s->timed_continues && plan->stats.time_count) {
            plan->times[plan->stats.time_count - 1].ns += ticks_between(plan, ticks[2], ticks[3]);
            first = 1;
        }
        for (uint32_t i = first; i < s->timed_count; i++)
            plan->times[plan->stats.time_count++] = (vkrt_dispatch_time){
                .step = s->timed_steps[i],
                .kernel = plan->plan->kernels[plan->plan->steps[s->timed_steps[i]].kernel].name,
                .ns = ticks_between(plan, ticks[2 + 2 * i], ticks[3 + 2 * i]),
            };
        plan->stats.times = plan->times;
    }
    if (ticks != few) free(ticks);
    return r == VK_SUCCESS ? VKRT_OK : vkrt_device_fail(device, error, r, "reading timestamps");
}

// --- Segments ------------------------------------------------------------------------------------

// The segment that starts at the cursor, recorded now unless an earlier run did; advances the
// cursor.
static vkrt_status next_segment(vkrt_plan *plan, vkrt_segment **out, vkrt_error *error)
{
    uint32_t last = VKRT_KEPT_SEGMENTS - 1;
    vkrt_segment *s = &plan->segments[plan->segment_index < last ? plan->segment_index : last];
    plan->segment_index++;
    *out = s;
    vkrt_status status = vkrt_plan_provide_all(plan, error);
    if (status) return status;
    plan->resized = false;
    if (s->valid && vkrt_cursor_equal(plan, &s->start, &plan->at)) {
        vkrt_cursor_copy(plan, &plan->at, &s->end);
        plan->evaluated = false;
    } else {
        status = vkrt_record(plan, s, error);
        plan->stats.recorded++;
    }
    for (uint32_t i = 0; i < plan->plan->buffer_count; i++) plan->buffers[i].fresh = false;
    return status;
}

static vkrt_status submit_segment(vkrt_plan *plan, vkrt_segment *s, vkrt_error *error)
{
    vkrt_device *device = plan->device;
    const bool last = !vkrt_cursor_settle(plan);
    VkResult r = device->vk.vkResetFences(device->handle, 1, &s->fence);
    if (r == VK_SUCCESS) r = vkrt_semaphores_submit(plan, &s->commands, s->fence, last);
    if (r != VK_SUCCESS) return vkrt_device_fail(device, error, r, "submitting");
    plan->in_flight = s;
    s->submitted_ns = vkrt_now_ns();
    plan->stats.submissions++;
    plan->stats.dispatches += s->dispatches;
    plan->stats.barriers += s->barriers;
    return VKRT_OK;
}

// What the run still waits for or signals, once there is nothing to submit.
static vkrt_status signal_end(vkrt_plan *plan, vkrt_error *error)
{
    if (!plan->waits.count && !plan->signals.count) return VKRT_OK;
    const VkResult r = vkrt_semaphores_submit(plan, NULL, VK_NULL_HANDLE, true);
    return r == VK_SUCCESS ? VKRT_OK : vkrt_device_fail(plan->device, error, r, "submitting");
}

// Goes on until something is in flight or the plan is at its end.
static vkrt_status advance(vkrt_plan *plan, vkrt_error *error)
{
    // The first segment exists even without steps: it zeroes what starts as zero.
    for (bool more = true; (more = vkrt_cursor_settle(plan)) || plan->segment_index == 0;) {
        vkrt_status status;
        bool reads = more && plan->plan->steps[plan->at.step].kind == VY_STEP_READBACK;
        if (reads && plan->segment_index > 0) {
            status = read_back(plan, error);
            if (status) return status;
            continue;
        }
        vkrt_segment *segment;
        status = next_segment(plan, &segment, error);
        if (status) return status;
        if (segment->commands_count > 0) return submit_segment(plan, segment, error);
    }
    return signal_end(plan, error);
}

void vkrt_plan_begin(vkrt_plan *plan)
{
    for (uint32_t b = 0; b < plan->plan->buffer_count; b++)
        plan->buffers[b].available = plan->buffers[b].fresh = false;
    vkrt_cursor_reset(plan);
}

vkrt_status vkrt_plan_submit(vkrt_plan *plan, vkrt_error *error)
{
    return vkrt_plan_submit_with(plan, NULL, error);
}

vkrt_status vkrt_plan_submit_with(vkrt_plan *plan, const vkrt_submit_desc *desc, vkrt_error *error)
{
    vkrt_submit_desc with;
    vkrt_status status = vkrt_take_desc(&with, sizeof with, 0, desc, "vkrt_submit_desc", error);
    if (!status && (plan->in_flight || !plan->prepared)) status = vkrt_plan_prepare(plan, error);
    if (!status) status = vkrt_semaphores_take(plan, &with, error);
    if (status) return status;
    if (plan->device->lost)
        return vkrt_device_fail(plan->device, error, VK_ERROR_DEVICE_LOST, "submitting");
    const vkrt_stats was = plan->stats;
    plan->stats = (vkrt_stats){.device_bytes = was.device_bytes,
                               .workspace_bytes = was.workspace_bytes,
                               .uploaded_bytes = was.uploaded_bytes};
    plan->started_ns = vkrt_now_ns();
    plan->segment_index = 0;
    if (plan->remeasured) vkrt_plan_invalidate(plan);
    plan->remeasured = false;
    vkrt_plan_begin(plan);
    vkrt_watch_begin(plan);
    status = advance(plan, error);
    vkrt_plan_hold(plan, plan->in_flight != NULL);
    if (status) plan->prepared = false; // availability is unknown: prepare again next time
    return status;
}

static vkrt_status fail_timeout(const vkrt_segment *s, double seconds, const char *fix,
                                vkrt_error *error)
{
    const char *first = s->first_kernel ? s->first_kernel : "a copy", *last = s->last_kernel;
    const bool one = !last || strcmp(first, last) == 0;
    return vkrt_fail(error, VKRT_TIMEOUT, fix, "%.100s%s%.100s: not finished after %.3g s", first,
                     one ? "" : " to ", one ? "" : last, seconds);
}

// With something to do meanwhile: in slices.
static VkResult wait_fence(vkrt_plan *plan, const vkrt_segment *s, uint64_t left)
{
    enum { SLICE_NS = 100000 };
    const struct VolkDeviceTable *vk = &plan->device->vk;
    VkResult r = VK_TIMEOUT;
    while (plan->watching.idle && left > SLICE_NS) {
        r = vk->vkWaitForFences(plan->device->handle, 1, &s->fence, VK_TRUE, SLICE_NS);
        if (r != VK_TIMEOUT) return r;
        if (left != UINT64_MAX) left -= SLICE_NS;
        plan->watching.idle(plan->watching.user);
    }
    return vk->vkWaitForFences(plan->device->handle, 1, &s->fence, VK_TRUE, left);
}

// `each`: the timeout applies to each submission, not to all of them together.
static vkrt_status wait_for(vkrt_plan *plan, uint64_t timeout_ns, bool each, const char *fix,
                            vkrt_error *error)
{
    vkrt_device *device = plan->device;
    uint64_t began = vkrt_now_ns();
    vkrt_status status = VKRT_OK;
    while (!status && plan->in_flight) {
        uint64_t spent = vkrt_now_ns() - began;
        uint64_t left = timeout_ns == UINT64_MAX ? UINT64_MAX
                        : timeout_ns > spent     ? timeout_ns - spent
                                                 : 0;
        vkrt_segment *s = plan->in_flight;
        VkResult r = wait_fence(plan, s, left);
        if (r == VK_TIMEOUT) return fail_timeout(s, (double)timeout_ns * 1e-9, fix, error);
        plan->in_flight = NULL;
        if (r != VK_SUCCESS) {
            vkrt_plan_hold(plan, false);
            return vkrt_device_fail(device, error, r, "waiting for the device");
        }
        status = collect_times(plan, s, error);
        plan->stats.host_ns = vkrt_now_ns() - plan->started_ns;
        vkrt_watch_note(plan, &s->end); // before a later segment takes its place
        if (!status) status = advance(plan, error);
        if (status) plan->prepared = false;
        if (!status) vkrt_watch_notify(plan);
        if (each) began = vkrt_now_ns();
    }
    vkrt_plan_hold(plan, plan->in_flight != NULL);
    return status;
}

vkrt_status vkrt_plan_wait(vkrt_plan *plan, uint64_t timeout_ns, vkrt_error *error)
{
    return wait_for(plan, timeout_ns, false, "wait longer", error);
}

vkrt_status vkrt_plan_run(vkrt_plan *plan, vkrt_error *error)
{
    const uint64_t given = plan->desc.timeout_ns, most = given ? given : VKRT_TIMEOUT_NS;
    vkrt_status status = vkrt_plan_submit(plan, error);
    if (status) return status;
    status = wait_for(plan, most, true,
                      "look for a loop that does not end, use a smaller domain, or wait longer "
                      "(--timeout SECONDS, vkrt_plan_desc.timeout_ns)",
                      error);
    // A submission cannot be cancelled, so the objects that it uses are never freed.
    if (status == VKRT_TIMEOUT) vkrt_device_abandon(plan->device);
    return status;
}
