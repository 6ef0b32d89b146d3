// SPDX-License-Identifier: MIT
// interface.h: the resources of a SPIR-V module, from which its pipeline layout is made.
#ifndef VYRE_VKRT_INTERFACE_H
#define VYRE_VKRT_INTERFACE_H

#include "vkrt/internal.h"

#pragma GCC visibility push(hidden)

#define VKRT_INTERFACE_SETS 32

typedef struct vkrt_slot {
    uint32_t set, binding, count; // count: of an array of resources
    VkDescriptorType type;
} vkrt_slot;

typedef struct vkrt_interface {
    uint32_t spirv_version;
    bool has_entry;
    vy_features features; // required by those of its capabilities that imply a single feature
    uint32_t push_bytes;  // 0: no push constants
    uint32_t set_count;   // one more than the highest
    vkrt_slot *slots;     // each set and binding once
    uint32_t slot_count;
} vkrt_interface;

// Errors: BAD_KERNEL (not SPIR-V, truncated, ids beyond its bound, sets beyond INTERFACE_SETS),
// OUT_OF_MEMORY.  vkrt_interface_free in every case.
vkrt_status vkrt_interface_read(const uint32_t *words, size_t word_count, const char *entry,
                                vkrt_interface *out, vkrt_error *error);
void vkrt_interface_free(vkrt_interface *face);

#pragma GCC visibility pop
#endif
