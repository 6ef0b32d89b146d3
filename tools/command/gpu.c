// SPDX-License-Identifier: MIT
// gpu.c: see gpu.h.
#include "tools/command/runner.h"

#include <stdio.h>
#include <stdlib.h>

bool gpu_fail(const vkrt_error *e, vy_diag *d) { return vys_vkrt_fail(e, &option_words, d); }

bool gpu_open_instance(command *c, vy_diag *d)
{
    vkrt_error e = {0};
    if (!c->gpu) c->gpu = calloc(1, sizeof *c->gpu);
    if (!c->gpu) return fail_memory(d);
    if (c->gpu->instance) return true;
    return !vkrt_instance_create(NULL, &c->gpu->instance, &e) || gpu_fail(&e, d);
}

bool gpu_open_device(command *c, vy_diag *d)
{
    vkrt_error e = {0};
    if (!gpu_open_instance(c, d)) return false;
    if (c->gpu->device) return true;
    const double start = now_ms();
    const vkrt_device_desc desc = {.device = c->o.device};
    if (vkrt_device_create(c->gpu->instance, &desc, &c->gpu->device, &e)) return gpu_fail(&e, d);
    const vkrt_device_info *info = vkrt_device_get_info(c->gpu->device);
    verbose(c, "device %s, %s, %s, opened in %.1f ms", info->name, info->type, info->driver,
            now_ms() - start);
    return true;
}

bool gpu_close(command *c, vy_diag *d)
{
    gpu *g = c->gpu;
    if (!g) return true;
    c->gpu = NULL;
    c->abandoned = vkrt_device_is_abandoned(g->device);
    vkrt_device_destroy(g->device);
    const uint32_t count = g->instance ? vkrt_instance_message_count(g->instance) : 0;
    for (uint32_t i = 0; i < count; i++) {
        const char *message = vkrt_instance_message(g->instance, i);
        if (message) fprintf(stderr, TOOL_NAME ": validation: %s\n", message);
    }
    vkrt_instance_destroy(g->instance);
    free(g);
    return !count ||
           fail(d, TOOL_VALIDATION, NULL, "the validation layers have %u messages", count);
}
