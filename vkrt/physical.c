// SPDX-License-Identifier: MIT
// physical.c: fills vkrt_device_info from Vulkan's queries.
#include "vkrt/internal.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct property_chain {
    VkPhysicalDeviceProperties2 core;
    VkPhysicalDeviceSubgroupProperties subgroup;
    VkPhysicalDeviceMaintenance3Properties maintenance3;
    VkPhysicalDeviceFloatControlsProperties floats;
    VkPhysicalDeviceDriverProperties driver;
} property_chain;

static void query_properties(const vkrt_instance_table *vk, VkPhysicalDevice handle,
                             uint32_t version, const vkrt_feature_chain *features,
                             property_chain *p)
{
    *p = (property_chain){
        .core = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &p->subgroup, {0}},
        .subgroup = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES,
                     .pNext = &p->maintenance3},
        .maintenance3 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES},
        .floats = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES},
        .driver = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES},
    };
    void **tail = &p->maintenance3.pNext;
    bool core = version >= VK_API_VERSION_1_2;
    if (core || vkrt_chain_has(features, "VK_KHR_shader_float_controls")) {
        *tail = &p->floats;
        tail = &p->floats.pNext;
    }
    if (core || vkrt_chain_has(features, "VK_KHR_driver_properties")) *tail = &p->driver;
    vk->GetPhysicalDeviceProperties2(handle, &p->core);
}

static const char *type_text(VkPhysicalDeviceType type)
{
    switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return "discrete GPU";
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return "integrated GPU";
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU: return "virtual GPU";
    case VK_PHYSICAL_DEVICE_TYPE_CPU: return "CPU";
    default: return "other";
    }
}

static void fill_identity(vkrt_device_info *info, const property_chain *p)
{
    const VkPhysicalDeviceProperties *d = &p->core.properties;
    snprintf(info->name, sizeof info->name, "%s", d->deviceName);
    if (p->driver.driverName[0])
        snprintf(info->driver, sizeof info->driver, "%s %s", p->driver.driverName,
                 p->driver.driverInfo);
    else
        snprintf(info->driver, sizeof info->driver, "version 0x%x", d->driverVersion);
    info->driver_id = p->driver.driverID;
    const char *info_text = p->driver.driverInfo + strcspn(p->driver.driverInfo, "0123456789");
    info->driver_major = (uint32_t)strtoul(info_text, NULL, 10);
    // LP_MAX_TGSI_LOOP_ITERATIONS of Mesa's gallivm, and LP_MAX_TGSI_NESTING, where an `else` is
    // lost already
    if (p->driver.driverID == VK_DRIVER_ID_MESA_LLVMPIPE) {
        info->loop_iteration_limit = 65535;
        info->nesting_limit = 79;
    }
    info->type = type_text(d->deviceType);
    info->api_version = d->apiVersion;
    info->driver_version = d->driverVersion;
    info->vendor_id = d->vendorID;
    info->device_id = d->deviceID;
    memcpy(info->cache_uuid, d->pipelineCacheUUID, sizeof info->cache_uuid);
}

static void fill_limits(vkrt_device_info *info, const property_chain *p)
{
    const VkPhysicalDeviceLimits *l = &p->core.properties.limits;
    info->subgroup_size = p->subgroup.subgroupSize;
    memcpy(info->max_workgroup_size, l->maxComputeWorkGroupSize, sizeof info->max_workgroup_size);
    memcpy(info->max_group_count, l->maxComputeWorkGroupCount, sizeof info->max_group_count);
    info->max_workgroup_invocations = l->maxComputeWorkGroupInvocations;
    info->max_shared_bytes = l->maxComputeSharedMemorySize;
    info->max_push_constant_bytes = l->maxPushConstantsSize;
    info->max_sets = l->maxBoundDescriptorSets;
    info->max_storage_buffers = l->maxPerStageDescriptorStorageBuffers;
    info->max_allocations = l->maxMemoryAllocationCount;
    info->max_storage_buffer_bytes = l->maxStorageBufferRange;
    info->max_allocation_bytes = p->maintenance3.maxMemoryAllocationSize;
    info->storage_buffer_alignment = l->minStorageBufferOffsetAlignment;
    info->timestamp_ns = (double)l->timestampPeriod;
}

static void fill_queue(const vkrt_instance_table *vk, vkrt_physical *physical)
{
    VkQueueFamilyProperties families[32];
    uint32_t count = 32;
    vk->GetPhysicalDeviceQueueFamilyProperties(physical->handle, &count, families);
    physical->queue_family = UINT32_MAX;
    for (uint32_t i = 0; i < count; i++) {
        if (!(families[i].queueFlags & VK_QUEUE_COMPUTE_BIT)) continue;
        bool better = families[i].timestampValidBits > physical->timestamp_bits;
        if (physical->queue_family != UINT32_MAX && !better) continue;
        physical->queue_family = i;
        physical->timestamp_bits = families[i].timestampValidBits;
    }
    if (physical->timestamp_bits == 0) physical->info.timestamp_ns = 0;
    if (physical->queue_family == UINT32_MAX) physical->info.unusable = "it has no compute queue";
}

static uint32_t spirv_version(uint32_t version, const vkrt_feature_chain *chain)
{
    if (version >= VK_API_VERSION_1_3) return 0x00010600;
    if (version >= VK_API_VERSION_1_2) return 0x00010500;
    return vkrt_chain_has(chain, "VK_KHR_spirv_1_4") ? 0x00010400 : 0x00010300;
}

vkrt_status vkrt_query_physical(const vkrt_instance_table *vk, uint32_t instance_version,
                                vkrt_physical *physical, vkrt_error *error)
{
    vkrt_device_info *info = &physical->info;
    VkPhysicalDeviceProperties basic; // the only query that a 1.0 device is sure to answer
    vk->GetPhysicalDeviceProperties(physical->handle, &basic);
    uint32_t version = basic.apiVersion < instance_version ? basic.apiVersion : instance_version;
    property_chain p = {.core.properties = basic};
    if (version < VK_API_VERSION_1_1) {
        fill_identity(info, &p);
        fill_limits(info, &p);
        info->unusable = "it offers Vulkan 1.0 only, 1.1 is needed";
        return VKRT_OK;
    }
    vkrt_feature_chain chain;
    vkrt_status status = vkrt_chain_build(vk, physical->handle, version, &chain, error);
    if (status) return status;
    vk->GetPhysicalDeviceFeatures2(physical->handle, &chain.core);
    query_properties(vk, physical->handle, version, &chain, &p);
    fill_identity(info, &p);
    fill_limits(info, &p);
    info->api_version = version;
    info->features = vkrt_chain_features(&chain, &p.subgroup, &p.floats);
    info->max_spirv_version = spirv_version(version, &chain);
    VkPhysicalDeviceMemoryProperties memory;
    vk->GetPhysicalDeviceMemoryProperties(physical->handle, &memory);
    for (uint32_t i = 0; i < memory.memoryHeapCount; i++) {
        VkMemoryHeap heap = memory.memoryHeaps[i];
        if ((heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) && heap.size > info->device_memory_bytes)
            info->device_memory_bytes = heap.size;
    }
    fill_queue(vk, physical);
    return VKRT_OK;
}
