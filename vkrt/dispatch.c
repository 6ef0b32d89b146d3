// SPDX-License-Identifier: MIT
// dispatch.c: one dispatch step: its scalars, parameters and group counts, split where the device
// allows fewer groups.
#include "vkrt/plan_internal.h"

// kernel_symbols are set; kernel_values is scratch space.
static vkrt_status check_iterations(const vkrt_dispatch *d, vkrt_error *error)
{
    const vkrt_device_info *info = vkrt_device_get_info(d->plan->device);
    const vy_kernel *k = d->kernel;
    int64_t *values = d->plan->kernel_values;
    uint32_t bad;
    const bool watched = k->watched && d->plan->watch != VY_NO_EXPR;
    if (!info->loop_iteration_limit || !k->iteration_count || d->plan->desc.trust_loops || watched)
        return VKRT_OK;
    const bool ok = vy_expr_eval(k->iterations, k->iteration_count, d->plan->kernel_symbols, NULL,
                                 values, NULL, &bad);
    const int64_t iterations =
        ok ? values[k->iteration_count - 1] : INT64_MAX; // beyond what can be counted
    return vkrt_check_iterations(info, k, iterations < 0 ? 0 : (uint64_t)iterations, error);
}

static vkrt_status evaluate_kernel(const vkrt_dispatch *d, vkrt_error *error)
{
    const vy_kernel *k = d->kernel;
    vkrt_plan *plan = d->plan;
    for (uint32_t i = 0; i < k->symbol_count; i++) {
        vkrt_status status = vkrt_plan_value(plan, d->step->symbols[i], k->symbols[i].name,
                                             &plan->kernel_symbols[i], error);
        if (status) return status;
    }
    uint32_t bad;
    vkrt_status status = check_iterations(d, error);
    if (status) return status;
    if (vy_expr_eval(k->exprs, k->expr_count, plan->kernel_symbols, NULL, plan->kernel_values, NULL,
                     &bad))
        return VKRT_OK;
    return vkrt_fail(error, VKRT_BAD_SHAPE, "check the scalars and shapes",
                     "%s: a size overflows 64 bits or divides by zero", k->name);
}

// --- Groups --------------------------------------------------------------------------------------

static vkrt_status domain_groups(vkrt_dispatch *d, vkrt_error *error)
{
    const vy_kernel *k = d->kernel;
    uint64_t extent[3] = {1, 1, 1}; // x, y, z
    for (uint32_t i = 0; i < k->domain_rank; i++) {
        int64_t v = d->plan->kernel_values[k->domain[k->domain_rank - 1 - i]];
        uint64_t n = v > 0 ? (uint64_t)v : 0;
        uint32_t axis = i < 2 ? i : 2;
        if (__builtin_mul_overflow(extent[axis], n, &extent[axis])) extent[axis] = UINT64_MAX;
    }
    bool empty = false;
    for (int i = 0; i < 3; i++) empty = empty || extent[i] == 0;
    for (int i = 0; i < 3; i++) {
        uint64_t groups = empty ? 0 : (extent[i] - 1) / k->local_size[i] + 1;
        if (groups > UINT32_MAX)
            return vkrt_fail(error, VKRT_LIMIT, "use a smaller domain",
                             "%s: %llu workgroups on axis %d, more than 32 bits count", k->name,
                             (unsigned long long)groups, i);
        d->groups[i] = (uint32_t)groups;
    }
    return VKRT_OK;
}

static vkrt_status choose_groups(vkrt_dispatch *d, vkrt_error *error)
{
    vkrt_plan *plan = d->plan;
    if (d->kernel->domain_rank > 0) return domain_groups(d, error);
    if (!d->step->groups) {
        memcpy(d->groups, plan->groups, sizeof d->groups);
        return plan->has_groups ? VKRT_OK : vkrt_fail_groups(d->kernel->name, error);
    }
    for (int i = 0; i < 3; i++) {
        uint32_t e = d->step->groups[i];
        int64_t v = plan->value_known[e] ? plan->values[e] : -1;
        if (v < 0 || v > UINT32_MAX)
            return vkrt_fail(error, VKRT_BAD_SHAPE, "check the scalars",
                             "%s: group count %lld on axis %d", d->kernel->name, (long long)v, i);
        d->groups[i] = (uint32_t)v;
    }
    return VKRT_OK;
}

// A dispatch in parts passes each part's first group to its kernel; a kernel that reads its group
// number without adding that base cannot be split.
static vkrt_status check_groups(const vkrt_dispatch *d, uint64_t *total, vkrt_error *error)
{
    *total = 1;
    for (uint32_t axis = 0; axis < 3; axis++) {
        uint32_t limit = d->plan->device->max_group_count[axis];
        if (__builtin_mul_overflow(*total, d->groups[axis], total) || *total > INT64_MAX)
            return vkrt_fail(error, VKRT_LIMIT, "use a smaller domain",
                             "%s: %u by %u by %u workgroups, more than 63 bits count",
                             d->kernel->name, d->groups[0], d->groups[1], d->groups[2]);
        if (d->groups[axis] > limit && !vkrt_splits(d, axis))
            return vkrt_fail(error, VKRT_LIMIT, "use a smaller domain or larger workgroups",
                             "%s: %u workgroups on axis %u, the device allows %u and the kernel "
                             "has no group base for splitting",
                             d->kernel->name, d->groups[axis], axis, limit);
    }
    return VKRT_OK;
}

// --- Parameters ----------------------------------------------------------------------------------

static vkrt_status pack_params(const vkrt_dispatch *d, const uint32_t base[3], vkrt_error *error)
{
    const vy_kernel *k = d->kernel;
    memset(d->plan->params, 0, k->param_bytes);
    for (uint32_t i = 0; i < k->param_count; i++) {
        const vy_kernel_param *p = &k->params[i];
        int64_t v = 0, ignored;
        bool fits = true;
        switch (p->kind) {
        case VY_PARAM_SCALAR:
            v = d->plan->kernel_symbols[p->index];
            if (p->size < 8 && !vkrt_type_is_float(p->type))
                fits = vkrt_pack_int(p->type, v, &ignored);
            break;
        case VY_PARAM_EXPR: // a negative extent is an empty one
            v = d->plan->kernel_values[p->index];
            if (v < 0) v = 0;
            fits = p->size == 8 || v <= UINT32_MAX;
            break;
        case VY_PARAM_GROUP_BASE: v = base[p->index]; break;
        case VY_PARAM_NUM_GROUPS: v = d->groups[p->index]; break;
        case VY_PARAM_OFFSET:
            v = (int64_t)((d->plan->bounds[p->index].offset - d->plan->infos[p->index].offset) /
                          k->bindings[p->index].elem_size);
            break;
        }
        if (!fits)
            return vkrt_fail(error, p->kind == VY_PARAM_SCALAR ? VKRT_BAD_SHAPE : VKRT_LIMIT,
                             "use smaller data", "%s: parameter '%s' = %lld does not fit %s",
                             k->name, p->name ? p->name : "?", (long long)v,
                             p->type ? p->type : "u32");
        memcpy(d->plan->params + p->offset, &v, p->size); // little end first
    }
    return VKRT_OK;
}

static vkrt_status record_part(const vkrt_dispatch *d, const uint32_t base[3],
                               const uint32_t count[3], vkrt_error *error)
{
    const struct VolkDeviceTable *vk = &d->plan->device->vk;
    const vy_kernel *k = d->kernel;
    VkCommandBuffer commands = d->segment->commands;
    bool pushed = k->param_set == VY_NO_BINDING;
    uint32_t at = 0;
    vkrt_status status = pack_params(d, base, error);
    if (!status && !pushed)
        status = vkrt_param_room(d->plan, d->segment, k->param_bytes, &at, error);
    if (!status) status = vkrt_descriptors(d->plan, d->segment, d->index, error);
    if (status) return status;
    if (pushed && k->param_bytes > 0)
        vk->vkCmdPushConstants(commands, d->pipeline->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                               k->param_bytes, d->plan->params);
    if (!pushed) memcpy(d->segment->params->buffer.mapped + at, d->plan->params, k->param_bytes);
    if (d->pipeline->set_count > 0)
        vk->vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, d->pipeline->layout,
                                    0, d->pipeline->set_count, d->plan->step_sets[d->index].sets,
                                    !pushed, &at);
    vk->vkCmdDispatch(commands, count[0], count[1], count[2]);
    d->segment->commands_count++;
    return VKRT_OK;
}

static vkrt_status record_parts(const vkrt_dispatch *d, uint64_t from, uint64_t end,
                                vkrt_error *error)
{
    bool between = false;
    vkrt_status status = VKRT_OK;
    for (uint64_t at = from; !status && at < end;) {
        uint32_t base[3], count[3];
        vkrt_part_box(d->groups, d->plan->device->max_group_count, at, end - at, base, count);
        if (between) vkrt_order_accesses(d);
        status = record_part(d, base, count, error);
        if (at == from) between = vkrt_parts_overlap(d);
        at += (uint64_t)count[0] * count[1] * count[2];
    }
    return status;
}

// --- The step ------------------------------------------------------------------------------------

static vkrt_status record_timed(const vkrt_dispatch *d, uint64_t from, uint64_t end,
                                vkrt_error *error)
{
    const struct VolkDeviceTable *vk = &d->plan->device->vk;
    vkrt_segment *segment = d->segment;
    vkrt_order_accesses(d);
    bool timed = segment->queries && segment->timed_count < segment->timed_capacity;
    uint32_t query = 2 + 2 * segment->timed_count;
    if (timed)
        vk->vkCmdWriteTimestamp(segment->commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT,
                                segment->queries, query);
    vk->vkCmdBindPipeline(segment->commands, VK_PIPELINE_BIND_POINT_COMPUTE, d->pipeline->handle);
    vkrt_status status = record_parts(d, from, end, error);
    if (timed) {
        vk->vkCmdWriteTimestamp(segment->commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT,
                                segment->queries, query + 1);
        if (segment->timed_count == 0) segment->timed_continues = from > 0;
        segment->timed_steps[segment->timed_count++] = d->index;
    }
    return status;
}

vkrt_status vkrt_record_dispatch(vkrt_plan *plan, vkrt_segment *segment, uint32_t index, bool *ends,
                                 vkrt_error *error)
{
    const vy_plan_step *step = &plan->plan->steps[index];
    vkrt_dispatch d = {
        plan,  segment, step, &plan->plan->kernels[step->kernel], plan->pipelines[step->kernel],
        index, {0}};
    uint64_t total = 0;
    const uint64_t from = plan->at.part;
    vkrt_status status = evaluate_kernel(&d, error);
    if (!status) status = vkrt_bind_args(&d, error);
    if (!status) status = choose_groups(&d, error);
    if (!status) status = check_groups(&d, &total, error);
    if (!status) status = pack_params(&d, (const uint32_t[3]){0}, error); // also where nothing runs
    if (status) return status;
    const uint64_t take = total ? vkrt_part_take(&d, total - from, ends) : 0;
    if (total && !take) return *ends = true, VKRT_OK;
    if (from == 0) vkrt_clear_outputs(&d);
    if (total) {
        status = record_timed(&d, from, from + take, error);
        vkrt_part_plan(&d, take);
    }
    *ends |= from + take < total;
    plan->at.part = from + take < total ? from + take : 0;
    if (plan->at.part) return status;
    plan->at.step++;
    segment->dispatches += total > 0;
    return status;
}
