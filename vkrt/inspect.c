// SPDX-License-Identifier: MIT
// inspect.c: the driver's compiled form of a kernel, through VK_KHR_pipeline_executable_properties.
//
// Works on bare SPIR-V: the pipeline's layout comes from the module itself (interface.c), so that
// foreign shaders can be inspected too.  Nothing is run.
#include "vkrt/interface.h"
#include "vkrt/internal.h"

#define VK_CALL(name) device->vk.vk##name

// --- Pipeline ------------------------------------------------------------------------------------

typedef struct inspected {
    VkDescriptorSetLayout sets[VKRT_INTERFACE_SETS];
    VkPipelineLayout layout;
    VkShaderModule module;
    VkPipeline pipeline;
} inspected;

static VkResult make_sets(vkrt_device *device, const vkrt_interface *face, inspected *made)
{
    VkDescriptorSetLayoutBinding *slots = calloc(face->slot_count + 1, sizeof *slots);
    if (!slots) return VK_ERROR_OUT_OF_HOST_MEMORY;
    VkResult r = VK_SUCCESS;
    for (uint32_t set = 0; r == VK_SUCCESS && set < face->set_count; set++) {
        VkDescriptorSetLayoutCreateInfo info = {
            .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
            .pBindings = slots,
        };
        for (uint32_t i = 0; i < face->slot_count; i++) {
            const vkrt_slot *s = &face->slots[i];
            if (s->set != set) continue;
            slots[info.bindingCount++] = (VkDescriptorSetLayoutBinding){
                .binding = s->binding,
                .descriptorType = s->type,
                .descriptorCount = s->count,
                .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
            };
        }
        r = VK_CALL(CreateDescriptorSetLayout)(device->handle, &info, device->allocator,
                                               &made->sets[set]);
    }
    free(slots);
    return r;
}

static VkResult make_pipeline(vkrt_device *device, const vkrt_interface *face,
                              const uint32_t *words, size_t word_count, const char *entry,
                              inspected *made)
{
    VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, face->push_bytes};
    VkPipelineLayoutCreateInfo layout = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
        .setLayoutCount = face->set_count,
        .pSetLayouts = made->sets,
        .pushConstantRangeCount = face->push_bytes > 0,
        .pPushConstantRanges = &range,
    };
    VkShaderModuleCreateInfo module = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
        .codeSize = word_count * sizeof *words,
        .pCode = words,
    };
    VkResult r = make_sets(device, face, made);
    if (r == VK_SUCCESS)
        r = VK_CALL(CreatePipelineLayout)(device->handle, &layout, device->allocator,
                                          &made->layout);
    if (r == VK_SUCCESS)
        r = VK_CALL(CreateShaderModule)(device->handle, &module, device->allocator, &made->module);
    if (r != VK_SUCCESS) return r;
    VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .flags = VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR |
                 VK_PIPELINE_CREATE_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = made->module,
                  .pName = entry},
        .layout = made->layout,
    };
    return VK_CALL(CreateComputePipelines)(device->handle, VK_NULL_HANDLE, 1, &info,
                                           device->allocator, &made->pipeline);
}

static void unmake(vkrt_device *device, inspected *made)
{
    VK_CALL(DestroyPipeline)(device->handle, made->pipeline, device->allocator);
    VK_CALL(DestroyShaderModule)(device->handle, made->module, device->allocator);
    VK_CALL(DestroyPipelineLayout)(device->handle, made->layout, device->allocator);
    for (uint32_t i = 0; i < VKRT_INTERFACE_SETS; i++)
        VK_CALL(DestroyDescriptorSetLayout)(device->handle, made->sets[i], device->allocator);
}

// --- Statistics ----------------------------------------------------------------------------------

static vkrt_figure figure_of(const VkPipelineExecutableStatisticKHR *s)
{
    vkrt_figure f = {0};
    memcpy(f.name, s->name, sizeof f.name - 1);
    memcpy(f.description, s->description, sizeof f.description - 1);
    switch (s->format) {
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR:
        f.whole = true;
        f.integer = s->value.b32 != 0;
        f.value = (double)f.integer;
        break;
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_INT64_KHR:
        f.whole = true;
        f.integer = (uint64_t)s->value.i64;
        f.value = (double)s->value.i64;
        break;
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_UINT64_KHR:
        f.whole = true;
        f.integer = s->value.u64;
        f.value = (double)s->value.u64;
        break;
    default: f.value = s->value.f64; break;
    }
    return f;
}

static VkResult read_figures(vkrt_device *device, VkPipeline pipeline, uint32_t index,
                             vkrt_executable *out)
{
    VkPipelineExecutableInfoKHR which = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR,
        .pipeline = pipeline,
        .executableIndex = index,
    };
    uint32_t count = 0;
    VkResult r = VK_CALL(GetPipelineExecutableStatisticsKHR)(device->handle, &which, &count, NULL);
    if (r != VK_SUCCESS || count == 0) return r;
    VkPipelineExecutableStatisticKHR *list = calloc(count, sizeof *list);
    out->figures = calloc(count, sizeof *out->figures);
    if (!list || !out->figures) {
        free(list);
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    for (uint32_t i = 0; i < count; i++)
        list[i].sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR;
    r = VK_CALL(GetPipelineExecutableStatisticsKHR)(device->handle, &which, &count, list);
    if (r == VK_INCOMPLETE) r = VK_SUCCESS;
    for (uint32_t i = 0; r == VK_SUCCESS && i < count; i++) out->figures[i] = figure_of(&list[i]);
    out->figure_count = r == VK_SUCCESS ? count : 0;
    free(list);
    return r;
}

// Which of a driver's texts is the assembly only its name says.
static bool is_assembly(const VkPipelineExecutableInternalRepresentationKHR *t)
{
    return t->isText && t->dataSize && (strstr(t->name, "Assembly") || strstr(t->name, "assembly"));
}

// The list is asked for twice: for the sizes, and, with memory for one of them, for the text.
static VkResult read_assembly(vkrt_device *device, VkPipeline pipeline, uint32_t index,
                              vkrt_executable *out)
{
    VkPipelineExecutableInfoKHR which = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR,
        .pipeline = pipeline,
        .executableIndex = index,
    };
    uint32_t count = 0, at = 0;
    VkResult r = VK_CALL(GetPipelineExecutableInternalRepresentationsKHR)(device->handle, &which,
                                                                          &count, NULL);
    if (r != VK_SUCCESS || count == 0) return r;
    VkPipelineExecutableInternalRepresentationKHR *list = calloc(count, sizeof *list);
    if (!list) return VK_ERROR_OUT_OF_HOST_MEMORY;
    for (uint32_t i = 0; i < count; i++)
        list[i].sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INTERNAL_REPRESENTATION_KHR;
    r = VK_CALL(GetPipelineExecutableInternalRepresentationsKHR)(device->handle, &which, &count,
                                                                 list);
    while (at < count && !is_assembly(&list[at])) at++;
    if (r == VK_SUCCESS && at < count) {
        out->assembly = calloc(list[at].dataSize + 1, 1);
        out->assembly_size = out->assembly ? list[at].dataSize + 1 : 0;
        list[at].pData = out->assembly;
        r = out->assembly
                ? VK_CALL(GetPipelineExecutableInternalRepresentationsKHR)(device->handle, &which,
                                                                           &count, list)
                : VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    free(list);
    return r == VK_INCOMPLETE ? VK_SUCCESS : r;
}

static VkResult read_executables(vkrt_device *device, VkPipeline pipeline, vkrt_inspection *out)
{
    VkPipelineInfoKHR which = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR,
        .pipeline = pipeline,
    };
    uint32_t count = 0;
    VkResult r = VK_CALL(GetPipelineExecutablePropertiesKHR)(device->handle, &which, &count, NULL);
    if (r != VK_SUCCESS || count == 0) return r;
    VkPipelineExecutablePropertiesKHR *list = calloc(count, sizeof *list);
    out->executables = calloc(count, sizeof *out->executables);
    out->executable_count = out->executables ? count : 0;
    if (!list || !out->executables) {
        free(list);
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    for (uint32_t i = 0; i < count; i++)
        list[i].sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_PROPERTIES_KHR;
    r = VK_CALL(GetPipelineExecutablePropertiesKHR)(device->handle, &which, &count, list);
    for (uint32_t i = 0; r == VK_SUCCESS && i < count; i++) {
        vkrt_executable *e = &out->executables[i];
        memcpy(e->name, list[i].name, sizeof e->name - 1);
        memcpy(e->description, list[i].description, sizeof e->description - 1);
        e->subgroup_size = list[i].subgroupSize;
        r = read_figures(device, pipeline, i, e);
        if (r == VK_SUCCESS) r = read_assembly(device, pipeline, i, e);
    }
    free(list);
    return r;
}

// --- The call ------------------------------------------------------------------------------------

static vkrt_status check_module(const vkrt_device *device, const vkrt_interface *face,
                                const char *entry, vy_features needs, vkrt_error *error)
{
    const vkrt_device_info *info = &device->physical.info;
    char names[256];
    const vy_features missing = (needs | face->features) & ~device->features;
    if (!face->has_entry)
        return vkrt_fail(error, VKRT_BAD_KERNEL, "name one of its compute entry points",
                         "the module has no compute entry point '%.100s'", entry);
    if (missing)
        return vkrt_fail(error, VKRT_MISSING_FEATURE, "choose another device or driver",
                         "%.60s needs %s, which '%.100s' does not offer", entry,
                         vkrt_features_text(missing, names, sizeof names), info->name);
    if (face->spirv_version > info->max_spirv_version)
        return vkrt_fail(error, VKRT_MISSING_FEATURE, "compile with a lower --target",
                         "%.60s is SPIR-V %u.%u, '%.100s' takes %u.%u at most", entry,
                         face->spirv_version >> 16, face->spirv_version >> 8 & 0xff, info->name,
                         info->max_spirv_version >> 16, info->max_spirv_version >> 8 & 0xff);
    if (face->push_bytes > info->max_push_constant_bytes || face->set_count > info->max_sets)
        return vkrt_fail(error, VKRT_LIMIT, "choose another device or driver",
                         "%.60s: %u bytes of push constants and %u sets, '%.100s' allows %u and %u",
                         entry, face->push_bytes, face->set_count, info->name,
                         info->max_push_constant_bytes, info->max_sets);
    return VKRT_OK;
}

vkrt_status vkrt_device_inspect(vkrt_device *device, const uint32_t *words, size_t word_count,
                                const char *entry, vy_features needs, vkrt_inspection **out,
                                vkrt_error *error)
{
    *out = NULL;
    if (!device->inspecting)
        return vkrt_fail(error, VKRT_BAD_ARGUMENT, "open it with vkrt_device_desc.inspect",
                         "the device was not opened for inspection");
    vkrt_interface face;
    vkrt_status status = vkrt_interface_read(words, word_count, entry, &face, error);
    if (!status) status = check_module(device, &face, entry, needs, error);
    vkrt_inspection *result = status ? NULL : calloc(1, sizeof *result);
    if (!status && !result) status = vkrt_fail_memory(error);
    inspected made = {0};
    if (!status) {
        VkResult r = make_pipeline(device, &face, words, word_count, entry, &made);
        if (r == VK_SUCCESS) r = read_executables(device, made.pipeline, result);
        if (r != VK_SUCCESS) status = vkrt_device_fail(device, error, r, "compiling a kernel");
        unmake(device, &made);
    }
    vkrt_interface_free(&face);
    if (status)
        vkrt_inspection_free(result);
    else
        *out = result;
    return status;
}

void vkrt_inspection_free(vkrt_inspection *inspection)
{
    if (!inspection) return;
    for (uint32_t i = 0; i < inspection->executable_count; i++) {
        free(inspection->executables[i].figures);
        free(inspection->executables[i].assembly);
    }
    free(inspection->executables);
    free(inspection);
}
