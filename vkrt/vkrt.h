// SPDX-License-Identifier: MIT
// vkrt.h: runs compiled compute kernels on Vulkan.  Plain data in (spirv/kernel.h, spirv/plan.h),
// numbers out; it knows nothing of the language the kernels came from, so it also runs your own
// .spv.
//
//     vkrt_instance *in; vkrt_device *dev; vkrt_plan *run; vkrt_error e;
//     vkrt_instance_create(NULL, &in, &e);
//     vkrt_device_create(in, NULL, &dev, &e);             // VYRE_DEVICE, else the best one
//     vkrt_plan_create_for_kernel(dev, &kernel, NULL, &run, &e);
//     vkrt_plan_set_buffer(run, "x", 1, (uint64_t[]){n}, x, &e);
//     vkrt_plan_run(run, &e);                             // infers scalars, allocates, dispatches
//     vkrt_plan_read(run, "y", y, n * sizeof *y, &e);
//
// Errors: every call that can fail returns a vkrt_status and, if it is not VKRT_OK, describes it in
// *error, which may be NULL and is left alone on success.  Nothing prints, exits or aborts.
// Ownership: *_create and *_wrap return objects that the caller passes to the matching *_destroy
// (NULL is fine), children first.  Text and structs returned by pointer belong to the object.
// Threads: one thread at a time per instance and per device (with its plans); different devices may
// be used at the same time.
// Units: bytes, elements and nanoseconds, in 64 bits.
#ifndef VYRE_VKRT_H
#define VYRE_VKRT_H

#include "spirv/kernel.h"
#include "spirv/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef VKRT_API
#if defined(_WIN32) && defined(VY_BUILD)
#define VKRT_API __declspec(dllexport)
#elif defined(_WIN32) && !defined(VY_STATIC)
#define VKRT_API __declspec(dllimport)
#elif defined(_WIN32)
#define VKRT_API
#else
#define VKRT_API __attribute__((visibility("default")))
#endif
#endif

// --- Errors --------------------------------------------------------------------------------------

#define VKRT_PART_NS 100000000ull       // vkrt_device_desc.part_ns
#define VKRT_TIMEOUT_NS 600000000000ull // vkrt_plan_desc.timeout_ns

#define VKRT_STATUSES(X)                                                                           \
    X(OK, "ok")                                                                                    \
    X(NO_LOADER, "no Vulkan loader")                                                               \
    X(NO_DRIVER, "no Vulkan driver")                                                               \
    X(NO_LAYER, "validation layer absent")                                                         \
    X(NO_DEVICE, "no such device")                                                                 \
    X(MISSING_FEATURE, "device lacks a feature")                                                   \
    X(OUT_OF_MEMORY, "out of host memory")                                                         \
    X(OUT_OF_DEVICE_MEMORY, "out of device memory")                                                \
    X(DEVICE_LOST, "device lost")                                                                  \
    X(LIMIT, "beyond a limit of the device")                                                       \
    X(OVER_BUDGET, "beyond the memory allowed")                                                    \
    X(CHECK, "a check of the plan failed")                                                         \
    X(BAD_ARGUMENT, "wrong argument")                                                              \
    X(BAD_KERNEL, "malformed kernel or plan")                                                      \
    X(BAD_SHAPE, "shapes do not fit")                                                              \
    X(UNSET, "something was not given")                                                            \
    X(UNALIGNED, "unaligned slice")                                                                \
    X(BUSY, "the plan is running")                                                                 \
    X(TIMEOUT, "not finished in time")                                                             \
    X(DRIVER, "the driver failed")

typedef enum vkrt_status {
#define X(id, text) VKRT_##id,
    VKRT_STATUSES(X)
#undef X
} vkrt_status;

typedef struct vkrt_error {
    vkrt_status code;
    char text[480]; // what is wrong, one line, no full stop
    char fix[320];  // what to do about it; may be empty
} vkrt_error;

// "no Vulkan driver", …; never NULL.
VKRT_API const char *vkrt_status_text(vkrt_status status);

// --- Instance and devices ------------------------------------------------------------------------

typedef struct vkrt_instance vkrt_instance;
typedef struct vkrt_device vkrt_device;
typedef struct vkrt_plan vkrt_plan;

typedef void (*vkrt_function)(void);
typedef vkrt_function (*vkrt_loader)(void *vk_instance, const char *name); // vkGetInstanceProcAddr

typedef enum vkrt_validation {
    VKRT_VALIDATION_ENV, // on if VYRE_VALIDATION is in the environment, not empty and not "0"
    VKRT_VALIDATION_OFF,
    VKRT_VALIDATION_ON, // Khronos validation with synchronisation validation
} vkrt_validation;

// A descriptor begins with its size, so that later versions can have more members: sizeof the
// struct, or 0, then it is as version 0.1 has it.  All zero: defaults.
typedef struct vkrt_instance_desc {
    size_t size;
    vkrt_validation validation;
    vkrt_loader loader; // NULL: libvulkan.so.1
} vkrt_instance_desc;

// Opens Vulkan and lists its devices.  `desc` may be NULL.  Errors: NO_LOADER, NO_DRIVER, NO_LAYER
// (validation enabled, but not installed), OUT_OF_MEMORY.  No device at all is not an error yet.
VKRT_API vkrt_status vkrt_instance_create(const vkrt_instance_desc *desc, vkrt_instance **out,
                                          vkrt_error *error);
VKRT_API void vkrt_instance_destroy(vkrt_instance *instance);

typedef struct vkrt_device_info {
    char name[256];
    char driver[512];     // driver's name and its own version text
    const char *type;     // "discrete GPU", "integrated GPU", "virtual GPU", "other", "CPU"
    const char *unusable; // NULL, or why vkrt cannot run on it
    uint32_t api_version, driver_version, vendor_id, device_id;
    uint32_t driver_id;         // VkDriverId; 0: not reported
    uint32_t driver_major;      // of the version in the driver's text: 22 of "Mesa 22.3.6"; 0: none
    uint32_t max_spirv_version; // 0x00010600
    uint8_t cache_uuid[16];
    uint32_t subgroup_size;
    // Total iterations of the loops of one invocation after which the driver silently ends them; 0:
    // no known limit.  lavapipe: 65,535.  vy_opt_options.chunk is the remedy.
    uint32_t loop_iteration_limit;
    // Depth of nested conditions, and of loops, beyond which the driver loses lanes; 0: no known
    // limit.  lavapipe: 79.
    uint32_t nesting_limit;
    uint32_t max_workgroup_size[3], max_workgroup_invocations, max_group_count[3];
    uint32_t max_shared_bytes, max_push_constant_bytes, max_sets, max_storage_buffers;
    uint32_t max_allocations;
    uint64_t max_storage_buffer_bytes; // maxStorageBufferRange: largest buffer a kernel can see
    uint64_t max_allocation_bytes, device_memory_bytes; // the latter: largest device-local heap
    uint64_t storage_buffer_alignment;                  // of slices
    double timestamp_ns;                                // one tick; 0: the device has no timestamps
    vy_features features;                               // all of our list that it supports
} vkrt_device_info;

// Devices, best first: discrete GPU, integrated, virtual, other, CPU; otherwise in the driver's
// order.
VKRT_API uint32_t vkrt_instance_device_count(const vkrt_instance *instance);
VKRT_API const vkrt_device_info *vkrt_instance_device_info(const vkrt_instance *instance,
                                                           uint32_t index);

// Index of the device meant by `wanted`: an index, or a part of the name in any case; NULL or
// empty: VYRE_DEVICE, else the first usable one.  Errors: NO_DEVICE, listing those there are.
VKRT_API vkrt_status vkrt_instance_find_device(const vkrt_instance *instance, const char *wanted,
                                               uint32_t *index, vkrt_error *error);

// Messages of the validation layers so far (warnings and errors; 0 when validation is off).
VKRT_API uint32_t vkrt_instance_message_count(vkrt_instance *instance);
// Text of message `index`, NULL beyond the first 256 (they are only counted).
VKRT_API const char *vkrt_instance_message(vkrt_instance *instance, uint32_t index);

typedef struct vkrt_device_desc {
    size_t size;
    const char *device;          // see vkrt_instance_find_device
    vy_features without;         // features not to use although the device has them
    uint32_t max_group_count[3]; // split dispatches at these counts already; 0: the device's limit
    // Target maximum time of a submission, so that watchdogs do not end it: larger dispatches run
    // in parts, sized by measured times.  0: VYRE_PART_MS, else 100 ms, on CPUs any time;
    // UINT64_MAX: any time.
    uint64_t part_ns;
    // Most workgroups of a dispatch in a part (for tests); 0: VYRE_PART_GROUPS, else any number.
    uint64_t part_groups;
    bool force_staging; // treat device memory as invisible to the host (for tests)
    bool inspect; // open it for vkrt_device_inspect only: no memory, no queue is touched, no plan
                  // can be made.  Error: MISSING_FEATURE where the driver reports nothing
    // Folder of compiled kernels.  NULL: VYRE_CACHE_DIR, $XDG_CACHE_HOME/vyre, ~/.cache/vyre; "":
    // none.  It is kept within VYRE_CACHE_MIB mebibytes (256) and 4,096 files by removing the least
    // recently used.
    const char *cache_dir;
    // const VkAllocationCallbacks *, copied: for host memory of all Vulkan objects that are made on
    // the device (and for itself, where it is opened here); NULL: the driver's own.
    const void *allocator;
} vkrt_device_desc;

// Opens a device with every feature of our list that it has.  `desc` may be NULL.
// Errors: NO_DEVICE, DRIVER, OUT_OF_MEMORY, OUT_OF_DEVICE_MEMORY.
VKRT_API vkrt_status vkrt_device_create(vkrt_instance *instance, const vkrt_device_desc *desc,
                                        vkrt_device **out, vkrt_error *error);

// A VkDevice of the caller (version 1.1 or later, robustBufferAccess may be either).  It, its
// instance and the queue must outlive the vkrt_device; vkrt submits to `queue` only inside vkrt
// calls, during which the caller must keep other threads from using it.
typedef struct vkrt_wrap_desc {
    size_t size;
    void *instance, *physical_device, *device, *queue; // VkInstance, VkPhysicalDevice, …
    uint32_t queue_family;
    uint32_t api_version; // the instance was created with; 0: VK_API_VERSION_1_1
    vy_features features; // of our list, that were enabled at creation (subgroup operations and
                          // float controls, which need no enabling, are added)
    vkrt_loader loader;   // the vkGetInstanceProcAddr that made them; NULL: libvulkan.so.1's
} vkrt_wrap_desc;
VKRT_API vkrt_status vkrt_device_wrap(const vkrt_wrap_desc *wrap, const vkrt_device_desc *desc,
                                      vkrt_device **out, vkrt_error *error);

// Waits until idle, frees.  Its plans must be destroyed before.
VKRT_API void vkrt_device_destroy(vkrt_device *device);
// Whether a run was given up (TIMEOUT of vkrt_plan_run).  Threads of the driver may still work for
// it, so a process should then end by _exit: exit handlers of the driver's libraries would free
// what those threads use (lavapipe crashes in LLVM).
VKRT_API bool vkrt_device_is_abandoned(const vkrt_device *device);
VKRT_API const vkrt_device_info *vkrt_device_get_info(const vkrt_device *device);
VKRT_API vy_features vkrt_device_features(const vkrt_device *device); // enabled

// The features' names joined by ", " into text[size] (cut if too long); returns text.
VKRT_API char *vkrt_features_text(vy_features features, char *text, size_t size);

// --- Kernels -------------------------------------------------------------------------------------

typedef enum vkrt_cache {
    VKRT_CACHE_MISS,   // compiled now
    VKRT_CACHE_MEMORY, // this device compiled it before
    VKRT_CACHE_DISK,   // an earlier process compiled it and left it in the cache
} vkrt_cache;

// VKRT_OK if the device can run the kernel; else BAD_KERNEL (malformed), MISSING_FEATURE (named) or
// LIMIT.  LIMIT includes limits beyond which a driver silently computes wrong results: nesting, or
// another subgroup size than the kernel was compiled for.  Iterations are checked with plans.
VKRT_API vkrt_status vkrt_device_check(const vkrt_device *device, const vy_kernel *kernel,
                                       vkrt_error *error);

// Checks and compiles a kernel, so that plans find it ready.  `cache` may be NULL.  The kernel is
// not kept; the compiled pipeline is, while plans use it and as long as it is among the last 32
// unused ones.  Errors: those of vkrt_device_check, DRIVER, OUT_OF_MEMORY, OUT_OF_DEVICE_MEMORY.
VKRT_API vkrt_status vkrt_device_compile(vkrt_device *device, const vy_kernel *kernel,
                                         vkrt_cache *cache, vkrt_error *error);

// --- Inspection --------------------------------------------------------------------------------

// The driver's compiler statistics of one kernel: names, texts and figures are the driver's own.
typedef struct vkrt_figure {
    char name[256], description[256];
    bool whole;       // it is an integer
    uint64_t integer; // its bits, if `whole`; two's complement where value < 0
    double value;     // to the nearest double
} vkrt_figure;
typedef struct
    vkrt_executable { // drivers may make several of one kernel, e.g. one per subgroup size
    char name[256], description[256];
    uint32_t subgroup_size; // 0: not reported
    uint32_t figure_count;
    vkrt_figure *figures;
    size_t assembly_size; // with the final zero
    char *assembly;       // its instructions, as the driver writes them; NULL: it does not
} vkrt_executable;
typedef struct vkrt_inspection {
    uint32_t executable_count;
    vkrt_executable *executables;
} vkrt_inspection;

// Compiles entry point `entry` of a SPIR-V module (any compute shader: what it binds is read from
// it) on a device opened with vkrt_device_desc.inspect, through
// VK_KHR_pipeline_executable_properties.  `needs`: features to require besides those that the
// module's capabilities name (vy_kernel.features); 0 if unknown.  Free the result with
// vkrt_inspection_free.  Some drivers end the process when the chip lacks a feature (RADV: float
// additions on navi21's buffers): call it in a child process where that matters.  Errors:
// BAD_ARGUMENT, BAD_KERNEL, MISSING_FEATURE, LIMIT, DRIVER, OUT_OF_MEMORY.
VKRT_API vkrt_status vkrt_device_inspect(vkrt_device *device, const uint32_t *words,
                                         size_t word_count, const char *entry, vy_features needs,
                                         vkrt_inspection **out, vkrt_error *error);
VKRT_API void vkrt_inspection_free(vkrt_inspection *inspection);

// --- Plans ---------------------------------------------------------------------------------------

typedef struct vkrt_plan_desc {
    size_t size;
    bool time_dispatches;         // also time each dispatch
    uint64_t max_workspace_bytes; // that WORKSPACE buffers may take together; 0: no limit
    // The longest time that vkrt_plan_run waits for one submission; 0: ten minutes; UINT64_MAX: for
    // ever.
    uint64_t timeout_ns;
    // The caller guarantees that the loops of each invocation run fewer iterations in total than
    // the device's loop_iteration_limit.  Otherwise a plan that may exceed it is refused (LIMIT):
    // when it is created, if iterations depend on data; in a run, if the upper bound computed from
    // its sizes exceeds the limit.  Kernels that watch their loops (vy_spirv_options.watch_loops)
    // are never refused: a run whose loops were ended fails (LIMIT), trusted or not.
    bool trust_loops;
} vkrt_plan_desc;

// An executable copy of `plan` on `device`; compiles its kernels.  `plan` must stay alive and
// unchanged until vkrt_plan_destroy.  `desc` may be NULL.  Errors: as vkrt_device_compile; LIMIT:
// loops whose iterations depend on data, where the device counts them (see trust_loops).
VKRT_API vkrt_status vkrt_plan_create(vkrt_device *device, const vy_plan *plan,
                                      const vkrt_plan_desc *desc, vkrt_plan **out,
                                      vkrt_error *error);
// The plan that dispatches one kernel once; its buffers are the bindings, by their names.
VKRT_API vkrt_status vkrt_plan_create_for_kernel(vkrt_device *device, const vy_kernel *kernel,
                                                 const vkrt_plan_desc *desc, vkrt_plan **out,
                                                 vkrt_error *error);
// Waits for a run in progress.  NULL is fine.
VKRT_API void vkrt_plan_destroy(vkrt_plan *plan);

// How kernel `index` of the plan was found; *name and *ns (time spent on it) may be NULL.
VKRT_API vkrt_cache vkrt_plan_kernel_cache(const vkrt_plan *plan, uint32_t index, const char **name,
                                           uint64_t *ns);

// Gives a scalar by name; it is converted to the scalar's type.  Errors: BAD_ARGUMENT for an
// unknown name or a value that does not fit (an integer type takes no fraction; u64 above
// INT64_MAX: _set_bits).
VKRT_API vkrt_status vkrt_plan_set_int(vkrt_plan *plan, const char *name, int64_t value,
                                       vkrt_error *error);
VKRT_API vkrt_status vkrt_plan_set_float(vkrt_plan *plan, const char *name, double value,
                                         vkrt_error *error);
VKRT_API vkrt_status vkrt_plan_set_bits(vkrt_plan *plan, const char *name, uint64_t bits,
                                        vkrt_error *error);

// Gives a buffer's shape (rank numbers, slowest axis first) and contents: row-major elements,
// copied before the call returns; NULL means zeros.  Scalars that are entire dimensions are
// inferred from shapes.
// Errors: BAD_ARGUMENT, BAD_SHAPE (rank; size overflow), LIMIT, OUT_OF_DEVICE_MEMORY, DEVICE_LOST.
VKRT_API vkrt_status vkrt_plan_set_buffer(vkrt_plan *plan, const char *name, uint32_t rank,
                                          const uint64_t *shape, const void *data,
                                          vkrt_error *error);
// The same for flat data of `count` elements: the shape comes from the declaration (for one axis:
// count).
VKRT_API vkrt_status vkrt_plan_set_flat(vkrt_plan *plan, const char *name, uint64_t count,
                                        const void *data, vkrt_error *error);
// Gives a shape alone, for an OUT buffer whose size nothing else decides.
VKRT_API vkrt_status vkrt_plan_set_shape(vkrt_plan *plan, const char *name, uint32_t rank,
                                         const uint64_t *shape, vkrt_error *error);
// Workgroup counts of kernels without a domain of their own; also the value of num_groups in
// shapes.
VKRT_API vkrt_status vkrt_plan_set_groups(vkrt_plan *plan, const uint32_t groups[3],
                                          vkrt_error *error);

// Infers, checks every shape and allocates; submit and run do it by themselves.  Errors: UNSET (a
// scalar or contents missing), BAD_SHAPE (mismatch, naming both sides), LIMIT, OVER_BUDGET,
// OUT_OF_DEVICE_MEMORY, BAD_KERNEL.
VKRT_API vkrt_status vkrt_plan_prepare(vkrt_plan *plan, vkrt_error *error);

typedef struct vkrt_watch_desc {
    size_t size; // sizeof(vkrt_watch_desc)
    const char *const *buffers;
    uint32_t count; // 0: watch nothing
    // Buffer `buffer` of the list has its last value of this run, while the rest of the run goes on
    // on the device: it may be read (vkrt_plan_read).  Called by vkrt_plan_wait and vkrt_plan_run,
    // not for buffers that are final at the end only.
    void (*ready)(void *user, uint32_t buffer);
    void (*idle)(void *user); // called now and then while they wait; NULL: they sleep
    void *user;
    // NULL, or `count` numbers that are set: the later a buffer is final, the greater; UINT32_MAX:
    // at the end only.
    uint32_t *final_at;
} vkrt_watch_desc;

// From the next run on: submissions end where buffers of the list get their last value, at most
// eight, so that the host can use those meanwhile.  Errors: BAD_ARGUMENT, BUSY, OUT_OF_MEMORY.
VKRT_API vkrt_status vkrt_plan_watch(vkrt_plan *plan, const vkrt_watch_desc *desc,
                                     vkrt_error *error);

// Starts a run on the buffers as they are.  Contents stay on the device, so a second run uploads
// nothing (an INOUT buffer starts from what the last run left) and re-uses the recorded commands.
// Errors: BUSY, those of prepare (of buffers whose size is known only then), CHECK, DEVICE_LOST,
// UNALIGNED (a slice, bound to a kernel without VY_PARAM_OFFSET), LIMIT.
VKRT_API vkrt_status vkrt_plan_submit(vkrt_plan *plan, vkrt_error *error);
// Waits for the run, at most `timeout_ns` (UINT64_MAX: for ever; TIMEOUT leaves it running).  A
// plan that reads values back continues inside this call.  Without a run: VKRT_OK.
VKRT_API vkrt_status vkrt_plan_wait(vkrt_plan *plan, uint64_t timeout_ns, vkrt_error *error);
// submit, then wait.  Additional error: TIMEOUT, naming the kernel, after desc.timeout_ns; the
// device is then abandoned: its calls fail with DEVICE_LOST, and objects still in use are never
// freed.
VKRT_API vkrt_status vkrt_plan_run(vkrt_plan *plan, vkrt_error *error);

// Copies an entire buffer into data[bytes]; bytes must be its size.  Errors: BUSY, BAD_ARGUMENT,
// DEVICE_LOST.
VKRT_API vkrt_status vkrt_plan_read(vkrt_plan *plan, const char *name, void *data, uint64_t bytes,
                                    vkrt_error *error);

typedef struct vkrt_buffer_info {
    const char *name, *type;
    vy_role role;
    uint32_t rank;
    const uint64_t *shape; // rank entries, valid until the plan changes; NULL: not known yet
    uint64_t count, bytes; // 0 when not known
} vkrt_buffer_info;
// By index in the vy_plan, and by name (false: no such buffer).  Shapes are complete after prepare.
VKRT_API vkrt_buffer_info vkrt_plan_buffer(const vkrt_plan *plan, uint32_t index);
VKRT_API bool vkrt_plan_find_buffer(const vkrt_plan *plan, const char *name, uint32_t *index);
// Value (a float's bits) of a scalar, given or inferred, or of what was read back; false: unknown.
VKRT_API bool vkrt_plan_symbol(const vkrt_plan *plan, const char *name, int64_t *value);

typedef struct vkrt_dispatch_time {
    uint32_t step; // in the vy_plan
    const char *kernel;
    uint64_t ns;
} vkrt_dispatch_time;
typedef struct vkrt_stats { // of the last run
    bool has_device_ns;
    uint64_t device_ns; // from the first to the last command of each submission, summed
    uint64_t host_ns;   // submit until waited for
    uint32_t submissions, dispatches, barriers;
    uint32_t recorded;               // submissions whose commands were recorded anew
    uint64_t device_bytes;           // memory the plan's buffers hold
    uint64_t workspace_bytes;        // … its WORKSPACE buffers, which are never freed: at most
    uint64_t uploaded_bytes;         // since the plan was created
    const vkrt_dispatch_time *times; // time_count of them, in order, if requested
    uint32_t time_count;
} vkrt_stats;
VKRT_API vkrt_stats vkrt_plan_stats(const vkrt_plan *plan);

#ifdef __cplusplus
}
#endif
#endif
