// SPDX-License-Identifier: MIT
// shape.c: infers everything else from the shapes given: scalars that are entire dimensions, the
// other buffers' shapes, memory.
#include "vkrt/plan_internal.h"

#include <stdio.h>

void vkrt_shape_text(uint32_t rank, const uint64_t *shape, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "[");
    for (uint32_t i = 0; i < rank && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%llu", i ? ", " : "",
                                 (unsigned long long)shape[i]);
    if (used < size) snprintf(text + used, size - used, "]");
}

vkrt_status vkrt_shape_bytes(const vkrt_plan *plan, uint32_t b, uint64_t count, uint64_t *bytes,
                             vkrt_error *error)
{
    const vy_plan_buffer *declared = &plan->plan->buffers[b];
    const vkrt_device_info *info = &plan->device->physical.info;
    if (__builtin_mul_overflow(count, declared->elem_size, bytes))
        return vkrt_fail(error, VKRT_BAD_SHAPE, "use a smaller shape",
                         "buffer '%s' of %llu elements overflows 64 bits", declared->name,
                         (unsigned long long)count);
    const bool scratch = declared->role == VY_ROLE_WORKSPACE && plan->desc.max_workspace_bytes;
    if (*bytes > info->max_storage_buffer_bytes && scratch)
        return vkrt_fail(error, VKRT_OVER_BUDGET, "use smaller data, or another device",
                         "scratch buffer '%s' needs %llu bytes; the limit of one buffer is %llu "
                         "(maxStorageBufferRange of '%s')",
                         declared->name, (unsigned long long)*bytes,
                         (unsigned long long)info->max_storage_buffer_bytes, info->name);
    if (*bytes > info->max_storage_buffer_bytes)
        return vkrt_fail(error, VKRT_LIMIT, "use smaller data, or another device (VYRE_DEVICE)",
                         "buffer '%s' needs %llu bytes, but '%s' lets a kernel see %llu "
                         "(maxStorageBufferRange)",
                         declared->name, (unsigned long long)*bytes, info->name,
                         (unsigned long long)info->max_storage_buffer_bytes);
    return VKRT_OK;
}

vkrt_status vkrt_plan_allocate(vkrt_plan *plan, uint32_t b, uint64_t bytes, vkrt_error *error)
{
    vkrt_buffer *memory = &plan->buffers[b].memory;
    if (bytes == 0) return VKRT_OK; // the device's dummy stands in
    // Scratch memory, whose size may change often during a run, only grows.
    bool scratch = plan->plan->buffers[b].role == VY_ROLE_WORKSPACE;
    bool wasteful = !scratch && memory->size / 2 > bytes + 4096;
    const bool bound = plan->buffers[b].storage != NULL;
    if (memory->handle && memory->size >= bytes && (!wasteful || bound)) return VKRT_OK;
    if (bound)
        return vkrt_fail(error, VKRT_BAD_SHAPE, "bind a larger storage",
                         "buffer '%.100s' now needs %llu bytes, but is bound to %llu",
                         plan->plan->buffers[b].name, (unsigned long long)bytes,
                         (unsigned long long)memory->size);
    vkrt_status status = memory->handle ? vkrt_plan_unrecorded(plan, error) : VKRT_OK;
    if (status) return status;
    if (memory->handle) vkrt_plan_invalidate(plan); // recorded commands name the old buffer
    const bool counts = scratch && b != plan->watch;
    plan->stats.device_bytes -= memory->size;
    if (counts) plan->stats.workspace_bytes -= memory->size;
    vkrt_buffer_destroy(plan->device, memory);
    status = vkrt_buffer_create(plan->device, bytes,
                                scratch ? VKRT_MEMORY_SCRATCH : VKRT_MEMORY_DATA, memory, error);
    plan->stats.device_bytes += memory->size;
    if (counts) plan->stats.workspace_bytes += memory->size;
    return status;
}

// --- Inference -----------------------------------------------------------------------------------

static vkrt_status mismatch(const vkrt_plan *plan, uint32_t s, uint32_t b, uint32_t axis,
                            uint64_t extent, vkrt_error *error)
{
    const vy_plan *p = plan->plan;
    const char *name = p->symbols[s].name;
    if (plan->sources[s] == VKRT_SOURCE_GIVEN)
        return vkrt_fail(error, VKRT_BAD_SHAPE, "make the two agree",
                         "%s is %lld, but buffer '%s' has extent %llu on axis %u", name,
                         (long long)plan->symbols[s], p->buffers[b].name,
                         (unsigned long long)extent, axis);
    return vkrt_fail(error, VKRT_BAD_SHAPE, "make the two agree",
                     "%s is %lld by axis %u of buffer '%s', but %llu by axis %u of buffer '%s'",
                     name, (long long)plan->symbols[s], plan->source_axis[s],
                     p->buffers[plan->source_buffer[s]].name, (unsigned long long)extent, axis,
                     p->buffers[b].name);
}

static vkrt_status infer(vkrt_plan *plan, uint32_t s, uint32_t b, uint32_t axis, uint64_t extent,
                         vkrt_error *error)
{
    const vy_symbol *symbol = &plan->plan->symbols[s];
    if (plan->sources[s] != VKRT_SOURCE_NONE)
        return plan->symbols[s] == (int64_t)extent ? VKRT_OK
                                                   : mismatch(plan, s, b, axis, extent, error);
    int64_t bits = (int64_t)extent;
    bool scalar = symbol->kind == VY_SYMBOL_SCALAR;
    if (scalar && (vkrt_type_is_float(symbol->type) || !vkrt_pack_int(symbol->type, bits, &bits)))
        return vkrt_fail(error, VKRT_BAD_SHAPE, "use smaller data",
                         "extent %llu on axis %u of buffer '%s' does not fit %s %s",
                         (unsigned long long)extent, axis, plan->plan->buffers[b].name,
                         symbol->type, symbol->name);
    plan->symbols[s] = bits;
    plan->sources[s] = VKRT_SOURCE_INFERRED;
    plan->source_buffer[s] = b;
    plan->source_axis[s] = axis;
    return VKRT_OK;
}

// The symbol that a dimension consists of, if it is a single one that shapes may decide.
static bool whole_symbol(const vkrt_plan *plan, uint32_t b, uint32_t axis, uint32_t *s)
{
    const vy_expr *e = &plan->plan->exprs[plan->plan->buffers[b].dims[axis]];
    if (e->op != VY_EXPR_SYMBOL) return false;
    *s = (uint32_t)e->value;
    vy_symbol_kind kind = plan->plan->symbols[*s].kind;
    return kind == VY_SYMBOL_SCALAR || kind == VY_SYMBOL_EXTENT;
}

static vkrt_status infer_from_shapes(vkrt_plan *plan, vkrt_error *error)
{
    const vy_plan *p = plan->plan;
    vkrt_status status = VKRT_OK;
    for (uint32_t b = 0; !status && b < p->buffer_count; b++) {
        uint32_t s;
        for (uint32_t a = 0; !status && plan->buffers[b].shaped && a < p->buffers[b].rank; a++)
            if (whole_symbol(plan, b, a, &s))
                status = infer(plan, s, b, a, plan->buffers[b].shape[a], error);
    }
    for (uint32_t s = 0; !status && s < p->symbol_count; s++) {
        const vy_symbol *symbol = &p->symbols[s];
        if (symbol->kind != VY_SYMBOL_EXTENT || !plan->buffers[symbol->buffer].shaped) continue;
        uint64_t extent = plan->buffers[symbol->buffer].shape[symbol->axis];
        status = infer(plan, s, symbol->buffer, symbol->axis, extent, error);
    }
    return status;
}

// Flat data decides the one dimension that nothing else does.  *found: something was decided.
static vkrt_status infer_from_counts(vkrt_plan *plan, bool *found, vkrt_error *error)
{
    const vy_plan *p = plan->plan;
    *found = false;
    vkrt_cursor_reset(plan);
    vkrt_plan_evaluate(plan);
    vkrt_status status = VKRT_OK;
    for (uint32_t b = 0; !status && !*found && b < p->buffer_count; b++) {
        if (!plan->buffers[b].flat) continue;
        uint32_t unknown = 0, axis = 0, s;
        uint64_t others = 1, count = plan->buffers[b].flat_count;
        for (uint32_t a = 0; a < p->buffers[b].rank; a++) {
            uint32_t e = p->buffers[b].dims[a];
            if (!plan->value_known[e])
                unknown++, axis = a;
            else if (plan->values[e] <= 0 ||
                     __builtin_mul_overflow(others, (uint64_t)plan->values[e], &others))
                others = 0, unknown = 2;
        }
        if (unknown != 1 || !whole_symbol(plan, b, axis, &s) || count % others != 0) continue;
        *found = true;
        status = infer(plan, s, b, axis, count / others, error);
    }
    return status;
}

static vkrt_status infer_groups(vkrt_plan *plan, vkrt_error *error)
{
    for (uint32_t s = 0; s < plan->plan->symbol_count; s++) {
        const vy_symbol *symbol = &plan->plan->symbols[s];
        if (symbol->kind != VY_SYMBOL_GROUPS) continue;
        if (!plan->has_groups) return vkrt_fail_groups(plan->plan->name, error);
        plan->symbols[s] = plan->groups[symbol->axis];
        plan->sources[s] = VKRT_SOURCE_INFERRED;
    }
    return VKRT_OK;
}

static vkrt_status infer_symbols(vkrt_plan *plan, vkrt_error *error)
{
    const vy_plan *p = plan->plan;
    for (uint32_t s = 0; s < p->symbol_count; s++)
        if (plan->sources[s] == VKRT_SOURCE_INFERRED) plan->sources[s] = VKRT_SOURCE_NONE;
    vkrt_status status = infer_groups(plan, error);
    if (!status) status = infer_from_shapes(plan, error);
    bool found = true;
    while (!status && found) status = infer_from_counts(plan, &found, error);
    for (uint32_t s = 0; !status && s < p->symbol_count; s++) {
        const vy_symbol *symbol = &p->symbols[s];
        if (plan->sources[s] != VKRT_SOURCE_NONE) continue;
        if (symbol->kind == VY_SYMBOL_SCALAR)
            status = vkrt_fail(error, VKRT_UNSET,
                               "give it, or the shape of a buffer of which it is "
                               "by itself a dimension",
                               "scalar '%s' has no value", symbol->name);
        if (symbol->kind == VY_SYMBOL_EXTENT)
            status = vkrt_fail(error, VKRT_UNSET, "give its shape", "buffer '%s' has no size",
                               p->buffers[symbol->buffer].name);
    }
    return status;
}

// --- Shapes and memory ---------------------------------------------------------------------------

static vkrt_status negative(const vkrt_plan *plan, uint32_t b, uint32_t axis, vkrt_error *error)
{
    const uint32_t e = plan->plan->buffers[b].dims[axis];
    char text[160] = "";
    vkrt_expr_text(plan->plan, e, text, sizeof text, 0);
    return vkrt_fail(error, VKRT_BAD_SHAPE, "check the scalars and shapes",
                     "axis %u of buffer '%s' is %s = %lld, which is negative", axis,
                     plan->plan->buffers[b].name, text, (long long)plan->values[e]);
}

vkrt_status vkrt_plan_need(const vkrt_plan *plan, uint32_t b, vkrt_error *error)
{
    const vy_plan_buffer *declared = &plan->plan->buffers[b];
    if (plan->buffers[b].available) return VKRT_OK;
    for (uint32_t a = 0; a < declared->rank; a++) {
        const uint32_t e = declared->dims[a];
        if (plan->value_bad[e]) return vkrt_bad_value(plan, e, error);
        if (plan->value_known[e] && plan->values[e] < 0) return negative(plan, b, a, error);
    }
    return vkrt_fail(error, VKRT_UNSET, "give its shape or the scalar it depends on",
                     "the size of buffer '%s' is not known yet", declared->name);
}

// What a buffer takes of the budget: workspaces do, once they have their memory.
static uint64_t taken(const vkrt_plan *plan, uint32_t b)
{
    const bool counts = plan->plan->buffers[b].role == VY_ROLE_WORKSPACE && b != plan->watch;
    return counts && plan->buffers[b].available ? plan->buffers[b].bytes : 0;
}

// Whether all dimensions have values.  Those of a workspace may be invalid until it is used.
static vkrt_status decided(vkrt_plan *plan, uint32_t b, bool *known, vkrt_error *error)
{
    const vy_plan_buffer *declared = &plan->plan->buffers[b];
    const bool later = declared->role == VY_ROLE_WORKSPACE;
    *known = true;
    for (uint32_t a = 0; a < declared->rank; a++) {
        const uint32_t e = declared->dims[a];
        const bool bad = plan->value_bad[e], below = plan->value_known[e] && plan->values[e] < 0;
        *known = *known && plan->value_known[e] && !below;
        if (!bad && !below) continue;
        plan->scratch_bytes -= taken(plan, b);
        plan->buffers[b].available = false;
        if (!later) return bad ? vkrt_bad_value(plan, e, error) : negative(plan, b, a, error);
    }
    return VKRT_OK;
}

static vkrt_status other_shape(const vkrt_plan *plan, uint32_t b, uint32_t axis, vkrt_error *error)
{
    const vy_plan_buffer *declared = &plan->plan->buffers[b];
    const uint32_t e = declared->dims[axis];
    char text[160] = "";
    vkrt_expr_text(plan->plan, e, text, sizeof text, 0);
    return vkrt_fail(error, VKRT_BAD_SHAPE, "make the two agree",
                     "axis %u of buffer '%s' must be %s = %lld, but %llu was given", axis,
                     declared->name, text, (long long)plan->values[e],
                     (unsigned long long)plan->buffers[b].shape[axis]);
}

// The shape's element count by the declaration; *known = false if a dimension is not decided yet.
static vkrt_status declared_count(vkrt_plan *plan, uint32_t b, bool *known, uint64_t *count,
                                  vkrt_error *error)
{
    const vy_plan_buffer *declared = &plan->plan->buffers[b];
    const vkrt_plan_buf *state = &plan->buffers[b];
    vkrt_status status = decided(plan, b, known, error);
    *count = 1;
    for (uint32_t a = 0; !status && *known && a < declared->rank; a++) {
        uint32_t e = declared->dims[a];
        int64_t v = plan->values[e];
        if (state->shaped && state->shape[a] != (uint64_t)v) return other_shape(plan, b, a, error);
        if (__builtin_mul_overflow(*count, (uint64_t)v, count))
            return vkrt_fail(error, VKRT_BAD_SHAPE, "use a smaller shape",
                             "buffer '%s' overflows 64 bits", declared->name);
    }
    return status;
}

// Whether buffer `b` may take that much, besides the workspaces that have their memory.
static vkrt_status within_budget(const vkrt_plan *plan, uint32_t b, uint64_t bytes,
                                 vkrt_error *error)
{
    const uint64_t most = b == plan->watch ? 0 : plan->desc.max_workspace_bytes;
    uint64_t total;
    if (__builtin_add_overflow(plan->scratch_bytes - taken(plan, b), bytes, &total))
        total = UINT64_MAX;
    if (!most || total <= most) return VKRT_OK;
    return vkrt_fail(error, VKRT_OVER_BUDGET, "allow more memory, or use smaller data",
                     "scratch buffers need %llu bytes, '%s' %llu of them; the limit is %llu",
                     (unsigned long long)total, plan->plan->buffers[b].name,
                     (unsigned long long)bytes, (unsigned long long)most);
}

// Determines the shape of buffer `b` at the cursor, and allocates it if needed.  *known = false:
// not decidable yet.
static vkrt_status provide(vkrt_plan *plan, uint32_t b, bool *known, vkrt_error *error)
{
    const vy_plan_buffer *declared = &plan->plan->buffers[b];
    vkrt_plan_buf *state = &plan->buffers[b];
    uint64_t count, bytes;
    vkrt_status status = declared_count(plan, b, known, &count, error);
    if (status || !*known) return status;
    bool changed = !state->available;
    for (uint32_t a = 0; a < declared->rank; a++) {
        uint64_t v = (uint64_t)plan->values[declared->dims[a]];
        changed = changed || state->shape[a] != v;
        state->shape[a] = v;
    }
    if (!changed) return VKRT_OK;
    char text[128];
    vkrt_shape_text(declared->rank, state->shape, text, sizeof text);
    if (state->flat && state->flat_count != count)
        return vkrt_fail(error, VKRT_BAD_SHAPE, "give as many elements, or the shape",
                         "buffer '%s' of shape %s has %llu elements, but %llu were given",
                         declared->name, text, (unsigned long long)count,
                         (unsigned long long)state->flat_count);
    status = vkrt_shape_bytes(plan, b, count, &bytes, error);
    if (!status && declared->role == VY_ROLE_WORKSPACE)
        status = within_budget(plan, b, bytes, error);
    if (!status) status = vkrt_plan_allocate(plan, b, bytes, error);
    if (status) return status;
    plan->scratch_bytes -= taken(plan, b);
    state->bytes = bytes;
    state->available = state->fresh = true;
    plan->scratch_bytes += taken(plan, b);
    return VKRT_OK;
}

vkrt_status vkrt_plan_provide_all(vkrt_plan *plan, vkrt_error *error)
{
    bool known;
    vkrt_status status = VKRT_OK;
    vkrt_plan_evaluate(plan);
    plan->scratch_bytes = 0;
    for (uint32_t b = 0; b < plan->plan->buffer_count; b++) plan->scratch_bytes += taken(plan, b);
    for (uint32_t b = 0; !status && b < plan->plan->buffer_count; b++)
        status = provide(plan, b, &known, error);
    return status;
}

vkrt_status vkrt_plan_prepare(vkrt_plan *plan, vkrt_error *error)
{
    if (plan->in_flight)
        return vkrt_fail(error, VKRT_BUSY, "call vkrt_plan_wait first", "the plan is running");
    if (plan->prepared) return VKRT_OK;
    vkrt_status status = infer_symbols(plan, error);
    if (status) return status;
    for (uint32_t b = 0; b < plan->plan->buffer_count; b++) {
        const vy_plan_buffer *declared = &plan->plan->buffers[b];
        vkrt_plan_buf *state = &plan->buffers[b];
        bool input = declared->role == VY_ROLE_IN || declared->role == VY_ROLE_INOUT;
        if (input && !state->contents)
            return vkrt_fail(error, VKRT_UNSET, "give its contents", "buffer '%s' has no contents",
                             declared->name);
        state->available = false;
    }
    vkrt_cursor_reset(plan);
    status = vkrt_plan_check_bound(plan, error);
    if (!status) status = vkrt_plan_provide_all(plan, error);
    plan->prepared = !status;
    return status;
}
