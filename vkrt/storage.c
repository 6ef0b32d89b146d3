// SPDX-License-Identifier: MIT
// storage.c: buffers that several plans share, made here or by the caller (vkrt/engine.h).
//
// A plan that has one bound holds it: it is freed when its creator and all such plans have let it
// go.  While a run of a plan is in flight its storages are busy, and the host leaves them alone.
#include "vkrt/plan_internal.h"

uint64_t vkrt_storage_alignment(const vkrt_device *device)
{
    const uint64_t align = device->physical.info.storage_buffer_alignment;
    return align > 16 ? align : 16; // both are powers of two
}

static vkrt_status check(const vkrt_device *device, const vkrt_storage_desc *desc,
                         vkrt_error *error)
{
    const uint64_t align = vkrt_storage_alignment(device);
    if (desc->bytes == 0)
        return vkrt_fail(error, VKRT_BAD_ARGUMENT, "give its size", "a storage of no bytes");
    if (desc->vk_buffer && desc->bytes % 4)
        return vkrt_fail(error, VKRT_BAD_ARGUMENT, "round its size up to a multiple of 4",
                         "%llu bytes of a caller's buffer are no number of words",
                         (unsigned long long)desc->bytes);
    if (desc->offset % align)
        return vkrt_fail(error, VKRT_UNALIGNED, "begin at a multiple of it",
                         "a storage from byte %llu on, the device requires multiples of %llu",
                         (unsigned long long)desc->offset, (unsigned long long)align);
    if (!desc->vk_buffer && (desc->offset || desc->mapped))
        return vkrt_fail(error, VKRT_BAD_ARGUMENT, "leave them zero, or give vk_buffer",
                         "offset and mapped describe a caller's buffer, and there is none");
    return VKRT_OK;
}

static vkrt_status make(vkrt_storage *s, const vkrt_storage_desc *desc, vkrt_error *error)
{
    if (!desc->vk_buffer)
        return vkrt_buffer_create_for(s->device, desc->bytes,
                                      desc->host_visible ? VKRT_MEMORY_HOST : VKRT_MEMORY_DATA,
                                      desc->vk_usage, &s->buffer, error);
    s->buffer = (vkrt_buffer){.handle = (VkBuffer)desc->vk_buffer,
                              .base = desc->offset,
                              .size = desc->bytes,
                              .borrowed = true,
                              .mapped = desc->mapped};
    return VKRT_OK;
}

vkrt_status vkrt_storage_create(vkrt_device *device, const vkrt_storage_desc *desc,
                                vkrt_storage **out, vkrt_error *error)
{
    vkrt_storage_desc d;
    *out = NULL;
    vkrt_status status = vkrt_take_desc(&d, sizeof d, 0, desc, "vkrt_storage_desc", error);
    if (!status) status = check(device, &d, error);
    if (status) return status;
    vkrt_storage *s = calloc(1, sizeof *s);
    if (!s) return vkrt_fail_memory(error);
    s->device = device;
    s->holders = 1;
    s->bytes = d.bytes;
    status = make(s, &d, error);
    if (status) {
        free(s);
        return status;
    }
    *out = s;
    return VKRT_OK;
}

vkrt_storage *vkrt_storage_share(vkrt_storage *s)
{
    s->holders++;
    return s;
}

void vkrt_storage_destroy(vkrt_storage *s)
{
    if (!s || --s->holders > 0) return;
    vkrt_buffer_destroy(s->device, &s->buffer);
    free(s);
}

// --- Contents ------------------------------------------------------------------------------------

static vkrt_status inside(const vkrt_storage *s, uint64_t offset, const void *data, uint64_t bytes,
                          vkrt_error *error)
{
    if (!data && bytes)
        return vkrt_fail(error, VKRT_BAD_ARGUMENT, "give an address", "there is no data");
    if (s->busy)
        return vkrt_fail(error, VKRT_BUSY, "call vkrt_plan_wait first",
                         "a plan that has the storage bound is running");
    if (offset <= s->bytes && bytes <= s->bytes - offset) return VKRT_OK;
    return vkrt_fail(error, VKRT_BAD_ARGUMENT, "stay within it",
                     "%llu bytes from byte %llu on of a storage of %llu", (unsigned long long)bytes,
                     (unsigned long long)offset, (unsigned long long)s->bytes);
}

vkrt_status vkrt_storage_write(vkrt_storage *s, uint64_t offset, const void *data, uint64_t bytes,
                               vkrt_error *error)
{
    vkrt_status status = inside(s, offset, data, bytes, error);
    return status ? status : vkrt_buffer_write(s->device, &s->buffer, offset, data, bytes, error);
}

vkrt_status vkrt_storage_read(const vkrt_storage *s, uint64_t offset, void *data, uint64_t bytes,
                              vkrt_error *error)
{
    vkrt_status status = inside(s, offset, data, bytes, error);
    return status ? status : vkrt_buffer_read(s->device, &s->buffer, offset, data, bytes, error);
}

void *vkrt_storage_mapped(const vkrt_storage *s) { return s->buffer.mapped; }

uint64_t vkrt_storage_bytes(const vkrt_storage *s) { return s->bytes; }

uint64_t vkrt_storage_buffer(const vkrt_storage *s, uint64_t *offset)
{
    if (offset) *offset = s->buffer.base;
    return (uint64_t)s->buffer.handle;
}
