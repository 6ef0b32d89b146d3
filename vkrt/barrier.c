// SPDX-License-Identifier: MIT
// barrier.c: memory barriers, and which accesses need one.
//
// Every hazard is resolved by one global memory barrier, which covers all earlier accesses at once.
// So it suffices to know, per buffer, which bytes were read and which were written since the last
// barrier, whose number is the epoch.  Slices that share no byte need no barrier between them:
//
//   repeat t in 0..T { step(u[t], v[t]); }     no barrier: each v[t] is written once
//
// Bytes are those of descriptors, which begin where the device wants it, and so may be a few more
// than the slice has: the validation layers compare these.  A buffer has eight intervals (those
// that adjoin become one); what does not fit in them widens one, at the cost of a barrier too many.
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

static uint64_t end_of(vkrt_bound r) { return r.offset + r.bytes; }

static vkrt_bound hull(vkrt_bound a, vkrt_bound b)
{
    const uint64_t first = a.offset < b.offset ? a.offset : b.offset;
    const uint64_t end = end_of(a) > end_of(b) ? end_of(a) : end_of(b);
    return (vkrt_bound){first, end - first};
}

static bool contains_any(const vkrt_plan *plan, const vkrt_spans *s, vkrt_bound r)
{
    if (s->epoch != plan->epoch) return false;
    for (uint32_t i = 0; i < s->count; i++)
        if (r.offset < end_of(s->at[i]) && s->at[i].offset < end_of(r)) return true;
    return false;
}

static void include(const vkrt_plan *plan, vkrt_spans *s, vkrt_bound r)
{
    if (s->epoch != plan->epoch) *s = (vkrt_spans){.epoch = plan->epoch};
    for (uint32_t i = 0; i < s->count;) {
        const vkrt_bound old = s->at[i];
        const bool apart = r.offset > end_of(old) || old.offset > end_of(r);
        if (!apart) {
            r = hull(r, old);
            s->at[i] = s->at[--s->count];
        }
        i = apart ? i + 1 : 0; // it has grown: look at all again
    }
    if (s->count == VKRT_SPANS) r = hull(r, s->at[--s->count]);
    s->at[s->count++] = r;
}

void vkrt_order(vkrt_plan *plan, vkrt_segment *segment, const vkrt_plan_buf *b, vkrt_bound range,
                bool writes)
{
    if (!contains_any(plan, &b->written, range) && !(writes && contains_any(plan, &b->read, range)))
        return;
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

void vkrt_note(vkrt_plan *plan, vkrt_plan_buf *b, vkrt_bound range, bool writes,
               VkPipelineStageFlags stage)
{
    include(plan, writes ? &b->written : &b->read, range);
    plan->pending |= stage;
}
