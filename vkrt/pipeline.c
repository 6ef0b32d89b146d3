// SPDX-License-Identifier: MIT
// pipeline.c: may the device run this kernel, and the pipeline that does; one per content hash.
#include "vkrt/internal.h"

// --- Requirements --------------------------------------------------------------------------------

static vkrt_status check_limits(const vkrt_device_info *info, const vy_kernel *k, vkrt_error *error)
{
    const char *fix = "compile for this device, or choose another one (VYRE_DEVICE)";
    uint64_t invocations = 1;
    for (int i = 0; i < 3; i++) {
        invocations *= k->local_size[i] < (1u << 20) ? k->local_size[i] : (1u << 20);
        if (k->local_size[i] > info->max_workgroup_size[i])
            return vkrt_fail(error, VKRT_LIMIT, fix,
                             "%s: workgroup size %u on axis %d, but '%s' allows %u", k->name,
                             k->local_size[i], i, info->name, info->max_workgroup_size[i]);
    }
    if (invocations > info->max_workgroup_invocations)
        return vkrt_fail(error, VKRT_LIMIT, fix,
                         "%s: %llu invocations in a workgroup, but '%s' allows %u", k->name,
                         (unsigned long long)invocations, info->name,
                         info->max_workgroup_invocations);
    if (k->shared_bytes > info->max_shared_bytes)
        return vkrt_fail(error, VKRT_LIMIT, fix, "%s: %u bytes of shared arrays, '%s' allows %u",
                         k->name, k->shared_bytes, info->name, info->max_shared_bytes);
    bool pushed = k->param_set == VY_NO_BINDING;
    if (pushed && k->param_bytes > info->max_push_constant_bytes)
        return vkrt_fail(error, VKRT_LIMIT, fix, "%s: %u bytes of push constants, '%s' allows %u",
                         k->name, k->param_bytes, info->name, info->max_push_constant_bytes);
    uint32_t buffers = k->binding_count + !pushed;
    if (buffers > info->max_storage_buffers)
        return vkrt_fail(error, VKRT_LIMIT,
                         "compile a derivative with -O1, which joins no stages, or choose another "
                         "device (VYRE_DEVICE)",
                         "%s: %u storage buffers, but '%s' allows %u", k->name, buffers, info->name,
                         info->max_storage_buffers);
    uint32_t sets = info->max_sets < VKRT_MAX_SETS ? info->max_sets : VKRT_MAX_SETS;
    for (uint32_t i = 0; i < buffers; i++) {
        uint32_t set = i < k->binding_count ? k->bindings[i].set : k->param_set;
        if (set >= sets)
            return vkrt_fail(error, VKRT_LIMIT, "use lower set numbers",
                             "%s: descriptor set %u, but there are %u", k->name, set, sets);
    }
    return VKRT_OK;
}

// Limits beyond which the driver silently computes wrong results.
static vkrt_status check_silent(const vkrt_device_info *info, const vy_kernel *k, vkrt_error *error)
{
    if (k->subgroup_size && k->subgroup_size != info->subgroup_size)
        return vkrt_fail(error, VKRT_LIMIT,
                         "compile for this device: vy_spirv_options.subgroup_size",
                         "%s: compiled for subgroups of %u, those of '%s' are of %u", k->name,
                         k->subgroup_size, info->name, info->subgroup_size);
    if (info->nesting_limit && k->nesting > info->nesting_limit)
        return vkrt_fail(
            error, VKRT_LIMIT,
            "join conditions with && or put inner ones into flags, so that they are not nested; "
            "or choose another device (VYRE_DEVICE)",
            "%s: conditions or loops are nested %u deep at line %u; '%.100s' computes wrong results "
            "beyond %u",
            k->name, k->nesting, k->nesting_line, info->name, info->nesting_limit);
    return VKRT_OK;
}

vkrt_status vkrt_check_iterations(const vkrt_device_info *info, const vy_kernel *k,
                                  uint64_t iterations, vkrt_error *error)
{
    if (!info->loop_iteration_limit || iterations <= info->loop_iteration_limit) return VKRT_OK;
    return vkrt_fail(
        error, VKRT_LIMIT,
        "compile with vy_opt_options.chunk, use fewer iterations, another device or the "
        "interpreter",
        "%s: its loops may take %llu iterations per invocation, and '%s' silently ends them after "
        "%u",
        k->name, (unsigned long long)iterations, info->name, info->loop_iteration_limit);
}

vkrt_status vkrt_check_open_loops(const vkrt_device_info *info, const vy_kernel *k,
                                  vkrt_error *error)
{
    if (!info->loop_iteration_limit || !k->iterations_open) return VKRT_OK;
    return vkrt_fail(
        error, VKRT_LIMIT,
        "set vkrt_plan_desc.trust_loops if they stay below, or choose another device",
        "%s: a loop whose iterations depend on data, and '%s' silently ends loops after "
        "%u iterations",
        k->name, info->name, info->loop_iteration_limit);
}

vkrt_status vkrt_device_check(const vkrt_device *device, const vy_kernel *k, vkrt_error *error)
{
    const vkrt_device_info *info = &device->physical.info;
    vkrt_status status = vkrt_check_kernel(k, error);
    if (status) return status;
    vy_features missing = k->features & ~device->features;
    if (missing) {
        char names[256];
        return vkrt_fail(error, VKRT_MISSING_FEATURE,
                         "choose another device (VYRE_DEVICE), another element type, or compile "
                         "without --enable",
                         "%s needs %s, which '%.100s' does not offer", k->name,
                         vkrt_features_text(missing, names, sizeof names), info->name);
    }
    if (k->vulkan_version >> 12 > info->api_version >> 12 ||
        k->spirv_version > info->max_spirv_version)
        return vkrt_fail(error, VKRT_MISSING_FEATURE, "compile with a lower --target",
                         "%s needs Vulkan %u.%u and SPIR-V %u.%u, '%.100s' has Vulkan %u.%u",
                         k->name, VK_API_VERSION_MAJOR(k->vulkan_version),
                         VK_API_VERSION_MINOR(k->vulkan_version), k->spirv_version >> 16 & 0xff,
                         k->spirv_version >> 8 & 0xff, info->name,
                         VK_API_VERSION_MAJOR(info->api_version),
                         VK_API_VERSION_MINOR(info->api_version));
    status = check_limits(info, k, error);
    return status ? status : check_silent(info, k, error);
}

// --- Creation ------------------------------------------------------------------------------------

static vkrt_hash kernel_hash(const vy_kernel *k)
{
    uint32_t layout[3] = {k->param_bytes, k->param_set, k->param_binding};
    vkrt_hash h = vkrt_hash_bytes((vkrt_hash){{1, 2}}, k->words, k->word_count * sizeof *k->words);
    h = vkrt_hash_bytes(h, k->entry, strlen(k->entry));
    h = vkrt_hash_bytes(h, layout, sizeof layout);
    for (uint32_t i = 0; i < k->binding_count; i++) {
        uint32_t slot[2] = {k->bindings[i].set, k->bindings[i].binding};
        h = vkrt_hash_bytes(h, slot, sizeof slot);
    }
    return h;
}

static void destroy_pipeline(vkrt_device *device, vkrt_pipeline *p)
{
    if (!device->abandoned) {
        device->vk.vkDestroyPipeline(device->handle, p->handle, device->allocator);
        device->vk.vkDestroyPipelineLayout(device->handle, p->layout, device->allocator);
        for (uint32_t i = 0; i < VKRT_MAX_SETS; i++)
            device->vk.vkDestroyDescriptorSetLayout(device->handle, p->set_layouts[i],
                                                    device->allocator);
    }
    free(p);
}

// The bindings of the kernel, and its parameter block where that is not pushed, which are in `set`.
// The block is a dynamic buffer, so that dispatches which differ in parameters share a set.
static uint32_t bindings_of(const vy_kernel *k, uint32_t count, uint32_t set,
                            VkDescriptorSetLayoutBinding *slots)
{
    uint32_t used = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool param = i == k->binding_count;
        if ((param ? k->param_set : k->bindings[i].set) != set) continue;
        slots[used++] = (VkDescriptorSetLayoutBinding){
            .binding = param ? k->param_binding : k->bindings[i].binding,
            .descriptorType = param ? VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC
                                    : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
            .descriptorCount = 1,
            .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
        };
    }
    return used;
}

static VkResult create_set_layouts(vkrt_device *device, const vy_kernel *k, vkrt_pipeline *p)
{
    uint32_t count = k->binding_count + (k->param_set != VY_NO_BINDING);
    VkDescriptorSetLayoutBinding *slots = calloc(count + 1, sizeof *slots);
    if (!slots) return VK_ERROR_OUT_OF_HOST_MEMORY;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t set = i < k->binding_count ? k->bindings[i].set : k->param_set;
        if (set >= p->set_count) p->set_count = set + 1;
    }
    VkResult r = VK_SUCCESS;
    for (uint32_t set = 0; r == VK_SUCCESS && set < p->set_count; set++) {
        VkDescriptorSetLayoutCreateInfo info = {
            .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
            .bindingCount = bindings_of(k, count, set, slots),
            .pBindings = slots,
        };
        r = device->vk.vkCreateDescriptorSetLayout(device->handle, &info, device->allocator,
                                                   &p->set_layouts[set]);
    }
    free(slots);
    return r;
}

static VkResult create_layout(vkrt_device *device, const vy_kernel *k, vkrt_pipeline *p)
{
    const bool pushed = k->param_set == VY_NO_BINDING;
    const VkResult r = create_set_layouts(device, k, p);
    if (r != VK_SUCCESS) return r;
    VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, k->param_bytes};
    VkPipelineLayoutCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
        .setLayoutCount = p->set_count,
        .pSetLayouts = p->set_layouts,
        .pushConstantRangeCount = pushed && k->param_bytes > 0,
        .pPushConstantRanges = &range,
    };
    return device->vk.vkCreatePipelineLayout(device->handle, &info, device->allocator, &p->layout);
}

static VkResult create_pipeline(vkrt_device *device, const vy_kernel *k, VkPipelineCache cache,
                                vkrt_pipeline *p)
{
    VkShaderModuleCreateInfo module = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
        .codeSize = k->word_count * sizeof *k->words,
        .pCode = k->words,
    };
    VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .pName = k->entry},
        .layout = p->layout,
    };
    VkResult r = device->vk.vkCreateShaderModule(device->handle, &module, device->allocator,
                                                 &info.stage.module);
    if (r != VK_SUCCESS) return r;
    r = device->vk.vkCreateComputePipelines(device->handle, cache, 1, &info, device->allocator,
                                            &p->handle);
    device->vk.vkDestroyShaderModule(device->handle, info.stage.module, device->allocator);
    return r;
}

vkrt_status vkrt_pipeline_get(vkrt_device *device, const vy_kernel *kernel, vkrt_pipeline **out,
                              vkrt_cache *cache, vkrt_error *error)
{
    vkrt_status status = vkrt_device_check(device, kernel, error);
    if (status) return status;
    vkrt_hash hash = kernel_hash(kernel);
    for (vkrt_pipeline *p = device->pipelines; p; p = p->next) {
        if (memcmp(&p->hash, &hash, sizeof hash) != 0) continue;
        if (p->users++ == 0) device->idle_pipelines--;
        *out = p;
        *cache = VKRT_CACHE_MEMORY;
        return VKRT_OK;
    }
    if (device->lost)
        return vkrt_device_fail(device, error, VK_ERROR_DEVICE_LOST, "compiling a kernel");
    vkrt_pipeline *p = calloc(1, sizeof *p);
    if (!p) return vkrt_fail_memory(error);
    p->hash = hash;
    p->users = 1;
    bool found = false;
    VkPipelineCache kept = vkrt_cache_begin(device, hash, &found);
    VkResult r = create_layout(device, kernel, p);
    if (r == VK_SUCCESS) r = create_pipeline(device, kernel, kept, p);
    vkrt_cache_end(device, kept, hash, r == VK_SUCCESS && !found);
    if (r != VK_SUCCESS) {
        destroy_pipeline(device, p);
        return vkrt_device_fail(device, error, r, "compiling a kernel");
    }
    *cache = found ? VKRT_CACHE_DISK : VKRT_CACHE_MISS;
    p->next = device->pipelines;
    device->pipelines = p;
    *out = p;
    return VKRT_OK;
}

vkrt_status vkrt_device_compile(vkrt_device *device, const vy_kernel *kernel, vkrt_cache *cache,
                                vkrt_error *error)
{
    vkrt_pipeline *pipeline;
    vkrt_cache ignored;
    vkrt_status status =
        vkrt_pipeline_get(device, kernel, &pipeline, cache ? cache : &ignored, error);
    if (!status) vkrt_pipeline_put(device, pipeline);
    return status;
}

static void unlink_pipeline(vkrt_device *device, const vkrt_pipeline *p)
{
    vkrt_pipeline **at = &device->pipelines;
    while (*at != p) at = &(*at)->next;
    *at = p->next;
}

void vkrt_pipeline_put(vkrt_device *device, vkrt_pipeline *p)
{
    if (!p || --p->users > 0) return;
    unlink_pipeline(device, p);
    p->next = device->pipelines;
    device->pipelines = p;
    if (++device->idle_pipelines <= VKRT_IDLE_PIPELINES) return;
    vkrt_pipeline *oldest = p;
    for (vkrt_pipeline *q = p; q; q = q->next)
        if (q->users == 0) oldest = q;
    unlink_pipeline(device, oldest);
    destroy_pipeline(device, oldest);
    device->idle_pipelines--;
}

void vkrt_pipelines_destroy(vkrt_device *device)
{
    while (device->pipelines) {
        vkrt_pipeline *p = device->pipelines;
        device->pipelines = p->next;
        destroy_pipeline(device, p);
    }
}
