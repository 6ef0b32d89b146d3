// SPDX-License-Identifier: MIT
// attach.c: storages in the place of a plan's own memory, and parts of buffers (vkrt/engine.h).
#include "vkrt/plan_internal.h"

static vkrt_status check(const vkrt_plan *plan, uint32_t b, const vkrt_storage *s, uint64_t offset,
                         uint64_t bytes, vkrt_error *error)
{
    const char *name = plan->plan->buffers[b].name;
    const uint64_t align = vkrt_storage_alignment(plan->device);
    if (s->device != plan->device)
        return vkrt_fail(error, VKRT_BAD_ARGUMENT, "make it on the plan's device",
                         "'%.100s': the storage is of another device", name);
    if (plan->plan->buffers[b].role == VY_ROLE_WORKSPACE)
        return vkrt_fail(error, VKRT_BAD_ARGUMENT, "bind inputs and results",
                         "'%.100s' is an intermediate of the plan", name);
    if (offset % align)
        return vkrt_fail(error, VKRT_UNALIGNED, "begin at a multiple of it",
                         "'%.100s' from byte %llu of a storage on, the device requires multiples "
                         "of %llu",
                         name, (unsigned long long)offset, (unsigned long long)align);
    if (offset <= s->bytes && bytes <= s->bytes - offset) return VKRT_OK;
    return vkrt_fail(error, VKRT_BAD_ARGUMENT, "make the storage larger",
                     "'%.100s' needs %llu bytes, but the storage has %llu from byte %llu on", name,
                     (unsigned long long)bytes,
                     (unsigned long long)(offset < s->bytes ? s->bytes - offset : 0),
                     (unsigned long long)offset);
}

// The part of a storage's buffer that begins at `offset`.
static vkrt_buffer part_of(const vkrt_storage *s, uint64_t offset)
{
    vkrt_buffer part = s->buffer;
    part.base += offset;
    part.size -= offset;
    if (part.mapped) part.mapped += offset;
    part.borrowed = true;
    part.block = NULL;
    return part;
}

vkrt_status vkrt_plan_bind(vkrt_plan *plan, const char *name, uint32_t rank, const uint64_t *shape,
                           vkrt_storage *storage, uint64_t offset, vkrt_error *error)
{
    uint32_t b;
    uint64_t bytes;
    vkrt_status status = vkrt_find_plan_buffer(plan, name, &b, error);
    if (!status) status = vkrt_plan_unrecorded(plan, error);
    if (status) return status;
    if (!storage) return vkrt_plan_own(plan, b, error);
    status = vkrt_shape_check(plan, b, rank, shape, &bytes, error);
    if (!status) status = check(plan, b, storage, offset, bytes, error);
    if (status) return status;
    storage->holders++; // before the old one goes, which may be the same
    vkrt_plan_release(plan, b);
    vkrt_shape_take(plan, b, rank, shape, bytes);
    vkrt_plan_buf *state = &plan->buffers[b];
    state->storage = storage;
    state->memory = part_of(storage, offset);
    state->contents = true;
    return VKRT_OK;
}

// --- Parts ---------------------------------------------------------------------------------------

static vkrt_status find_part(const vkrt_plan *plan, const char *name, uint64_t offset,
                             const void *data, uint64_t bytes, uint32_t *b, vkrt_error *error)
{
    vkrt_status status = vkrt_find_plan_buffer(plan, name, b, error);
    if (status) return status;
    if (!data && bytes)
        return vkrt_fail(error, VKRT_BAD_ARGUMENT, "give an address", "there is no data");
    const vkrt_plan_buf *state = &plan->buffers[*b];
    if (!state->available && !state->contents)
        return vkrt_fail(error, VKRT_UNSET, "give its contents or run the plan first",
                         "buffer '%.100s' has no contents", name);
    if (state->storage && state->storage->busy)
        return vkrt_fail(error, VKRT_BUSY, "call vkrt_plan_wait first",
                         "another plan that has '%.100s' bound is running", name);
    if (offset <= state->bytes && bytes <= state->bytes - offset) return VKRT_OK;
    return vkrt_fail(error, VKRT_BAD_ARGUMENT, "stay within it",
                     "%llu bytes from byte %llu on of buffer '%.100s', which has %llu",
                     (unsigned long long)bytes, (unsigned long long)offset, name,
                     (unsigned long long)state->bytes);
}

vkrt_status vkrt_plan_write_part(vkrt_plan *plan, const char *name, uint64_t offset,
                                 const void *data, uint64_t bytes, vkrt_error *error)
{
    uint32_t b;
    vkrt_status status = find_part(plan, name, offset, data, bytes, &b, error);
    if (status) return status;
    const vy_role role = plan->plan->buffers[b].role;
    if (role != VY_ROLE_IN && role != VY_ROLE_INOUT)
        return vkrt_fail(error, VKRT_BAD_ARGUMENT, "write inputs",
                         "buffer '%.100s' is written by the plan", name);
    plan->stats.uploaded_bytes += bytes;
    return vkrt_buffer_write(plan->device, &plan->buffers[b].memory, offset, data, bytes, error);
}

vkrt_status vkrt_plan_read_part(vkrt_plan *plan, const char *name, uint64_t offset, void *data,
                                uint64_t bytes, vkrt_error *error)
{
    uint32_t b;
    vkrt_status status = find_part(plan, name, offset, data, bytes, &b, error);
    return status ? status
                  : vkrt_buffer_read(plan->device, &plan->buffers[b].memory, offset, data, bytes,
                                     error);
}
