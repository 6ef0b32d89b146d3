// SPDX-License-Identifier: MIT
// gpu.h: Vulkan as vulkan_only.c needs it: the first device with the features a kernel names, one
// queue, one command buffer, memory that is visible to the host.
#ifndef EXAMPLE_GPU_H
#define EXAMPLE_GPU_H

#include <cjson/cJSON.h>
#include <vulkan/vulkan.h>

#include <stdbool.h>
#include <stdint.h>

typedef struct gpu {
    VkInstance instance;
    VkDebugUtilsMessengerEXT messenger;
    uint32_t messages; // of the validation layers
    VkPhysicalDevice physical;
    VkPhysicalDeviceLimits limits;
    VkDevice device;
    uint32_t family;
    VkQueue queue;
    VkCommandPool pool;
    VkCommandBuffer commands;
    VkFence fence;
} gpu;

typedef struct gpu_buffer {
    VkBuffer handle;
    VkDeviceMemory memory;
    void *mapped;
} gpu_buffer;

// False after a message on stderr; call gpu_close in every case.  `kernel` is an entry
// of the manifest.  VYRE_VALIDATION=1 turns the validation layers on.
bool gpu_open(gpu *g, const cJSON *kernel);
void gpu_close(gpu *g);
bool gpu_make_buffer(gpu *g, gpu_buffer *b, uint64_t bytes); // zeros
void gpu_free_buffer(gpu *g, gpu_buffer *b);
bool good(VkResult r, const char *what); // reports what failed

#endif
