// SPDX-License-Identifier: MIT
// target.h: one struct of facts about a device, from which all options of the compiler are derived.
//
// What makes a result correct and fast on a device is decided here and nowhere else: callers of
// vy_grad, vy_optimize or vy_compile for a device take their options from here.
#ifndef VYRE_SESSION_TARGET_H
#define VYRE_SESSION_TARGET_H

#include "session/bind.h"

#include "autodiff/grad.h"
#include "vkrt/vkrt.h"

#ifdef __cplusplus
extern "C" {
#endif

// What the compiler must know about the device that will run its result.  All zero: unknown, or the
// interpreter.  Fill it by hand for an engine without vkrt.
typedef struct vys_facts {
    bool known; // there is a device
    bool cpu;   // its invocations are SIMD lanes of a CPU
    uint32_t loop_iteration_limit;
    uint32_t subgroup_size;
    vy_features features; // enabled
    // VkPhysicalDeviceDriverProperties.driverID, and its major version: they decide which driver
    // faults are worked around (spirv/quirks.h).  driver_id 0: vys_settings.driver decides.
    uint32_t driver_id, driver_major;
    // Invocations of a workgroup that suits it, where the program leaves that open and its domain
    // is large; 0: the language's default sizes.
    uint32_t workgroup;
    uint32_t reserved_word; // zero
    uint64_t reserved[6];   // zero
} vys_facts;

VYS_API vys_facts vys_facts_of(const vkrt_device *device); // NULL: all zero

typedef enum vys_level {
    VYS_LEVEL_DEFAULT,
    VYS_O0,
    VYS_O1,
    VYS_O2,
    VYS_O3
} vys_level;            // default: O2
typedef enum vys_keep { // what a derivative tapes in the forward run
    VYS_KEEP_AUTO,      // the fastest choice; less where that takes more than `tape_limit`
    VYS_KEEP_ALL,
    VYS_KEEP_SQRT, // loops keep ⌈√n⌉ states
} vys_keep;

#define VYS_MOST_ORDER 8 // each derivative is a multiple of the size of what it is of

// Settings of the compiler and of the run.  All zero: safe defaults.
typedef struct vys_settings {
    size_t size;         // of the struct, or 0 (vyre.h)
    const char *program; // of a task (session.h); NULL: the only one, else the last pipeline
    // --- derivative
    const char *const *of; // outputs and inputs, as in vy_grad_options
    uint32_t of_count;
    const char *const *wrt;
    uint32_t wrt_count;
    const char *name;   // of the derivative; NULL: as vy_grad calls it
    uint32_t order;     // how many times differentiated; 0: 1 (of a task: not at all)
    bool seed_buffer;   // cotangents are buffers; else ones
    bool forward;       // forward mode: tangents dot_o (vy_jvp), once
    bool with_value;    // the forward outputs too
    bool deterministic; // no sum depends on the order of invocations, forward runs included
    vy_accumulate accumulate;
    const char *const *assume; // conditions that hold in every launch, as in vy_grad_options
    uint32_t assume_count;
    vys_keep keep;
    uint64_t tape_limit; // bytes of compiler-made buffers; 0: 1 GiB
    uint32_t batches;    // in which the domain runs, at least (vy_grad_options); 0: as needed
    // --- code
    vys_level level;
    vy_target target; // the oldest Vulkan version that must accept the code
    // Whose faults to work around; for a known device, its own driver's are.  VY_DRIVER_GPU: and an
    // invocation computes a block of elements (coarsen).
    vy_driver driver;
    // NAME=NUMBER: sizes of the launches that written code is made fast for; it is right for all.
    // Of a task: nothing, its sizes are known.
    const char *const *tune;
    uint32_t tune_count;
    vy_features enabled; // that may be used; for a known device, all that it has may be
    bool precise, fast_math, unchecked, lines, no_validate; // as in vy_spirv_options
    // Modules are validated however long that takes (vy_spirv_options.validation_limit), as they
    // also are where VYRE_VALIDATION is in the environment, not empty and not "0".
    bool validate_always;
    uint32_t coarsen;       // most elements of the domain that one invocation computes; 0: chosen
    const char *dump_after; // as in vy_opt_options
    void (*dump)(void *user, const char *pass, const char *text);
    // --- run
    bool keep_state;        // of a task: `inout` buffers not set again continue from the last run
    bool interpreter;       // run in the reference interpreter; for a task, its session decides
    bool f64;               // … with all floats in double
    bool report;            // … reporting races, accesses out of range, reads before writes
    uint32_t subgroup_size; // … 0: 32; else a power of two, at most 128
    uint64_t shuffle_seed;  // … 0: in order
    uint64_t timeout_ns;    // on a device: vkrt_plan_desc.timeout_ns
    // --- progress.  `step`: the step that has begun ("compiling"), or NULL at the end.  `tell`:
    // details, one line without its newline.  Either callback may be NULL.
    void (*step)(void *user, const char *what);
    void (*tell)(void *user, const char *line);
    void *user;             // of all callbacks
    const vys_words *words; // NULL: a library's
} vys_settings;

// Whether the settings are valid; else false with E0801.  Tasks check theirs (session.h).
VYS_API bool vys_settings_check(const vys_settings *settings, vy_diag *d);
// Single checks, for settings that are read elsewhere; `name`: as in the message ("--order").
VYS_API bool vys_order_check(const char *name, uint64_t order, vy_diag *d); // 1 to VYS_MOST_ORDER
VYS_API bool vys_subgroup_size_check(const char *name, uint64_t size, vy_diag *d);

// Is each of settings->tune a size of a program of `m`?  Else false with E0801.
VYS_API bool vys_tune_check(const vys_settings *settings, const vy_module *m, vy_diag *d);
// The value of a dimension of `p` in the launches that it says; -1: it does not say.
VYS_API int64_t vys_tuned_number(const vys_settings *settings, const vy_program *p, vy_dim d);

// Options for vy_compile.
VYS_API vy_spirv_options vys_spirv_options(const vys_facts *facts, const vys_settings *settings);

// Context of the optimiser's queries about a launch: vy_opt_options.user of vys_opt_options.
typedef struct vys_asked {
    const vys_facts *facts;
    const vys_settings *settings;
    const vys_binding *data; // the data that the result will run with; NULL: any
} vys_asked;
// Options for vy_optimize.  final: the result will not be differentiated.  *asked must live as long
// as they do.
VYS_API vy_opt_options vys_opt_options(const vys_asked *asked, bool final);

#ifdef __cplusplus
}
#endif
#endif
