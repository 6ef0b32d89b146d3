// SPDX-License-Identifier: MIT
// gpu.h: Vulkan, opened when a verb first needs it.
#ifndef VYRE_TOOL_GPU_H
#define VYRE_TOOL_GPU_H

#include "tools/command/command.h"

#include "vkrt/vkrt.h"

struct gpu {
    vkrt_instance *instance;
    vkrt_device *device;
};

bool gpu_open_instance(command *c, vy_diag *d);
bool gpu_open_device(command *c, vy_diag *d); // and the instance
// Closes both; prints what the validation layers said.  False with *d if they said anything.
bool gpu_close(command *c, vy_diag *d);
bool gpu_fail(const vkrt_error *e, vy_diag *d); // vys_vkrt_fail

#endif
