// SPDX-License-Identifier: MIT
// gpu.c: see gpu.h.
#include "gpu.h"

#include "manifest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool good(VkResult r, const char *what)
{
    return r == VK_SUCCESS || wrong("%s failed with VkResult %d", what, (int)r);
}

static VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                                 VkDebugUtilsMessageTypeFlagsEXT type,
                                                 const VkDebugUtilsMessengerCallbackDataEXT *data,
                                                 void *user)
{
    (void)severity, (void)type;
    ++*(uint32_t *)user;
    fprintf(stderr, "%s\n", data->pMessage);
    return VK_FALSE;
}

static bool open_instance(gpu *g)
{
    const char *wanted = getenv("VYRE_VALIDATION");
    const bool validate = wanted && *wanted && strcmp(wanted, "0") != 0;
    VkDebugUtilsMessengerCreateInfoEXT messenger = {
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
        .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                           VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
        .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
        .pfnUserCallback = on_message,
        .pUserData = &g->messages,
    };
    const VkValidationFeatureEnableEXT sync =
        VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
    const VkValidationFeaturesEXT features = {.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
                                              .pNext = &messenger,
                                              .enabledValidationFeatureCount = 1,
                                              .pEnabledValidationFeatures = &sync};
    const char *layer = "VK_LAYER_KHRONOS_validation";
    const char *extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME,
                                VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME};
    const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                           .pApplicationName = "vulkan_only",
                                           .apiVersion = VK_API_VERSION_1_2};
    const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                       .pNext = validate ? &features : NULL,
                                       .pApplicationInfo = &application,
                                       .enabledLayerCount = validate,
                                       .ppEnabledLayerNames = &layer,
                                       .enabledExtensionCount = validate ? 2 : 0,
                                       .ppEnabledExtensionNames = extensions};
    if (!good(vkCreateInstance(&info, NULL, &g->instance), "vkCreateInstance")) return false;
    PFN_vkCreateDebugUtilsMessengerEXT create =
        (PFN_vkCreateDebugUtilsMessengerEXT)vkGetInstanceProcAddr(g->instance,
                                                                  "vkCreateDebugUtilsMessengerEXT");
    return !validate || (create && good(create(g->instance, &messenger, NULL, &g->messenger),
                                        "vkCreateDebugUtilsMessengerEXT"));
}

// The device features that the manifest can name and this example can enable.
typedef struct features {
    VkPhysicalDeviceFeatures2 core;
    VkPhysicalDevice16BitStorageFeatures storage16;
    VkPhysicalDeviceVulkan12Features v12;
    VkPhysicalDeviceShaderAtomicFloatFeaturesEXT atomics; // an extension
} features;

static const struct {
    const char *name;
    size_t at; // of its VkBool32 in `features`
} known_features[] = {
#define FEATURE(name, field)                                                                       \
    {                                                                                              \
        name, offsetof(features, field)                                                            \
    }
    FEATURE("shader_float64", core.features.shaderFloat64),
    FEATURE("shader_int64", core.features.shaderInt64),
    FEATURE("shader_int16", core.features.shaderInt16),
    FEATURE("storage_buffer_16bit_access", storage16.storageBuffer16BitAccess),
    FEATURE("storage_buffer_8bit_access", v12.storageBuffer8BitAccess),
    FEATURE("shader_float16", v12.shaderFloat16),
    FEATURE("shader_int8", v12.shaderInt8),
    FEATURE("shader_atomic_int64", v12.shaderBufferInt64Atomics),
    FEATURE("shader_atomic_int64_shared", v12.shaderSharedInt64Atomics),
    FEATURE("shader_atomic_float", atomics.shaderBufferFloat32AtomicAdd),
#undef FEATURE
};

static void chain(features *f)
{
    *f = (features){.core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                    .storage16.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES,
                    .v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                    .atomics.sType =
                        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT};
    f->core.pNext = &f->storage16;
    f->storage16.pNext = &f->v12;
    f->v12.pNext = &f->atomics;
}

// Enables in `on` what the kernel needs.
static bool choose_features(gpu *g, const cJSON *kernel, features *on)
{
    features have;
    const cJSON *item;
    chain(&have);
    chain(on);
    vkGetPhysicalDeviceFeatures2(g->physical, &have.core);
    cJSON_ArrayForEach(item, list(kernel, "features"))
    {
        const char *name = cJSON_IsString(item) ? item->valuestring : "?";
        bool ok = false;
        for (size_t i = 0; i < sizeof known_features / sizeof *known_features; i++) {
            if (strcmp(known_features[i].name, name) != 0) continue;
            ok = *(VkBool32 *)((char *)&have + known_features[i].at);
            *(VkBool32 *)((char *)on + known_features[i].at) = VK_TRUE;
            if (!ok) return wrong("the device lacks %s", name);
        }
        if (!ok) return wrong("the kernel needs %s, which this example does not enable", name);
    }
    return true;
}

static bool choose_device(gpu *g)
{
    uint32_t count = 1;
    VkPhysicalDeviceProperties properties;
    VkQueueFamilyProperties families[16];
    vkEnumeratePhysicalDevices(g->instance, &count, &g->physical);
    if (!count) return wrong("no Vulkan device");
    vkGetPhysicalDeviceProperties(g->physical, &properties);
    g->limits = properties.limits;
    if (properties.apiVersion < VK_API_VERSION_1_2) return wrong("the device lacks Vulkan 1.2");
    count = 16;
    vkGetPhysicalDeviceQueueFamilyProperties(g->physical, &count, families);
    while (g->family < count && !(families[g->family].queueFlags & VK_QUEUE_COMPUTE_BIT))
        g->family++;
    return g->family < count || wrong("the device has no compute queue");
}

static bool create_device(gpu *g, const cJSON *kernel)
{
    features on;
    if (!choose_features(g, kernel, &on)) return false;
    const VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                           .queueFamilyIndex = g->family,
                                           .queueCount = 1,
                                           .pQueuePriorities = &(float){1}};
    const char *atomics = VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME;
    const bool adds = on.atomics.shaderBufferFloat32AtomicAdd;
    if (!adds) on.v12.pNext = NULL;
    const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                     .pNext = &on.core,
                                     .queueCreateInfoCount = 1,
                                     .pQueueCreateInfos = &queue,
                                     .enabledExtensionCount = adds,
                                     .ppEnabledExtensionNames = &atomics};
    if (!good(vkCreateDevice(g->physical, &info, NULL, &g->device), "vkCreateDevice")) return false;
    vkGetDeviceQueue(g->device, g->family, 0, &g->queue);
    return true;
}

static bool create_commands(gpu *g)
{
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                          .queueFamilyIndex = g->family};
    if (!good(vkCreateCommandPool(g->device, &pool, NULL, &g->pool), "vkCreateCommandPool"))
        return false;
    const VkCommandBufferAllocateInfo commands = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = g->pool,
        .commandBufferCount = 1};
    const VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    return good(vkAllocateCommandBuffers(g->device, &commands, &g->commands), "allocation") &&
           good(vkCreateFence(g->device, &fence, NULL, &g->fence), "vkCreateFence");
}

bool gpu_make_buffer(gpu *g, gpu_buffer *b, uint64_t bytes)
{
    VkPhysicalDeviceMemoryProperties memory;
    VkMemoryRequirements needs;
    const VkMemoryPropertyFlags wanted =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .size = bytes ? bytes : 4, // a size of 0 is not allowed
                                     .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                              VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT |
                                              VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                              VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    if (!good(vkCreateBuffer(g->device, &info, NULL, &b->handle), "vkCreateBuffer")) return false;
    vkGetBufferMemoryRequirements(g->device, b->handle, &needs);
    vkGetPhysicalDeviceMemoryProperties(g->physical, &memory);
    uint32_t type = 0;
    while (type < memory.memoryTypeCount &&
           !(needs.memoryTypeBits >> type & 1 &&
             (memory.memoryTypes[type].propertyFlags & wanted) == wanted))
        type++;
    if (type == memory.memoryTypeCount) return wrong("the device has no memory the host can see");
    const VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                           .allocationSize = needs.size,
                                           .memoryTypeIndex = type};
    if (!good(vkAllocateMemory(g->device, &allocate, NULL, &b->memory), "vkAllocateMemory") ||
        !good(vkBindBufferMemory(g->device, b->handle, b->memory, 0), "vkBindBufferMemory") ||
        !good(vkMapMemory(g->device, b->memory, 0, VK_WHOLE_SIZE, 0, &b->mapped), "vkMapMemory"))
        return false;
    memset(b->mapped, 0, (size_t)info.size);
    return true;
}

void gpu_free_buffer(gpu *g, gpu_buffer *b)
{
    vkDestroyBuffer(g->device, b->handle, NULL);
    vkFreeMemory(g->device, b->memory, NULL);
    *b = (gpu_buffer){0};
}

bool gpu_open(gpu *g, const cJSON *kernel)
{
    return open_instance(g) && choose_device(g) && create_device(g, kernel) && create_commands(g);
}

void gpu_close(gpu *g)
{
    if (g->device) {
        vkDestroyFence(g->device, g->fence, NULL);
        vkDestroyCommandPool(g->device, g->pool, NULL);
        vkDestroyDevice(g->device, NULL);
    }
    if (g->messenger) {
        PFN_vkDestroyDebugUtilsMessengerEXT destroy = (PFN_vkDestroyDebugUtilsMessengerEXT)
            vkGetInstanceProcAddr(g->instance, "vkDestroyDebugUtilsMessengerEXT");
        destroy(g->instance, g->messenger, NULL);
    }
    if (g->instance) vkDestroyInstance(g->instance, NULL);
}
