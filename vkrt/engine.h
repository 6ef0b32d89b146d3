// SPDX-License-Identifier: MIT
// engine.h: for an engine that has its own Vulkan device, buffers, command buffers and semaphores
// (vkrt_device_wrap).
//
//     vkrt_storage *w;                                      // its own VkBuffer
//     vkrt_storage_create(dev, &(vkrt_storage_desc){.size = sizeof(vkrt_storage_desc),
//                                                   .vk_buffer = (uint64_t)buffer,
//                                                   .bytes = 4 * n}, &w, &e);
//     vkrt_plan_bind(run, "w", 1, (uint64_t[]){n}, w, 0, &e);
//     vkrt_recording *r;
//     vkrt_plan_record(run, &(vkrt_record_desc){.size = sizeof(vkrt_record_desc),
//                                               .commands = commands}, &r, &e);
//     …                                          // submits `commands`, any number of times
//     vkrt_recording_free(r);                               // once they no longer execute
//
// Errors, ownership and threads are as in vkrt.h.  The descriptors begin with their own size, so
// that later versions can have more members: sizeof the struct.  A member that this library does
// not know must be zero (else BAD_ARGUMENT).  Handles that Vulkan calls non-dispatchable are
// uint64_t, as they are on all platforms.
#ifndef VYRE_VKRT_ENGINE_H
#define VYRE_VKRT_ENGINE_H

#include "vkrt/vkrt.h"

#ifdef __cplusplus
extern "C" {
#endif

// --- Buffers that plans share --------------------------------------------------------------------

// A buffer of the caller's or one made here.  Any number of plans of its device may have it bound.
typedef struct vkrt_storage vkrt_storage;

typedef struct vkrt_storage_desc {
    size_t size;    // sizeof(vkrt_storage_desc)
    uint64_t bytes; // more than 0; of a caller's buffer a multiple of 4: kernels that store 8 or 16
                    // bits may write their word anew
    // A caller's VkBuffer, which must be bound to its memory, be of VK_SHARING_MODE_EXCLUSIVE on
    // our queue family, or concurrent, and have the usages STORAGE_BUFFER, TRANSFER_SRC and
    // TRANSFER_DST.  It must outlive the storage.  0: one is made, with these usages.
    uint64_t vk_buffer;
    // Where the storage begins in it: a multiple of 16 and of the device's
    // storage_buffer_alignment.
    uint64_t offset;
    // Host address of that byte, of memory that is HOST_VISIBLE and HOST_COHERENT and stays mapped;
    // NULL: the host reads and writes by copies.  Of a buffer made here: NULL.
    void *mapped;
    uint32_t vk_usage; // of a buffer made here: further VkBufferUsageFlags
    bool host_visible; // of a buffer made here: in memory that the host sees, always mapped
} vkrt_storage_desc;

// Contents of one made here are undefined.  Errors: BAD_ARGUMENT, UNALIGNED, LIMIT, OUT_OF_MEMORY,
// OUT_OF_DEVICE_MEMORY, DEVICE_LOST.
VKRT_API vkrt_status vkrt_storage_create(vkrt_device *device, const vkrt_storage_desc *desc,
                                         vkrt_storage **out, vkrt_error *error);
// One more holder of it, who calls vkrt_storage_destroy as well.  Returns it.
VKRT_API vkrt_storage *vkrt_storage_share(vkrt_storage *storage);
// NULL is fine.  One that plans have bound lives until the last of them lets it go; a caller's
// VkBuffer must live that long.  To be called before the device is destroyed.
VKRT_API void vkrt_storage_destroy(vkrt_storage *storage);

// Copies bytes from or to the host, and waits until that is done.  Errors: BUSY (a plan that has it
// bound runs), BAD_ARGUMENT (beyond its end), DEVICE_LOST.  Of a buffer that a command buffer of
// the caller's uses, only while that does not execute.
VKRT_API vkrt_status vkrt_storage_write(vkrt_storage *storage, uint64_t offset, const void *data,
                                        uint64_t bytes, vkrt_error *error);
VKRT_API vkrt_status vkrt_storage_read(const vkrt_storage *storage, uint64_t offset, void *data,
                                       uint64_t bytes, vkrt_error *error);

// Where the host sees its bytes, until it is destroyed; NULL: it does not.  What a plan wrote is
// there once vkrt_plan_wait has returned, and what the host writes before vkrt_plan_submit is what
// the plan reads.
VKRT_API void *vkrt_storage_mapped(const vkrt_storage *storage);
VKRT_API uint64_t vkrt_storage_bytes(const vkrt_storage *storage);
// Its VkBuffer, for descriptors and draws of the caller, and where the storage begins in it.
VKRT_API uint64_t vkrt_storage_buffer(const vkrt_storage *storage, uint64_t *offset);

// Makes a buffer of the plan's the bytes of `storage` from `offset` on (aligned as in
// vkrt_storage_desc), instead of memory of its own: what is there is read, and results are written
// there.  An OUT buffer still starts every run as zeros.  Nothing is copied, and the shape is given
// as to vkrt_plan_set_buffer; that, vkrt_plan_set_flat, or storage = NULL give the plan memory of
// its own again.  Two buffers of a plan may overlap only if the plan reads both (BAD_ARGUMENT when
// it is prepared).
// Errors: those of vkrt_plan_set_buffer; BAD_ARGUMENT (another device, a WORKSPACE, beyond the end
// of the storage), UNALIGNED, BUSY (it runs, or was recorded).
VKRT_API vkrt_status vkrt_plan_bind(vkrt_plan *plan, const char *name, uint32_t rank,
                                    const uint64_t *shape, vkrt_storage *storage, uint64_t offset,
                                    vkrt_error *error);

// Copies a part of a buffer, given in bytes.  To write, it must have contents already, and be IN or
// INOUT: others are the plan's to write.  Errors: BUSY, UNSET, BAD_ARGUMENT, DEVICE_LOST.
VKRT_API vkrt_status vkrt_plan_write_part(vkrt_plan *plan, const char *name, uint64_t offset,
                                          const void *data, uint64_t bytes, vkrt_error *error);
VKRT_API vkrt_status vkrt_plan_read_part(vkrt_plan *plan, const char *name, uint64_t offset,
                                         void *data, uint64_t bytes, vkrt_error *error);

// --- Command buffers of the caller ---------------------------------------------------------------

// What recorded commands refer to.
typedef struct vkrt_recording vkrt_recording;

typedef struct vkrt_record_desc {
    size_t size;    // sizeof(vkrt_record_desc)
    void *commands; // a VkCommandBuffer in the recording state, outside of a render pass, of a
                    // family that computes
    // VkPipelineStageFlags of the caller's commands before that write what the plan reads, or use
    // what it writes; and of those after it that read what it writes.  0: all, the host included.
    uint32_t before, after;
} vkrt_record_desc;

// Records one run, with its scalars and shapes as they are.  It begins with a barrier that makes
// all memory written by the stages `before` visible to it, and ends with one that makes what it
// wrote available and visible to the stages `after`: the caller adds no barrier for the plan's
// buffers.  In between are the plan's own barriers.  No other state of the command buffer is used;
// pipeline, descriptor sets and push constants of the compute bind point are undefined afterwards.
//
// Executed again, it runs again: INOUT buffers continue from what the last run left, OUT buffers
// start as zeros.  While it executes, the host must leave the plan's buffers alone.  While
// recordings exist, calls that would move a buffer of the plan fail (BUSY).  They are freed before
// their plan, once nothing that was recorded is executing or will be.
//
// Errors: those of vkrt_plan_submit; LIMIT: the plan reads values back between its steps, which
// decide what follows (pipelines with `while`; loops watched for the device's limit).  The command
// buffer must be reset then.
VKRT_API vkrt_status vkrt_plan_record(vkrt_plan *plan, const vkrt_record_desc *desc,
                                      vkrt_recording **out, vkrt_error *error);
VKRT_API void vkrt_recording_free(vkrt_recording *recording); // NULL is fine

// --- Semaphores of the caller --------------------------------------------------------------------

typedef struct vkrt_semaphore {
    uint64_t vk_semaphore; // VkSemaphore
    uint64_t value;        // of a timeline semaphore, which the caller's device has enabled; of a
                           // binary one 0
} vkrt_semaphore;

typedef struct vkrt_submit_desc {
    size_t size; // sizeof(vkrt_submit_desc)
    // The run begins once all of these have their values, and sets those when all of it is done.
    const vkrt_semaphore *waits, *signals; // copied
    uint32_t wait_count, signal_count;
} vkrt_submit_desc;

// vkrt_plan_submit with semaphores; desc NULL: without.  A plan that reads values back continues,
// and so signals, only inside vkrt_plan_wait.  If a run fails, its semaphores may never be
// signalled.
VKRT_API vkrt_status vkrt_plan_submit_with(vkrt_plan *plan, const vkrt_submit_desc *desc,
                                           vkrt_error *error);

#ifdef __cplusplus
}
#endif
#endif
