// SPDX-License-Identifier: MIT
// device.c: opening a device, or wrapping one of the caller's.
#define _POSIX_C_SOURCE 200809L
#include "vkrt/internal.h"

#include <time.h>

#define DUMMY_BYTES 256

uint64_t vkrt_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

// A positive integer from the environment; 0: none.
static uint64_t env_number(const char *name)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : 0;
}

// A processor has no watchdog, and nothing else waits for it.
static void choose_parts(vkrt_device *device, const vkrt_device_desc *desc)
{
    const bool cpu = strcmp(device->physical.info.type, "CPU") == 0;
    const uint64_t ms = env_number("VYRE_PART_MS");
    device->part_ns = desc->part_ns ? desc->part_ns
                      : ms          ? ms * 1000000
                      : cpu         ? UINT64_MAX
                                    : VKRT_PART_NS;
    device->part_groups = desc->part_groups ? desc->part_groups : env_number("VYRE_PART_GROUPS");
}

// What every device needs, opened or wrapped: commands, the dummy buffer, the pipeline cache.
static vkrt_status set_up(vkrt_device *device, const vkrt_device_desc *desc, vkrt_error *error)
{
    device->force_staging = desc->force_staging;
    device->poison = env_number("VYRE_POISON") != 0;
    for (int i = 0; i < 3; i++) {
        uint32_t limit = device->physical.info.max_group_count[i];
        uint32_t asked = desc->max_group_count[i];
        device->max_group_count[i] = asked && asked < limit ? asked : limit;
    }
    choose_parts(device, desc);
    device->instance_vk.GetPhysicalDeviceMemoryProperties(device->physical.handle, &device->memory);
    VkCommandPoolCreateInfo pool = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
        .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
        .queueFamilyIndex = device->physical.queue_family,
    };
    VkResult r = device->vk.vkCreateCommandPool(device->handle, &pool, device->allocator,
                                                &device->command_pool);
    VkCommandBufferAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = device->command_pool,
        .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
        .commandBufferCount = 1,
    };
    if (r == VK_SUCCESS)
        r = device->vk.vkAllocateCommandBuffers(device->handle, &info, &device->transfer);
    VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    if (r == VK_SUCCESS)
        r = device->vk.vkCreateFence(device->handle, &fence, device->allocator,
                                     &device->transfer_fence);
    if (r != VK_SUCCESS) return vkrt_device_fail(device, error, r, "setting up the device");
    vkrt_status status =
        vkrt_buffer_create(device, DUMMY_BYTES, VKRT_MEMORY_DATA, &device->dummy, error);
    if (!status) status = vkrt_buffer_write(device, &device->dummy, 0, NULL, DUMMY_BYTES, error);
    if (!status) vkrt_cache_open(device, desc->cache_dir);
    return status;
}

static vkrt_status create_handle(vkrt_device *device, vkrt_error *error)
{
    vkrt_feature_chain chain;
    vkrt_status status = vkrt_enable_features(&device->instance_vk, &device->physical,
                                              device->features, &chain, error);
    if (status) return status;
    if (device->inspecting &&
        !vkrt_chain_has(&chain, VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME))
        return vkrt_fail(error, VKRT_MISSING_FEATURE, "choose another device or driver",
                         "'%.100s' does not report how it compiled kernels "
                         "(VK_KHR_pipeline_executable_properties)",
                         device->physical.info.name);
    chain.executables.pipelineExecutableInfo = device->inspecting;
    float priority = 1.0f;
    VkDeviceQueueCreateInfo queue = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
        .queueFamilyIndex = device->physical.queue_family,
        .queueCount = 1,
        .pQueuePriorities = &priority,
    };
    VkDeviceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
        .pNext = &chain.core,
        .queueCreateInfoCount = 1,
        .pQueueCreateInfos = &queue,
        .enabledExtensionCount = chain.extension_count,
        .ppEnabledExtensionNames = chain.extensions,
    };
    VkResult r = device->instance_vk.CreateDevice(device->physical.handle, &info, device->allocator,
                                                  &device->handle);
    if (r != VK_SUCCESS) return vkrt_device_fail(device, error, r, "opening the device");
    device->owns_handle = true;
    vkrt_load_device(&device->instance_vk, device->handle, &device->vk);
    device->vk.vkGetDeviceQueue(device->handle, device->physical.queue_family, 0, &device->queue);
    return VKRT_OK;
}

static void take_allocator(vkrt_device *device, const vkrt_device_desc *desc)
{
    if (!desc->allocator) return;
    device->callbacks = *(const VkAllocationCallbacks *)desc->allocator;
    device->allocator = &device->callbacks;
}

static vkrt_status finish(vkrt_device *device, vkrt_status status, vkrt_device **out)
{
    if (status) {
        vkrt_device_destroy(device);
        device = NULL;
    }
    *out = device;
    return status;
}

vkrt_status vkrt_device_create(vkrt_instance *instance, const vkrt_device_desc *desc,
                               vkrt_device **out, vkrt_error *error)
{
    *out = NULL;
    uint32_t index;
    vkrt_device_desc d;
    vkrt_status status =
        vkrt_take_desc(&d, sizeof d, VKRT_DEVICE_DESC_FIRST, desc, "vkrt_device_desc", error);
    if (!status) status = vkrt_instance_find_device(instance, d.device, &index, error);
    if (status) return status;
    vkrt_device *device = calloc(1, sizeof *device);
    if (!device) return vkrt_fail_memory(error);
    device->instance = instance;
    device->instance_vk = instance->vk;
    device->physical = instance->devices[index];
    device->features = device->physical.info.features & ~d.without;
    device->inspecting = d.inspect;
    take_allocator(device, &d);
    status = create_handle(device, error);
    if (!status && !device->inspecting) status = set_up(device, &d, error);
    return finish(device, status, out);
}

static vkrt_status adopt(vkrt_device *device, const vkrt_wrap_desc *wrap, vkrt_error *error)
{
    vkrt_global_table global;
    vkrt_status status = vkrt_load_global(wrap->loader, &global, error);
    if (status) return status;
    if (!vkrt_load_instance(&global, wrap->instance, &device->instance_vk))
        return vkrt_fail(error, VKRT_BAD_ARGUMENT,
                         "create the instance with apiVersion 1.1 or later",
                         "the wrapped VkInstance lacks functions of Vulkan 1.1");
    device->physical.handle = wrap->physical_device;
    uint32_t version = wrap->api_version ? wrap->api_version : VK_API_VERSION_1_1;
    status = vkrt_query_physical(&device->instance_vk, version, &device->physical, error);
    if (status) return status;
    if (device->physical.info.unusable)
        return vkrt_fail(error, VKRT_NO_DEVICE, "wrap another device",
                         "the wrapped device cannot be used: %s", device->physical.info.unusable);
    VkQueueFamilyProperties families[32];
    uint32_t count = 32;
    device->instance_vk.GetPhysicalDeviceQueueFamilyProperties(wrap->physical_device, &count,
                                                               families);
    if (wrap->queue_family >= count ||
        !(families[wrap->queue_family].queueFlags & VK_QUEUE_COMPUTE_BIT))
        return vkrt_fail(error, VKRT_BAD_ARGUMENT, "give a family with VK_QUEUE_COMPUTE_BIT",
                         "queue family %u cannot compute", wrap->queue_family);
    device->physical.queue_family = wrap->queue_family;
    device->physical.timestamp_bits = families[wrap->queue_family].timestampValidBits;
    if (device->physical.timestamp_bits == 0) device->physical.info.timestamp_ns = 0;
    device->handle = wrap->device;
    device->queue = wrap->queue;
    device->features = device->physical.info.features & (wrap->features | vkrt_property_features());
    vkrt_load_device(&device->instance_vk, device->handle, &device->vk);
    return VKRT_OK;
}

vkrt_status vkrt_device_wrap(const vkrt_wrap_desc *wrap, const vkrt_device_desc *desc,
                             vkrt_device **out, vkrt_error *error)
{
    *out = NULL;
    vkrt_wrap_desc w;
    vkrt_device_desc d;
    vkrt_status status =
        vkrt_take_desc(&w, sizeof w, VKRT_WRAP_DESC_FIRST, wrap, "vkrt_wrap_desc", error);
    if (!status)
        status =
            vkrt_take_desc(&d, sizeof d, VKRT_DEVICE_DESC_FIRST, desc, "vkrt_device_desc", error);
    if (status) return status;
    if (!w.instance || !w.physical_device || !w.device || !w.queue)
        return vkrt_fail(error, VKRT_BAD_ARGUMENT, "give all four",
                         "instance, physical device, device or queue is NULL");
    vkrt_device *device = calloc(1, sizeof *device);
    if (!device) return vkrt_fail_memory(error);
    take_allocator(device, &d);
    status = adopt(device, &w, error);
    device->features &= ~d.without;
    if (!status) status = set_up(device, &d, error);
    return finish(device, status, out);
}

void vkrt_device_abandon(vkrt_device *device)
{
    device->lost = device->abandoned = true;
    if (device->instance) device->instance->abandoned = true;
}

void vkrt_device_destroy(vkrt_device *device)
{
    if (!device) return;
    if (device->handle && device->vk.vkDestroyDevice) {
        // A wrapped device may have other users: wait for our queue only.  A lost one cannot wait.
        if (!device->lost && !device->inspecting) device->vk.vkQueueWaitIdle(device->queue);
        vkrt_cache_close(device);
        vkrt_pipelines_destroy(device);
        vkrt_buffer_destroy(device, &device->staging);
        vkrt_buffer_destroy(device, &device->dummy);
        vkrt_memory_destroy(device);
        if (!device->abandoned) {
            device->vk.vkDestroyFence(device->handle, device->transfer_fence, device->allocator);
            device->vk.vkDestroyCommandPool(device->handle, device->command_pool,
                                            device->allocator);
        }
        if (device->owns_handle && !device->abandoned)
            device->vk.vkDestroyDevice(device->handle, device->allocator);
    }
    free(device);
}

bool vkrt_device_is_abandoned(const vkrt_device *device) { return device && device->abandoned; }

const vkrt_device_info *vkrt_device_get_info(const vkrt_device *device)
{
    return &device->physical.info;
}

vy_features vkrt_device_features(const vkrt_device *device) { return device->features; }
