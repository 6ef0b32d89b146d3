// SPDX-License-Identifier: MIT
// hold.c: whose memory a plan's buffers are, its own or that of storages, and for how long.
#include "vkrt/plan_internal.h"

// Gives up what the buffer has, its own memory or a storage.
void vkrt_plan_release(vkrt_plan *plan, uint32_t b)
{
    vkrt_plan_buf *state = &plan->buffers[b];
    if (state->storage) {
        state->memory = (vkrt_buffer){0};
        vkrt_storage_destroy(state->storage);
        state->storage = NULL;
    } else {
        plan->stats.device_bytes -= state->memory.size;
        vkrt_buffer_destroy(plan->device, &state->memory);
    }
    state->contents = state->available = false;
    vkrt_plan_invalidate(plan); // recorded commands name it
    plan->prepared = false;
}

vkrt_status vkrt_plan_unrecorded(const vkrt_plan *plan, vkrt_error *error)
{
    if (plan->recordings == 0) return VKRT_OK;
    return vkrt_fail(error, VKRT_BUSY, "call vkrt_recording_free first, or make another plan",
                     "the plan was recorded, and its buffers would move");
}

vkrt_status vkrt_plan_own(vkrt_plan *plan, uint32_t b, vkrt_error *error)
{
    if (!plan->buffers[b].storage) return VKRT_OK;
    vkrt_status status = vkrt_plan_unrecorded(plan, error);
    if (!status) vkrt_plan_release(plan, b);
    return status;
}

// --- Before a run --------------------------------------------------------------------------------

static bool overlap(const vkrt_plan_buf *a, const vkrt_plan_buf *b)
{
    return a->memory.handle == b->memory.handle && a->memory.base < b->memory.base + b->bytes &&
           b->memory.base < a->memory.base + a->bytes;
}

// Hazards are looked for within each buffer of the plan, so no two may be the same memory.
vkrt_status vkrt_plan_check_bound(const vkrt_plan *plan, vkrt_error *error)
{
    const vy_plan_buffer *declared = plan->plan->buffers;
    for (uint32_t j = 1; j < plan->plan->buffer_count; j++) {
        if (!plan->buffers[j].storage) continue;
        for (uint32_t i = 0; i < j; i++) {
            const bool reads = declared[i].role == VY_ROLE_IN && declared[j].role == VY_ROLE_IN;
            if (reads || !plan->buffers[i].storage ||
                !overlap(&plan->buffers[i], &plan->buffers[j]))
                continue;
            return vkrt_fail(error, VKRT_BAD_ARGUMENT, "bind separate storages or parts of one",
                             "'%.100s' and '%.100s' are bound to memory that overlaps",
                             declared[i].name, declared[j].name);
        }
    }
    return VKRT_OK;
}

void vkrt_plan_hold(vkrt_plan *plan, bool runs)
{
    if (plan->holds == runs) return;
    plan->holds = runs;
    for (uint32_t b = 0; b < plan->plan->buffer_count; b++)
        if (plan->buffers[b].storage) plan->buffers[b].storage->busy += runs ? 1 : -1;
}
