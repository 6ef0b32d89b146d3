// SPDX-License-Identifier: MIT
// vulkan_only.c: runs what `vyre-grad … -o DIR` wrote with Vulkan alone: no Vyre library, no runtime.
//
//   vulkan_only X.spv X.json NAME=VALUE[,VALUE…] …
//
// Everything it needs stands in the manifest: bindings, buffer sizes, the layout of the parameters,
// group counts, the steps in order.  Every scalar and every `in` buffer is given on the command line.
// For brevity all memory is visible to the host, and each dispatch is waited for.
// VYRE_VALIDATION=1 turns the validation layers on; any message makes the exit status 1.
#include "gpu.h"
#include "manifest.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BUFFERS = 32, MAX_SETS = 4, MAX_PARAM_BYTES = 4096 };

typedef struct buffer {
    const cJSON *info; // its entry in the manifest
    const char *name, *type;
    uint64_t count, bytes;
    gpu_buffer on; // the device
} buffer;

typedef struct app {
    cJSON *manifest;
    char *text;     // of the manifest
    uint32_t *code; // SPIR-V
    size_t code_bytes;
    symbols values;
    buffer buffers[MAX_BUFFERS], params; // params: where they are not push constants
    uint32_t buffer_count;
    gpu gpu;
    VkShaderModule shader;
    VkDescriptorSetLayout set_layouts[MAX_SETS];
    uint32_t set_count;
    VkPipelineLayout layout;
    VkPipeline pipeline;
    VkDescriptorPool descriptors;
    VkDescriptorSet sets[MAX_SETS];
} app;

// ----------------------------------------------------------------------------------------- manifest
static bool value_of(app *a, const char *expression, int64_t least, int64_t *value)
{
    if (!expression) return wrong("the manifest has no expression where one is needed");
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
        if (b->count > a->gpu.limits.maxStorageBufferRange / size_of(b->type))
            return wrong("%s has %" PRIu64 " elements, more than the device allows", b->name,
                         b->count);
        b->bytes = b->count * size_of(b->type);
    }
    return true;
}

// ------------------------------------------------------------------------------------------ buffers
static bool make_buffers(app *a, char **arguments)
{
    for (uint32_t i = 0; i < a->buffer_count; i++) {
        buffer *b = &a->buffers[i];
        const char *text = argument(arguments, b->name);
        if (!gpu_make_buffer(&a->gpu, &b->on, b->bytes)) return false;
        const uint64_t given = text ? numbers(text, b->type, b->on.mapped, b->count) : b->count;
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
        if (!good(vkCreateDescriptorSetLayout(a->gpu.device, &info, NULL, &a->set_layouts[i]),
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
    if (bytes > (push ? a->gpu.limits.maxPushConstantsSize : (uint32_t)MAX_PARAM_BYTES))
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
    if (!good(vkCreatePipelineLayout(a->gpu.device, &layout, NULL, &a->layout),
              "pipeline layout") ||
        !good(vkCreateShaderModule(a->gpu.device, &shader, NULL, &a->shader),
              "vkCreateShaderModule"))
        return false;
    const VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = a->shader,
                  .pName = string(kernel, "entry")},
        .layout = a->layout};
    return good(vkCreateComputePipelines(a->gpu.device, NULL, 1, &info, NULL, &a->pipeline),
                "vkCreateComputePipelines");
}

static void bind(app *a, const cJSON *place, const buffer *b)
{
    const VkDescriptorBufferInfo range = {b->on.handle, 0, VK_WHOLE_SIZE};
    const VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                        .dstSet = a->sets[number(place, "set")],
                                        .dstBinding = number(place, "binding"),
                                        .descriptorCount = 1,
                                        .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                        .pBufferInfo = &range};
    vkUpdateDescriptorSets(a->gpu.device, 1, &write, 0, NULL);
}

// Descriptor sets for a dispatch step, whose `buffers` say what each binding gets.
static bool bind_all(app *a, const cJSON *kernel, const cJSON *step)
{
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, MAX_BUFFERS + 1};
    const VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                             .maxSets = MAX_SETS,
                                             .poolSizeCount = 1,
                                             .pPoolSizes = &size};
    if (!good(vkCreateDescriptorPool(a->gpu.device, &pool, NULL, &a->descriptors),
              "descriptor pool"))
        return false;
    const VkDescriptorSetAllocateInfo sets = {.sType =
                                                  VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                              .descriptorPool = a->descriptors,
                                              .descriptorSetCount = a->set_count,
                                              .pSetLayouts = a->set_layouts};
    if (!good(vkAllocateDescriptorSets(a->gpu.device, &sets, a->sets), "descriptor sets"))
        return false;
    const cJSON *item;
    cJSON_ArrayForEach(item, list(kernel, "bindings"))
    {
        buffer *b = find_buffer(a, string(list(step, "buffers"), string(item, "name")));
        if (!b) return wrong("this example binds no slices of buffers");
        if (cJSON_IsTrue(list(item, "clear"))) memset(b->on.mapped, 0, b->bytes);
        bind(a, item, b);
    }
    if (a->params.on.handle) bind(a, list(list(kernel, "params"), "in"), &a->params);
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
            const char axis = *value ? value[strlen(value) - 1] : 'x';
            integer = groups[axis == 'x' ? 0 : axis == 'y' ? 1 : 2];
        }
        const uint32_t offset = number(field, "offset"), size = number(field, "size");
        if (size != size_of(type) ||
            (uint64_t)offset + size > number(list(kernel, "params"), "bytes"))
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
        if (v > a->gpu.limits.maxComputeWorkGroupCount[n])
            return wrong("%" PRId64 " groups must be split into several dispatches (group_base)",
                         v);
        groups[n++] = (uint32_t)v;
    }
    a->params.bytes = number(params, "bytes");
    if (!pack_params(a, kernel, groups, block) ||
        (!push && !gpu_make_buffer(&a->gpu, &a->params.on, a->params.bytes)) ||
        !bind_all(a, kernel, step))
        return false;
    if (!push) memcpy(a->params.on.mapped, block, a->params.bytes);
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    const VkMemoryBarrier to_host = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                     .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
                                     .dstAccessMask = VK_ACCESS_HOST_READ_BIT};
    const VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                 .commandBufferCount = 1,
                                 .pCommandBuffers = &a->gpu.commands};
    if (!good(vkBeginCommandBuffer(a->gpu.commands, &begin), "vkBeginCommandBuffer")) return false;
    vkCmdBindPipeline(a->gpu.commands, VK_PIPELINE_BIND_POINT_COMPUTE, a->pipeline);
    vkCmdBindDescriptorSets(a->gpu.commands, VK_PIPELINE_BIND_POINT_COMPUTE, a->layout, 0,
                            a->set_count, a->sets, 0, NULL);
    if (push && a->params.bytes)
        vkCmdPushConstants(a->gpu.commands, a->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                           (uint32_t)a->params.bytes, block);
    vkCmdDispatch(a->gpu.commands, groups[0], groups[1], groups[2]);
    vkCmdPipelineBarrier(a->gpu.commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                         VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &to_host, 0, NULL, 0, NULL);
    return good(vkEndCommandBuffer(a->gpu.commands), "vkEndCommandBuffer") &&
           good(vkQueueSubmit(a->gpu.queue, 1, &submit, a->gpu.fence), "vkQueueSubmit") &&
           good(vkWaitForFences(a->gpu.device, 1, &a->gpu.fence, VK_TRUE, UINT64_MAX),
                "vkWaitForFences");
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
                store(b->type, v, v, (char *)b->on.mapped + i * size_of(b->type));
            if (!b) return false;
        } else if (!strcmp(what, "copy")) {
            buffer *from = find_buffer(a, string(step, "from")),
                   *to = find_buffer(a, string(step, "to"));
            if (!from || !to || from->bytes != to->bytes)
                return wrong("a copy between unlike buffers");
            memcpy(to->on.mapped, from->on.mapped, to->bytes);
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
            const char *at = (char *)b->on.mapped + k * size_of(b->type);
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

static void clean_up(app *a)
{
    if (a->gpu.device) {
        vkDeviceWaitIdle(a->gpu.device);
        for (uint32_t i = 0; i < a->buffer_count; i++) gpu_free_buffer(&a->gpu, &a->buffers[i].on);
        gpu_free_buffer(&a->gpu, &a->params.on);
        for (uint32_t i = 0; i < a->set_count; i++)
            vkDestroyDescriptorSetLayout(a->gpu.device, a->set_layouts[i], NULL);
        vkDestroyDescriptorPool(a->gpu.device, a->descriptors, NULL);
        vkDestroyPipeline(a->gpu.device, a->pipeline, NULL);
        vkDestroyPipelineLayout(a->gpu.device, a->layout, NULL);
        vkDestroyShaderModule(a->gpu.device, a->shader, NULL);
    }
    gpu_close(&a->gpu);
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
    ok = ok && gpu_open(&a.gpu, kernel) && measure_buffers(&a) && make_buffers(&a, argv + 3) &&
         make_pipeline(&a, kernel) && run_steps(&a, kernel);
    if (ok) print_results(&a);
    clean_up(&a);
    return !(ok && !a.gpu.messages);
}
