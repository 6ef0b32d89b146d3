// SPDX-License-Identifier: MIT
// error.c: errors as values.
#include "vkrt/internal.h"

#include <stdarg.h>
#include <stdio.h>

const char *vkrt_status_text(vkrt_status status)
{
    static const char *const TEXTS[] = {
#define X(id, text) [VKRT_##id] = text,
        VKRT_STATUSES(X)
#undef X
    };
    bool known = (unsigned)status < sizeof TEXTS / sizeof *TEXTS;
    return known ? TEXTS[status] : "unknown status";
}

vkrt_status vkrt_fail(vkrt_error *error, vkrt_status code, const char *fix, const char *format, ...)
{
    if (!error) return code;
    error->code = code;
    va_list args;
    va_start(args, format);
    vsnprintf(error->text, sizeof error->text, format, args);
    va_end(args);
    snprintf(error->fix, sizeof error->fix, "%s", fix ? fix : "");
    return code;
}

vkrt_status vkrt_fail_memory(vkrt_error *error)
{
    return vkrt_fail(error, VKRT_OUT_OF_MEMORY, "close other programs or use smaller data",
                     "out of host memory");
}

typedef struct vk_result_row {
    VkResult result;
    vkrt_status status;
    const char *text, *fix;
} vk_result_row;

static const vk_result_row RESULTS[] = {
    {VK_ERROR_OUT_OF_HOST_MEMORY, VKRT_OUT_OF_MEMORY, "out of host memory",
     "close other programs or use smaller data"},
    {VK_ERROR_OUT_OF_DEVICE_MEMORY, VKRT_OUT_OF_DEVICE_MEMORY, "out of device memory",
     "use smaller data, a lower --tape-limit, or a device with more memory"},
    {VK_ERROR_TOO_MANY_OBJECTS, VKRT_OUT_OF_DEVICE_MEMORY, "too many device memory objects",
     "use fewer buffers at a time"},
    {VK_ERROR_DEVICE_LOST, VKRT_DEVICE_LOST, "the device was lost (it hung, reset or was removed)",
     "open the device anew; look for out-of-range accesses (--unchecked) and endless loops"},
    {VK_ERROR_INCOMPATIBLE_DRIVER, VKRT_NO_DRIVER, "no usable Vulkan driver",
     "install a driver: the GPU vendor's, or mesa-vulkan-drivers for the CPU"},
    {VK_ERROR_LAYER_NOT_PRESENT, VKRT_NO_LAYER, "a layer is not installed",
     "install vulkan-validationlayers or unset VYRE_VALIDATION"},
    {VK_ERROR_FEATURE_NOT_PRESENT, VKRT_MISSING_FEATURE, "the device lacks a feature it reported",
     "update the driver"},
    {VK_ERROR_EXTENSION_NOT_PRESENT, VKRT_MISSING_FEATURE,
     "the device lacks an extension it reported", "update the driver"},
    {VK_ERROR_INITIALIZATION_FAILED, VKRT_DRIVER, "initialisation failed", "update the driver"},
};

vkrt_status vkrt_fail_vk(vkrt_error *error, VkResult result, const char *what)
{
    for (size_t i = 0; i < sizeof RESULTS / sizeof *RESULTS; i++) {
        const vk_result_row *row = &RESULTS[i];
        if (row->result == result)
            return vkrt_fail(error, row->status, row->fix, "%s: %s", what, row->text);
    }
    return vkrt_fail(error, VKRT_DRIVER, "update the driver or choose another device (VYRE_DEVICE)",
                     "%s: the driver failed with VkResult %d", what, (int)result);
}

vkrt_status vkrt_device_fail(vkrt_device *device, vkrt_error *error, VkResult result,
                             const char *what)
{
    if (result == VK_ERROR_DEVICE_LOST) device->lost = true;
    return vkrt_fail_vk(error, result, what);
}

vkrt_status vkrt_fail_groups(const char *name, vkrt_error *error)
{
    return vkrt_fail(error, VKRT_UNSET, "give --groups X,Y,Z (vkrt_plan_set_groups)",
                     "%s has no domain, so it needs group counts", name);
}
