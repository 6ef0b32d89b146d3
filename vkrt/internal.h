// SPDX-License-Identifier: MIT
// internal.h: what the files of vkrt share.  Nothing here is visible outside the library.
#ifndef VYRE_VKRT_INTERNAL_H
#define VYRE_VKRT_INTERNAL_H

#include "vkrt/volk_hidden.h"

#include "vkrt/engine.h"

#include <stdlib.h>
#include <string.h>
#include <threads.h>

#pragma GCC visibility push(hidden)

// --- error.c -------------------------------------------------------------------------------------
// Fills *error (may be NULL) and returns `code`, so that failing is one statement.
__attribute__((format(printf, 4, 5))) vkrt_status vkrt_fail(vkrt_error *error, vkrt_status code,
                                                            const char *fix, const char *format,
                                                            ...);
vkrt_status vkrt_fail_memory(vkrt_error *error);
vkrt_status vkrt_fail_vk(vkrt_error *error, VkResult result, const char *what);
// Records that the device is lost, if that is what `result` says, then fails.
vkrt_status vkrt_device_fail(vkrt_device *device, vkrt_error *error, VkResult result,
                             const char *what);
vkrt_status vkrt_fail_groups(const char *name, vkrt_error *error); // group counts were not given

// --- desc.c --------------------------------------------------------------------------------------
// Copies a caller's descriptor, which begins with its size, into *to, of `known` bytes.  from NULL:
// all zero.  `first`: the size where none is given; 0: it must be.  `what`: the type's name.
vkrt_status vkrt_take_desc(void *to, size_t known, size_t first, const void *from, const char *what,
                           vkrt_error *error);
// Sizes in version 0.1: they stay as they are when members are added.
#define VKRT_INSTANCE_DESC_FIRST sizeof(vkrt_instance_desc)
#define VKRT_DEVICE_DESC_FIRST sizeof(vkrt_device_desc)
#define VKRT_WRAP_DESC_FIRST sizeof(vkrt_wrap_desc)
#define VKRT_PLAN_DESC_FIRST sizeof(vkrt_plan_desc)

// --- loader.c ------------------------------------------------------------------------------------
// Functions of one VkInstance.  volk keeps these in globals, which two instances would fight over.
#define VKRT_INSTANCE_FUNCTIONS(X)                                                                 \
    X(DestroyInstance)                                                                             \
    X(EnumeratePhysicalDevices)                                                                    \
    X(EnumerateDeviceExtensionProperties)                                                          \
    X(GetPhysicalDeviceProperties2)                                                                \
    X(GetPhysicalDeviceFeatures2)                                                                  \
    X(GetPhysicalDeviceMemoryProperties)                                                           \
    X(GetPhysicalDeviceQueueFamilyProperties)                                                      \
    X(GetPhysicalDeviceProperties)                                                                 \
    X(CreateDevice)                                                                                \
    X(GetDeviceProcAddr)

typedef struct vkrt_instance_table {
#define X(name) PFN_vk##name name;
    VKRT_INSTANCE_FUNCTIONS(X)
#undef X
    PFN_vkCreateDebugUtilsMessengerEXT CreateDebugUtilsMessengerEXT; // NULL without the extension
    PFN_vkDestroyDebugUtilsMessengerEXT DestroyDebugUtilsMessengerEXT;
} vkrt_instance_table;

typedef struct vkrt_global_table {
    PFN_vkGetInstanceProcAddr GetInstanceProcAddr;
    PFN_vkCreateInstance CreateInstance;
    PFN_vkEnumerateInstanceVersion EnumerateInstanceVersion; // NULL: Vulkan 1.0
    PFN_vkEnumerateInstanceLayerProperties EnumerateInstanceLayerProperties;
    PFN_vkEnumerateInstanceExtensionProperties EnumerateInstanceExtensionProperties;
} vkrt_global_table;

vkrt_status vkrt_load_global(vkrt_loader loader, vkrt_global_table *table, vkrt_error *error);
bool vkrt_load_instance(const vkrt_global_table *global, VkInstance instance,
                        vkrt_instance_table *table);
void vkrt_load_device(const vkrt_instance_table *instance, VkDevice device,
                      struct VolkDeviceTable *table);

// --- features.c ----------------------------------------------------------------------------------
// The structs that feature queries and device creation chain behind VkPhysicalDeviceFeatures2.
typedef struct vkrt_feature_chain {
    VkPhysicalDeviceFeatures2 core;
    VkPhysicalDevice16BitStorageFeatures storage16;
    VkPhysicalDevice8BitStorageFeatures storage8;
    VkPhysicalDeviceShaderFloat16Int8Features float16_int8;
    VkPhysicalDeviceShaderAtomicInt64Features atomic_int64;
    VkPhysicalDeviceShaderSubgroupExtendedTypesFeatures subgroup_types;
    VkPhysicalDeviceShaderAtomicFloatFeaturesEXT atomic_float;
    VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR executables;
    const char *extensions[16]; // of the device, to be enabled with it
    uint32_t extension_count;
} vkrt_feature_chain;

typedef struct vkrt_physical {
    VkPhysicalDevice handle;
    vkrt_device_info info;
    uint32_t queue_family, timestamp_bits;
} vkrt_physical;

// An all-zero chain for a device of this Vulkan version, with the extensions it needs.
vkrt_status vkrt_chain_build(const vkrt_instance_table *vk, VkPhysicalDevice handle,
                             uint32_t version, vkrt_feature_chain *chain, vkrt_error *error);
bool vkrt_chain_has(const vkrt_feature_chain *chain, const char *extension);
vy_features vkrt_chain_features(const vkrt_feature_chain *chain,
                                const VkPhysicalDeviceSubgroupProperties *subgroup,
                                const VkPhysicalDeviceFloatControlsProperties *floats);
// Fills `physical` (its handle is set) with everything vkrt knows about a device (physical.c).
vkrt_status vkrt_query_physical(const vkrt_instance_table *vk, uint32_t instance_version,
                                vkrt_physical *physical, vkrt_error *error);
// The chain and extensions that switch exactly `wanted` (a subset of info.features) on.
vkrt_status vkrt_enable_features(const vkrt_instance_table *vk, const vkrt_physical *physical,
                                 vy_features wanted, vkrt_feature_chain *chain, vkrt_error *error);
vy_features vkrt_property_features(void); // those that need no enabling

// --- instance.c ----------------------------------------------------------------------------------
#define VKRT_KEPT_MESSAGES 256

struct vkrt_instance {
    vkrt_global_table global;
    vkrt_instance_table vk;
    VkInstance handle;
    uint32_t version; // the highest that both the loader and vkrt support
    VkDebugUtilsMessengerEXT messenger;
    mtx_t lock; // guards the messages: layers call back from any thread
    uint32_t message_count;
    char *messages[VKRT_KEPT_MESSAGES];
    vkrt_physical *devices;
    uint32_t device_count;
    bool abandoned; // a device of it is
};

// --- memory.c, buffer.c --------------------------------------------------------------------------
typedef enum vkrt_memory_use {
    VKRT_MEMORY_DATA,    // the host writes or reads it now and then
    VKRT_MEMORY_SCRATCH, // device only
    VKRT_MEMORY_HOST,    // staging and parameters: host visible, whatever the speed
    VKRT_MEMORY_USE_COUNT,
} vkrt_memory_use;

typedef struct vkrt_range {
    VkDeviceSize offset, size;
} vkrt_range;

// One VkDeviceMemory.  `free` holds the holes, sorted; its capacity always has room for one more
// hole than there are allocations, so that freeing cannot fail.
typedef struct vkrt_block {
    VkDeviceMemory memory;
    VkDeviceSize size;
    uint32_t type, live;
    char *mapped; // NULL: not host visible
    vkrt_range *free;
    uint32_t free_count, free_capacity;
} vkrt_block;

typedef struct vkrt_buffer {
    VkBuffer handle;   // VK_NULL_HANDLE: nothing allocated
    VkDeviceSize base; // where it begins in the VkBuffer; of ours 0
    VkDeviceSize size; // from there on; of ours a multiple of 16
    bool borrowed;     // the handle belongs to a storage or to the caller
    vkrt_block *block;
    vkrt_range range; // within the block
    char *mapped;     // host address, or NULL
    bool host_cached; // fast to read through `mapped`
} vkrt_buffer;

vkrt_status vkrt_block_alloc(vkrt_device *device, const VkMemoryRequirements *need,
                             vkrt_memory_use use, vkrt_block **block, vkrt_range *range,
                             vkrt_error *error);
void vkrt_block_free(vkrt_device *device, vkrt_block *block, vkrt_range range);
void vkrt_memory_destroy(vkrt_device *device);

vkrt_status vkrt_buffer_create(vkrt_device *device, uint64_t bytes, vkrt_memory_use use,
                               vkrt_buffer *buffer, vkrt_error *error);
// The same with further usages of Vulkan.
vkrt_status vkrt_buffer_create_for(vkrt_device *device, uint64_t bytes, vkrt_memory_use use,
                                   VkBufferUsageFlags usage, vkrt_buffer *buffer,
                                   vkrt_error *error);
void vkrt_buffer_destroy(vkrt_device *device, vkrt_buffer *buffer);
// data == NULL writes zeros into all of it, which must be ours.  Both wait until the copy is done.
vkrt_status vkrt_buffer_write(vkrt_device *device, vkrt_buffer *buffer, uint64_t offset,
                              const void *data, uint64_t bytes, vkrt_error *error);
vkrt_status vkrt_buffer_read(vkrt_device *device, const vkrt_buffer *buffer, uint64_t offset,
                             void *data, uint64_t bytes, vkrt_error *error);

// --- storage.c -----------------------------------------------------------------------------------
struct vkrt_storage {
    vkrt_device *device;
    vkrt_buffer buffer;
    uint64_t bytes;
    uint32_t holders; // its creator and the plans that have it bound
    uint32_t busy;    // runs in flight of such plans
};
uint64_t vkrt_storage_alignment(const vkrt_device *device); // of where one may begin

// --- cache.c, trim.c -----------------------------------------------------------------------------
// Files vkrt-DEVICE-KERNEL.bin, in hexadecimal digits.
#define VKRT_CACHE_PREFIX "vkrt-"
#define VKRT_CACHE_SUFFIX ".bin"
#define VKRT_CACHE_NAME_CHARS (5 + 16 + 1 + 32 + 4)
#define VKRT_CACHE_TRIM_EVERY 64 // files written

typedef struct vkrt_hash {
    uint64_t word[2];
} vkrt_hash;

typedef struct vkrt_disk_cache {
    char *dir;        // NULL: no cache on disk
    uint32_t written; // files, since the folder was last trimmed
} vkrt_disk_cache;

vkrt_hash vkrt_hash_bytes(vkrt_hash seed, const void *data, size_t size);
void vkrt_cache_open(vkrt_device *device, const char *dir);
void vkrt_cache_close(vkrt_device *device); // trims the folder if something was written
// The driver's cached data for one kernel, to compile it with; *found: there was some.
// VK_NULL_HANDLE: no cache.
VkPipelineCache vkrt_cache_begin(vkrt_device *device, vkrt_hash kernel, bool *found);
// After compiling: writes the driver's data if `keep`, and destroys the handle.
void vkrt_cache_end(vkrt_device *device, VkPipelineCache handle, vkrt_hash kernel, bool keep);
// Removes the least recently used files until the folder is within VYRE_CACHE_MIB (256) and 4,096
// files.
void vkrt_cache_trim(const char *dir);

// --- pipeline.c ----------------------------------------------------------------------------------
#define VKRT_MAX_SETS 8
#define VKRT_IDLE_PIPELINES 32 // that the device keeps without a plan that uses them

typedef struct vkrt_pipeline {
    vkrt_hash hash;
    VkDescriptorSetLayout set_layouts[VKRT_MAX_SETS];
    uint32_t set_count;
    VkPipelineLayout layout;
    VkPipeline handle;
    uint32_t users; // plans
    // The last measurement (parts.c): time, number of groups, largest scalar; 0: none yet.
    double ns_per_group;
    uint64_t measured_groups;
    int64_t measured_scale;
    struct vkrt_pipeline *next;
} vkrt_pipeline;

// Limits beyond which the driver silently computes wrong results (pipeline.c).
vkrt_status vkrt_check_iterations(const vkrt_device_info *info, const vy_kernel *k,
                                  uint64_t iterations, vkrt_error *error);
vkrt_status vkrt_check_open_loops(const vkrt_device_info *info, const vy_kernel *k,
                                  vkrt_error *error);

// The caller becomes a user of *out until vkrt_pipeline_put.
vkrt_status vkrt_pipeline_get(vkrt_device *device, const vy_kernel *kernel, vkrt_pipeline **out,
                              vkrt_cache *cache, vkrt_error *error);
// NULL is fine.  An unused pipeline is kept until VKRT_IDLE_PIPELINES others are released after it.
void vkrt_pipeline_put(vkrt_device *device, vkrt_pipeline *pipeline);
void vkrt_pipelines_destroy(vkrt_device *device);

// --- check.c -------------------------------------------------------------------------------------
vkrt_status vkrt_check_kernel(const vy_kernel *kernel, vkrt_error *error);
vkrt_status vkrt_check_plan(const vy_plan *plan, uint32_t *max_depth, vkrt_error *error);

// --- device.c ------------------------------------------------------------------------------------
struct vkrt_device {
    struct VolkDeviceTable vk;
    VkDevice handle;
    VkQueue queue;
    VkAllocationCallbacks callbacks; // the caller's, if `allocator` refers to them
    const VkAllocationCallbacks *allocator;
    bool owns_handle, lost, force_staging;
    bool inspecting; // compiles for vkrt_device_inspect; has no memory and runs nothing
    vkrt_physical physical;
    vy_features features;
    uint32_t max_group_count[3];
    uint64_t part_ns;     // target maximum time of a submission; UINT64_MAX: any time
    bool poison;          // VYRE_POISON: what a run need not clear is NaN at its start (for tests)
    uint64_t part_groups; // most workgroups of one dispatch in a submission; 0: any number
    bool abandoned;       // still executes work given up on: none of its objects can be destroyed
    vkrt_instance *instance; // NULL: of a wrapped device
    VkPhysicalDeviceMemoryProperties memory;
    vkrt_block **blocks;
    uint32_t block_count, block_capacity;
    VkCommandPool command_pool;
    VkCommandBuffer transfer; // one-shot copies
    VkFence transfer_fence;
    vkrt_buffer staging;
    vkrt_buffer dummy; // bound where a buffer is empty; all zero
    vkrt_disk_cache cache;
    vkrt_pipeline *pipelines; // last released first
    uint32_t idle_pipelines;  // without users
    vkrt_instance_table instance_vk;
};

uint64_t vkrt_now_ns(void);
// Gives up a device that does not finish: from now on calls fail, and destroying it, its plans and
// its instance frees host memory only.
void vkrt_device_abandon(vkrt_device *device);

// --- barrier.c -----------------------------------------------------------------------------------
// Everything before in the queue, then everything after; makes all writes visible.
void vkrt_full_barrier(const vkrt_device *device, VkCommandBuffer commands,
                       VkPipelineStageFlags before, VkPipelineStageFlags after);

// --- scalar.c ------------------------------------------------------------------------------------
// A scalar's bits from a number; false: it does not fit `type` (or the type is unknown).
bool vkrt_pack_int(const char *type, int64_t value, int64_t *bits);
bool vkrt_pack_float(const char *type, double value, int64_t *bits);
uint32_t vkrt_type_size(const char *type); // 0: unknown type
bool vkrt_type_is_float(const char *type);
int64_t vkrt_unpack_int(const char *type, const void *element); // any integer type, widened

#pragma GCC visibility pop
#endif
