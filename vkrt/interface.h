// SPDX-License-Identifier: MIT
// interface.h: what a SPIR-V module says about the resources its pipeline layout must have.
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
    vy_features features; // that its capabilities ask for, of those that have only one meaning
    uint32_t push_bytes;  // 0: no push constants
    uint32_t set_count;   // one more than the highest
    vkrt_slot *slots;     // each set and binding once
    uint32_t slot_count;
} vkrt_interface;

// Errors: BAD_KERNEL (no SPIR-V, cut off, names beyond its bound, sets beyond INTERFACE_SETS),
// OUT_OF_MEMORY.  vkrt_interface_free in every case.
vkrt_status vkrt_interface_read(const uint32_t *words, size_t word_count, const char *entry,
                                vkrt_interface *out, vkrt_error *error);
void vkrt_interface_free(vkrt_interface *face);

#pragma GCC visibility pop
#endif
