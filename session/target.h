// SPDX-License-Identifier: MIT
// target.h: one struct of facts about a device, and from it all options of the compiler.
//
// What makes a result correct and fast on a device is decided here and nowhere else: whoever calls
// vy_grad, vy_optimize or vy_compile for a device by himself takes the options from here.
#ifndef VYRE_SESSION_TARGET_H
#define VYRE_SESSION_TARGET_H

#include "session/bind.h"

#include "autodiff/grad.h"
#include "vkrt/vkrt.h"

#ifdef __cplusplus
extern "C" {
#endif

// What the compiler must know of the device that will run its result.  All zero: nothing is known,
// or the interpreter.  Fill it by hand for an engine without vkrt.
typedef struct vys_facts {
    bool known; // there is a device
    bool cpu;   // whose invocations are lanes of a processor
    uint32_t loop_iteration_limit;
    uint32_t subgroup_size;
    vy_features features; // enabled
    // VkPhysicalDeviceDriverProperties.driverID, and its major version: which faults SPIR-V is
    // written around (spirv/quirks.h).  driver_id 0: vys_settings.driver says it.
    uint32_t driver_id, driver_major;
    uint64_t reserved[7]; // zero
} vys_facts;

VYS_API vys_facts vys_facts_of(const vkrt_device *device); // NULL: all zero

typedef enum vys_level {
    VYS_LEVEL_DEFAULT,
    VYS_O0,
    VYS_O1,
    VYS_O2,
    VYS_O3
} vys_level;            // default: O2
typedef enum vys_keep { // what a derivative keeps of the forward run
    VYS_KEEP_AUTO,      // what is fastest; less where that takes more than `tape_limit`
    VYS_KEEP_ALL,
    VYS_KEEP_SQRT, // loops keep ⌈√n⌉ states
} vys_keep;

// What is asked of the compiler and of the run.  All zero: safe defaults.
typedef struct vys_settings {
    const char *program; // of a task (session.h); NULL: the only one, else the last pipeline
    // --- derivative
    const char *const *of; // outputs and inputs, as in vy_grad_options
    uint32_t of_count;
    const char *const *wrt;
    uint32_t wrt_count;
    uint32_t order;     // how many times differentiated: 1 or 2; 0: 1 (of a task: not at all)
    bool seed_buffer;   // cotangents are buffers; else ones
    bool forward;       // forward mode: tangents dot_o (vy_jvp), once
    bool with_value;    // the forward outputs too
    bool deterministic; // no sum depends on the order of invocations, forward runs included
    vy_accumulate accumulate;
    vys_keep keep;
    uint64_t tape_limit; // bytes of compiler-made buffers; 0: 1 GiB
    // --- code
    vys_level level;
    vy_target target;    // Vulkan that is there at least
    vy_driver driver;    // whose faults to write SPIR-V around; of a device that is known, its own
    vy_features enabled; // that may be used; of a device that is known, all it has are
    bool precise, fast_math, unchecked, lines, no_validate; // as in vy_spirv_options
    uint32_t coarsen; // elements of its domain that one invocation makes at most; 0: chosen; 1: one
    const char *dump_after; // as in vy_opt_options
    void (*dump)(void *user, const char *pass, const char *text);
    // --- run
    bool keep_state;  // of a task: `inout` buffers that are not set again go on from the last run
    bool interpreter; // run in the reference interpreter; of a task its session says it
    bool f64;         // … with all floats in double
    bool report;      // … looking for races, accesses out of range, reads before writes
    uint32_t subgroup_size; // … 0: 32; else a power of two, at most 128
    uint64_t shuffle_seed;  // … 0: in order
    uint64_t timeout_ns;    // on a device: vkrt_plan_desc.timeout_ns
    // --- talk.  `step`: what takes its time now ("compiling"); NULL: nothing any more.  `tell`:
    // details,
    // one line without its end.  Either may be NULL.
    void (*step)(void *user, const char *what);
    void (*tell)(void *user, const char *line);
    void *user;             // of all callbacks
    const vys_words *words; // NULL: a library's
    uint64_t reserved[7];   // zero
} vys_settings;

// Whether what is asked can be done; else false with E0801.  Tasks ask it (session.h).
VYS_API bool vys_settings_check(const vys_settings *settings, vy_diag *d);
// Single bounds, for who reads them from elsewhere; `name`: how the mistake calls it ("--order").
VYS_API bool vys_order_check(const char *name, uint64_t order, vy_diag *d); // 1 or 2
VYS_API bool vys_subgroup_size_check(const char *name, uint64_t size, vy_diag *d);

// Options for vy_compile.
VYS_API vy_spirv_options vys_spirv_options(const vys_facts *facts, const vys_settings *settings);

// What the optimiser asks about a launch, while it runs: vy_opt_options.user of vys_opt_options.
typedef struct vys_asked {
    const vys_facts *facts;
    const vys_settings *settings;
    const vys_binding *data; // what the result will be run with; NULL: anything
} vys_asked;
// Options for vy_optimize.  final: nobody differentiates the result.  *asked must live as long as
// they do.
VYS_API vy_opt_options vys_opt_options(const vys_asked *asked, bool final);

#ifdef __cplusplus
}
#endif
#endif
