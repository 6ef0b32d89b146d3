// SPDX-License-Identifier: MIT
// memory.c: sub-allocation.  Drivers allow few allocations (often 4096) and make each one slowly,
// so buffers are carved out of blocks; first fit over a sorted list of holes.  Large requests get
// their own block.
#include "vkrt/internal.h"

#define BLOCK_BYTES ((VkDeviceSize)32 << 20)

#define VISIBLE (VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT)
#define LOCAL VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT
#define CACHED VK_MEMORY_PROPERTY_HOST_CACHED_BIT

// How well memory type `i` suits a use; 0: not at all.
static int score(const vkrt_device *device, uint32_t i, vkrt_memory_use use)
{
    VkMemoryPropertyFlags flags = device->memory.memoryTypes[i].propertyFlags;
    const VkMemoryPropertyFlags exotic =
        VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT | VK_MEMORY_PROPERTY_PROTECTED_BIT |
        VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD | VK_MEMORY_PROPERTY_DEVICE_UNCACHED_BIT_AMD;
    if (flags & exotic) return 0;
    bool visible = (flags & VISIBLE) == VISIBLE, local = flags & LOCAL, cached = flags & CACHED;
    VkDeviceSize heap = device->memory.memoryHeaps[device->memory.memoryTypes[i].heapIndex].size;
    // A small visible window into a discrete GPU's memory is no place for data.
    bool window = visible && local && heap < device->physical.info.device_memory_bytes;
    switch (use) {
    case VKRT_MEMORY_DATA: return 1 + 8 * local + 4 * (visible && !window) + 2 * cached - window;
    case VKRT_MEMORY_SCRATCH: return 1 + 8 * local + 2 * !visible - window;
    default: return visible ? 1 + 8 * cached + 2 * !local : 0;
    }
}

static bool find_hole(vkrt_block *block, VkDeviceSize size, VkDeviceSize align, vkrt_range *range)
{
    for (uint32_t i = 0; i < block->free_count; i++) {
        vkrt_range hole = block->free[i];
        VkDeviceSize at = (hole.offset + align - 1) / align * align, end = hole.offset + hole.size;
        if (at > end || end - at < size) continue;
        // The padding before `at` belongs to the allocation, so that one hole never becomes two.
        *range = (vkrt_range){hole.offset, at + size - hole.offset};
        block->free[i].offset += range->size;
        block->free[i].size -= range->size;
        if (block->free[i].size == 0) {
            block->free_count--;
            memmove(&block->free[i], &block->free[i + 1],
                    (block->free_count - i) * sizeof *block->free);
        }
        return true;
    }
    return false;
}

static bool reserve_holes(vkrt_block *block)
{
    if (block->free_capacity >= block->live + 2) return true;
    uint32_t capacity = 2 * block->free_capacity + 8;
    vkrt_range *grown = realloc(block->free, capacity * sizeof *grown);
    if (!grown) return false;
    block->free = grown;
    block->free_capacity = capacity;
    return true;
}

static void destroy_block(vkrt_device *device, vkrt_block *block)
{
    if (block->memory && !device->abandoned)
        device->vk.vkFreeMemory(device->handle, block->memory, device->allocator);
    free(block->free);
    free(block);
}

static vkrt_block *add_block(vkrt_device *device, uint32_t type, VkDeviceSize size, VkResult *r)
{
    *r = VK_ERROR_OUT_OF_HOST_MEMORY;
    if (device->block_count == device->block_capacity) {
        uint32_t capacity = 2 * device->block_capacity + 8;
        vkrt_block **grown = realloc(device->blocks, capacity * sizeof *grown);
        if (!grown) return NULL;
        device->blocks = grown;
        device->block_capacity = capacity;
    }
    vkrt_block *block = calloc(1, sizeof *block);
    if (!block) return NULL;
    *block = (vkrt_block){.size = size, .type = type};
    if (!reserve_holes(block)) {
        destroy_block(device, block);
        return NULL;
    }
    block->free[block->free_count++] = (vkrt_range){0, size};
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                 .allocationSize = size,
                                 .memoryTypeIndex = type};
    *r = device->vk.vkAllocateMemory(device->handle, &info, device->allocator, &block->memory);
    bool visible = (device->memory.memoryTypes[type].propertyFlags & VISIBLE) == VISIBLE;
    if (*r == VK_SUCCESS && visible)
        *r = device->vk.vkMapMemory(device->handle, block->memory, 0, VK_WHOLE_SIZE, 0,
                                    (void **)&block->mapped);
    if (*r != VK_SUCCESS) {
        destroy_block(device, block);
        return NULL;
    }
    device->blocks[device->block_count++] = block;
    return block;
}

static bool try_type(vkrt_device *device, uint32_t type, const VkMemoryRequirements *need,
                     vkrt_block **block, vkrt_range *range, VkResult *r)
{
    for (uint32_t i = 0; i < device->block_count; i++) {
        *block = device->blocks[i];
        if ((*block)->type != type || !reserve_holes(*block)) continue;
        if (find_hole(*block, need->size, need->alignment, range)) return true;
    }
    const vkrt_device_info *info = &device->physical.info;
    VkDeviceSize heap = device->memory.memoryHeaps[device->memory.memoryTypes[type].heapIndex].size;
    VkDeviceSize usual = BLOCK_BYTES < heap / 8 ? BLOCK_BYTES : heap / 8;
    VkDeviceSize size = need->size > usual / 2 ? need->size : usual;
    *r = VK_ERROR_OUT_OF_DEVICE_MEMORY;
    if (size > heap || (info->max_allocation_bytes && size > info->max_allocation_bytes))
        return false;
    if (device->block_count >= info->max_allocations) {
        *r = VK_ERROR_TOO_MANY_OBJECTS;
        return false;
    }
    *block = add_block(device, type, size, r);
    return *block && find_hole(*block, need->size, need->alignment, range);
}

vkrt_status vkrt_block_alloc(vkrt_device *device, const VkMemoryRequirements *need,
                             vkrt_memory_use use, vkrt_block **block, vkrt_range *range,
                             vkrt_error *error)
{
    uint32_t left = need->memoryTypeBits;
    VkResult r = VK_ERROR_OUT_OF_DEVICE_MEMORY;
    for (;;) { // best type first; when its heap is full, the next best
        int best = 0;
        uint32_t type = 0;
        for (uint32_t i = 0; i < device->memory.memoryTypeCount; i++) {
            int s = left >> i & 1 ? score(device, i, use) : 0;
            if (s > best) best = s, type = i;
        }
        if (best == 0) break;
        left &= ~(1u << type);
        if (try_type(device, type, need, block, range, &r)) {
            (*block)->live++;
            return VKRT_OK;
        }
        if (r == VK_ERROR_OUT_OF_HOST_MEMORY || r == VK_ERROR_DEVICE_LOST) break;
    }
    if (r != VK_ERROR_OUT_OF_DEVICE_MEMORY)
        return vkrt_device_fail(device, error, r, "allocating device memory");
    return vkrt_fail(
        error, VKRT_OUT_OF_DEVICE_MEMORY,
        "use smaller data, a lower --tape-limit, or a device with more memory",
        "out of device memory: %llu bytes requested (the device has %llu, one allocation "
        "at most %llu)",
        (unsigned long long)need->size,
        (unsigned long long)device->physical.info.device_memory_bytes,
        (unsigned long long)device->physical.info.max_allocation_bytes);
}

static void add_hole(vkrt_block *block, vkrt_range range)
{
    uint32_t i = 0;
    while (i < block->free_count && block->free[i].offset < range.offset) i++;
    vkrt_range *after = i < block->free_count ? &block->free[i] : NULL;
    vkrt_range *before = i > 0 ? &block->free[i - 1] : NULL;
    bool joins_after = after && range.offset + range.size == after->offset;
    if (before && before->offset + before->size == range.offset) {
        before->size += range.size;
        if (!joins_after) return;
        before->size += after->size;
        block->free_count--;
        memmove(after, after + 1, (block->free_count - i) * sizeof *after);
    } else if (joins_after) {
        after->offset = range.offset;
        after->size += range.size;
    } else {
        memmove(&block->free[i + 1], &block->free[i], (block->free_count - i) * sizeof range);
        block->free[i] = range;
        block->free_count++;
    }
}

void vkrt_block_free(vkrt_device *device, vkrt_block *block, vkrt_range range)
{
    add_hole(block, range);
    if (--block->live > 0 || block->size <= BLOCK_BYTES) return; // small blocks are kept for re-use
    uint32_t i = 0;
    while (device->blocks[i] != block) i++;
    device->blocks[i] = device->blocks[--device->block_count];
    destroy_block(device, block);
}

void vkrt_memory_destroy(vkrt_device *device)
{
    for (uint32_t i = 0; i < device->block_count; i++) destroy_block(device, device->blocks[i]);
    free(device->blocks);
    device->blocks = NULL;
    device->block_count = device->block_capacity = 0;
}
