// SPDX-License-Identifier: MIT
// bind.c: what the caller gives a plan by name (scalars, shapes, contents, group counts) and reads
// back.
#include "vkrt/plan_internal.h"

#include <stdio.h>

// --- Scalars -------------------------------------------------------------------------------------

static vkrt_status idle(const vkrt_plan *plan, vkrt_error *error)
{
    if (!plan->in_flight) return VKRT_OK;
    return vkrt_fail(error, VKRT_BUSY, "call vkrt_plan_wait first", "the plan is running");
}

static vkrt_status find_scalar(const vkrt_plan *plan, const char *name, uint32_t *s,
                               vkrt_error *error)
{
    vkrt_status status = idle(plan, error);
    if (status) return status;
    if (vkrt_find_symbol(plan, name, s) && plan->plan->symbols[*s].kind == VY_SYMBOL_SCALAR)
        return VKRT_OK;
    char list[256] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < plan->plan->symbol_count && used < sizeof list; i++) {
        const vy_symbol *symbol = &plan->plan->symbols[i];
        if (symbol->kind != VY_SYMBOL_SCALAR) continue;
        int n = snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", symbol->name);
        if (n > 0) used += (size_t)n;
    }
    return vkrt_fail(error, VKRT_BAD_ARGUMENT, "use one of its scalars",
                     "there is no scalar '%.100s'; there are: %s", name, list[0] ? list : "none");
}

static vkrt_status set_symbol(vkrt_plan *plan, uint32_t s, int64_t bits)
{
    plan->symbols[s] = bits;
    plan->sources[s] = VKRT_SOURCE_GIVEN;
    plan->prepared = false;
    return VKRT_OK;
}

vkrt_status vkrt_plan_set_int(vkrt_plan *plan, const char *name, int64_t value, vkrt_error *error)
{
    uint32_t s;
    int64_t bits;
    vkrt_status status = find_scalar(plan, name, &s, error);
    if (status) return status;
    const char *type = plan->plan->symbols[s].type;
    if (!vkrt_pack_int(type, value, &bits))
        return vkrt_fail(error, VKRT_BAD_ARGUMENT, "give a value in the type's range",
                         "scalar '%.100s': %lld does not fit %s", name, (long long)value, type);
    return set_symbol(plan, s, bits);
}

vkrt_status vkrt_plan_set_float(vkrt_plan *plan, const char *name, double value, vkrt_error *error)
{
    uint32_t s;
    int64_t bits;
    vkrt_status status = find_scalar(plan, name, &s, error);
    if (status) return status;
    const char *type = plan->plan->symbols[s].type;
    if (!vkrt_pack_float(type, value, &bits))
        return vkrt_fail(error, VKRT_BAD_ARGUMENT, "give a value of the type",
                         "scalar '%.100s': %.17g does not fit %s", name, value, type);
    return set_symbol(plan, s, bits);
}

vkrt_status vkrt_plan_set_bits(vkrt_plan *plan, const char *name, uint64_t bits, vkrt_error *error)
{
    uint32_t s;
    vkrt_status status = find_scalar(plan, name, &s, error);
    if (status) return status;
    const char *type = plan->plan->symbols[s].type;
    return set_symbol(plan, s,
                      vkrt_type_is_float(type) ? (int64_t)bits : vkrt_unpack_int(type, &bits));
}

vkrt_status vkrt_plan_set_groups(vkrt_plan *plan, const uint32_t groups[3], vkrt_error *error)
{
    vkrt_status status = idle(plan, error);
    if (status) return status;
    memcpy(plan->groups, groups, sizeof plan->groups);
    plan->has_groups = true;
    plan->prepared = false;     // shapes may depend on them
    vkrt_plan_invalidate(plan); // the cursor does not know them
    return VKRT_OK;
}

// --- Buffers -------------------------------------------------------------------------------------

vkrt_status vkrt_find_plan_buffer(const vkrt_plan *plan, const char *name, uint32_t *b,
                                  vkrt_error *error)
{
    vkrt_status status = idle(plan, error);
    if (status) return status;
    if (vkrt_plan_find_buffer(plan, name, b)) return VKRT_OK;
    char list[256] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < plan->plan->buffer_count && used < sizeof list; i++) {
        const char *other = plan->plan->buffers[i].name;
        int n = snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", other);
        if (n > 0) used += (size_t)n;
    }
    return vkrt_fail(error, VKRT_BAD_ARGUMENT, "use one of its buffers",
                     "there is no buffer '%.100s'; there are: %s", name, list[0] ? list : "none");
}

static vkrt_status upload(vkrt_plan *plan, uint32_t b, uint64_t bytes, const void *data,
                          vkrt_error *error)
{
    vkrt_plan_buf *state = &plan->buffers[b];
    vkrt_status status = vkrt_plan_allocate(plan, b, bytes, error);
    if (!status) status = vkrt_buffer_write(plan->device, &state->memory, 0, data, bytes, error);
    if (status) return status;
    state->contents = true;
    plan->stats.uploaded_bytes += bytes;
    return VKRT_OK;
}

vkrt_status vkrt_shape_check(const vkrt_plan *plan, uint32_t b, uint32_t rank,
                             const uint64_t *shape, uint64_t *bytes, vkrt_error *error)
{
    const vy_plan_buffer *declared = &plan->plan->buffers[b];
    char text[128];
    vkrt_shape_text(rank, shape, text, sizeof text);
    if (rank != declared->rank)
        return vkrt_fail(error, VKRT_BAD_SHAPE, "give one extent per declared axis",
                         "buffer '%.100s' has %u axes, but shape %s has %u", declared->name,
                         declared->rank, text, rank);
    uint64_t count = 1;
    for (uint32_t i = 0; i < rank; i++)
        if (shape[i] > INT64_MAX || __builtin_mul_overflow(count, shape[i], &count))
            return vkrt_fail(error, VKRT_BAD_SHAPE, "use a smaller shape",
                             "buffer '%.100s': shape %s overflows 64 bits", declared->name, text);
    return vkrt_shape_bytes(plan, b, count, bytes, error);
}

void vkrt_shape_take(vkrt_plan *plan, uint32_t b, uint32_t rank, const uint64_t *shape,
                     uint64_t bytes)
{
    vkrt_plan_buf *state = &plan->buffers[b];
    bool same = state->shaped && memcmp(state->shape, shape, rank * sizeof *shape) == 0;
    if (!same) {
        plan->prepared = false;
        state->contents = false;
        state->available = false;
    }
    if (rank) memcpy(state->shape, shape, rank * sizeof *shape);
    state->shaped = true;
    state->flat = false;
    state->bytes = bytes;
}

static vkrt_status set_shape(vkrt_plan *plan, const char *name, uint32_t rank,
                             const uint64_t *shape, uint32_t *b, uint64_t *bytes, vkrt_error *error)
{
    vkrt_status status = vkrt_find_plan_buffer(plan, name, b, error);
    if (!status) status = vkrt_shape_check(plan, *b, rank, shape, bytes, error);
    if (!status) status = vkrt_plan_own(plan, *b, error);
    if (!status) vkrt_shape_take(plan, *b, rank, shape, *bytes);
    return status;
}

vkrt_status vkrt_plan_set_shape(vkrt_plan *plan, const char *name, uint32_t rank,
                                const uint64_t *shape, vkrt_error *error)
{
    uint32_t b;
    uint64_t bytes;
    return set_shape(plan, name, rank, shape, &b, &bytes, error);
}

vkrt_status vkrt_plan_set_buffer(vkrt_plan *plan, const char *name, uint32_t rank,
                                 const uint64_t *shape, const void *data, vkrt_error *error)
{
    uint32_t b;
    uint64_t bytes;
    vkrt_status status = set_shape(plan, name, rank, shape, &b, &bytes, error);
    return status ? status : upload(plan, b, bytes, data, error);
}

vkrt_status vkrt_plan_set_flat(vkrt_plan *plan, const char *name, uint64_t count, const void *data,
                               vkrt_error *error)
{
    uint32_t b;
    vkrt_status status = vkrt_find_plan_buffer(plan, name, &b, error);
    if (!status) status = vkrt_plan_own(plan, b, error);
    if (status) return status;
    vkrt_plan_buf *state = &plan->buffers[b];
    if (plan->plan->buffers[b].rank == 1)
        return vkrt_plan_set_buffer(plan, name, 1, &count, data, error);
    uint64_t bytes;
    status = vkrt_shape_bytes(plan, b, count, &bytes, error);
    if (status) return status;
    if (!state->flat || state->flat_count != count) plan->prepared = state->available = false;
    state->shaped = state->contents = false;
    state->flat = true;
    state->flat_count = count;
    state->bytes = bytes;
    return upload(plan, b, bytes, data, error);
}

vkrt_status vkrt_plan_read(vkrt_plan *plan, const char *name, void *data, uint64_t bytes,
                           vkrt_error *error)
{
    uint32_t b;
    vkrt_status status = vkrt_watch_notified(plan, name, &b)
                             ? VKRT_OK
                             : vkrt_find_plan_buffer(plan, name, &b, error);
    if (status) return status;
    const vkrt_plan_buf *state = &plan->buffers[b];
    bool there = state->available || state->contents;
    if (!there || bytes != state->bytes)
        return vkrt_fail(error, there ? VKRT_BAD_ARGUMENT : VKRT_UNSET,
                         "ask vkrt_plan_buffer for the size after preparing or running",
                         "buffer '%.100s' has %llu bytes, not %llu", name,
                         there ? (unsigned long long)state->bytes : 0, (unsigned long long)bytes);
    return vkrt_buffer_read(plan->device, &state->memory, 0, data, bytes, error);
}
