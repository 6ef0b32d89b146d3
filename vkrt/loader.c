// SPDX-License-Identifier: MIT
// loader.c: the one place that touches volk's global state; everything else uses tables.
#include <dlfcn.h> // volk.c needs it, and must not see it inside the hidden region

#define VOLK_IMPLEMENTATION
#include "vkrt/internal.h"

static mtx_t lock;
static once_flag lock_once = ONCE_FLAG_INIT;

static void init_lock(void) { mtx_init(&lock, mtx_plain); }

vkrt_status vkrt_load_global(vkrt_loader loader, vkrt_global_table *table, vkrt_error *error)
{
    call_once(&lock_once, init_lock);
    mtx_lock(&lock);
    VkResult result = VK_SUCCESS;
    if (loader)
        volkInitializeCustom((PFN_vkGetInstanceProcAddr)loader);
    else
        result = volkInitialize();
    *table = (vkrt_global_table){
        .GetInstanceProcAddr = vkGetInstanceProcAddr,
        .CreateInstance = vkCreateInstance,
        .EnumerateInstanceVersion = vkEnumerateInstanceVersion,
        .EnumerateInstanceLayerProperties = vkEnumerateInstanceLayerProperties,
        .EnumerateInstanceExtensionProperties = vkEnumerateInstanceExtensionProperties,
    };
    mtx_unlock(&lock);
    if (result != VK_SUCCESS || !table->CreateInstance ||
        !table->EnumerateInstanceLayerProperties || !table->EnumerateInstanceExtensionProperties)
        return vkrt_fail(error, VKRT_NO_LOADER,
                         "install the Vulkan loader (libvulkan1), or compute with --engine eval",
                         "the Vulkan loader libvulkan.so.1 is not there");
    return VKRT_OK;
}

bool vkrt_load_instance(const vkrt_global_table *global, VkInstance instance,
                        vkrt_instance_table *table)
{
    *table = (vkrt_instance_table){0};
#define X(name) table->name = (PFN_vk##name)global->GetInstanceProcAddr(instance, "vk" #name);
    VKRT_INSTANCE_FUNCTIONS(X)
    X(CreateDebugUtilsMessengerEXT)
    X(DestroyDebugUtilsMessengerEXT)
#undef X
    bool all = true;
#define X(name) all = all && table->name;
    VKRT_INSTANCE_FUNCTIONS(X)
#undef X
    return all;
}

void vkrt_load_device(const vkrt_instance_table *instance, VkDevice device,
                      struct VolkDeviceTable *table)
{
    call_once(&lock_once, init_lock);
    mtx_lock(&lock);
    vkGetDeviceProcAddr = instance->GetDeviceProcAddr; // volkLoadDeviceTable asks this global
    volkLoadDeviceTable(table, device);
    mtx_unlock(&lock);
}
