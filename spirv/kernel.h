// SPDX-License-Identifier: MIT
// kernel.h: everything a runtime must know to launch one compiled kernel, as plain data.
//
// This header depends on nothing but the C standard library.  vkrt reads it and never sees the IR;
// any other engine can do the same, or read the identical facts from the JSON manifest.
#ifndef VYRE_KERNEL_H
#define VYRE_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Optional device features a kernel needs.  A runtime enables them or refuses with the name.
#define VY_FEATURES(X)                                                                             \
    X(FLOAT64, "shader_float64")                                                                   \
    X(FLOAT16, "shader_float16")                                                                   \
    X(INT64, "shader_int64")                                                                       \
    X(INT16, "shader_int16")                                                                       \
    X(STORAGE_16BIT, "storage_buffer_16bit_access")                                                \
    X(STORAGE_8BIT, "storage_buffer_8bit_access")                                                  \
    X(INT8, "shader_int8")                                                                         \
    X(ATOMIC_FLOAT32_ADD, "shader_atomic_float") /* buffer float32 atomic add */                   \
    X(ATOMIC_FLOAT32_ADD_SHARED, "shader_atomic_float_shared")                                     \
    X(ATOMIC_FLOAT64_ADD, "shader_atomic_float64")                                                 \
    X(ATOMIC_FLOAT64_ADD_SHARED, "shader_atomic_float64_shared")                                   \
    X(ATOMIC_INT64, "shader_atomic_int64")                                                         \
    X(ATOMIC_INT64_SHARED, "shader_atomic_int64_shared")                                           \
    X(SUBGROUP_BASIC, "subgroup_basic")                                                            \
    X(SUBGROUP_VOTE, "subgroup_vote")                                                              \
    X(SUBGROUP_ARITHMETIC, "subgroup_arithmetic")                                                  \
    X(SUBGROUP_BALLOT, "subgroup_ballot") /* broadcast with dynamic lane */                        \
    X(SUBGROUP_SHUFFLE, "subgroup_shuffle")                                                        \
    X(SUBGROUP_EXTENDED_TYPES, "shader_subgroup_extended_types")                                   \
    X(SIGNED_ZERO_INF_NAN_16, "signed_zero_inf_nan_preserve_float16")                              \
    X(SIGNED_ZERO_INF_NAN_32, "signed_zero_inf_nan_preserve_float32")                              \
    X(SIGNED_ZERO_INF_NAN_64, "signed_zero_inf_nan_preserve_float64")                              \
    X(ROUNDING_RTE_16, "rounding_mode_rte_float16")                                                \
    X(ROUNDING_RTE_32, "rounding_mode_rte_float32")                                                \
    X(ROUNDING_RTE_64, "rounding_mode_rte_float64")

typedef enum vy_feature_index {
#define X(id, text) VY_FEATURE_INDEX_##id,
    VY_FEATURES(X)
#undef X
        VY_FEATURE_COUNT
} vy_feature_index;

// A set of features, one bit each: VY_FEATURE_BIT(FLOAT64) | …
typedef uint64_t vy_features;
#define VY_FEATURE_BIT(id) ((vy_features)1 << VY_FEATURE_INDEX_##id)

// Integer expressions over symbols, for shapes, extents and sizes.  Evaluated in signed 64 bits by
// the host; overflow, division by zero and a negative shape are errors, never wrapped values.
// Nodes refer to earlier nodes of the same array, so an array is evaluated front to back.
typedef enum vy_expr_op {
    VY_EXPR_CONST,  // value
    VY_EXPR_SYMBOL, // value = index into the symbol array
    VY_EXPR_ADD,    // a + b
    VY_EXPR_SUB,
    VY_EXPR_MUL,
    VY_EXPR_DIV, // truncates, as in C
    VY_EXPR_REM,
    VY_EXPR_MIN,
    VY_EXPR_MAX,
    VY_EXPR_SQRT, // square root of a, rounded down; 0 where a < 0; b is a again
} vy_expr_op;

typedef struct vy_expr {
    vy_expr_op op;
    uint32_t a, b; // operands: indices of earlier nodes
    int64_t value; // of CONST and SYMBOL
} vy_expr;

// A value known only at launch.
typedef enum vy_symbol_kind {
    VY_SYMBOL_SCALAR,   // a scalar parameter of the program
    VY_SYMBOL_EXTENT,   // extent of axis `axis` of buffer `buffer`, where the program wrote `?`
    VY_SYMBOL_REPEAT,   // the counter of an enclosing repeat step (plans only)
    VY_SYMBOL_GROUPS,   // workgroups on axis `axis`; in a plan, the caller's group counts
    VY_SYMBOL_READBACK, // an element read back by a step (plans only)
} vy_symbol_kind;

typedef struct vy_symbol {
    const char *name; // the scalar's name; `len(x)` for an extent; `num_groups.x` for groups
    vy_symbol_kind kind;
    // "u32", "f32", …: how a scalar is packed; "u32" for extents and groups, "i64" for the others.
    const char *type;
    uint32_t buffer; // EXTENT: index into the binding (kernel) or buffer (plan) array
    uint32_t axis;
} vy_symbol;

typedef enum vy_access { VY_ACCESS_IN, VY_ACCESS_OUT, VY_ACCESS_INOUT } vy_access;

// Where a parameter of a shader is: the host's own binding (vy_spirv_options.host_layout).
typedef struct vy_kernel_from {
    uint32_t set, binding;   // VY_NO_BINDING: push constants
    bool uniform;            // a uniform block; else a storage block
    uint32_t offset;         // bytes from the start of the binding, or of the push constants
    uint32_t rank;           // of strides; 0: the elements are dense, one after the other
    const uint32_t *strides; // bytes from one index to the next, by axis
} vy_kernel_from;

// One storage-buffer binding.
typedef struct vy_kernel_binding {
    const char *name;
    uint32_t set, binding;
    vy_access access;
    bool clear;       // OUT, workspaces: the runtime fills it with zeros before each dispatch
    bool workspace;   // made by the compiler: the runtime allocates it, users bind nothing; without
                      // `clear` it may hold anything
    const char *init; // see vy_plan_step COPY: name of the buffer whose contents it starts with, or
                      // NULL; "1" means filled with ones
    const char *type; // element type: "f32", "u8", …
    uint32_t elem_size;         // bytes of one element
    uint32_t rank;              // number of axes
    const uint32_t *dims;       // rank expression indices, outermost (slowest) axis first
    const vy_kernel_from *from; // of a hosted kernel: which part of the host's binding it is, with
                                // which others may share it; NULL: the kernel's own
} vy_kernel_binding;

// One field of the parameter block (push constants, or a storage buffer when they are too many).
typedef enum vy_param_kind {
    VY_PARAM_SCALAR,     // value of symbol `index`
    VY_PARAM_EXPR,       // expression `index`, stored as u32 (extents the kernel compares against)
    VY_PARAM_GROUP_BASE, // first workgroup of this dispatch on axis `index` (0 unless a large
                         // dispatch is split), u32
    VY_PARAM_NUM_GROUPS, // workgroups of the whole logical dispatch on axis `index`, u32
    VY_PARAM_OFFSET, // elements from the start of the descriptor of binding `index` to the first
                     // element bound, u32: a slice may start between the offsets that the device
                     // allows for descriptors
} vy_param_kind;

typedef struct vy_kernel_param {
    const char *name;
    vy_param_kind kind;
    const char *type;
    uint32_t index;
    uint32_t offset; // bytes from the start of the block
    uint32_t size;   // bytes
} vy_kernel_param;

#define VY_NO_BINDING UINT32_MAX

// A scalar that the host of a shader provides where the shader has it.
typedef struct vy_kernel_constant {
    vy_kernel_param param; // its offset is that of `from`
    const vy_kernel_from *from;
} vy_kernel_constant;

// A compiled kernel.  Owned by the vy_plan or compile result it came from.
typedef struct vy_kernel {
    const char *name;      // program name
    const char *entry;     // entry point in the module: "main" where the module has one kernel
    const uint32_t *words; // SPIR-V
    size_t word_count;
    uint32_t spirv_version;  // e.g. 0x00010300
    uint32_t vulkan_version; // minimum, as VK_API_VERSION: (major << 22) | (minor << 12)
    uint32_t local_size[3];
    uint32_t shared_bytes;  // shared arrays of one workgroup; a device has at least 16,384
    vy_features features;   // needed; a device without one cannot run the kernel
    uint32_t subgroup_size; // the only one it was compiled for; 0: any
    // Upper bounds on nesting and iterations, for devices that silently compute wrong results
    // beyond a limit.  Nesting: the depth of `if`s or of loops, whichever is greater, including
    // range guards and called functions; and the source line where it is reached (0: unknown).
    uint32_t nesting, nesting_line;
    // Total iterations of all loops of one invocation: the last of iteration_count expressions.
    const vy_expr *iterations;
    uint32_t iteration_count; // expressions over `symbols`; 0: there are no loops
    bool iterations_open; // some trip counts depend on data; each such loop counts as one iteration
    // The kernel was compiled with vy_spirv_options.watch_loops.  Its last binding is a workspace
    // of one u32 with value 1, which becomes 2 + the kernel's number if the driver ended a loop.
    // It is filled and checked by the plan (VY_CHECK_LOOPS), once for all dispatches.
    bool watched;
    uint32_t watch_set, watch_binding;
    const vy_kernel_binding *bindings;
    uint32_t binding_count;
    const vy_kernel_param *params;
    uint32_t param_count;
    // The kernel is bound as the shader that it is made from: push constants and uniform blocks are
    // the shader's, and `params` only what it lacks.  Dispatched whole, with no group bases.
    bool hosted;
    const vy_kernel_constant *constants; // of the host
    uint32_t constant_count;
    uint32_t param_bytes;   // size of the block, a multiple of 4; at most 128 when pushed
    uint32_t param_set;     // VY_NO_BINDING: push constants; else set and binding of the buffer
    uint32_t param_binding; // that holds the block
    // Every axis whose workgroup numbers the code reads has a VY_PARAM_GROUP_BASE, so a dispatch
    // can be split along any axis.  Otherwise only along the axes that have one.
    bool splits;
    const vy_symbol *symbols;
    uint32_t symbol_count;
    const vy_expr *exprs;
    uint32_t expr_count;
    // The invocation domain, one expression per `over` variable, the LAST being the x axis:
    // groups_x = ceil(domain[rank-1] / local_size[0]), groups_y from domain[rank-2], and z from the
    // product of all the others.  Rank 0: the caller chooses the group counts.
    uint32_t domain_rank;
    const uint32_t *domain;
    // Sizes for which an element of a shared array would be read that no invocation fills
    // (whole.c), and what the program assumes: the launch is correct if 0 ≤ expr < limit for each.
    uint32_t need_count;
    const struct vy_kernel_need *needs;
} vy_kernel;

typedef struct vy_kernel_need {
    uint32_t expr, limit; // expressions
    const char *text;     // the error message otherwise
    const char *assumed;  // "M <= S", the program's own `assume` clause; NULL for what was found
} vy_kernel_need;

#endif
