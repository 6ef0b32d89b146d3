// SPDX-License-Identifier: MIT
// engine.h: a small engine of the caller's, with its own instance (validation layers on, with
// synchronisation), device, queue, buffers and command buffers.
#ifndef VYRE_TESTS_ENGINE_H
#define VYRE_TESTS_ENGINE_H

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

#include <stdbool.h>

#define ENGINE_FUNCTIONS(X)                                                                        \
    X(EnumeratePhysicalDevices)                                                                    \
    X(GetPhysicalDeviceMemoryProperties)                                                           \
    X(CreateDevice)                                                                                \
    X(GetDeviceQueue)                                                                              \
    X(DestroyDevice)                                                                               \
    X(DestroyInstance)                                                                             \
    X(CreateDebugUtilsMessengerEXT)                                                                \
    X(DestroyDebugUtilsMessengerEXT)                                                               \
    X(CreateBuffer)                                                                                \
    X(DestroyBuffer)                                                                               \
    X(GetBufferMemoryRequirements)                                                                 \
    X(AllocateMemory)                                                                              \
    X(FreeMemory)                                                                                  \
    X(BindBufferMemory)                                                                            \
    X(MapMemory)                                                                                   \
    X(CreateCommandPool)                                                                           \
    X(DestroyCommandPool)                                                                          \
    X(AllocateCommandBuffers)                                                                      \
    X(BeginCommandBuffer)                                                                          \
    X(EndCommandBuffer)                                                                            \
    X(CmdFillBuffer)                                                                               \
    X(CmdCopyBuffer)                                                                               \
    X(QueueSubmit)                                                                                 \
    X(QueueWaitIdle)                                                                               \
    X(CreateSemaphore)                                                                             \
    X(DestroySemaphore)                                                                            \
    X(SignalSemaphore)                                                                             \
    X(WaitSemaphores)                                                                              \
    X(GetSemaphoreCounterValue)

typedef struct engine {
    void *library;
    PFN_vkGetInstanceProcAddr get;
    VkInstance instance;
    VkPhysicalDevice physical;
    VkDevice device;
    VkQueue queue;
    VkCommandPool pool;
    VkDebugUtilsMessengerEXT messenger;
    unsigned messages; // of the validation layers
#define X(name) PFN_vk##name name;
    ENGINE_FUNCTIONS(X)
#undef X
} engine;

typedef struct engine_buffer {
    VkBuffer handle;
    VkDeviceMemory memory;
    char *mapped;
} engine_buffer;

bool engine_open(engine *e); // false: there is no Vulkan device
void engine_close(engine *e);
engine_buffer engine_make(engine *e, VkDeviceSize bytes); // seen by the host
void engine_free(engine *e, engine_buffer *b);
VkCommandBuffer engine_begin(engine *e);                 // a command buffer being recorded
void engine_submit(engine *e, VkCommandBuffer commands); // executes it, and waits
VkSemaphore engine_timeline(engine *e);                  // at 0

#endif
