// SPDX-License-Identifier: MIT
// barrier.c: memory barriers, and which accesses need one.
//
// Every hazard is resolved by one global memory barrier, which covers all earlier accesses at once.
// So it suffices to know, per buffer, whether it was read or written since the last barrier: an
// epoch number that each barrier increments.
#include "vkrt/plan_internal.h"

#define COMPUTE VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT
#define TRANSFER VK_PIPELINE_STAGE_TRANSFER_BIT

void vkrt_full_barrier(const vkrt_device *device, VkCommandBuffer commands,
                       VkPipelineStageFlags before, VkPipelineStageFlags after)
{
    VkMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
        .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
    };
    device->vk.vkCmdPipelineBarrier(commands, before, after, 0, 1, &barrier, 0, NULL, 0, NULL);
}

void vkrt_order(vkrt_plan *plan, vkrt_segment *segment, const vkrt_plan_buf *b, bool writes)
{
    bool written = b->write_epoch == plan->epoch, read = b->read_epoch == plan->epoch;
    if (!written && !(writes && read)) return;
    VkMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = (plan->pending & COMPUTE ? VK_ACCESS_SHADER_WRITE_BIT : 0) |
                         (plan->pending & TRANSFER ? VK_ACCESS_TRANSFER_WRITE_BIT : 0),
        .dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |
                         VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
    };
    plan->device->vk.vkCmdPipelineBarrier(segment->commands, plan->pending, COMPUTE | TRANSFER, 0,
                                          1, &barrier, 0, NULL, 0, NULL);
    plan->epoch++;
    plan->pending = 0;
    segment->barriers++;
}

void vkrt_note(vkrt_plan *plan, vkrt_plan_buf *b, bool writes, VkPipelineStageFlags stage)
{
    if (writes)
        b->write_epoch = plan->epoch;
    else
        b->read_epoch = plan->epoch;
    plan->pending |= stage;
}
