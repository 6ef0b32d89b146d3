// SPDX-License-Identifier: MIT
// spirv.h: programs as SPIR-V for Vulkan, and everything needed to launch them.
//
//   vy_diag d;
//   vy_spirv_options o = {.target = VY_VULKAN_1_2, .validate = true};
//   vy_compiled *c = vy_compile(program, &o, &d);
//   if (c == NULL) …                                  // d says why
//   … c->words, c->word_count: the module; c->kernels[0]: bindings, parameters, group counts;
//     c->plans[0]: the steps that a whole run takes …
//   vy_compiled_free(c);
//
// A program compiles to one entry point, a pipeline to one per program it dispatches.  Same program
// and options, same bytes.
#ifndef VYRE_SPIRV_H
#define VYRE_SPIRV_H

#include "ir/pipeline.h"
#include "ir/vyre.h"
#include "spirv/kernel.h"
#include "spirv/plan.h"
#include "spirv/quirks.h"

#ifdef __cplusplus
extern "C" {
#endif

// The oldest Vulkan version that must accept the module; SPIR-V 1.3, 1.5 and 1.6.
typedef enum vy_target { VY_VULKAN_1_1, VY_VULKAN_1_2, VY_VULKAN_1_3 } vy_target;

VY_API bool vy_target_from_name(const char *name, vy_target *out); // "vulkan1.2" (or "1.2")
VY_API const char *vy_target_name(vy_target target);

// Names of optional features, as in kernel.h: "shader_atomic_float".
VY_API const char *vy_feature_name(uint32_t index); // NULL past the end
VY_API bool vy_feature_from_name(const char *name, size_t size, vy_features *bit);

// How to compile.  All zero: for Vulkan 1.1, default float mode, range guards kept, names kept, no
// optional feature beyond what the program's own types and subgroup operations need, not validated.
typedef struct vy_spirv_options {
    size_t size; // of the struct, or 0 (vyre.h)
    vy_target target;
    // Floats (docs/language.md 8.5).  Default: f32 functions within 1e-5 with IEEE results at 0,
    // inf, nan and outside their domains, contraction allowed; float controls where `enabled`.
    bool precise; // no contraction, our own bounded functions, rounding to nearest where `enabled`
    bool fast_math; // the device's own functions, no float controls; reassociation is vy_optimize's
    bool unchecked; // drops range guards: an out-of-range access is undefined behaviour
    bool strip;     // no names, no line numbers
    bool lines;     // the path of the source and line numbers (OpSource, OpLine)
    bool validate;  // run libspirv's validator; a failure is our bug, reported as a diagnostic
    // Features that may be used where they make the code better (float atomics) or where there is
    // no alternative (64-bit atomics): from --enable, or what the device at hand has.
    vy_features enabled;
    // 0: the subgroup size is read on the device.  Else every pipeline is known to have this one.
    uint32_t subgroup_size;
    // Driver faults (quirks.h) that the device's driver is known not to have: their workarounds are
    // omitted.  0: work around all of them.
    vy_quirks spared;
    // For a device that ends loops after a number of iterations (vkrt.h, loop_iteration_limit):
    // kernels detect it, and plans then fail instead of returning wrong numbers.  A kernel that
    // cannot reach the limit is not changed.
    bool watch_loops;
    // With watch_loops: the caller guarantees that the iterations of all LOOPs and WHILEs together
    // stay below the limit, so kernels watch only loops whose iterations cannot be counted in
    // advance, those of atomics and library functions.
    bool iterations_known;
    // Such a device runs the rows of a workgroup in vectors of this many lanes, even where a row
    // has fewer; the surplus lanes are then excluded from the whole kernel.  0: unknown.
    uint32_t lanes;
    // What was a shader is bound as the shader is (docs/shaders.md): its sets, bindings, push
    // constants and uniform blocks stay, entry points are called as programs are.  For other hosts
    // than vkrt, which binds dense buffers of its own.
    bool host_layout;
    // Parameters beyond this many bytes go to a storage buffer.  0: 128, which every device has.
    uint32_t max_push_bytes;
    // Lanes of a subgroup that are likely to add to the same element at the same time add up first,
    // and one of them adds the sum; where the features are `enabled` (subgroup_arithmetic and
    // subgroup_vote).  For devices on which atomic additions to one element wait for each other.
    bool combine_additions;
    // With `validate`: a module that takes the validator more steps is not validated
    // (vy_compiled.validation), as it takes time as the cube of the nesting depth.  0: no limit.
    uint64_t validation_limit;
} vy_spirv_options;

// What the command and session/ take for validation_limit: 1 to 2 s.
#define VY_VALIDATION_LIMIT 20000000u

// Of a module: whether libspirv has validated it, and what that takes.  `steps` are of the
// validator's walks through trees of dominators, estimated: 50 to 100 ns each.  All zero but
// `done` where there is no limit.
typedef struct vy_validation {
    bool done;
    uint64_t steps;
    uint32_t blocks;  // of all functions
    uint32_t nesting; // of constructs: a loop may be two
} vy_validation;

// The result, one block of memory (vy_compiled_free).
typedef struct vy_compiled {
    const uint32_t *words; // the module
    size_t word_count;
    uint32_t count;           // programs compiled
    const vy_kernel *kernels; // one per program, in the order given
    const vy_plan *plans;     // one per program: that program alone, as a plan of one dispatch;
                              // of a pipeline: one plan, of all its steps
    vy_validation validation;
} vy_compiled;

// Compiles one program; its entry point is `main`.  Returns NULL with *diag filled on error.
// `options` NULL: all zero.
VY_API vy_compiled *vy_compile(const vy_program *p, const vy_spirv_options *options, vy_diag *diag);
// Compiles several programs to one module with one entry point each, named after its program.  Each
// kernel's `features` are those of the entire module, because a device must accept all of it.
VY_API vy_compiled *vy_compile_module(const vy_program *const *programs, uint32_t count,
                                      const vy_spirv_options *options, vy_diag *diag);
// Compiles the programs that a pipeline dispatches (kernels, in order of their first dispatch) to
// one module, with one entry point each, named after its program, or `main` where there is only
// one; and the pipeline to a plan.  The pipeline must come from a checked module.
VY_API vy_compiled *vy_compile_pipeline(const vy_pipeline *p, const vy_spirv_options *options,
                                        vy_diag *diag);
// Compiles the entry of a derivative's module: its last pipeline, or its only program.  plans[0]
// of the result is the entire run.
VY_API vy_compiled *vy_compile_result(const vy_module *m, const vy_spirv_options *options,
                                      vy_diag *diag);
VY_API void vy_compiled_free(vy_compiled *c); // NULL is fine

// Runs libspirv's validator for the target.  False with *diag (code INVALID_SPIRV) if it objects.
VY_API bool vy_spirv_validate(const uint32_t *words, size_t count, vy_target target, vy_diag *diag);

// The serialisers return malloc'd, terminated text and its length in *size (may be NULL), or NULL
// when out of memory.

// Disassembly by libspirv; `color` adds ANSI colours.  NULL also if the words are not SPIR-V.
VY_API char *vy_spirv_disassemble(const uint32_t *words, size_t count, bool color, size_t *size);

// The JSON manifest: all one needs to run the plan with Vulkan and the .spv alone.
//
//   {"vyre": 1, "name", "scalars": [{"name", "type"}],
//    "buffers": [{"name", "role": "in|out|inout|workspace", "type", "element_size",
//                 "shape": ["N", "D*(D+1)/2"]}],
//    "steps":   [{"do": "dispatch", "kernel", "buffers": {KERNEL'S NAME: "buffer" or
//                  {"buffer", "offset"}}, "symbols": {NAME: EXPRESSION, of a float: the number},
//                  "groups": […] if fixed},
//                {"do": "fill", "buffer", "value"}, {"do": "copy", "from", "to"}; of a part: also
//                  "offset", "elements", of a copy "from_offset",
//                {"do": "repeat", "count", "times", "symbol"},
//                {"do": "readback", "buffer", "element", "symbol"},
//                {"do": "test", "value"},
//                {"do": "check", "value", "equals" or "below", "error"}],
//    "expressions": {"$12": EXPRESSION, …} if there are any,
//    "kernels": [{"name", "entry", "spirv": "1.3", "vulkan": "1.1", "local_size": [x, y, z],
//                 "shared_bytes",
//                 "features": ["shader_float64"],
//                 "nesting", "loop_iterations": EXPRESSION, "loop_iterations_open": true or false,
//                 "loop_expressions" and "expressions", as above, of "loop_iterations" and of the
//                 rest of the kernel,
//                 "subgroup_size" if it was compiled for one,
//                 "bindings": [{"name", "set", "binding", "access": "in|out|inout", "clear",
//                               "workspace", "init", "type", "element_size", "shape"}],
//                 "params": {"in": "push_constants" or {"set", "binding"}, "bytes",
//                            "fields": [{"name", "kind": "scalar|expression|group_base|num_groups|
//                                        offset", "type", "offset", "size", "value"}]},
//                                        (no group_base for an axis: no code reads its numbers)
//                 "groups": ["ceil(N/64)", "1", "1"] or null: the caller chooses}]}
//
// Expressions are C-like integer arithmetic (+ − * / % min max isqrt ceil) over the scalars' names,
// `len(x)` (the elements bound to x), `num_groups.x`, `.y`, `.z` (the workgroups that the caller
// chooses) and the "symbol" of repeats and readbacks, evaluated in signed 64 bits where they are
// reached.  `$12` stands for what "expressions" has under this name: an expression of more than
// 2,000 characters.  In a kernel, num_groups is that of its dispatch.  A repeat runs the next
// `count` steps `times` times; its symbol is 0, 1, ….  A test whose value is 0 ends the repeat
// around it.  A readback waits for the preceding steps and sets its symbol to that element.  A
// check ends the run with "error" unless value = equals, or 0 ≤ value < below.  Offsets and
// "elements" count elements of the buffer.  Every binding with "clear", an `out` one or a
// workspace, is filled with zero, within the range bound, before its dispatch; a workspace without
// it may hold anything.  A workspace whose shape names the symbol of a
// repeat or readback takes that shape, with undefined contents, where the symbol is set; `out`
// buffers are zero at the start.  A field of kind "offset" is the distance, in elements, from the
// start of the descriptor of binding "value" to the first element: descriptors begin at multiples
// of minStorageBufferOffsetAlignment, slices anywhere.
VY_API char *vy_manifest(const vy_plan *plan, size_t *size);

// A C99 header without dependencies: the words as an array, bindings as enumerators, the parameter
// block as a struct, sizes as macros.  All names start with `prefix`.
VY_API char *vy_c_header(const vy_plan *plan, const char *prefix, size_t *size);

#ifdef __cplusplus
}
#endif
#endif
