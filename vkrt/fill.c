// SPDX-License-Identifier: MIT
// fill.c: fills and copies.
//
// Vulkan fills entire words.  A part of a buffer of small elements may begin and end inside a word,
// whose other bytes must be preserved: these edges are copied from a few bytes of the pattern.
#include "vkrt/plan_internal.h"

#define TRANSFER VK_PIPELINE_STAGE_TRANSFER_BIT

typedef struct filling {
    vkrt_plan *plan;
    vkrt_segment *segment;
    vkrt_plan_buf *b;
    uint64_t pattern; // 8 bytes of it
} filling;

static void copy_edge(const filling *f, VkBuffer source, uint64_t source_at, uint64_t offset,
                      uint64_t bytes)
{
    if (bytes == 0) return;
    // Element size divides 4 or is a multiple of it, so the pattern's offset follows from the
    // address.
    VkBufferCopy edge = {source_at + offset % 4, f->b->memory.base + offset, bytes};
    f->plan->device->vk.vkCmdCopyBuffer(f->segment->commands, source, f->b->memory.handle, 1,
                                        &edge);
}

// Where a few bytes of the pattern are.
static vkrt_status pattern_source(const filling *f, VkBuffer *source, uint64_t *at,
                                  vkrt_error *error)
{
    uint32_t room;
    *at = 0;
    *source = f->plan->device->dummy.handle; // all zero
    if (f->pattern == 0) return VKRT_OK;
    vkrt_status status = vkrt_param_room(f->plan, f->segment, 8, &room, error);
    if (status) return status;
    memcpy(f->segment->params->buffer.mapped + room, &f->pattern, 8);
    *source = f->segment->params->buffer.handle;
    *at = room;
    return VKRT_OK;
}

// Elements of 8 bytes whose halves differ: a small piece is written into the command buffer, then
// doubled.
static void fill_doubling(const filling *f, uint64_t offset, uint64_t bytes)
{
    const struct VolkDeviceTable *vk = &f->plan->device->vk;
    VkBuffer buffer = f->b->memory.handle;
    const uint64_t base = f->b->memory.base;
    uint64_t piece[512], done = sizeof piece < bytes ? sizeof piece : bytes;
    for (size_t i = 0; i < 512; i++) piece[i] = f->pattern;
    vk->vkCmdUpdateBuffer(f->segment->commands, buffer, base + offset, done, piece);
    vkrt_note(f->plan, f->b, (vkrt_bound){offset, done}, true, TRANSFER);
    while (done < bytes) {
        uint64_t n = done < bytes - done ? done : bytes - done;
        VkBufferCopy region = {base + offset, base + offset + done, n};
        vkrt_order(f->plan, f->segment, f->b, (vkrt_bound){offset, n}, false);
        vk->vkCmdCopyBuffer(f->segment->commands, buffer, buffer, 1, &region);
        vkrt_note(f->plan, f->b, (vkrt_bound){offset, n}, false, TRANSFER);
        vkrt_note(f->plan, f->b, (vkrt_bound){offset + done, n}, true, TRANSFER);
        done += n;
    }
}

static vkrt_status fill(const filling *f, uint64_t offset, uint64_t bytes, vkrt_error *error)
{
    if (bytes == 0) return VKRT_OK;
    const bool words = f->pattern >> 32 == (f->pattern & UINT32_MAX);
    // Padding after the last element may be overwritten.
    if (words && offset + bytes == f->b->bytes) bytes = (offset + bytes + 3) / 4 * 4 - offset;
    uint64_t head = (4 - offset % 4) % 4, at = 0;
    if (head > bytes) head = bytes;
    const uint64_t tail = (bytes - head) % 4, middle = bytes - head - tail;
    VkBuffer source = VK_NULL_HANDLE;
    vkrt_status status = head || tail ? pattern_source(f, &source, &at, error) : VKRT_OK;
    if (status) return status;
    vkrt_order(f->plan, f->segment, f->b, (vkrt_bound){offset, bytes}, true);
    copy_edge(f, source, at, offset, head);
    copy_edge(f, source, at, offset + head + middle, tail);
    if (middle && !words)
        fill_doubling(f, offset + head, middle);
    else if (middle)
        f->plan->device->vk.vkCmdFillBuffer(f->segment->commands, f->b->memory.handle,
                                            f->b->memory.base + offset + head, middle,
                                            (uint32_t)f->pattern);
    vkrt_note(f->plan, f->b, (vkrt_bound){offset, bytes}, true, TRANSFER);
    f->segment->commands_count++;
    return VKRT_OK;
}

void vkrt_zero(vkrt_plan *plan, vkrt_segment *segment, vkrt_plan_buf *b, uint64_t offset,
               uint64_t bytes)
{
    fill(&(filling){plan, segment, b, 0}, offset, bytes, NULL); // needs nothing that could fail
}

void vkrt_poison(vkrt_plan *plan, vkrt_segment *segment, vkrt_plan_buf *b)
{
    const uint32_t commands = segment->commands_count;
    fill(&(filling){plan, segment, b, UINT64_MAX}, 0, b->bytes / 4 * 4, NULL);
    segment->commands_count = commands; // it is none of the plan's
}

// ------------------------------------------------------------------------------------------- steps
// Bytes [*offset, *offset + *bytes) of a buffer: `count` elements from `offset` on.
static vkrt_status find_part(const vkrt_plan *plan, uint32_t buffer, uint32_t offset,
                             uint32_t count, uint64_t *at, uint64_t *bytes, vkrt_error *error)
{
    const vy_plan_buffer *declared = &plan->plan->buffers[buffer];
    int64_t first = 0, n = 0;
    vkrt_status status = vkrt_plan_value(plan, offset, declared->name, &first, error);
    if (!status) status = vkrt_plan_value(plan, count, declared->name, &n, error);
    if (status) return status;
    const uint64_t have = plan->buffers[buffer].bytes / declared->elem_size;
    if (first < 0 || n < 0 || (uint64_t)first > have || (uint64_t)n > have - (uint64_t)first)
        return vkrt_fail(error, VKRT_BAD_SHAPE, "check the slice and the shapes",
                         "%lld elements from %lld on of buffer '%s', which has %llu", (long long)n,
                         (long long)first, declared->name, (unsigned long long)have);
    *at = (uint64_t)first * declared->elem_size;
    *bytes = (uint64_t)n * declared->elem_size;
    return VKRT_OK;
}

vkrt_status vkrt_record_fill(vkrt_plan *plan, vkrt_segment *segment, const vy_plan_step *step,
                             vkrt_error *error)
{
    vkrt_plan_buf *b = &plan->buffers[step->buffer];
    uint64_t pattern = step->pattern, offset = 0, bytes = b->bytes;
    vkrt_status status = vkrt_plan_need(plan, step->buffer, error);
    if (!status && step->part)
        status = find_part(plan, step->buffer, step->part->offset, step->part->count, &offset,
                           &bytes, error);
    if (status) return status;
    switch (plan->plan->buffers[step->buffer].elem_size) {
    case 1: pattern = (pattern & 0xff) * 0x0101010101010101u; break;
    case 2: pattern = (pattern & 0xffff) * 0x0001000100010001u; break;
    case 4: pattern = (pattern & UINT32_MAX) * 0x0000000100000001u; break;
    default: break;
    }
    return fill(&(filling){plan, segment, b, pattern}, offset, bytes, error);
}

vkrt_status vkrt_record_copy(vkrt_plan *plan, vkrt_segment *segment, const vy_plan_step *step,
                             vkrt_error *error)
{
    vkrt_plan_buf *to = &plan->buffers[step->buffer], *from = &plan->buffers[step->source];
    const char *to_name = plan->plan->buffers[step->buffer].name;
    const char *from_name = plan->plan->buffers[step->source].name;
    const vy_plan_part *part = step->part;
    VkBufferCopy region = {0, 0, to->bytes};
    uint64_t bytes = from->bytes;
    vkrt_status status = vkrt_plan_need(plan, step->buffer, error);
    if (!status) status = vkrt_plan_need(plan, step->source, error);
    if (!status && part)
        status = find_part(plan, step->buffer, part->offset, part->count, &region.dstOffset,
                           &region.size, error);
    if (!status && part)
        status = find_part(plan, step->source, part->source_offset, part->count, &region.srcOffset,
                           &bytes, error);
    if (status) return status;
    if (region.size != bytes)
        return vkrt_fail(error, VKRT_BAD_SHAPE, "make the two agree",
                         "copying '%s' (%llu bytes) to '%s' (%llu bytes)", from_name,
                         (unsigned long long)bytes, to_name, (unsigned long long)region.size);
    const bool same = to == from;
    if (bytes == 0 || (same && region.srcOffset == region.dstOffset)) return VKRT_OK;
    if (same && region.srcOffset < region.dstOffset + bytes &&
        region.dstOffset < region.srcOffset + bytes)
        return vkrt_fail(error, VKRT_BAD_ARGUMENT, "take separate parts",
                         "copying a part of '%s' onto one that overlaps it", to_name);
    const vkrt_bound read = {region.srcOffset, bytes}, written = {region.dstOffset, bytes};
    vkrt_order(plan, segment, from, read, false);
    vkrt_order(plan, segment, to, written, true);
    region.srcOffset += from->memory.base;
    region.dstOffset += to->memory.base;
    plan->device->vk.vkCmdCopyBuffer(segment->commands, from->memory.handle, to->memory.handle, 1,
                                     &region);
    vkrt_note(plan, from, read, false, TRANSFER);
    vkrt_note(plan, to, written, true, TRANSFER);
    segment->commands_count++;
    return VKRT_OK;
}
