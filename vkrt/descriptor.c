// SPDX-License-Identifier: MIT
// descriptor.c: descriptor sets and parameter memory of a segment.  Both live as long as its
// commands.
#include "vkrt/plan_internal.h"

static bool pushed(const vy_kernel *k) { return k->param_set == VY_NO_BINDING; }

vkrt_status vkrt_param_room(vkrt_plan *plan, vkrt_segment *segment, uint32_t bytes,
                            uint32_t *offset, vkrt_error *error)
{
    uint64_t align = plan->device->physical.info.storage_buffer_alignment;
    uint64_t at = (segment->param_used + align - 1) / align * align;
    if (!segment->params || at + bytes > segment->params->buffer.size) {
        vkrt_param_chunk *chunk = calloc(1, sizeof *chunk);
        if (!chunk) return vkrt_fail_memory(error);
        uint32_t size = bytes > VKRT_PARAM_CHUNK_BYTES ? bytes : VKRT_PARAM_CHUNK_BYTES;
        vkrt_status status =
            vkrt_buffer_create(plan->device, size, VKRT_MEMORY_HOST, &chunk->buffer, error);
        if (status) {
            free(chunk);
            return status;
        }
        chunk->next = segment->params;
        segment->params = chunk;
        at = 0;
    }
    *offset = (uint32_t)at;
    segment->param_used = (uint32_t)at + bytes;
    return VKRT_OK;
}

static VkResult add_pool(vkrt_plan *plan, vkrt_segment *segment, uint32_t sets, uint32_t buffers)
{
    if (segment->pool_count == VKRT_MAX_POOLS) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    uint32_t times = 16u << (segment->pool_count < 12 ? segment->pool_count : 12);
    VkDescriptorPoolSize sizes[] = {
        {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, times * (buffers + 1)},
        {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC, times},
    };
    VkDescriptorPoolCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
        .maxSets = times * sets,
        .poolSizeCount = 2,
        .pPoolSizes = sizes,
    };
    VkResult r = plan->device->vk.vkCreateDescriptorPool(plan->device->handle, &info,
                                                         plan->device->allocator,
                                                         &segment->pools[segment->pool_count]);
    if (r != VK_SUCCESS) return r;
    segment->pool_count++;
    segment->sets_left = info.maxSets;
    segment->buffers_left = sizes[0].descriptorCount;
    segment->dynamic_left = sizes[1].descriptorCount;
    return VK_SUCCESS;
}

// Pools are counted here, since drivers differ in whether they notice that one is used up.
static VkResult allocate_sets(vkrt_plan *plan, vkrt_segment *segment, const vkrt_pipeline *p,
                              uint32_t buffers, VkDescriptorSet *sets)
{
    bool room = segment->pool_count > 0 && segment->sets_left >= p->set_count &&
                segment->buffers_left >= buffers && segment->dynamic_left > 0;
    VkResult r = room ? VK_SUCCESS : add_pool(plan, segment, p->set_count, buffers);
    if (r != VK_SUCCESS) return r;
    VkDescriptorSetAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
        .descriptorPool = segment->pools[segment->pool_count - 1],
        .descriptorSetCount = p->set_count,
        .pSetLayouts = p->set_layouts,
    };
    segment->sets_left -= p->set_count;
    segment->buffers_left -= buffers;
    segment->dynamic_left--;
    return plan->device->vk.vkAllocateDescriptorSets(plan->device->handle, &info, sets);
}

// What is bound where: plan->infos are within the plan's buffers, which may begin inside a
// VkBuffer.
static VkDescriptorBufferInfo placed(const vkrt_plan *plan, const vy_plan_step *step, uint32_t i)
{
    VkDescriptorBufferInfo info = plan->infos[i];
    const bool param = i == plan->plan->kernels[step->kernel].binding_count;
    if (!param && info.buffer != plan->device->dummy.handle)
        info.offset += plan->buffers[step->args[i].buffer].memory.base;
    return info;
}

static bool is_same(const VkDescriptorBufferInfo *a, const VkDescriptorBufferInfo *b)
{
    return a->buffer == b->buffer && a->offset == b->offset && a->range == b->range;
}

vkrt_status vkrt_descriptors(vkrt_plan *plan, vkrt_segment *segment, uint32_t step,
                             vkrt_error *error)
{
    const vy_kernel *k = &plan->plan->kernels[plan->plan->steps[step].kernel];
    const vkrt_pipeline *p = plan->pipelines[plan->plan->steps[step].kernel];
    vkrt_step_sets *last = &plan->step_sets[step];
    uint32_t count = k->binding_count + !pushed(k);
    if (p->set_count == 0) return VKRT_OK;
    if (!pushed(k))
        plan->infos[k->binding_count] =
            (VkDescriptorBufferInfo){segment->params->buffer.handle, 0, k->param_bytes};
    bool same = last->segment == segment && last->generation == plan->generation;
    for (uint32_t i = 0; i < count; i++) {
        const VkDescriptorBufferInfo info = placed(plan, &plan->plan->steps[step], i);
        same = same && is_same(&last->key[i], &info);
        last->key[i] = info;
    }
    if (same) return VKRT_OK;
    last->segment = NULL;
    VkResult r = allocate_sets(plan, segment, p, k->binding_count, last->sets);
    if (r != VK_SUCCESS) return vkrt_device_fail(plan->device, error, r, "binding buffers");
    for (uint32_t i = 0; i < count; i++) {
        bool param = i == k->binding_count;
        plan->writes[i] = (VkWriteDescriptorSet){
            .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
            .dstSet = last->sets[param ? k->param_set : k->bindings[i].set],
            .dstBinding = param ? k->param_binding : k->bindings[i].binding,
            .descriptorCount = 1,
            .descriptorType = param ? VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC
                                    : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
            .pBufferInfo = &last->key[i],
        };
    }
    plan->device->vk.vkUpdateDescriptorSets(plan->device->handle, count, plan->writes, 0, NULL);
    last->segment = segment;
    last->generation = plan->generation;
    return VKRT_OK;
}
