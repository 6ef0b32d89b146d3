// SPDX-License-Identifier: MIT
// load.h: a file of any kind that the command takes, as a module.
//
//   vy_module *m; vy_diag d = {0};
//   if (!vys_load("blur.comp", NULL, &m, &d)) {
//       vy_module_diag_format(m, &d, false, message, sizeof message);  // place, source line, fix
//       …
//   }
//   vys_task_build(s, m, &settings, &task, &d);
//   vy_module_free(m);
//
// Text (.vyre), its binary form (.vyb) and SPIR-V are known by their contents; shaders (.comp,
// .glsl, .hlsl, .slang) by their names (session/shader.h).  Imports of a text are read from its
// folder.
#ifndef VYRE_SESSION_LOAD_H
#define VYRE_SESSION_LOAD_H

#include "session/fail.h"

#include "spirv/read.h"

#ifdef __cplusplus
extern "C" {
#endif

// All zero: no definitions, no folders, and the defaults of read.h.
typedef struct vys_load_options {
    size_t size; // of the struct, or 0 (vyre.h)
    // Of a text: values of its constants.  Of a shader: macros, for its compiler.
    const vy_define *defines;
    uint32_t define_count;
    // Folders of what a text imports, or a shader includes, beside its own.
    const char *const *includes;
    uint32_t include_count;
    vy_read_options read; // of SPIR-V; grows, so it is the last
} vys_load_options;

// The module belongs to the caller.  False with *d: the file cannot be read (E0901), its compiler
// (session/shader.h), or what is wrong in it; then *out is NULL, or the module that *d is about,
// for vy_module_diag_format, and the caller's too.
VYS_API bool vys_load(const char *path, const vys_load_options *options, vy_module **out,
                      vy_diag *d);
// The same of what is in memory, but shaders; `name` is shown in diagnostics, and imports are
// looked for in its folder.
VYS_API bool vys_load_data(const void *data, size_t size, const char *name,
                           const vys_load_options *options, vy_module **out, vy_diag *d);

#ifdef __cplusplus
}
#endif
#endif
