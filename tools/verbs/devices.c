// SPDX-License-Identifier: MIT
// devices.c: `vyre-grad devices`.
#include "tools/command/gpu.h"
#include "tools/data/json_out.h"

#include "spirv/spirv.h"

#include <stdio.h>

static void version_text(uint32_t v, char out[32])
{
    snprintf(out, 32, "%u.%u.%u", v >> 22 & 127, v >> 12 & 1023, v & 4095);
}

static bool add_features(cJSON *o, vy_features features)
{
    cJSON *list = cJSON_AddArrayToObject(o, "features");
    for (uint32_t i = 0; i < VY_FEATURE_COUNT; i++) {
        if (!(features >> i & 1)) continue;
        cJSON *name = cJSON_CreateString(vy_feature_name(i));
        if (!name || !cJSON_AddItemToArray(list, name)) {
            cJSON_Delete(name);
            return false;
        }
    }
    return list != NULL;
}

static cJSON *device_json(const vkrt_device_info *i, uint32_t index, bool chosen)
{
    char version[32];
    version_text(i->api_version, version);
    cJSON *o = cJSON_CreateObject();
    bool ok = o && json_integer(o, "index", index) && json_string(o, "name", i->name) &&
              cJSON_AddBoolToObject(o, "default", chosen) && json_string(o, "type", i->type) &&
              json_string(o, "driver", i->driver) && json_string(o, "vulkan", version) &&
              json_string(o, "unusable", i->unusable) &&
              json_integer(o, "subgroup_size", i->subgroup_size) &&
              json_integer(o, "memory_bytes", i->device_memory_bytes) &&
              json_integer(o, "max_buffer_bytes", i->max_storage_buffer_bytes) &&
              json_integer(o, "max_shared_bytes", i->max_shared_bytes) &&
              json_integer(o, "max_push_constant_bytes", i->max_push_constant_bytes) &&
              json_integer(o, "max_storage_buffers", i->max_storage_buffers) &&
              json_integer(o, "max_workgroup_invocations", i->max_workgroup_invocations) &&
              json_number(o, "timestamp_ns", i->timestamp_ns, 9) && add_features(o, i->features);
    if (ok) return o;
    cJSON_Delete(o);
    return NULL;
}

static void device_text(const vkrt_device_info *i, uint32_t index, bool chosen, text *out)
{
    char version[32], features[2000];
    version_text(i->api_version, version);
    text_printf(out, "%u  %s (%s)%s\n", index, i->name, i->type, chosen ? "  default" : "");
    text_printf(out, "   Vulkan %s, %s\n", version, i->driver);
    if (i->unusable) text_printf(out, "   unusable: %s\n", i->unusable);
    text_printf(out, "   memory %.1f GiB, buffers up to %.1f MiB, %u KiB shared, subgroups of %u\n",
                (double)i->device_memory_bytes / 0x1p30,
                (double)i->max_storage_buffer_bytes / 0x1p20, i->max_shared_bytes >> 10,
                i->subgroup_size);
    text_printf(out, "   workgroups of up to %u, %u storage buffers, %u bytes of push constants\n",
                i->max_workgroup_invocations, i->max_storage_buffers, i->max_push_constant_bytes);
    text_printf(out, "   features: %s\n",
                vkrt_features_text(i->features, features, sizeof features));
}

bool verb_devices(command *c, vy_diag *d)
{
    vkrt_error e = {0};
    uint32_t chosen = UINT32_MAX;
    if (!gpu_open_instance(c, d)) return false;
    const uint32_t count = vkrt_instance_device_count(c->gpu->instance);
    // An unusable machine is still listed; one without any device is a failure.
    if (vkrt_instance_find_device(c->gpu->instance, c->o.device, &chosen, &e) &&
        (!count || c->o.device))
        return gpu_fail(&e, d);
    cJSON *top = c->o.json ? cJSON_CreateObject() : NULL;
    cJSON *list = top ? cJSON_AddArrayToObject(top, "devices") : NULL;
    bool ok = !c->o.json || list;
    for (uint32_t i = 0; ok && i < count; i++) {
        const vkrt_device_info *info = vkrt_instance_device_info(c->gpu->instance, i);
        if (c->o.device && i != chosen) continue;
        if (!c->o.json) {
            device_text(info, i, i == chosen, &c->out);
            continue;
        }
        cJSON *item = device_json(info, i, i == chosen);
        ok = item && cJSON_AddItemToArray(list, item);
        if (!ok) cJSON_Delete(item);
    }
    if (ok && top) return json_finish(top, &c->out) || fail_memory(d);
    cJSON_Delete(top);
    return (ok && !c->out.failed) || fail_memory(d);
}
