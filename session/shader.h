// SPDX-License-Identifier: MIT
// shader.h: shaders in a language of their own, made SPIR-V by the compiler that is installed.
//
// GLSL (.comp, .glsl) by glslangValidator, HLSL (.hlsl) by dxc or glslangValidator, Slang (.slang)
// by slangc.  The compiler is a child process, found in PATH.
#ifndef VYRE_SESSION_SHADER_H
#define VYRE_SESSION_SHADER_H

#include "session/fail.h"

#ifdef __cplusplus
extern "C" {
#endif

// For the compiler, as its own -D and -I: "NAME" or "NAME=VALUE", folders.
typedef struct vys_shader_options {
    size_t size; // of the struct, or 0 (vyre.h)
    const char *const *defines;
    uint32_t define_count;
    const char *const *includes;
    uint32_t include_count;
} vys_shader_options;

// Does its suffix say that a compiler makes SPIR-V of it?
VYS_API bool vys_shader_takes(const char *path);
// Compiles the file; *words: a malloc'd block of *size bytes, for vy_spirv_read.  options NULL: all
// zero.  False with *d: no such compiler (E0802), what it says of the shader (E0810), a file that
// cannot be read (E0901) or written (E0902), memory (E0001).
VYS_API bool vys_shader_compile(const char *path, const vys_shader_options *options, void **words,
                                size_t *size, vy_diag *d);

#ifdef __cplusplus
}
#endif
#endif
