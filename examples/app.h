// SPDX-License-Identifier: MIT
// app.h: what the files of vulkan_only and recorded share.
#ifndef EXAMPLE_APP_H
#define EXAMPLE_APP_H

#include "gpu.h"
#include "manifest.h"

enum { MAX_BUFFERS = 64, MAX_SETS = 4, MAX_PARAM_BYTES = 4096 };

typedef struct buffer {
    const cJSON *info; // its entry in the manifest
    const char *name, *type;
    uint64_t count, bytes; // as last measured
    uint64_t room;         // bytes allocated
    gpu_buffer on;         // the device
} buffer;

typedef struct kernel {
    const cJSON *info;
    VkDescriptorSetLayout set_layouts[MAX_SETS];
    uint32_t set_count;
    VkPipelineLayout layout;
    VkPipeline pipeline;
} kernel;

typedef struct app {
    cJSON *manifest;
    char *text;     // of the manifest
    uint32_t *code; // SPIR-V
    size_t code_bytes;
    symbols values; // scalars, lengths, counters, values read back
    buffer buffers[MAX_BUFFERS];
    uint32_t buffer_count;
    gpu gpu;
    VkShaderModule shader;
    kernel *kernels; // in the manifest's order
    uint32_t kernel_count;
    bool left; // the repeat at hand, by a test
} app;

typedef struct binding {
    const cJSON *info; // of the kernel
    buffer *b;
    uint64_t first, count;        // elements bound, of the buffer
    bool clear;                   // to zeros first
    VkDescriptorBufferInfo range; // its offset is aligned as the device requires
} binding;

typedef struct launch { // one dispatch being made
    app *a;
    const kernel *k;
    symbols values; // the kernel's
    binding bindings[MAX_BUFFERS];
    uint32_t binding_count, groups[3];
    char block[MAX_PARAM_BYTES];
    buffer params; // where they are not push constants
    VkDescriptorPool pool;
    VkDescriptorSet sets[MAX_SETS];
    uint32_t push_bytes;
    bool empty; // no workgroups
} launch;

// app.c: all of these are false, or NULL, after a message.
// The files that were written together; NAME=VALUE[,VALUE…] for the data.
bool load(app *a, const char *spv, const char *json);
bool read_arguments(app *a, char **arguments);
bool make_buffers(app *a, char **arguments); // those of the caller
void free_all(app *a);
uint32_t size_of(const char *type);
void store(const char *type, double real, int64_t integer, void *to);
// The value of an expression over `s`, which must be at least `least`.
bool value_of(symbols *s, const char *expression, int64_t least, int64_t *value);
// A buffer with its present size.
buffer *find_buffer(app *a, const char *name);

// kernel.c
bool make_kernels(app *a);
void free_kernels(app *a);
launch *launch_make(app *a, const cJSON *step);
void launch_record(const launch *l, VkCommandBuffer commands);
void launch_free(launch *l);
bool dispatch(app *a, const cJSON *step); // and waits for it

#endif
