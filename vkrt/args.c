// SPDX-License-Identifier: MIT
// args.c: the buffers of a dispatch: slices, their checks, clears and hazards.
#include "vkrt/plan_internal.h"

// Bytes that binding `i` covers.
static vkrt_status binding_bytes(const vkrt_dispatch *d, uint32_t i, uint64_t *bytes,
                                 vkrt_error *error)
{
    const vy_kernel_binding *b = &d->kernel->bindings[i];
    *bytes = b->elem_size;
    for (uint32_t a = 0; a < b->rank; a++) {
        int64_t v = d->plan->kernel_values[b->dims[a]];
        if (v < 0 || __builtin_mul_overflow(*bytes, (uint64_t)v, bytes))
            return vkrt_fail(error, VKRT_BAD_SHAPE, "check the scalars and shapes",
                             "%s: axis %u of '%s' is %lld", d->kernel->name, a, b->name,
                             (long long)v);
    }
    return VKRT_OK;
}

static bool has_offset(const vy_kernel *k, uint32_t binding)
{
    for (uint32_t i = 0; i < k->param_count; i++)
        if (k->params[i].kind == VY_PARAM_OFFSET && k->params[i].index == binding) return true;
    return false;
}

static vkrt_status bind_one(const vkrt_dispatch *d, uint32_t i, vkrt_error *error)
{
    vkrt_plan *plan = d->plan;
    const vy_plan_arg *arg = &d->step->args[i];
    const vy_kernel_binding *b = &d->kernel->bindings[i];
    const vkrt_plan_buf *buffer = &plan->buffers[arg->buffer];
    const char *name = plan->plan->buffers[arg->buffer].name;
    bool sliced = arg->offset != VY_NO_EXPR;
    uint64_t bytes, offset = 0;
    int64_t first = 0;
    vkrt_status status = vkrt_plan_need(plan, arg->buffer, error);
    if (!status) status = binding_bytes(d, i, &bytes, error);
    if (!status && sliced) status = vkrt_plan_value(plan, arg->offset, name, &first, error);
    if (status) return status;
    if (first < 0 || __builtin_mul_overflow((uint64_t)first, b->elem_size, &offset) ||
        offset > buffer->bytes || bytes > buffer->bytes - offset)
        return vkrt_fail(error, VKRT_BAD_SHAPE, "check the slice and the shapes",
                         "%s: '%s' takes %llu bytes from element %lld of buffer '%s', which has "
                         "%llu bytes",
                         d->kernel->name, b->name, (unsigned long long)bytes, (long long)first,
                         name, (unsigned long long)buffer->bytes);
    plan->bounds[i] = (vkrt_bound){offset, bytes};
    if (bytes == 0) {
        plan->bounds[i].offset = 0;
        plan->infos[i] =
            (VkDescriptorBufferInfo){plan->device->dummy.handle, 0, plan->device->dummy.size};
        return VKRT_OK;
    }
    uint64_t align = plan->device->physical.info.storage_buffer_alignment;
    const uint64_t beyond = offset % align;
    if (beyond != 0 && !has_offset(d->kernel, i))
        return vkrt_fail(error, VKRT_UNALIGNED, "pad the slices to a multiple of it",
                         "unaligned slice: %s takes '%s' from byte %llu of buffer '%s', the device "
                         "requires multiples of %llu",
                         d->kernel->name, b->name, (unsigned long long)offset, name,
                         (unsigned long long)align);
    plan->infos[i] = (VkDescriptorBufferInfo){buffer->memory.handle, offset - beyond,
                                              (beyond + bytes + 3) / 4 * 4};
    return VKRT_OK;
}

// One element must not be reachable through two bindings, unless both only read.
static vkrt_status check_overlap(const vkrt_dispatch *d, vkrt_error *error)
{
    const vy_kernel *k = d->kernel;
    for (uint32_t j = 1; j < k->binding_count; j++) {
        const vkrt_bound a = d->plan->bounds[j];
        for (uint32_t i = 0; i < j; i++) {
            const vkrt_bound b = d->plan->bounds[i];
            bool reads =
                k->bindings[i].access == VY_ACCESS_IN && k->bindings[j].access == VY_ACCESS_IN;
            if (reads || d->step->args[i].buffer != d->step->args[j].buffer) continue;
            if (a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes)
                return vkrt_fail(error, VKRT_BAD_ARGUMENT, "bind separate buffers or slices",
                                 "%s: '%s' and '%s' overlap in buffer '%s'", k->name,
                                 k->bindings[i].name, k->bindings[j].name,
                                 d->plan->plan->buffers[d->step->args[i].buffer].name);
        }
    }
    return VKRT_OK;
}

vkrt_status vkrt_bind_args(const vkrt_dispatch *d, vkrt_error *error)
{
    vkrt_status status = VKRT_OK;
    for (uint32_t i = 0; !status && i < d->kernel->binding_count; i++)
        status = bind_one(d, i, error);
    return status ? status : check_overlap(d, error);
}

static bool is_dummy(const vkrt_dispatch *d, uint32_t i)
{
    return d->plan->infos[i].buffer == d->plan->device->dummy.handle;
}

void vkrt_clear_outputs(const vkrt_dispatch *d)
{
    for (uint32_t i = 0; i < d->kernel->binding_count; i++) {
        if (!d->kernel->bindings[i].clear || is_dummy(d, i)) continue;
        vkrt_plan_buf *b = &d->plan->buffers[d->step->args[i].buffer];
        vkrt_zero(d->plan, d->segment, b, d->plan->bounds[i].offset, d->plan->bounds[i].bytes);
    }
}

// Nothing is stored in the dummy, but the descriptor permits it.
static vkrt_plan_buf *accessed(const vkrt_dispatch *d, uint32_t i)
{
    return is_dummy(d, i) ? &d->plan->dummy : &d->plan->buffers[d->step->args[i].buffer];
}

void vkrt_order_accesses(const vkrt_dispatch *d)
{
    const vy_kernel *k = d->kernel;
    const VkDescriptorBufferInfo *infos = d->plan->infos;
    for (uint32_t i = 0; i < k->binding_count; i++)
        vkrt_order(d->plan, d->segment, accessed(d, i),
                   (vkrt_bound){infos[i].offset, infos[i].range},
                   k->bindings[i].access != VY_ACCESS_IN);
    for (uint32_t i = 0; i < k->binding_count; i++)
        vkrt_note(d->plan, accessed(d, i), (vkrt_bound){infos[i].offset, infos[i].range},
                  k->bindings[i].access != VY_ACCESS_IN, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT);
}

bool vkrt_parts_overlap(const vkrt_dispatch *d)
{
    const vy_kernel *k = d->kernel;
    for (uint32_t j = 1; j < k->binding_count; j++) {
        const VkDescriptorBufferInfo a = d->plan->infos[j];
        for (uint32_t i = 0; i < j; i++) {
            const VkDescriptorBufferInfo b = d->plan->infos[i];
            const bool reads =
                k->bindings[i].access == VY_ACCESS_IN && k->bindings[j].access == VY_ACCESS_IN;
            if (!reads && a.buffer == b.buffer && a.offset < b.offset + b.range &&
                b.offset < a.offset + a.range)
                return true;
        }
    }
    return false;
}
