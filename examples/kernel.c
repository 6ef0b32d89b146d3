// SPDX-License-Identifier: MIT
// kernel.c: kernels and dispatches, from what the manifest says about them.
#include "app.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct set_bindings {
    VkDescriptorSetLayoutBinding data[MAX_BUFFERS + 1];
    uint32_t count;
} set_bindings;

static bool add_binding(kernel *k, set_bindings sets[MAX_SETS], const cJSON *place)
{
    const uint32_t set = number(place, "set");
    if (set >= MAX_SETS || sets[set].count > MAX_BUFFERS) return wrong("too many descriptor sets");
    if (set >= k->set_count) k->set_count = set + 1;
    sets[set].data[sets[set].count++] =
        (VkDescriptorSetLayoutBinding){.binding = number(place, "binding"),
                                       .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                       .descriptorCount = 1,
                                       .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
    return true;
}

static bool make_set_layouts(app *a, kernel *k)
{
    set_bindings sets[MAX_SETS] = {0};
    const cJSON *item, *params = list(list(k->info, "params"), "in");
    k->set_count = 1;
    cJSON_ArrayForEach(item, list(k->info, "bindings"))
    {
        if (!add_binding(k, sets, item)) return false;
    }
    if (cJSON_IsObject(params) && !add_binding(k, sets, params)) return false;
    for (uint32_t i = 0; i < k->set_count; i++) {
        const VkDescriptorSetLayoutCreateInfo info = {
            .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
            .bindingCount = sets[i].count,
            .pBindings = sets[i].data};
        if (!good(vkCreateDescriptorSetLayout(a->gpu.device, &info, NULL, &k->set_layouts[i]),
                  "vkCreateDescriptorSetLayout"))
            return false;
    }
    return true;
}

static bool make_kernel(app *a, kernel *k)
{
    const cJSON *params = list(k->info, "params"), *place = list(params, "in");
    const uint32_t bytes = number(params, "bytes");
    const bool push = !cJSON_IsObject(place);
    if (bytes > MAX_PARAM_BYTES || (push && bytes > a->gpu.limits.maxPushConstantsSize))
        return wrong("%u bytes of parameters are too many", bytes);
    if (!make_set_layouts(a, k)) return false;
    const VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, bytes};
    const VkPipelineLayoutCreateInfo layout = {.sType =
                                                   VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                               .setLayoutCount = k->set_count,
                                               .pSetLayouts = k->set_layouts,
                                               .pushConstantRangeCount = push && bytes,
                                               .pPushConstantRanges = &range};
    if (!good(vkCreatePipelineLayout(a->gpu.device, &layout, NULL, &k->layout), "pipeline layout"))
        return false;
    const VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = a->shader,
                  .pName = string(k->info, "entry")},
        .layout = k->layout};
    return good(vkCreateComputePipelines(a->gpu.device, NULL, 1, &info, NULL, &k->pipeline),
                "vkCreateComputePipelines");
}

// All kernels are entry points of the one module.
bool make_kernels(app *a)
{
    const cJSON *item, *all = list(a->manifest, "kernels");
    const VkShaderModuleCreateInfo shader = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                             .codeSize = a->code_bytes,
                                             .pCode = a->code};
    a->kernels = calloc((size_t)cJSON_GetArraySize(all) + 1, sizeof *a->kernels);
    if (!a->kernels) return wrong("out of memory");
    if (!good(vkCreateShaderModule(a->gpu.device, &shader, NULL, &a->shader),
              "vkCreateShaderModule"))
        return false;
    cJSON_ArrayForEach(item, all)
    {
        kernel *k = &a->kernels[a->kernel_count++];
        k->info = item;
        if (!make_kernel(a, k)) return false;
    }
    return true;
}

void free_kernels(app *a)
{
    for (uint32_t n = 0; n < a->kernel_count; n++) {
        kernel *k = &a->kernels[n];
        for (uint32_t i = 0; i < k->set_count; i++)
            vkDestroyDescriptorSetLayout(a->gpu.device, k->set_layouts[i], NULL);
        vkDestroyPipeline(a->gpu.device, k->pipeline, NULL);
        vkDestroyPipelineLayout(a->gpu.device, k->layout, NULL);
    }
    vkDestroyShaderModule(a->gpu.device, a->shader, NULL);
    free(a->kernels);
}

// ---------------------------------------------------------------------------------------- dispatch
// The kernel's names with the values that the step gives them: numbers, or expressions of the plan.
static bool take_symbols(launch *l, const cJSON *step)
{
    const cJSON *item;
    l->values.expressions = list(l->k->info, "expressions");
    cJSON_ArrayForEach(item, list(step, "symbols"))
    {
        const char *text = cJSON_IsString(item) ? item->valuestring : "";
        const symbol *same = symbols_find(&l->a->values, text);
        char *end;
        symbol v = {.real = strtod(text, &end)};
        const bool literal = end != text && !*end;
        if (same) v = *same;
        if (!same && strspn(text, "0123456789") == strlen(text))
            v.integer = strtoll(text, NULL, 10);
        if (!same && !literal && !value_of(&l->a->values, text, INT64_MIN, &v.integer))
            return false;
        if (!symbols_set(&l->values, item->string, v.integer, v.real))
            return wrong("too many scalars for this example");
    }
    return true;
}

// The number of elements of a binding, from the kernel's declaration.
static bool extent_of(launch *l, const cJSON *info, uint64_t *count)
{
    const cJSON *axis;
    *count = 1;
    cJSON_ArrayForEach(axis, list(info, "shape"))
    {
        int64_t n;
        if (!value_of(&l->values, axis->valuestring, 0, &n)) return false;
        if (__builtin_mul_overflow(*count, (uint64_t)n, count)) *count = UINT64_MAX;
    }
    return true;
}

static bool take_binding(launch *l, const cJSON *info, const cJSON *what)
{
    binding *n = &l->bindings[l->binding_count++];
    int64_t first = 0;
    uint64_t count;
    *n = (binding){.info = info};
    n->b = find_buffer(l->a, cJSON_IsString(what) ? what->valuestring : string(what, "buffer"));
    if (!n->b || !extent_of(l, info, &count)) return false;
    if (cJSON_IsObject(what) && !value_of(&l->a->values, string(what, "offset"), 0, &first))
        return false;
    n->first = (uint64_t)first;
    n->count = count;
    if (n->first > n->b->count || count > n->b->count - n->first)
        return wrong("%s takes more elements than %s has", string(info, "name"), n->b->name);
    const uint32_t size = size_of(n->b->type);
    const uint64_t align = l->a->gpu.limits.minStorageBufferOffsetAlignment;
    n->range = (VkDescriptorBufferInfo){n->b->on.handle, n->first * size / align * align, 0};
    n->range.range = (n->first + count) * size - n->range.offset;
    if (count == 0) n->range = (VkDescriptorBufferInfo){n->b->on.handle, 0, VK_WHOLE_SIZE};
    n->clear = cJSON_IsTrue(list(info, "clear"));
    return true;
}

// May two bindings access the same element, one of them writing?  Slices of one buffer may be
// adjacent but not overlap.
static bool apart(const launch *l)
{
    for (uint32_t i = 0; i < l->binding_count; i++)
        for (uint32_t j = 0; j < i; j++) {
            const binding *x = &l->bindings[i], *y = &l->bindings[j];
            const bool reads = !strcmp(string(x->info, "access"), "in") &&
                               !strcmp(string(y->info, "access"), "in");
            if (x->b != y->b || reads || !x->count || !y->count) continue;
            if (x->first < y->first + y->count && y->first < x->first + x->count)
                return wrong("%s and %s share elements of %s, and one of them is written",
                             string(y->info, "name"), string(x->info, "name"), x->b->name);
        }
    return true;
}

static bool take_bindings(launch *l, const cJSON *step)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, list(l->k->info, "bindings"))
    {
        if (l->binding_count == MAX_BUFFERS) return wrong("too many bindings for this example");
        if (!take_binding(l, item, list(list(step, "buffers"), string(item, "name")))) return false;
    }
    return apart(l);
}

static bool take_groups(launch *l, const cJSON *step)
{
    // The kernel's group counts, over its symbols; those of the step if it has no domain.
    const cJSON *axis, *counts = list(l->k->info, "groups");
    symbols *s = cJSON_IsArray(counts) ? &l->values : &l->a->values;
    uint32_t n = 0;
    if (!cJSON_IsArray(counts)) counts = list(step, "groups");
    if (!cJSON_IsArray(counts))
        return wrong("the program has no domain: its group counts are yours");
    cJSON_ArrayForEach(axis, counts)
    {
        int64_t v;
        if (n == 3 || !value_of(s, axis->valuestring, 0, &v)) return false;
        if (v > l->a->gpu.limits.maxComputeWorkGroupCount[n])
            return wrong("%" PRId64 " groups must be split into several dispatches (group_base)",
                         v);
        l->groups[n++] = (uint32_t)v;
    }
    return true;
}

static const binding *find_binding(const launch *l, const char *name)
{
    for (uint32_t i = 0; i < l->binding_count; i++)
        if (!strcmp(string(l->bindings[i].info, "name"), name)) return &l->bindings[i];
    return NULL;
}

static bool field_value(launch *l, const cJSON *field, int64_t *integer, double *real)
{
    const char *kind = string(field, "kind"), *value = string(field, "value");
    if (!strcmp(kind, "scalar")) {
        const symbol *s = symbols_find(&l->values, value);
        if (!s) return wrong("the manifest names no scalar `%s`", value);
        *integer = s->integer;
        *real = s->real;
    } else if (!strcmp(kind, "expression")) {
        if (!value_of(&l->values, value, INT64_MIN, integer)) return false;
        *integer = *integer < 0 ? 0 : *integer > UINT32_MAX ? UINT32_MAX : *integer;
    } else if (!strcmp(kind, "num_groups")) {
        const char axis = *value ? value[strlen(value) - 1] : 'x';
        *integer = l->groups[axis == 'x' ? 0 : axis == 'y' ? 1 : 2];
    } else if (!strcmp(kind, "offset")) {
        const binding *b = find_binding(l, value);
        if (!b) return wrong("the manifest names no binding `%s`", value);
        *integer = (int64_t)(b->first - b->range.offset / size_of(b->b->type));
    } // group_base: dispatches are not split here
    return true;
}

static bool pack_params(launch *l)
{
    const cJSON *field;
    cJSON_ArrayForEach(field, list(list(l->k->info, "params"), "fields"))
    {
        const char *type = string(field, "type");
        const uint32_t offset = number(field, "offset"), size = number(field, "size");
        int64_t integer = 0;
        double real = 0;
        if (!field_value(l, field, &integer, &real)) return false;
        if (size != size_of(type) ||
            (uint64_t)offset + size > number(list(l->k->info, "params"), "bytes"))
            return wrong("parameter %s: this example knows no %s", string(field, "name"), type);
        store(type, real, integer, l->block + offset);
    }
    return true;
}

static void bind(launch *l, const cJSON *place, const VkDescriptorBufferInfo *range)
{
    const VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                        .dstSet = l->sets[number(place, "set")],
                                        .dstBinding = number(place, "binding"),
                                        .descriptorCount = 1,
                                        .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                        .pBufferInfo = range};
    vkUpdateDescriptorSets(l->a->gpu.device, 1, &write, 0, NULL);
}

static bool bind_all(launch *l)
{
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, MAX_BUFFERS + 1};
    const VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                             .maxSets = MAX_SETS,
                                             .poolSizeCount = 1,
                                             .pPoolSizes = &size};
    if (!good(vkCreateDescriptorPool(l->a->gpu.device, &pool, NULL, &l->pool), "descriptor pool"))
        return false;
    const VkDescriptorSetAllocateInfo sets = {.sType =
                                                  VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                              .descriptorPool = l->pool,
                                              .descriptorSetCount = l->k->set_count,
                                              .pSetLayouts = l->k->set_layouts};
    if (!good(vkAllocateDescriptorSets(l->a->gpu.device, &sets, l->sets), "descriptor sets"))
        return false;
    for (uint32_t i = 0; i < l->binding_count; i++)
        bind(l, l->bindings[i].info, &l->bindings[i].range);
    const VkDescriptorBufferInfo all = {l->params.on.handle, 0, VK_WHOLE_SIZE};
    if (all.buffer) bind(l, list(list(l->k->info, "params"), "in"), &all);
    return true;
}

void launch_record(const launch *l, VkCommandBuffer commands)
{
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, l->k->pipeline);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, l->k->layout, 0,
                            l->k->set_count, l->sets, 0, NULL);
    if (l->push_bytes)
        vkCmdPushConstants(commands, l->k->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, l->push_bytes,
                           l->block);
    vkCmdDispatch(commands, l->groups[0], l->groups[1], l->groups[2]);
}

static bool submit(const launch *l)
{
    const gpu *g = &l->a->gpu;
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    const VkMemoryBarrier to_host = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                     .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
                                     .dstAccessMask =
                                         VK_ACCESS_HOST_READ_BIT | VK_ACCESS_HOST_WRITE_BIT};
    const VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                 .commandBufferCount = 1,
                                 .pCommandBuffers = &g->commands};
    if (!good(vkBeginCommandBuffer(g->commands, &begin), "vkBeginCommandBuffer")) return false;
    launch_record(l, g->commands);
    vkCmdPipelineBarrier(g->commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                         VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &to_host, 0, NULL, 0, NULL);
    return good(vkEndCommandBuffer(g->commands), "vkEndCommandBuffer") &&
           good(vkResetFences(g->device, 1, &g->fence), "vkResetFences") &&
           good(vkQueueSubmit(g->queue, 1, &submit, g->fence), "vkQueueSubmit") &&
           good(vkWaitForFences(g->device, 1, &g->fence, VK_TRUE, UINT64_MAX), "vkWaitForFences");
}

static const kernel *find_kernel(const app *a, const char *name)
{
    for (uint32_t i = 0; i < a->kernel_count; i++)
        if (!strcmp(string(a->kernels[i].info, "name"), name)) return &a->kernels[i];
    wrong("the manifest describes no kernel `%s`", name);
    return NULL;
}

static bool complete(launch *l, const cJSON *step)
{
    const cJSON *params = list(l->k->info, "params");
    const bool push = !cJSON_IsObject(list(params, "in"));
    const uint32_t bytes = number(params, "bytes");
    if (!take_symbols(l, step) || !take_bindings(l, step) || !take_groups(l, step) ||
        !pack_params(l))
        return false;
    l->push_bytes = push ? bytes : 0;
    l->empty = !l->groups[0] || !l->groups[1] || !l->groups[2];
    if (l->empty) return true;
    if (!push && !gpu_make_buffer(&l->a->gpu, &l->params.on, bytes)) return false;
    if (!push) memcpy(l->params.on.mapped, l->block, bytes);
    return bind_all(l);
}

launch *launch_make(app *a, const cJSON *step)
{
    launch *l = calloc(1, sizeof *l);
    if (!l) wrong("out of memory");
    if (!l) return NULL;
    l->a = a;
    l->k = find_kernel(a, string(step, "kernel"));
    if (l->k && complete(l, step)) return l;
    launch_free(l);
    return NULL;
}

void launch_free(launch *l)
{
    if (!l) return;
    vkDestroyDescriptorPool(l->a->gpu.device, l->pool, NULL);
    gpu_free_buffer(&l->a->gpu, &l->params.on);
    free(l);
}

bool dispatch(app *a, const cJSON *step)
{
    launch *l = launch_make(a, step);
    for (uint32_t i = 0; l && i < l->binding_count; i++) {
        const binding *n = &l->bindings[i];
        const uint32_t size = size_of(n->b->type);
        if (n->clear) memset((char *)n->b->on.mapped + n->first * size, 0, n->count * size);
    }
    const bool ok = l && (l->empty || submit(l));
    launch_free(l);
    return ok;
}
