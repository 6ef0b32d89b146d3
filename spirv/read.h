// SPDX-License-Identifier: MIT
// read.h: SPIR-V compute modules, whoever wrote them, as programs.
//
//   vy_module *m = vy_spirv_read(words, size, "blur.spv", NULL);
//   if (!vy_module_ok(m)) …                    // vy_module_diag says which instruction, and why
//   vy_program *p = vy_module_program(m, 0);   // the entry point
//
// Buffers, scalars and what they are called: docs/language.md 17.
#ifndef VYRE_READ_H
#define VYRE_READ_H

#include "ir/vyre.h"

#ifdef __cplusplus
extern "C" {
#endif

// How to read a module.  All zero: its only compute entry point, with the defaults of its
// specialisation constants.
typedef struct vy_read_options {
    size_t size;       // of the struct, or 0 (vyre.h)
    const char *entry; // NULL: the only one
    // Values of specialisation constants, by name or SpecId ("3"); one that the module lacks is an
    // error.
    const vy_define *specs;
    uint32_t spec_count;
    // Samplers by name (b0_3: set, binding; "": all others): "linear" or "nearest"; "clamp" to the
    // edge, "repeat", "mirror" or "border" (zeros); or one of each, as "nearest,repeat".  Those of
    // which nothing is said are linear and clamp.
    const vy_define *samplers;
    uint32_t sampler_count;
    bool *assumed;    // where not NULL, becomes true: of some sampler nothing is said
    bool keep_domain; // launched by workgroups, as the shader is: look for no domain in its guards
} vy_read_options;

VY_API bool vy_spirv_is(const void *data, size_t size); // starts with the magic, in either order
// Reads the module.  `file` names it in diagnostics; `options` may be NULL.  The result has one
// program, which has been checked; errors are the module's (E0120 to E0123).  NULL: memory is out.
VY_API vy_module *vy_spirv_read(const void *data, size_t size, const char *file,
                                const vy_read_options *options);

#ifdef __cplusplus
}
#endif
#endif
