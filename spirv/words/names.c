// SPDX-License-Identifier: MIT
// names.c: names of target environments and features.
#include "spirv/spirv.h"

#include <string.h>

static const char *const target_names[] = {"vulkan1.1", "vulkan1.2", "vulkan1.3"};

const char *vy_target_name(vy_target target) { return target_names[target]; }

bool vy_target_from_name(const char *name, vy_target *out)
{
    for (int i = 0; i < 3; i++) {
        if (strcmp(name, target_names[i]) && strcmp(name, target_names[i] + 6)) continue;
        *out = (vy_target)i;
        return true;
    }
    return false;
}

static const char *const feature_names[] = {
#define X(id, text) text,
    VY_FEATURES(X)
#undef X
};

const char *vy_feature_name(uint32_t index)
{
    return index < VY_FEATURE_COUNT ? feature_names[index] : NULL;
}

bool vy_feature_from_name(const char *name, size_t size, vy_features *bit)
{
    for (uint32_t i = 0; i < VY_FEATURE_COUNT; i++) {
        if (strlen(feature_names[i]) != size || memcmp(feature_names[i], name, size)) continue;
        *bit = (vy_features)1 << i;
        return true;
    }
    return false;
}
