// SPDX-License-Identifier: MIT
// vulkan_only.c: runs what `vyre-grad … -o DIR` wrote with Vulkan alone: no Vyre library, no runtime.
//
//   vulkan_only X.spv X.json NAME=VALUE[,VALUE…] …
//
// Everything it needs stands in the manifest: bindings, buffer sizes, the layout of the parameters,
// group counts, the steps in order.  Every scalar and every `in` buffer is given on the command line.
// For brevity all memory is visible to the host, and each dispatch is waited for.
// VYRE_VALIDATION=1 turns the validation layers on; any message makes the exit status 1.
#include "manifest.h"

#include <cjson/cJSON.h>
#include <vulkan/vulkan.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BUFFERS = 32, MAX_SETS = 4, MAX_PARAM_BYTES = 4096 };

typedef struct buffer {
    const cJSON *info; // its entry in the manifest
    const char *name, *type;
    uint64_t count, bytes;
    VkBuffer handle;
    VkDeviceMemory memory;
    void *mapped;
} buffer;

typedef struct app {
    cJSON *manifest;
    char *text;     // of the manifest
    uint32_t *code; // SPIR-V
    size_t code_bytes;
    symbols values;
    buffer buffers[MAX_BUFFERS], params; // params: where they are not push constants
    uint32_t buffer_count;
    VkInstance instance;
    VkDebugUtilsMessengerEXT messenger;
    uint32_t messages;
    VkPhysicalDevice gpu;
    VkPhysicalDeviceLimits limits;
    VkDevice device;
    uint32_t family;
    VkQueue queue;
    VkCommandPool pool;
    VkCommandBuffer commands;
    VkFence fence;
    VkShaderModule shader;
    VkDescriptorSetLayout set_layouts[MAX_SETS];
    uint32_t set_count;
    VkPipelineLayout layout;
    VkPipeline pipeline;
    VkDescriptorPool descriptors;
    VkDescriptorSet sets[MAX_SETS];
} app;

// ------------------------------------------------------------------------------------------ trouble
static bool wrong(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "vulkan_only: ");
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    return false;
}

static bool good(VkResult r, const char *what)
{
    return r == VK_SUCCESS || wrong("%s failed with VkResult %d", what, (int)r);
}

// ----------------------------------------------------------------------------------------- manifest
static const char *string(const cJSON *o, const char *key)
{
    const char *s = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(o, key));
    return s ? s : "";
}

static uint32_t number(const cJSON *o, const char *key)
{
    const cJSON *n = cJSON_GetObjectItemCaseSensitive(o, key);
    return cJSON_IsNumber(n) && n->valuedouble >= 0 ? (uint32_t)n->valuedouble : 0;
}

static const cJSON *list(const cJSON *o, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(o, key);
}

static bool value_of(app *a, const char *expression, int64_t least, int64_t *value)
{
    const char *why = evaluate(expression, &a->values, value);
    if (why) return wrong("cannot evaluate `%s`: %s", expression, why);
    return *value >= least || wrong("`%s` is %" PRId64, expression, *value);
}

static char *read_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    char *data = NULL;
    long end = -1;
    if (f && fseek(f, 0, SEEK_END) == 0) end = ftell(f);
    if (end >= 0) data = calloc(1, (size_t)end + 8);
    if (data) {
        rewind(f);
        *size = fread(data, 1, (size_t)end, f);
    }
    if (f) fclose(f);
    if (!data) wrong("cannot read %s", path);
    return data;
}

static bool load(app *a, const char *spv, const char *json)
{
    size_t size;
    a->code = (uint32_t *)read_file(spv, &a->code_bytes);
    a->text = a->code ? read_file(json, &size) : NULL;
    if (!a->text) return false;
    if (a->code_bytes < 20 || a->code_bytes % 4 || a->code[0] != 0x07230203)
        return wrong("%s is no SPIR-V module", spv);
    a->manifest = cJSON_Parse(a->text);
    if (number(a->manifest, "vyre") != 1) return wrong("%s is no Vyre manifest, version 1", json);
    if (cJSON_GetArraySize(list(a->manifest, "kernels")) != 1)
        return wrong("%s has several kernels; this example runs one", json);
    return true;
}

// ------------------------------------------------------------------------------- data from arguments
static uint32_t size_of(const char *type)
{
    return !strcmp(type, "f64") || !strcmp(type, "i64") || !strcmp(type, "u64") ? 8 : 4;
}

static void store(const char *type, double real, int64_t integer, void *to)
{
    if (!strcmp(type, "f32"))
        *(float *)to = (float)real;
    else if (!strcmp(type, "f64"))
        *(double *)to = real;
    else
        memcpy(to, &integer, size_of(type)); // little end first
}

// VALUE[,VALUE…] into `to` (may be NULL), at most `most` of them.  Returns how many there are.
static uint64_t numbers(const char *text, const char *type, char *to, uint64_t most)
{
    uint64_t n = 0;
    for (const char *at = text; *at; at += strcspn(at, ","), at += *at == ',') {
        if (to && n < most)
            store(type, strtod(at, NULL), strtoll(at, NULL, 0), to + n * size_of(type));
        n++;
    }
    return n;
}

static const char *argument(char **arguments, const char *name)
{
    const size_t n = strlen(name);
    for (char **a = arguments; *a; a++)
        if (strncmp(*a, name, n) == 0 && (*a)[n] == '=') return *a + n + 1;
    return NULL;
}

static buffer *find_buffer(app *a, const char *name)
{
    for (uint32_t i = 0; i < a->buffer_count; i++)
        if (strcmp(a->buffers[i].name, name) == 0) return &a->buffers[i];
    wrong("the manifest names no buffer `%s`", name);
    return NULL;
}

static bool read_arguments(app *a, char **arguments)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, list(a->manifest, "scalars"))
    {
        const char *name = string(item, "name"), *text = argument(arguments, name);
        if (!text) return wrong("give the scalar %s=VALUE (%s)", name, string(item, "type"));
        if (!symbols_set(&a->values, name, strtoll(text, NULL, 0), strtod(text, NULL)))
            return wrong("too many scalars for this example");
    }
    cJSON_ArrayForEach(item, list(a->manifest, "buffers"))
    {
        if (a->buffer_count == MAX_BUFFERS) return wrong("too many buffers for this example");
        buffer *b = &a->buffers[a->buffer_count++];
        *b = (buffer){.info = item, .name = string(item, "name"), .type = string(item, "type")};
        if (number(item, "element_size") != size_of(b->type))
            return wrong("%s: this example knows no %s", b->name, b->type);
        const char *text = argument(arguments, b->name);
        const bool needed = !strncmp(string(item, "role"), "in", 2); // in, inout
        if (!text && needed) return wrong("give the buffer %s=VALUE,…", b->name);
        char len[80];
        snprintf(len, sizeof len, "len(%.70s)", b->name);
        if (text && !symbols_set(&a->values, len, (int64_t)numbers(text, b->type, NULL, 0), 0))
            return wrong("too many buffers for this example");
    }
    return true;
}

// Elements of every buffer, once all names have values.
static bool measure_buffers(app *a)
{
    for (uint32_t i = 0; i < a->buffer_count; i++) {
        buffer *b = &a->buffers[i];
        const cJSON *axis;
        b->count = 1;
        cJSON_ArrayForEach(axis, list(b->info, "shape"))
        {
            int64_t n;
            if (!value_of(a, axis->valuestring, 0, &n)) return false;
            if (__builtin_mul_overflow(b->count, (uint64_t)n, &b->count)) b->count = UINT64_MAX;
        }
        if (b->count > a->limits.maxStorageBufferRange / size_of(b->type))
            return wrong("%s has %" PRIu64 " elements, more than the device allows", b->name,
                         b->count);
        b->bytes = b->count * size_of(b->type);
    }
    return true;
}

// ------------------------------------------------------------------------------------------- device
static VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                                 VkDebugUtilsMessageTypeFlagsEXT type,
                                                 const VkDebugUtilsMessengerCallbackDataEXT *data,
                                                 void *user)
{
    (void)severity, (void)type;
    ++*(uint32_t *)user;
    fprintf(stderr, "%s\n", data->pMessage);
    return VK_FALSE;
}

static bool open_instance(app *a)
{
    const char *wanted = getenv("VYRE_VALIDATION");
    const bool validate = wanted && *wanted && strcmp(wanted, "0") != 0;
    VkDebugUtilsMessengerCreateInfoEXT messenger = {
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
        .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                           VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
        .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
        .pfnUserCallback = on_message,
        .pUserData = &a->messages,
    };
    const VkValidationFeatureEnableEXT sync =
        VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
    const VkValidationFeaturesEXT features = {.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
                                              .pNext = &messenger,
                                              .enabledValidationFeatureCount = 1,
                                              .pEnabledValidationFeatures = &sync};
    const char *layer = "VK_LAYER_KHRONOS_validation";
    const char *extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME,
                                VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME};
    const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                           .pApplicationName = "vulkan_only",
                                           .apiVersion = VK_API_VERSION_1_2};
    const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                       .pNext = validate ? &features : NULL,
                                       .pApplicationInfo = &application,
                                       .enabledLayerCount = validate,
                                       .ppEnabledLayerNames = &layer,
                                       .enabledExtensionCount = validate ? 2 : 0,
                                       .ppEnabledExtensionNames = extensions};
    if (!good(vkCreateInstance(&info, NULL, &a->instance), "vkCreateInstance")) return false;
    PFN_vkCreateDebugUtilsMessengerEXT create =
        (PFN_vkCreateDebugUtilsMessengerEXT)vkGetInstanceProcAddr(a->instance,
                                                                  "vkCreateDebugUtilsMessengerEXT");
    return !validate || (create && good(create(a->instance, &messenger, NULL, &a->messenger),
                                        "vkCreateDebugUtilsMessengerEXT"));
}

// The device features that the manifest can name and this example can enable.
typedef struct features {
    VkPhysicalDeviceFeatures2 core;
    VkPhysicalDevice16BitStorageFeatures storage16;
    VkPhysicalDeviceVulkan12Features v12;
} features;

static const struct {
    const char *name;
    size_t at; // of its VkBool32 in `features`
} known_features[] = {
#define FEATURE(name, field)                                                                       \
    {                                                                                              \
        name, offsetof(features, field)                                                            \
    }
    FEATURE("shader_float64", core.features.shaderFloat64),
    FEATURE("shader_int64", core.features.shaderInt64),
    FEATURE("shader_int16", core.features.shaderInt16),
    FEATURE("storage_buffer_16bit_access", storage16.storageBuffer16BitAccess),
    FEATURE("storage_buffer_8bit_access", v12.storageBuffer8BitAccess),
    FEATURE("shader_float16", v12.shaderFloat16),
    FEATURE("shader_int8", v12.shaderInt8),
    FEATURE("shader_atomic_int64", v12.shaderBufferInt64Atomics),
    FEATURE("shader_atomic_int64_shared", v12.shaderSharedInt64Atomics),
#undef FEATURE
};

static void chain(features *f)
{
    *f = (features){.core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                    .storage16.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES,
                    .v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
    f->core.pNext = &f->storage16;
    f->storage16.pNext = &f->v12;
}

// Enables in `on` what the kernel needs.
static bool choose_features(app *a, const cJSON *kernel, features *on)
{
    features have;
    const cJSON *item;
    chain(&have);
    chain(on);
    vkGetPhysicalDeviceFeatures2(a->gpu, &have.core);
    cJSON_ArrayForEach(item, list(kernel, "features"))
    {
        const char *name = item->valuestring;
        bool ok = false;
        for (size_t i = 0; i < sizeof known_features / sizeof *known_features; i++) {
            if (strcmp(known_features[i].name, name) != 0) continue;
            ok = *(VkBool32 *)((char *)&have + known_features[i].at);
            *(VkBool32 *)((char *)on + known_features[i].at) = VK_TRUE;
            if (!ok) return wrong("the device lacks %s", name);
        }
        if (!ok) return wrong("the kernel needs %s, which this example does not enable", name);
    }
    return true;
}

static bool open_device(app *a, const cJSON *kernel)
{
    uint32_t count = 1;
    VkPhysicalDeviceProperties properties;
    VkQueueFamilyProperties families[16];
    vkEnumeratePhysicalDevices(a->instance, &count, &a->gpu);
    if (!count) return wrong("no Vulkan device");
    vkGetPhysicalDeviceProperties(a->gpu, &properties);
    a->limits = properties.limits;
    if (properties.apiVersion < VK_API_VERSION_1_2) return wrong("the device lacks Vulkan 1.2");
    count = 16;
    vkGetPhysicalDeviceQueueFamilyProperties(a->gpu, &count, families);
    while (a->family < count && !(families[a->family].queueFlags & VK_QUEUE_COMPUTE_BIT))
        a->family++;
    if (a->family == count) return wrong("the device has no compute queue");
    features on;
    if (!choose_features(a, kernel, &on)) return false;
    const VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                           .queueFamilyIndex = a->family,
                                           .queueCount = 1,
                                           .pQueuePriorities = &(float){1}};
    const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                     .pNext = &on.core,
                                     .queueCreateInfoCount = 1,
                                     .pQueueCreateInfos = &queue};
    if (!good(vkCreateDevice(a->gpu, &info, NULL, &a->device), "vkCreateDevice")) return false;
    vkGetDeviceQueue(a->device, a->family, 0, &a->queue);
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                          .queueFamilyIndex = a->family};
    if (!good(vkCreateCommandPool(a->device, &pool, NULL, &a->pool), "vkCreateCommandPool"))
        return false;
    const VkCommandBufferAllocateInfo commands = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = a->pool,
        .commandBufferCount = 1};
    const VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    return good(vkAllocateCommandBuffers(a->device, &commands, &a->commands), "allocation") &&
           good(vkCreateFence(a->device, &fence, NULL, &a->fence), "vkCreateFence");
}

// ------------------------------------------------------------------------------------------ buffers
static bool make_buffer(app *a, buffer *b)
{
    VkPhysicalDeviceMemoryProperties memory;
    VkMemoryRequirements needs;
    const VkMemoryPropertyFlags wanted =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .size = b->bytes ? b->bytes : 4, // none may be empty
                                     .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
    if (!good(vkCreateBuffer(a->device, &info, NULL, &b->handle), "vkCreateBuffer")) return false;
    vkGetBufferMemoryRequirements(a->device, b->handle, &needs);
    vkGetPhysicalDeviceMemoryProperties(a->gpu, &memory);
    uint32_t type = 0;
    while (type < memory.memoryTypeCount &&
           !(needs.memoryTypeBits >> type & 1 &&
             (memory.memoryTypes[type].propertyFlags & wanted) == wanted))
        type++;
    if (type == memory.memoryTypeCount) return wrong("the device has no memory the host can see");
    const VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                           .allocationSize = needs.size,
                                           .memoryTypeIndex = type};
    if (!good(vkAllocateMemory(a->device, &allocate, NULL, &b->memory), "vkAllocateMemory") ||
        !good(vkBindBufferMemory(a->device, b->handle, b->memory, 0), "vkBindBufferMemory") ||
        !good(vkMapMemory(a->device, b->memory, 0, VK_WHOLE_SIZE, 0, &b->mapped), "vkMapMemory"))
        return false;
    memset(b->mapped, 0, (size_t)info.size);
    return true;
}

static bool make_buffers(app *a, char **arguments)
{
    for (uint32_t i = 0; i < a->buffer_count; i++) {
        buffer *b = &a->buffers[i];
        const char *text = argument(arguments, b->name);
        if (!make_buffer(a, b)) return false;
        const uint64_t given = text ? numbers(text, b->type, b->mapped, b->count) : b->count;
        if (given != b->count)
            return wrong("%s has %" PRIu64 " elements, but %" PRIu64 " are given", b->name,
                         b->count, given);
    }
    return true;
}

// ----------------------------------------------------------------------------------------- pipeline
typedef struct set_bindings {
    VkDescriptorSetLayoutBinding data[MAX_BUFFERS + 1];
    uint32_t count;
} set_bindings;

static bool add_binding(app *a, set_bindings sets[MAX_SETS], const cJSON *place)
{
    const uint32_t set = number(place, "set");
    if (set >= MAX_SETS || sets[set].count > MAX_BUFFERS) return wrong("too many descriptor sets");
    if (set >= a->set_count) a->set_count = set + 1;
    sets[set].data[sets[set].count++] =
        (VkDescriptorSetLayoutBinding){.binding = number(place, "binding"),
                                       .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                       .descriptorCount = 1,
                                       .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
    return true;
}

static bool make_set_layouts(app *a, const cJSON *kernel)
{
    set_bindings sets[MAX_SETS] = {0};
    const cJSON *item, *params = list(list(kernel, "params"), "in");
    a->set_count = 1;
    cJSON_ArrayForEach(item,
                       list(kernel, "bindings")) if (!add_binding(a, sets, item)) return false;
    if (cJSON_IsObject(params) && !add_binding(a, sets, params)) return false;
    for (uint32_t i = 0; i < a->set_count; i++) {
        const VkDescriptorSetLayoutCreateInfo info = {
            .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
            .bindingCount = sets[i].count,
            .pBindings = sets[i].data};
        if (!good(vkCreateDescriptorSetLayout(a->device, &info, NULL, &a->set_layouts[i]),
                  "vkCreateDescriptorSetLayout"))
            return false;
    }
    return true;
}

static bool make_pipeline(app *a, const cJSON *kernel)
{
    const cJSON *params = list(kernel, "params"), *place = list(params, "in");
    const uint32_t bytes = number(params, "bytes");
    const bool push = !cJSON_IsObject(place);
    if (bytes > (push ? a->limits.maxPushConstantsSize : (uint32_t)MAX_PARAM_BYTES))
        return wrong("%u bytes of parameters are too many", bytes);
    if (!make_set_layouts(a, kernel)) return false;
    const VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, bytes};
    const VkPipelineLayoutCreateInfo layout = {.sType =
                                                   VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                               .setLayoutCount = a->set_count,
                                               .pSetLayouts = a->set_layouts,
                                               .pushConstantRangeCount = push && bytes,
                                               .pPushConstantRanges = &range};
    const VkShaderModuleCreateInfo shader = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                             .codeSize = a->code_bytes,
                                             .pCode = a->code};
    if (!good(vkCreatePipelineLayout(a->device, &layout, NULL, &a->layout), "pipeline layout") ||
        !good(vkCreateShaderModule(a->device, &shader, NULL, &a->shader), "vkCreateShaderModule"))
        return false;
    const VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = a->shader,
                  .pName = string(kernel, "entry")},
        .layout = a->layout};
    return good(vkCreateComputePipelines(a->device, NULL, 1, &info, NULL, &a->pipeline),
                "vkCreateComputePipelines");
}

static void bind(app *a, const cJSON *place, const buffer *b)
{
    const VkDescriptorBufferInfo range = {b->handle, 0, VK_WHOLE_SIZE};
    const VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                        .dstSet = a->sets[number(place, "set")],
                                        .dstBinding = number(place, "binding"),
                                        .descriptorCount = 1,
                                        .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                        .pBufferInfo = &range};
    vkUpdateDescriptorSets(a->device, 1, &write, 0, NULL);
}

// Descriptor sets for a dispatch step, whose `buffers` say what each binding gets.
static bool bind_all(app *a, const cJSON *kernel, const cJSON *step)
{
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, MAX_BUFFERS + 1};
    const VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                             .maxSets = MAX_SETS,
                                             .poolSizeCount = 1,
                                             .pPoolSizes = &size};
    if (!good(vkCreateDescriptorPool(a->device, &pool, NULL, &a->descriptors), "descriptor pool"))
        return false;
    const VkDescriptorSetAllocateInfo sets = {.sType =
                                                  VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                              .descriptorPool = a->descriptors,
                                              .descriptorSetCount = a->set_count,
                                              .pSetLayouts = a->set_layouts};
    if (!good(vkAllocateDescriptorSets(a->device, &sets, a->sets), "descriptor sets")) return false;
    const cJSON *item;
    cJSON_ArrayForEach(item, list(kernel, "bindings"))
    {
        buffer *b = find_buffer(a, string(list(step, "buffers"), string(item, "name")));
        if (!b) return wrong("this example binds no slices of buffers");
        if (cJSON_IsTrue(list(item, "clear"))) memset(b->mapped, 0, b->bytes);
        bind(a, item, b);
    }
    if (a->params.handle) bind(a, list(list(kernel, "params"), "in"), &a->params);
    return true;
}

// ------------------------------------------------------------------------------------------ running
static bool pack_params(app *a, const cJSON *kernel, const uint32_t groups[3], char *block)
{
    const cJSON *field;
    cJSON_ArrayForEach(field, list(list(kernel, "params"), "fields"))
    {
        const char *kind = string(field, "kind"), *type = string(field, "type"),
                   *value = string(field, "value");
        int64_t integer = 0; // group_base: no dispatch is split here
        double real = 0;
        if (!strcmp(kind, "scalar")) {
            const symbol *s = symbols_find(&a->values, value);
            if (!s) return wrong("the manifest names no scalar `%s`", value);
            integer = s->integer;
            real = s->real;
        } else if (!strcmp(kind, "expression")) {
            if (!value_of(a, value, INT64_MIN, &integer)) return false;
            integer = integer < 0 ? 0 : integer > UINT32_MAX ? UINT32_MAX : integer;
        } else if (!strcmp(kind, "num_groups")) {
            integer = groups[value[strlen("num_groups.")] - 'x'];
        }
        const uint32_t offset = number(field, "offset"), size = number(field, "size");
        if (size != size_of(type) || offset + size > number(list(kernel, "params"), "bytes"))
            return wrong("parameter %s: this example knows no %s", string(field, "name"), type);
        store(type, real, integer, block + offset);
    }
    return true;
}

static bool dispatch(app *a, const cJSON *kernel, const cJSON *step)
{
    const cJSON *params = list(kernel, "params"), *axis, *counts = list(kernel, "groups");
    const bool push = !cJSON_IsObject(list(params, "in"));
    char block[MAX_PARAM_BYTES] = {0};
    uint32_t groups[3] = {1, 1, 1}, n = 0;
    if (!cJSON_IsArray(counts))
        return wrong("the program has no domain: its group counts are yours");
    cJSON_ArrayForEach(axis, counts)
    {
        int64_t v;
        if (n == 3 || !value_of(a, axis->valuestring, 0, &v)) return false;
        if (v > a->limits.maxComputeWorkGroupCount[n])
            return wrong("%" PRId64 " groups must be split into several dispatches (group_base)",
                         v);
        groups[n++] = (uint32_t)v;
    }
    a->params.bytes = number(params, "bytes");
    if (!pack_params(a, kernel, groups, block) || (!push && !make_buffer(a, &a->params)) ||
        !bind_all(a, kernel, step))
        return false;
    if (!push) memcpy(a->params.mapped, block, a->params.bytes);
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    const VkMemoryBarrier to_host = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                     .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
                                     .dstAccessMask = VK_ACCESS_HOST_READ_BIT};
    const VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                 .commandBufferCount = 1,
                                 .pCommandBuffers = &a->commands};
    if (!good(vkBeginCommandBuffer(a->commands, &begin), "vkBeginCommandBuffer")) return false;
    vkCmdBindPipeline(a->commands, VK_PIPELINE_BIND_POINT_COMPUTE, a->pipeline);
    vkCmdBindDescriptorSets(a->commands, VK_PIPELINE_BIND_POINT_COMPUTE, a->layout, 0, a->set_count,
                            a->sets, 0, NULL);
    if (push && a->params.bytes)
        vkCmdPushConstants(a->commands, a->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                           (uint32_t)a->params.bytes, block);
    vkCmdDispatch(a->commands, groups[0], groups[1], groups[2]);
    vkCmdPipelineBarrier(a->commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                         VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &to_host, 0, NULL, 0, NULL);
    return good(vkEndCommandBuffer(a->commands), "vkEndCommandBuffer") &&
           good(vkQueueSubmit(a->queue, 1, &submit, a->fence), "vkQueueSubmit") &&
           good(vkWaitForFences(a->device, 1, &a->fence, VK_TRUE, UINT64_MAX), "vkWaitForFences");
}

static bool run_steps(app *a, const cJSON *kernel)
{
    const cJSON *step;
    uint32_t dispatches = 0;
    cJSON_ArrayForEach(step, list(a->manifest, "steps"))
    {
        const char *what = string(step, "do");
        if (!strcmp(what, "fill")) {
            buffer *b = find_buffer(a, string(step, "buffer"));
            const uint32_t v = number(step, "value");
            for (uint64_t i = 0; b && i < b->count; i++)
                store(b->type, v, v, (char *)b->mapped + i * size_of(b->type));
            if (!b) return false;
        } else if (!strcmp(what, "copy")) {
            buffer *from = find_buffer(a, string(step, "from")),
                   *to = find_buffer(a, string(step, "to"));
            if (!from || !to || from->bytes != to->bytes)
                return wrong("a copy between unlike buffers");
            memcpy(to->mapped, from->mapped, to->bytes);
        } else if (!strcmp(what, "dispatch") && !dispatches++) {
            if (!dispatch(a, kernel, step)) return false;
        } else {
            return wrong("this example does one dispatch and no step `%s`", what);
        }
    }
    return true;
}

static void print_results(const app *a)
{
    for (uint32_t i = 0; i < a->buffer_count; i++) {
        const buffer *b = &a->buffers[i];
        if (strcmp(string(b->info, "role"), "out") && strcmp(string(b->info, "role"), "inout"))
            continue;
        printf("%s =", b->name);
        for (uint64_t k = 0; k < b->count; k++) {
            const char *at = (char *)b->mapped + k * size_of(b->type);
            int64_t integer = 0;
            memcpy(&integer, at, size_of(b->type));
            if (!strcmp(b->type, "f32"))
                printf(" %.9g", (double)*(float *)at);
            else if (!strcmp(b->type, "f64"))
                printf(" %.17g", *(double *)at);
            else if (!strcmp(b->type, "i32"))
                printf(" %" PRId32, (int32_t)integer);
            else
                printf(" %" PRId64, integer);
        }
        printf("\n");
    }
}

static void free_buffer(app *a, buffer *b)
{
    vkDestroyBuffer(a->device, b->handle, NULL);
    vkFreeMemory(a->device, b->memory, NULL);
}

static void clean_up(app *a)
{
    if (a->device) {
        vkDeviceWaitIdle(a->device);
        for (uint32_t i = 0; i < a->buffer_count; i++) free_buffer(a, &a->buffers[i]);
        free_buffer(a, &a->params);
        for (uint32_t i = 0; i < a->set_count; i++)
            vkDestroyDescriptorSetLayout(a->device, a->set_layouts[i], NULL);
        vkDestroyDescriptorPool(a->device, a->descriptors, NULL);
        vkDestroyPipeline(a->device, a->pipeline, NULL);
        vkDestroyPipelineLayout(a->device, a->layout, NULL);
        vkDestroyShaderModule(a->device, a->shader, NULL);
        vkDestroyFence(a->device, a->fence, NULL);
        vkDestroyCommandPool(a->device, a->pool, NULL);
        vkDestroyDevice(a->device, NULL);
    }
    if (a->messenger) {
        PFN_vkDestroyDebugUtilsMessengerEXT destroy = (PFN_vkDestroyDebugUtilsMessengerEXT)
            vkGetInstanceProcAddr(a->instance, "vkDestroyDebugUtilsMessengerEXT");
        destroy(a->instance, a->messenger, NULL);
    }
    if (a->instance) vkDestroyInstance(a->instance, NULL);
    cJSON_Delete(a->manifest);
    free(a->text);
    free(a->code);
}

int main(int argc, char **argv)
{
    app a = {0};
    bool ok = argc >= 3 || wrong("usage: vulkan_only X.spv X.json NAME=VALUE[,VALUE…] …");
    ok = ok && load(&a, argv[1], argv[2]) && read_arguments(&a, argv + 3);
    const cJSON *kernel = ok ? list(a.manifest, "kernels")->child : NULL;
    ok = ok && open_instance(&a) && open_device(&a, kernel) && measure_buffers(&a) &&
         make_buffers(&a, argv + 3) && make_pipeline(&a, kernel) && run_steps(&a, kernel);
    if (ok) print_results(&a);
    clean_up(&a);
    return !(ok && !a.messages);
}
