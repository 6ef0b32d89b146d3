// SPDX-License-Identifier: MIT
// buffer.c: buffers and their contents.  Memory the host can see is written directly; otherwise the
// data goes in pieces through one staging buffer per device.
#include "vkrt/internal.h"

#define STAGING_BYTES ((uint64_t)4 << 20)

vkrt_status vkrt_buffer_create(vkrt_device *device, uint64_t bytes, vkrt_memory_use use,
                               vkrt_buffer *buffer, vkrt_error *error)
{
    return vkrt_buffer_create_for(device, bytes, use, 0, buffer, error);
}

vkrt_status vkrt_buffer_create_for(vkrt_device *device, uint64_t bytes, vkrt_memory_use use,
                                   VkBufferUsageFlags usage, vkrt_buffer *buffer, vkrt_error *error)
{
    *buffer = (vkrt_buffer){0};
    if (bytes > UINT64_MAX - 16)
        return vkrt_fail(error, VKRT_LIMIT, "use smaller data", "a buffer beyond 2^64 bytes");
    // Whole words: fills and 8-bit stores may touch the padding, never a neighbour.
    buffer->size = bytes ? (bytes + 15) / 16 * 16 : 16;
    VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .size = buffer->size,
        .usage = usage | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                 VK_BUFFER_USAGE_TRANSFER_DST_BIT,
    };
    VkResult r =
        device->vk.vkCreateBuffer(device->handle, &info, device->allocator, &buffer->handle);
    if (r != VK_SUCCESS) return vkrt_device_fail(device, error, r, "creating a buffer");
    VkMemoryRequirements need;
    device->vk.vkGetBufferMemoryRequirements(device->handle, buffer->handle, &need);
    vkrt_status status =
        vkrt_block_alloc(device, &need, use, &buffer->block, &buffer->range, error);
    if (!status) {
        VkDeviceSize at =
            (buffer->range.offset + need.alignment - 1) / need.alignment * need.alignment;
        r = device->vk.vkBindBufferMemory(device->handle, buffer->handle, buffer->block->memory,
                                          at);
        if (r != VK_SUCCESS) status = vkrt_device_fail(device, error, r, "binding memory");
        bool hidden = device->force_staging && use != VKRT_MEMORY_HOST;
        if (buffer->block->mapped && !hidden) buffer->mapped = buffer->block->mapped + at;
        VkMemoryPropertyFlags flags = device->memory.memoryTypes[buffer->block->type].propertyFlags;
        buffer->host_cached = flags & VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
    }
    if (status) vkrt_buffer_destroy(device, buffer);
    return status;
}

void vkrt_buffer_destroy(vkrt_device *device, vkrt_buffer *buffer)
{
    if (buffer->handle && !buffer->borrowed && !device->abandoned)
        device->vk.vkDestroyBuffer(device->handle, buffer->handle, device->allocator);
    if (buffer->block) vkrt_block_free(device, buffer->block, buffer->range);
    *buffer = (vkrt_buffer){0};
}

// --- One-shot commands ---------------------------------------------------------------------------

static vkrt_status begin_commands(vkrt_device *device, vkrt_error *error)
{
    VkCommandBufferBeginInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
        .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT,
    };
    VkResult r = device->vk.vkBeginCommandBuffer(device->transfer, &info);
    if (r != VK_SUCCESS) return vkrt_device_fail(device, error, r, "recording a copy");
    vkrt_full_barrier(device, device->transfer, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                      VK_PIPELINE_STAGE_TRANSFER_BIT);
    return VKRT_OK;
}

static vkrt_status end(vkrt_device *device, vkrt_error *error)
{
    vkrt_full_barrier(device, device->transfer, VK_PIPELINE_STAGE_TRANSFER_BIT,
                      VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT);
    VkResult r = device->vk.vkEndCommandBuffer(device->transfer);
    VkSubmitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
        .commandBufferCount = 1,
        .pCommandBuffers = &device->transfer,
    };
    if (r == VK_SUCCESS) r = device->vk.vkResetFences(device->handle, 1, &device->transfer_fence);
    if (r == VK_SUCCESS)
        r = device->vk.vkQueueSubmit(device->queue, 1, &info, device->transfer_fence);
    if (r == VK_SUCCESS)
        r = device->vk.vkWaitForFences(device->handle, 1, &device->transfer_fence, VK_TRUE,
                                       UINT64_MAX);
    return r == VK_SUCCESS ? VKRT_OK : vkrt_device_fail(device, error, r, "copying data");
}

static vkrt_status copy_once(vkrt_device *device, const vkrt_buffer *from, uint64_t from_offset,
                             const vkrt_buffer *to, uint64_t to_offset, uint64_t bytes,
                             vkrt_error *error)
{
    vkrt_status status = begin_commands(device, error);
    if (status) return status;
    VkBufferCopy region = {from->base + from_offset, to->base + to_offset, bytes};
    device->vk.vkCmdCopyBuffer(device->transfer, from->handle, to->handle, 1, &region);
    return end(device, error);
}

static vkrt_status need_staging(vkrt_device *device, vkrt_error *error)
{
    if (device->lost) return vkrt_device_fail(device, error, VK_ERROR_DEVICE_LOST, "copying data");
    if (device->staging.handle) return VKRT_OK;
    return vkrt_buffer_create(device, STAGING_BYTES, VKRT_MEMORY_HOST, &device->staging, error);
}

// --- Contents ------------------------------------------------------------------------------------

static uint64_t piece(uint64_t left) { return left < STAGING_BYTES ? left : STAGING_BYTES; }

vkrt_status vkrt_buffer_write(vkrt_device *device, vkrt_buffer *buffer, uint64_t offset,
                              const void *data, uint64_t bytes, vkrt_error *error)
{
    if (bytes == 0) return VKRT_OK;
    if (buffer->mapped) {
        if (data)
            memcpy(buffer->mapped + offset, data, bytes);
        else
            memset(buffer->mapped, 0, buffer->size);
        return VKRT_OK;
    }
    vkrt_status status = VKRT_OK;
    if (!data) {
        status = begin_commands(device, error);
        if (status) return status;
        device->vk.vkCmdFillBuffer(device->transfer, buffer->handle, 0, buffer->size, 0);
        return end(device, error);
    }
    status = need_staging(device, error);
    for (uint64_t at = 0; !status && at < bytes; at += STAGING_BYTES) {
        memcpy(device->staging.mapped, (const char *)data + at, piece(bytes - at));
        status =
            copy_once(device, &device->staging, 0, buffer, offset + at, piece(bytes - at), error);
    }
    return status;
}

vkrt_status vkrt_buffer_read(vkrt_device *device, const vkrt_buffer *buffer, uint64_t offset,
                             void *data, uint64_t bytes, vkrt_error *error)
{
    if (bytes == 0) return VKRT_OK;
    // Reading uncached memory runs at a few MB/s: only what is small is worth avoiding a copy for.
    if (buffer->mapped && (buffer->host_cached || bytes <= 256)) {
        memcpy(data, buffer->mapped + offset, bytes);
        return VKRT_OK;
    }
    vkrt_status status = need_staging(device, error);
    for (uint64_t at = 0; !status && at < bytes; at += STAGING_BYTES) {
        uint64_t n = piece(bytes - at);
        status = copy_once(device, buffer, offset + at, &device->staging, 0, n, error);
        if (!status) memcpy((char *)data + at, device->staging.mapped, n);
    }
    return status;
}
