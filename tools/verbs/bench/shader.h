// SPDX-License-Identifier: MIT
// shader.h: the interface of a foreign SPIR-V compute module: enough to launch it, and to check
// that it is what its plan declares.
#ifndef VYRE_TOOL_SHADER_H
#define VYRE_TOOL_SHADER_H

#include "tools/data/tool.h"

#include "spirv/kernel.h"

typedef struct shader_binding {
    uint32_t set, binding;
    bool read_only; // every member is NonWritable (GLSL: readonly)
} shader_binding;

typedef struct shader_field { // of the push constants; scalars only
    uint32_t offset, size;
    bool floating;
} shader_field;

typedef struct shader {
    uint32_t version; // of SPIR-V: 0x00010300
    uint32_t local_size[3];
    uint32_t shared_bytes;
    vy_features features;
    shader_binding *bindings; // storage buffers
    uint32_t binding_count;
    shader_field *fields;
    uint32_t field_count;
} shader;

// Reads the validated module `words`; its entry point must be `main`.  False with *d (code E0812,
// which names `path`) for what vkrt cannot launch: another entry point, resources that are no
// storage buffers, a workgroup size that is no constant, capabilities without a feature of ours.
// shader_free in every case.
bool shader_read(shader *s, const uint32_t *words, size_t count, const char *path, vy_diag *d);
void shader_free(shader *s);

#endif
