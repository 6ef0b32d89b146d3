// SPDX-License-Identifier: MIT
// record.c: records the steps from the cursor on in one command buffer, with no more barriers than
// they need.
#include "vkrt/plan_internal.h"

#define COMPUTE VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT
#define TRANSFER VK_PIPELINE_STAGE_TRANSFER_BIT

// --- Segments ------------------------------------------------------------------------------------

static VkResult create_segment(vkrt_plan *plan, vkrt_segment *s)
{
    vkrt_device *device = plan->device;
    if (!s->start.frames && !vkrt_cursor_alloc(plan, &s->start)) return VK_ERROR_OUT_OF_HOST_MEMORY;
    if (!s->end.frames && !vkrt_cursor_alloc(plan, &s->end)) return VK_ERROR_OUT_OF_HOST_MEMORY;
    VkResult r = VK_SUCCESS;
    VkCommandBufferAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = device->command_pool,
        .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
        .commandBufferCount = 1,
    };
    if (!s->commands) r = device->vk.vkAllocateCommandBuffers(device->handle, &info, &s->commands);
    VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    if (r == VK_SUCCESS && !s->fence)
        r = device->vk.vkCreateFence(device->handle, &fence, device->allocator, &s->fence);
    if (r != VK_SUCCESS || s->queries || device->physical.timestamp_bits == 0) return r;
    s->timed_capacity = plan->desc.time_dispatches ? VKRT_TIMED_DISPATCHES : 0;
    VkQueryPoolCreateInfo queries = {
        .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
        .queryType = VK_QUERY_TYPE_TIMESTAMP,
        .queryCount = 2 + 2 * s->timed_capacity,
    };
    if (!s->timed_steps) s->timed_steps = calloc(s->timed_capacity + 1, sizeof *s->timed_steps);
    if (!s->timed_steps) return VK_ERROR_OUT_OF_HOST_MEMORY;
    return device->vk.vkCreateQueryPool(device->handle, &queries, device->allocator, &s->queries);
}

static void drop_bindings(vkrt_plan *plan, vkrt_segment *s)
{
    vkrt_device *device = plan->device;
    for (uint32_t i = 0; i < s->pool_count && !device->abandoned; i++)
        device->vk.vkDestroyDescriptorPool(device->handle, s->pools[i], device->allocator);
    s->pool_count = 0;
    while (s->params) {
        vkrt_param_chunk *chunk = s->params;
        s->params = chunk->next;
        vkrt_buffer_destroy(device, &chunk->buffer);
        free(chunk);
    }
    s->param_used = 0;
}

void vkrt_segment_destroy(vkrt_plan *plan, vkrt_segment *s)
{
    vkrt_device *device = plan->device;
    drop_bindings(plan, s);
    if (!device->abandoned) {
        if (s->commands)
            device->vk.vkFreeCommandBuffers(device->handle, device->command_pool, 1, &s->commands);
        device->vk.vkDestroyFence(device->handle, s->fence, device->allocator);
        device->vk.vkDestroyQueryPool(device->handle, s->queries, device->allocator);
    }
    vkrt_cursor_free(&s->start);
    vkrt_cursor_free(&s->end);
    free(s->timed_steps);
    *s = (vkrt_segment){0};
}

static vkrt_status loops_ended(const vkrt_plan *plan, int64_t kernel, vkrt_error *error)
{
    const vkrt_device_info *info = vkrt_device_get_info(plan->device);
    const vy_plan *p = plan->plan;
    const bool known = kernel >= 0 && kernel < p->kernel_count;
    return vkrt_fail(
        error, VKRT_LIMIT,
        "run fewer iterations per invocation, on another device, or in the interpreter",
        "%.100s: '%.100s' left a loop before it was done; it ends the loops of an "
        "invocation after %u iterations",
        known ? p->kernels[kernel].name : p->name, info->name, info->loop_iteration_limit);
}

// Depends on nothing that a submission computes, as values read back end a segment.
static vkrt_status check(const vkrt_plan *plan, const vy_plan_step *step, vkrt_error *error)
{
    int64_t v = 0, limit = 0;
    vkrt_status status = vkrt_plan_value(plan, step->expr, step->text, &v, error);
    if (!status) status = vkrt_plan_value(plan, step->limit, step->text, &limit, error);
    if (status) return status;
    if (step->check == VY_CHECK_BELOW ? v >= 0 && v < limit : v == limit) return VKRT_OK;
    if (step->check == VY_CHECK_LOOPS) return loops_ended(plan, v - 2, error);
    return vkrt_fail(error, VKRT_CHECK, "check the scalars and shapes",
                     step->check == VY_CHECK_EQUAL ? "%s: %lld and %lld" : "%s: %lld of %lld",
                     step->text, (long long)v, (long long)limit);
}

// Walks and records until the segment is full, the plan ends, a value must be read back or a buffer
// gets another shape.
static vkrt_status record_steps(vkrt_plan *plan, vkrt_segment *s, vkrt_error *error)
{
    vkrt_status status = VKRT_OK;
    uint32_t most = s->timed_capacity ? s->timed_capacity : VKRT_SEGMENT_DISPATCHES;
    bool ends = false;
    for (s->visited = 0; !status && vkrt_cursor_settle(plan); s->visited++) {
        if ((s->visited >= most && !s->external) || plan->resized || ends) break;
        uint32_t at = plan->at.step;
        if (s->visited && !s->external && plan->watching.ends && plan->watching.ends[at]) break;
        const vy_plan_step *step = &plan->plan->steps[at];
        if (step->kind == VY_STEP_READBACK) break;
        vkrt_plan_evaluate(plan);
        switch (step->kind) {
        case VY_STEP_REPEAT: status = vkrt_cursor_repeat(plan, error); continue;
        case VY_STEP_TEST: status = vkrt_cursor_test(plan, error); continue;
        case VY_STEP_DISPATCH:
            status = vkrt_record_dispatch(plan, s, at, &ends, error);
            if (ends && plan->at.step == at) return status; // the rest of it comes next
            continue;
        case VY_STEP_FILL: status = vkrt_record_fill(plan, s, step, error); break;
        case VY_STEP_CHECK: status = check(plan, step, error); break;
        default: status = vkrt_record_copy(plan, s, step, error); break;
        }
        plan->at.step++;
    }
    return status;
}

// Does it hold anything at the start, while tests look for reads of that?
static bool is_poisoned(const vkrt_plan *plan, uint32_t buffer)
{
    const vy_role role = plan->plan->buffers[buffer].role;
    return plan->device->poison && !plan->buffers[buffer].zero_first &&
           (role == VY_ROLE_WORKSPACE || role == VY_ROLE_OUT);
}

vkrt_status vkrt_record_commands(vkrt_plan *plan, vkrt_segment *s, VkPipelineStageFlags before,
                                 VkPipelineStageFlags after, vkrt_error *error)
{
    const struct VolkDeviceTable *vk = &plan->device->vk;
    s->commands_count = s->dispatches = s->barriers = s->timed_count = s->pieces = 0;
    s->planned_ns = 0;
    s->sole = NULL;
    s->first_kernel = s->last_kernel = NULL;
    plan->generation++;
    plan->epoch++;
    plan->pending = 0;
    if (s->queries) {
        vk->vkCmdResetQueryPool(s->commands, s->queries, 0, 2 + 2 * s->timed_capacity);
        vk->vkCmdWriteTimestamp(s->commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, s->queries, 0);
    }
    vkrt_full_barrier(plan->device, s->commands, before, COMPUTE | TRANSFER);
    for (uint32_t i = 0; i < plan->plan->buffer_count; i++) {
        vkrt_plan_buf *b = &plan->buffers[i];
        if (b->fresh && b->zero_first) vkrt_zero(plan, s, b, 0, b->bytes);
        if (b->fresh && is_poisoned(plan, i)) vkrt_poison(plan, s, b);
    }
    vkrt_status status = record_steps(plan, s, error);
    if (s->queries)
        vk->vkCmdWriteTimestamp(s->commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, s->queries, 1);
    vkrt_full_barrier(plan->device, s->commands, COMPUTE | TRANSFER, after);
    return status;
}

vkrt_status vkrt_record(vkrt_plan *plan, vkrt_segment *s, vkrt_error *error)
{
    const struct VolkDeviceTable *vk = &plan->device->vk;
    s->valid = false;
    drop_bindings(plan, s);
    VkResult r = create_segment(plan, s);
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    if (r == VK_SUCCESS) r = vk->vkBeginCommandBuffer(s->commands, &begin);
    if (r != VK_SUCCESS) return vkrt_device_fail(plan->device, error, r, "recording");
    vkrt_cursor_copy(plan, &s->start, &plan->at);
    // Waiting for a fence does not make an earlier submission's writes visible to this one.
    vkrt_status status =
        vkrt_record_commands(plan, s, COMPUTE | TRANSFER, VK_PIPELINE_STAGE_HOST_BIT, error);
    r = vk->vkEndCommandBuffer(s->commands);
    if (!status && r != VK_SUCCESS) status = vkrt_device_fail(plan->device, error, r, "recording");
    if (status) return status;
    vkrt_cursor_copy(plan, &s->end, &plan->at);
    s->valid = true;
    return VKRT_OK;
}
