// SPDX-License-Identifier: MIT
// features.c: what a physical device can do, in the terms of kernel.h, and how to switch it on.
//
// One table pairs every feature that must be enabled with its field in Vulkan's structs; the query
// reads through it and device creation writes through it, so the two cannot disagree.
#include "vkrt/internal.h"

#include <stdio.h>

typedef struct feature_row {
    vy_feature_index feature;
    size_t field; // of a VkBool32 in vkrt_feature_chain
} feature_row;

#define ROW(id, field)                                                                             \
    {                                                                                              \
        VY_FEATURE_INDEX_##id, offsetof(vkrt_feature_chain, field)                                 \
    }

static const feature_row ROWS[] = {
    ROW(FLOAT64, core.features.shaderFloat64),
    ROW(INT64, core.features.shaderInt64),
    ROW(INT16, core.features.shaderInt16),
    ROW(STORAGE_16BIT, storage16.storageBuffer16BitAccess),
    ROW(STORAGE_8BIT, storage8.storageBuffer8BitAccess),
    ROW(FLOAT16, float16_int8.shaderFloat16),
    ROW(INT8, float16_int8.shaderInt8),
    ROW(ATOMIC_INT64, atomic_int64.shaderBufferInt64Atomics),
    ROW(ATOMIC_INT64_SHARED, atomic_int64.shaderSharedInt64Atomics),
    ROW(SUBGROUP_EXTENDED_TYPES, subgroup_types.shaderSubgroupExtendedTypes),
    ROW(ATOMIC_FLOAT32_ADD, atomic_float.shaderBufferFloat32AtomicAdd),
    ROW(ATOMIC_FLOAT32_ADD_SHARED, atomic_float.shaderSharedFloat32AtomicAdd),
    ROW(ATOMIC_FLOAT64_ADD, atomic_float.shaderBufferFloat64AtomicAdd),
    ROW(ATOMIC_FLOAT64_ADD_SHARED, atomic_float.shaderSharedFloat64AtomicAdd),
};

static const struct {
    vy_feature_index feature;
    VkSubgroupFeatureFlags flag;
} SUBGROUP_ROWS[] = {
    {VY_FEATURE_INDEX_SUBGROUP_BASIC, VK_SUBGROUP_FEATURE_BASIC_BIT},
    {VY_FEATURE_INDEX_SUBGROUP_VOTE, VK_SUBGROUP_FEATURE_VOTE_BIT},
    {VY_FEATURE_INDEX_SUBGROUP_ARITHMETIC, VK_SUBGROUP_FEATURE_ARITHMETIC_BIT},
    {VY_FEATURE_INDEX_SUBGROUP_BALLOT, VK_SUBGROUP_FEATURE_BALLOT_BIT},
    {VY_FEATURE_INDEX_SUBGROUP_SHUFFLE, VK_SUBGROUP_FEATURE_SHUFFLE_BIT},
};

#define PROPERTIES VkPhysicalDeviceFloatControlsProperties
static const struct {
    vy_feature_index feature;
    size_t field;
} FLOAT_ROWS[] = {
    {VY_FEATURE_INDEX_SIGNED_ZERO_INF_NAN_16,
     offsetof(PROPERTIES, shaderSignedZeroInfNanPreserveFloat16)},
    {VY_FEATURE_INDEX_SIGNED_ZERO_INF_NAN_32,
     offsetof(PROPERTIES, shaderSignedZeroInfNanPreserveFloat32)},
    {VY_FEATURE_INDEX_SIGNED_ZERO_INF_NAN_64,
     offsetof(PROPERTIES, shaderSignedZeroInfNanPreserveFloat64)},
    {VY_FEATURE_INDEX_ROUNDING_RTE_16, offsetof(PROPERTIES, shaderRoundingModeRTEFloat16)},
    {VY_FEATURE_INDEX_ROUNDING_RTE_32, offsetof(PROPERTIES, shaderRoundingModeRTEFloat32)},
    {VY_FEATURE_INDEX_ROUNDING_RTE_64, offsetof(PROPERTIES, shaderRoundingModeRTEFloat64)},
};

// Rows above plus subgroup and float rows name every feature once; a new one must be added here.
_Static_assert(sizeof ROWS / sizeof *ROWS + sizeof SUBGROUP_ROWS / sizeof *SUBGROUP_ROWS +
                       sizeof FLOAT_ROWS / sizeof *FLOAT_ROWS ==
                   VY_FEATURE_COUNT,
               "a feature of kernel.h has no row");

vy_features vkrt_property_features(void)
{
    vy_features set = 0;
    for (size_t i = 0; i < sizeof SUBGROUP_ROWS / sizeof *SUBGROUP_ROWS; i++)
        set |= (vy_features)1 << SUBGROUP_ROWS[i].feature;
    for (size_t i = 0; i < sizeof FLOAT_ROWS / sizeof *FLOAT_ROWS; i++)
        set |= (vy_features)1 << FLOAT_ROWS[i].feature;
    return set;
}

char *vkrt_features_text(vy_features features, char *text, size_t size)
{
    static const char *const NAMES[] = {
#define X(id, name) name,
        VY_FEATURES(X)
#undef X
    };
    size_t used = 0;
    if (size > 0) text[0] = '\0';
    for (uint32_t i = 0; i < VY_FEATURE_COUNT && used < size; i++) {
        if (!(features >> i & 1)) continue;
        int n = snprintf(text + used, size - used, "%s%s", used ? ", " : "", NAMES[i]);
        if (n > 0) used += (size_t)n;
    }
    return text;
}

// An extension that carries a struct of the chain: part of Vulkan since `core`.
typedef struct extension_row {
    const char *name;
    uint32_t core;  // 0: never
    size_t chained; // offset of the struct in the chain, or NONE
    VkStructureType type;
} extension_row;

#define NONE SIZE_MAX
#define CHAINED(name) offsetof(vkrt_feature_chain, name)

static const extension_row EXTENSIONS[] = {
    {"VK_KHR_16bit_storage", VK_API_VERSION_1_1, CHAINED(storage16),
     VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES},
    {"VK_KHR_8bit_storage", VK_API_VERSION_1_2, CHAINED(storage8),
     VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES},
    {"VK_KHR_shader_float16_int8", VK_API_VERSION_1_2, CHAINED(float16_int8),
     VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES},
    {"VK_KHR_shader_atomic_int64", VK_API_VERSION_1_2, CHAINED(atomic_int64),
     VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_INT64_FEATURES},
    {"VK_KHR_shader_subgroup_extended_types", VK_API_VERSION_1_2, CHAINED(subgroup_types),
     VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SUBGROUP_EXTENDED_TYPES_FEATURES},
    {"VK_EXT_shader_atomic_float", 0, CHAINED(atomic_float),
     VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT},
    {"VK_KHR_pipeline_executable_properties", 0, CHAINED(executables),
     VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR},
    {"VK_KHR_shader_float_controls", VK_API_VERSION_1_2, NONE, 0},
    {"VK_KHR_driver_properties", VK_API_VERSION_1_2, NONE, 0},
    {"VK_KHR_spirv_1_4", VK_API_VERSION_1_2, NONE, 0}, // needs float_controls, which precedes it
    {"VK_KHR_portability_subset", 0, NONE, 0},         // must be enabled where it exists
};
#define EXTENSION_COUNT (sizeof EXTENSIONS / sizeof *EXTENSIONS)

typedef struct extension_list {
    VkExtensionProperties *items;
    uint32_t count;
} extension_list;

static vkrt_status list_extensions(const vkrt_instance_table *vk, VkPhysicalDevice handle,
                                   extension_list *list, vkrt_error *error)
{
    *list = (extension_list){0};
    VkResult r = vk->EnumerateDeviceExtensionProperties(handle, NULL, &list->count, NULL);
    if (r == VK_SUCCESS && list->count > 0) {
        list->items = calloc(list->count, sizeof *list->items);
        if (!list->items) return vkrt_fail_memory(error);
        r = vk->EnumerateDeviceExtensionProperties(handle, NULL, &list->count, list->items);
    }
    if (r == VK_SUCCESS || r == VK_INCOMPLETE) return VKRT_OK;
    free(list->items);
    return vkrt_fail_vk(error, r, "listing the device's extensions");
}

static bool has_extension(const extension_list *list, const char *name)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i].extensionName, name) == 0) return true;
    return false;
}

// Links the structs that a device of this version knows, and lists the extensions they need.
static void build_chain(vkrt_feature_chain *chain, uint32_t version, const extension_list *list)
{
    memset(chain, 0, sizeof *chain);
    chain->core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    void **tail = &chain->core.pNext;
    for (size_t i = 0; i < EXTENSION_COUNT; i++) {
        const extension_row *row = &EXTENSIONS[i];
        bool core = row->core && version >= row->core;
        if (!core && !has_extension(list, row->name)) continue;
        if (!core) chain->extensions[chain->extension_count++] = row->name;
        if (row->chained == NONE) continue;
        VkBaseOutStructure *s = (VkBaseOutStructure *)((char *)chain + row->chained);
        s->sType = row->type;
        *tail = s;
        tail = (void **)&s->pNext;
    }
}

bool vkrt_chain_has(const vkrt_feature_chain *chain, const char *extension)
{
    for (uint32_t i = 0; i < chain->extension_count; i++)
        if (strcmp(chain->extensions[i], extension) == 0) return true;
    return false;
}

vkrt_status vkrt_chain_build(const vkrt_instance_table *vk, VkPhysicalDevice handle,
                             uint32_t version, vkrt_feature_chain *chain, vkrt_error *error)
{
    extension_list list;
    vkrt_status status = list_extensions(vk, handle, &list, error);
    if (status) return status;
    build_chain(chain, version, &list);
    free(list.items);
    return VKRT_OK;
}

vy_features vkrt_chain_features(const vkrt_feature_chain *chain,
                                const VkPhysicalDeviceSubgroupProperties *subgroup,
                                const VkPhysicalDeviceFloatControlsProperties *floats)
{
    vy_features set = 0;
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        const VkBool32 *on = (const VkBool32 *)((const char *)chain + ROWS[i].field);
        if (*on) set |= (vy_features)1 << ROWS[i].feature;
    }
    bool compute = subgroup->supportedStages & VK_SHADER_STAGE_COMPUTE_BIT;
    for (size_t i = 0; compute && i < sizeof SUBGROUP_ROWS / sizeof *SUBGROUP_ROWS; i++)
        if (subgroup->supportedOperations & SUBGROUP_ROWS[i].flag)
            set |= (vy_features)1 << SUBGROUP_ROWS[i].feature;
    for (size_t i = 0; i < sizeof FLOAT_ROWS / sizeof *FLOAT_ROWS; i++) {
        const VkBool32 *on = (const VkBool32 *)((const char *)floats + FLOAT_ROWS[i].field);
        if (*on) set |= (vy_features)1 << FLOAT_ROWS[i].feature;
    }
    return set;
}

vkrt_status vkrt_enable_features(const vkrt_instance_table *vk, const vkrt_physical *physical,
                                 vy_features wanted, vkrt_feature_chain *chain, vkrt_error *error)
{
    vkrt_status status =
        vkrt_chain_build(vk, physical->handle, physical->info.api_version, chain, error);
    if (status) return status; // else all fields of the chain are false
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        VkBool32 *on = (VkBool32 *)((char *)chain + ROWS[i].field);
        *on = wanted >> ROWS[i].feature & 1;
    }
    return VKRT_OK;
}
