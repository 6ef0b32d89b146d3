// SPDX-License-Identifier: MIT
// semaphore.c: the caller's semaphores around a run (vkrt/engine.h).
//
// The first submission of the run waits, the last signals.  Which is the last is not always known
// when it is submitted (values read back decide), so an empty one may follow that only signals.
#include "vkrt/plan_internal.h"

void vkrt_semaphores_free(vkrt_semaphores *s)
{
    free(s->handles);
    *s = (vkrt_semaphores){0};
}

// One block: handles, values, stages.
static bool take(vkrt_semaphores *s, const vkrt_semaphore *from, uint32_t count)
{
    vkrt_semaphores_free(s);
    if (count == 0) return true;
    s->handles = calloc(count, sizeof *s->values + sizeof *s->handles + sizeof *s->stages);
    if (!s->handles) return false;
    s->values = (uint64_t *)(s->handles + count);
    s->stages = (VkPipelineStageFlags *)(s->values + count);
    s->count = count;
    for (uint32_t i = 0; i < count; i++) {
        s->handles[i] = (VkSemaphore)from[i].vk_semaphore;
        s->values[i] = from[i].value;
        s->stages[i] = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
        s->timeline |= from[i].value != 0;
    }
    return true;
}

vkrt_status vkrt_semaphores_take(vkrt_plan *plan, const vkrt_submit_desc *desc, vkrt_error *error)
{
    if (take(&plan->waits, desc->waits, desc->wait_count) &&
        take(&plan->signals, desc->signals, desc->signal_count))
        return VKRT_OK;
    vkrt_semaphores_free(&plan->waits);
    vkrt_semaphores_free(&plan->signals);
    return vkrt_fail_memory(error);
}

VkResult vkrt_semaphores_submit(vkrt_plan *plan, const VkCommandBuffer *commands, VkFence fence,
                                bool last)
{
    const vkrt_device *device = plan->device;
    vkrt_semaphores *waits = &plan->waits, *signals = &plan->signals;
    const uint32_t signalled = last ? signals->count : 0;
    const VkTimelineSemaphoreSubmitInfo values = {
        .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
        .waitSemaphoreValueCount = waits->count,
        .pWaitSemaphoreValues = waits->values,
        .signalSemaphoreValueCount = signalled,
        .pSignalSemaphoreValues = signals->values,
    };
    const VkSubmitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
        .pNext = waits->timeline || (signalled && signals->timeline) ? &values : NULL,
        .waitSemaphoreCount = waits->count,
        .pWaitSemaphores = waits->handles,
        .pWaitDstStageMask = waits->stages,
        .commandBufferCount = commands != NULL,
        .pCommandBuffers = commands,
        .signalSemaphoreCount = signalled,
        .pSignalSemaphores = signals->handles,
    };
    VkResult r = device->vk.vkQueueSubmit(device->queue, 1, &info, fence);
    if (r != VK_SUCCESS) return r;
    vkrt_semaphores_free(waits);
    if (last) vkrt_semaphores_free(signals);
    return r;
}
