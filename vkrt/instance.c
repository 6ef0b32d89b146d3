// SPDX-License-Identifier: MIT
// instance.c: opening Vulkan, the validation layer and its messages, the list of devices.
#include "vkrt/internal.h"

#include <ctype.h>
#include <stdio.h>

#define VALIDATION_LAYER "VK_LAYER_KHRONOS_validation"

// --- Validation messages -------------------------------------------------------------------------

static VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                                 VkDebugUtilsMessageTypeFlagsEXT types,
                                                 const VkDebugUtilsMessengerCallbackDataEXT *data,
                                                 void *user)
{
    (void)severity, (void)types;
    vkrt_instance *instance = user;
    mtx_lock(&instance->lock);
    if (instance->message_count < VKRT_KEPT_MESSAGES) {
        const char *text = data->pMessage ? data->pMessage : "(no text)";
        size_t size = strlen(text) + 1;
        char *copy = malloc(size);
        if (copy) memcpy(copy, text, size);
        instance->messages[instance->message_count] = copy;
    }
    if (instance->message_count < UINT32_MAX) instance->message_count++;
    mtx_unlock(&instance->lock);
    return VK_FALSE;
}

uint32_t vkrt_instance_message_count(vkrt_instance *instance)
{
    mtx_lock(&instance->lock);
    uint32_t count = instance->message_count;
    mtx_unlock(&instance->lock);
    return count;
}

const char *vkrt_instance_message(vkrt_instance *instance, uint32_t index)
{
    if (index >= VKRT_KEPT_MESSAGES) return NULL;
    mtx_lock(&instance->lock);
    const char *text = index < instance->message_count ? instance->messages[index] : NULL;
    if (!text && index < instance->message_count) text = "(out of memory for this message)";
    mtx_unlock(&instance->lock);
    return text;
}

static bool validation_wanted(const vkrt_instance_desc *desc)
{
    if (desc->validation != VKRT_VALIDATION_ENV) return desc->validation == VKRT_VALIDATION_ON;
    const char *env = getenv("VYRE_VALIDATION");
    return env && env[0] && strcmp(env, "0") != 0;
}

static vkrt_status require_layer(const vkrt_global_table *global, vkrt_error *error)
{
    uint32_t count = 0;
    bool found = false;
    VkResult r = global->EnumerateInstanceLayerProperties(&count, NULL);
    if (r == VK_SUCCESS && count > 0) {
        VkLayerProperties *layers = calloc(count, sizeof *layers);
        if (!layers) return vkrt_fail_memory(error);
        r = global->EnumerateInstanceLayerProperties(&count, layers);
        for (uint32_t i = 0; r >= 0 && i < count; i++)
            found = found || strcmp(layers[i].layerName, VALIDATION_LAYER) == 0;
        free(layers);
    }
    if (found) return VKRT_OK;
    return vkrt_fail(error, VKRT_NO_LAYER,
                     "install vulkan-validationlayers, or unset VYRE_VALIDATION",
                     "validation was requested, but " VALIDATION_LAYER " is not installed");
}

// --- Creation ------------------------------------------------------------------------------------

// Devices behind a portability driver are listed only if this is requested.
static bool has_portability(const vkrt_global_table *global)
{
    VkExtensionProperties *list = NULL;
    uint32_t count = 0;
    bool found = false;
    if (global->EnumerateInstanceExtensionProperties(NULL, &count, NULL) == VK_SUCCESS && count > 0)
        list = calloc(count, sizeof *list);
    if (list && global->EnumerateInstanceExtensionProperties(NULL, &count, list) >= 0)
        for (uint32_t i = 0; i < count; i++)
            found = found || strcmp(list[i].extensionName,
                                    VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME) == 0;
    free(list);
    return found;
}

static VkDebugUtilsMessengerCreateInfoEXT messages_to(vkrt_instance *in)
{
    return (VkDebugUtilsMessengerCreateInfoEXT){
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
        .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                           VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
        .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT |
                       VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT,
        .pfnUserCallback = on_message,
        .pUserData = in,
    };
}

static vkrt_status create_handle(vkrt_instance *in, bool validation, vkrt_error *error)
{
    VkDebugUtilsMessengerCreateInfoEXT messenger = messages_to(in);
    VkValidationFeatureEnableEXT enable =
        VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
    VkValidationFeaturesEXT features = {
        .sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
        .pNext = &messenger,
        .enabledValidationFeatureCount = 1,
        .pEnabledValidationFeatures = &enable,
    };
    const char *layer = VALIDATION_LAYER, *extensions[3];
    uint32_t count = 0;
    if (validation) extensions[count++] = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
    if (validation) extensions[count++] = VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME;
    bool portability = has_portability(&in->global);
    if (portability) extensions[count++] = VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME;
    VkApplicationInfo app = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                             .pApplicationName = "vkrt",
                             .pEngineName = "vyre",
                             .apiVersion = in->version};
    VkInstanceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
        .pNext = validation ? &features : NULL,
        .flags = portability ? VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR : 0,
        .pApplicationInfo = &app,
        .enabledLayerCount = validation ? 1 : 0,
        .ppEnabledLayerNames = &layer,
        .enabledExtensionCount = count,
        .ppEnabledExtensionNames = extensions,
    };
    VkResult r = in->global.CreateInstance(&info, NULL, &in->handle);
    if (r != VK_SUCCESS) return vkrt_fail_vk(error, r, "opening Vulkan");
    if (!vkrt_load_instance(&in->global, in->handle, &in->vk))
        return vkrt_fail(error, VKRT_DRIVER, "update the Vulkan loader",
                         "the Vulkan loader lacks functions of Vulkan 1.1");
    if (!validation) return VKRT_OK;
    if (in->vk.CreateDebugUtilsMessengerEXT)
        r = in->vk.CreateDebugUtilsMessengerEXT(in->handle, &messenger, NULL, &in->messenger);
    return r == VK_SUCCESS ? VKRT_OK : vkrt_fail_vk(error, r, "listening to validation messages");
}

static uint32_t type_rank(const vkrt_physical *p)
{
    static const char *const ORDER[] = {"discrete GPU", "integrated GPU", "virtual GPU", "other"};
    uint32_t rank = 0;
    while (rank < 4 && strcmp(ORDER[rank], p->info.type) != 0) rank++;
    return rank;
}

// Stable, so that devices of one type keep the driver's order.
static void sort_devices(vkrt_physical *devices, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        vkrt_physical moved = devices[i];
        uint32_t k = i;
        for (; k > 0 && type_rank(&devices[k - 1]) > type_rank(&moved); k--)
            devices[k] = devices[k - 1];
        devices[k] = moved;
    }
}

static vkrt_status list_devices(vkrt_instance *in, vkrt_error *error)
{
    uint32_t count = 0;
    VkResult r = in->vk.EnumeratePhysicalDevices(in->handle, &count, NULL);
    if (r == VK_ERROR_INITIALIZATION_FAILED) return VKRT_OK; // a driver without any device
    if (r < 0) return vkrt_fail_vk(error, r, "listing Vulkan devices");
    if (count == 0) return VKRT_OK;
    VkPhysicalDevice *handles = calloc(count, sizeof(VkPhysicalDevice));
    in->devices = calloc(count, sizeof *in->devices);
    if (!handles || !in->devices) {
        free(handles);
        return vkrt_fail_memory(error);
    }
    r = in->vk.EnumeratePhysicalDevices(in->handle, &count, handles);
    vkrt_status status = r < 0 ? vkrt_fail_vk(error, r, "listing Vulkan devices") : VKRT_OK;
    for (uint32_t i = 0; !status && i < count; i++) {
        in->devices[i].handle = handles[i];
        status = vkrt_query_physical(&in->vk, in->version, &in->devices[i], error);
    }
    free(handles);
    in->device_count = count;
    if (!status) sort_devices(in->devices, count);
    return status;
}

vkrt_status vkrt_instance_create(const vkrt_instance_desc *desc, vkrt_instance **out,
                                 vkrt_error *error)
{
    *out = NULL;
    vkrt_instance_desc d;
    vkrt_status status =
        vkrt_take_desc(&d, sizeof d, VKRT_INSTANCE_DESC_FIRST, desc, "vkrt_instance_desc", error);
    if (status) return status;
    vkrt_instance *in = calloc(1, sizeof *in);
    if (!in) return vkrt_fail_memory(error);
    mtx_init(&in->lock, mtx_plain);
    bool validation = validation_wanted(&d);
    status = vkrt_load_global(d.loader, &in->global, error);
    in->version = VK_API_VERSION_1_0;
    if (!status && in->global.EnumerateInstanceVersion)
        in->global.EnumerateInstanceVersion(&in->version);
    if (in->version > VK_API_VERSION_1_3) in->version = VK_API_VERSION_1_3;
    if (!status && in->version < VK_API_VERSION_1_1)
        status = vkrt_fail(error, VKRT_NO_LOADER, "update the Vulkan loader (libvulkan1)",
                           "the Vulkan loader knows Vulkan 1.0 only, 1.1 is needed");
    if (!status && validation) status = require_layer(&in->global, error);
    if (!status) status = create_handle(in, validation, error);
    if (!status) status = list_devices(in, error);
    if (status) {
        vkrt_instance_destroy(in);
        return status;
    }
    *out = in;
    return VKRT_OK;
}

void vkrt_instance_destroy(vkrt_instance *in)
{
    if (!in) return;
    const bool live = in->handle && !in->abandoned;
    if (live && in->messenger && in->vk.DestroyDebugUtilsMessengerEXT)
        in->vk.DestroyDebugUtilsMessengerEXT(in->handle, in->messenger, NULL);
    if (live) {
        PFN_vkDestroyInstance destroy =
            (PFN_vkDestroyInstance)in->global.GetInstanceProcAddr(in->handle, "vkDestroyInstance");
        if (destroy) destroy(in->handle, NULL);
    }
    for (uint32_t i = 0; i < VKRT_KEPT_MESSAGES; i++) free(in->messages[i]);
    mtx_destroy(&in->lock);
    free(in->devices);
    free(in);
}

// --- Choice --------------------------------------------------------------------------------------

uint32_t vkrt_instance_device_count(const vkrt_instance *instance)
{
    return instance->device_count;
}

const vkrt_device_info *vkrt_instance_device_info(const vkrt_instance *instance, uint32_t index)
{
    return index < instance->device_count ? &instance->devices[index].info : NULL;
}

static bool contains_ignoring_case(const char *text, const char *part)
{
    for (; *text; text++) {
        size_t i = 0;
        while (part[i] && tolower((unsigned char)text[i]) == tolower((unsigned char)part[i])) i++;
        if (!part[i]) return true;
    }
    return false;
}

static bool matches(const vkrt_instance *in, uint32_t i, const char *wanted)
{
    const vkrt_device_info *info = &in->devices[i].info;
    if (!wanted) return !info->unusable;
    char *end;
    unsigned long index = strtoul(wanted, &end, 10);
    bool is_index = isdigit((unsigned char)wanted[0]) && *end == '\0' && index < in->device_count;
    return is_index ? index == i : contains_ignoring_case(info->name, wanted);
}

vkrt_status vkrt_instance_find_device(const vkrt_instance *in, const char *wanted, uint32_t *index,
                                      vkrt_error *error)
{
    if (!wanted || !wanted[0]) wanted = getenv("VYRE_DEVICE");
    if (wanted && !wanted[0]) wanted = NULL;
    const char *unusable = NULL;
    for (uint32_t i = 0; i < in->device_count; i++) {
        if (!matches(in, i, wanted)) continue;
        unusable = in->devices[i].info.unusable;
        *index = i;
        if (!unusable) return VKRT_OK;
    }
    if (!wanted && in->device_count > 0) {
        *index = 0;
        unusable = in->devices[0].info.unusable;
    }
    char list[256] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < in->device_count && used < sizeof list; i++) {
        const char *name = in->devices[i].info.name;
        int n = snprintf(list + used, sizeof list - used, "%s%u: %s", i ? ", " : "", i, name);
        if (n > 0) used += (size_t)n;
    }
    if (in->device_count == 0)
        return vkrt_fail(error, VKRT_NO_DEVICE,
                         "install a driver: the GPU vendor's, or mesa-vulkan-drivers for the CPU",
                         "there is no Vulkan device");
    if (unusable)
        return vkrt_fail(error, VKRT_NO_DEVICE, "choose another device (VYRE_DEVICE)",
                         "device '%.100s' cannot be used: %s", in->devices[*index].info.name,
                         unusable);
    return vkrt_fail(error, VKRT_NO_DEVICE, "give an index or a part of a name listed by `devices`",
                     "no usable device matches '%.100s'; the devices are %s", wanted ? wanted : "",
                     list[0] ? list : "none");
}
