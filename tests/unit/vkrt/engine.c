// SPDX-License-Identifier: MIT
// engine.c: see engine.h.
#include "tests/unit/vkrt/engine.h"

#include <dlfcn.h>
#include <stdio.h>

#undef NDEBUG
#include <assert.h>

static VkBool32 heard(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                      VkDebugUtilsMessageTypeFlagsEXT types,
                      const VkDebugUtilsMessengerCallbackDataEXT *data, void *user)
{
    (void)severity;
    (void)types;
    ((engine *)user)->messages++;
    fprintf(stderr, "%s\n", data->pMessage);
    return VK_FALSE;
}

static bool make_instance(engine *e)
{
    const char *layer = "VK_LAYER_KHRONOS_validation",
               *extension = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
    const VkValidationFeatureEnableEXT on =
        VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
    const VkValidationFeaturesEXT features = {.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
                                              .enabledValidationFeatureCount = 1,
                                              .pEnabledValidationFeatures = &on};
    const VkApplicationInfo app = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                   .apiVersion = VK_API_VERSION_1_2};
    const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                       .pNext = &features,
                                       .pApplicationInfo = &app,
                                       .enabledLayerCount = 1,
                                       .ppEnabledLayerNames = &layer,
                                       .enabledExtensionCount = 1,
                                       .ppEnabledExtensionNames = &extension};
    PFN_vkCreateInstance create = (PFN_vkCreateInstance)e->get(NULL, "vkCreateInstance");
    return create(&info, NULL, &e->instance) == VK_SUCCESS;
}

static void listen(engine *e)
{
    const VkDebugUtilsMessengerCreateInfoEXT info = {
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
        .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                           VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
        .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
        .pfnUserCallback = heard,
        .pUserData = e};
    assert(!e->CreateDebugUtilsMessengerEXT(e->instance, &info, NULL, &e->messenger));
}

static void make_device(engine *e)
{
    const float priority = 1;
    const VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                           .queueCount = 1,
                                           .pQueuePriorities = &priority};
    const VkPhysicalDeviceTimelineSemaphoreFeatures timeline = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES,
        .timelineSemaphore = VK_TRUE};
    const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                     .pNext = &timeline,
                                     .queueCreateInfoCount = 1,
                                     .pQueueCreateInfos = &queue};
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    assert(!e->CreateDevice(e->physical, &info, NULL, &e->device));
    e->GetDeviceQueue(e->device, 0, 0, &e->queue);
    assert(!e->CreateCommandPool(e->device, &pool, NULL, &e->pool));
}

bool engine_open(engine *e)
{
    uint32_t count = 1;
    *e = (engine){.library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL)};
    if (!e->library) return false;
    *(void **)&e->get = dlsym(e->library, "vkGetInstanceProcAddr");
    if (!make_instance(e)) return false;
#define X(name) e->name = (PFN_vk##name)e->get(e->instance, "vk" #name);
    ENGINE_FUNCTIONS(X)
#undef X
    listen(e);
    if (e->EnumeratePhysicalDevices(e->instance, &count, &e->physical) < 0 || !count) return false;
    make_device(e);
    return true;
}

void engine_close(engine *e)
{
    if (e->device) {
        e->DestroyCommandPool(e->device, e->pool, NULL);
        e->DestroyDevice(e->device, NULL);
    }
    if (e->instance) {
        e->DestroyDebugUtilsMessengerEXT(e->instance, e->messenger, NULL);
        e->DestroyInstance(e->instance, NULL);
    }
    if (e->library) dlclose(e->library);
}

static uint32_t memory_type(engine *e, uint32_t bits)
{
    const VkMemoryPropertyFlags wanted =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    VkPhysicalDeviceMemoryProperties memory;
    e->GetPhysicalDeviceMemoryProperties(e->physical, &memory);
    for (uint32_t i = 0; i < memory.memoryTypeCount; i++)
        if (bits >> i & 1 && (memory.memoryTypes[i].propertyFlags & wanted) == wanted) return i;
    return 0;
}

engine_buffer engine_make(engine *e, VkDeviceSize bytes)
{
    engine_buffer b;
    void *mapped;
    VkMemoryRequirements need;
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .size = bytes,
                                     .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                              VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                              VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    assert(!e->CreateBuffer(e->device, &info, NULL, &b.handle));
    e->GetBufferMemoryRequirements(e->device, b.handle, &need);
    const VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                           .allocationSize = need.size,
                                           .memoryTypeIndex = memory_type(e, need.memoryTypeBits)};
    assert(!e->AllocateMemory(e->device, &allocate, NULL, &b.memory));
    assert(!e->BindBufferMemory(e->device, b.handle, b.memory, 0));
    assert(!e->MapMemory(e->device, b.memory, 0, VK_WHOLE_SIZE, 0, &mapped));
    b.mapped = mapped;
    return b;
}

void engine_free(engine *e, engine_buffer *b)
{
    e->DestroyBuffer(e->device, b->handle, NULL);
    e->FreeMemory(e->device, b->memory, NULL);
}

VkCommandBuffer engine_begin(engine *e)
{
    VkCommandBuffer commands;
    const VkCommandBufferAllocateInfo info = {.sType =
                                                  VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                              .commandPool = e->pool,
                                              .commandBufferCount = 1};
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    assert(!e->AllocateCommandBuffers(e->device, &info, &commands));
    assert(!e->BeginCommandBuffer(commands, &begin));
    return commands;
}

void engine_submit(engine *e, VkCommandBuffer commands)
{
    const VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                               .commandBufferCount = 1,
                               .pCommandBuffers = &commands};
    assert(!e->QueueSubmit(e->queue, 1, &info, VK_NULL_HANDLE));
    assert(!e->QueueWaitIdle(e->queue));
}

VkSemaphore engine_timeline(engine *e)
{
    VkSemaphore s;
    const VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                            .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    const VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
                                        .pNext = &type};
    assert(!e->CreateSemaphore(e->device, &info, NULL, &s));
    return s;
}
