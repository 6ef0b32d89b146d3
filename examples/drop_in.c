// SPDX-License-Identifier: MIT
// drop_in.c: a program that launches a shader of its own with Vulkan, and the shader's gradient.
//
//   springs.h        the shader springs.comp as glslangValidator compiles it
//   springs_grad.h   vyre-grad grad springs.comp --wrt stiffness,m.at -o springs_grad.h
//
// Nothing of Vyre is linked.  The gradient takes the shader's place: its descriptor set and push
// constants, which were made for the shader, stay bound as they are, and one set is added.
// VYRE_VALIDATION=1 turns the validation layers on; any message makes the exit status 1.
#include "gpu.h"
#include "springs.h"
#include "springs_grad.h"

#include <stdio.h>
#include <string.h>

enum { COUNT = 4 }; // masses
enum { MASSES, SPRINGS, WORLD, ENERGIES, GRADIENT_AT, GRADIENT_STIFFNESS, BUFFERS };
enum { HOST_BUFFERS = GRADIENT_AT };

typedef struct mass { // as std430 lays it out
    float at[3], kg, speed[3], padding;
} mass;

static const mass masses[COUNT] = {{{0, 0, 0}, 1, {0, 0.5f, 0}, 0},
                                   {{1, 0.25f, 0}, 2, {0, 0, 0}, 0},
                                   {{2.5f, 0, 0.5f}, 0.5f, {1, 0, 0}, 0},
                                   {{3, 1, 0}, 1, {0, 0, -1}, 0}};
static const float springs[COUNT] = {10, 20, 5, 0};
static const struct {
    float gravity[3], dt;
} world = {{0, 0, -10}, 0.125f};
static const struct {
    uint32_t n;
    float rest;
} chain = {COUNT, 1};

// What is bound where: the first four as springs.comp says, the others as springs_grad.h does.
static const struct {
    uint32_t set, binding;
    VkDescriptorType type;
    uint32_t bytes;
    const void *contents;
} bound[BUFFERS] = {
    [MASSES] = {0, 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, sizeof masses, masses},
    [SPRINGS] = {0, 1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, sizeof springs, springs},
    [WORLD] = {0, 2, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, sizeof world, &world},
    [ENERGIES] = {0, 3, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, COUNT * sizeof(float), NULL},
    [GRADIENT_AT] = {SPRINGS_GRAD_SET_GRAD_M_AT, SPRINGS_GRAD_BINDING_GRAD_M_AT,
                     VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 3 * COUNT * sizeof(float), NULL},
    [GRADIENT_STIFFNESS] = {SPRINGS_GRAD_SET_GRAD_STIFFNESS, SPRINGS_GRAD_BINDING_GRAD_STIFFNESS,
                            VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, COUNT * sizeof(float), NULL},
};

typedef struct host {
    gpu gpu;
    gpu_buffer buffers[BUFFERS]; // zeros where there are no contents: gradients are to be cleared
    VkDescriptorSetLayout set_layouts[2];
    VkDescriptorPool pool;
    VkDescriptorSet sets[2];
    VkPipelineLayout layouts[2]; // of the shader, of its gradient
    VkPipeline pipelines[2];
} host;

static bool make_set_layout(host *h, uint32_t set)
{
    VkDescriptorSetLayoutBinding rows[BUFFERS];
    VkDescriptorSetLayoutCreateInfo info = {.sType =
                                                VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                            .pBindings = rows};
    for (uint32_t i = 0; i < BUFFERS; i++)
        if (bound[i].set == set)
            rows[info.bindingCount++] =
                (VkDescriptorSetLayoutBinding){.binding = bound[i].binding,
                                               .descriptorType = bound[i].type,
                                               .descriptorCount = 1,
                                               .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
    return good(vkCreateDescriptorSetLayout(h->gpu.device, &info, NULL, &h->set_layouts[set]),
                "vkCreateDescriptorSetLayout");
}

static bool make_sets(host *h)
{
    const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, BUFFERS},
                                          {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 1}};
    const VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                             .maxSets = 2,
                                             .poolSizeCount = 2,
                                             .pPoolSizes = sizes};
    if (!make_set_layout(h, 0) || !make_set_layout(h, 1) ||
        !good(vkCreateDescriptorPool(h->gpu.device, &pool, NULL, &h->pool), "a pool"))
        return false;
    const VkDescriptorSetAllocateInfo info = {.sType =
                                                  VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                              .descriptorPool = h->pool,
                                              .descriptorSetCount = 2,
                                              .pSetLayouts = h->set_layouts};
    return good(vkAllocateDescriptorSets(h->gpu.device, &info, h->sets), "descriptor sets");
}

static bool make_buffers(host *h)
{
    for (uint32_t i = 0; i < BUFFERS; i++) {
        if (!gpu_make_buffer(&h->gpu, &h->buffers[i], bound[i].bytes)) return false;
        if (bound[i].contents) memcpy(h->buffers[i].mapped, bound[i].contents, bound[i].bytes);
        const VkDescriptorBufferInfo whole = {h->buffers[i].handle, 0, VK_WHOLE_SIZE};
        const VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                            .dstSet = h->sets[bound[i].set],
                                            .dstBinding = bound[i].binding,
                                            .descriptorCount = 1,
                                            .descriptorType = bound[i].type,
                                            .pBufferInfo = &whole};
        vkUpdateDescriptorSets(h->gpu.device, 1, &write, 0, NULL);
    }
    return true;
}

// Pipeline k, with the first k + 1 sets.
static bool make_pipeline(host *h, uint32_t k, const uint32_t *words, size_t bytes,
                          const char *entry)
{
    const VkPushConstantRange push = {VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof chain};
    const VkPipelineLayoutCreateInfo layout = {.sType =
                                                   VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                               .setLayoutCount = k + 1,
                                               .pSetLayouts = h->set_layouts,
                                               .pushConstantRangeCount = 1,
                                               .pPushConstantRanges = &push};
    const VkShaderModuleCreateInfo code = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                           .codeSize = bytes,
                                           .pCode = words};
    VkShaderModule module;
    if (!good(vkCreatePipelineLayout(h->gpu.device, &layout, NULL, &h->layouts[k]), "a layout") ||
        !good(vkCreateShaderModule(h->gpu.device, &code, NULL, &module), "a module"))
        return false;
    const VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = module,
                  .pName = entry},
        .layout = h->layouts[k]};
    const VkResult r =
        vkCreateComputePipelines(h->gpu.device, NULL, 1, &info, NULL, &h->pipelines[k]);
    vkDestroyShaderModule(h->gpu.device, module, NULL);
    return good(r, "vkCreateComputePipelines");
}

static void record(host *h)
{
    const VkCommandBuffer c = h->gpu.commands;
    const VkPipelineBindPoint compute = VK_PIPELINE_BIND_POINT_COMPUTE;
    const uint32_t groups = (COUNT + 63) / 64;
    vkCmdBindPipeline(c, compute, h->pipelines[0]);
    vkCmdBindDescriptorSets(c, compute, h->layouts[0], 0, 1, &h->sets[0], 0, NULL);
    vkCmdPushConstants(c, h->layouts[0], VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof chain, &chain);
    vkCmdDispatch(c, groups, 1, 1);
    // This is all that the gradient takes.
    vkCmdBindPipeline(c, compute, h->pipelines[1]);
    vkCmdBindDescriptorSets(c, compute, h->layouts[1], 1, 1, &h->sets[1], 0, NULL);
    vkCmdDispatch(c, groups, 1, 1);
}

static bool run(host *h)
{
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    const VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                 .commandBufferCount = 1,
                                 .pCommandBuffers = &h->gpu.commands};
    if (!good(vkBeginCommandBuffer(h->gpu.commands, &begin), "vkBeginCommandBuffer")) return false;
    record(h);
    return good(vkEndCommandBuffer(h->gpu.commands), "vkEndCommandBuffer") &&
           good(vkQueueSubmit(h->gpu.queue, 1, &submit, h->gpu.fence), "vkQueueSubmit") &&
           good(vkWaitForFences(h->gpu.device, 1, &h->gpu.fence, VK_TRUE, UINT64_MAX), "the wait");
}

static void print(const host *h, const char *name, uint32_t buffer)
{
    const float *values = h->buffers[buffer].mapped;
    printf("%s =", name);
    for (uint32_t i = 0; i < bound[buffer].bytes / sizeof *values; i++)
        printf(" %.9g", (double)values[i]);
    printf("\n");
}

static void close_all(host *h)
{
    for (uint32_t i = 0; h->gpu.device && i < BUFFERS; i++)
        gpu_free_buffer(&h->gpu, &h->buffers[i]);
    for (uint32_t k = 0; h->gpu.device && k < 2; k++) {
        vkDestroyPipeline(h->gpu.device, h->pipelines[k], NULL);
        vkDestroyPipelineLayout(h->gpu.device, h->layouts[k], NULL);
        vkDestroyDescriptorSetLayout(h->gpu.device, h->set_layouts[k], NULL);
    }
    if (h->gpu.device) vkDestroyDescriptorPool(h->gpu.device, h->pool, NULL);
    gpu_close(&h->gpu);
}

int main(void)
{
    host h = {0};
    const bool ok =
        gpu_open(&h.gpu, NULL) && make_sets(&h) && make_buffers(&h) &&
        make_pipeline(&h, 0, springs_spirv, sizeof springs_spirv, "main") &&
        make_pipeline(&h, 1, springs_grad_spirv, sizeof springs_grad_spirv, SPRINGS_GRAD_ENTRY) &&
        run(&h);
    if (ok) {
        print(&h, "energy", ENERGIES);
        print(&h, "grad_m.at", GRADIENT_AT);
        print(&h, "grad_stiffness", GRADIENT_STIFFNESS);
    }
    close_all(&h);
    return !(ok && !h.gpu.messages);
}
