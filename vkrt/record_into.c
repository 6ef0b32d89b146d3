// SPDX-License-Identifier: MIT
// record_into.c: one run in a command buffer of the caller's (vkrt/engine.h).
//
// It is one segment whose commands, fence and queries are not ours, so nothing may have to happen
// between two of its steps on the host.  Dispatches are not split by time either: how long a
// submission takes is the caller's business.
#include "vkrt/plan_internal.h"

struct vkrt_recording {
    vkrt_plan *plan;
    vkrt_segment segment;
};

static vkrt_status check_end(vkrt_plan *plan, vkrt_error *error)
{
    if (!vkrt_cursor_settle(plan)) return VKRT_OK;
    if (plan->resized)
        return vkrt_fail(error, VKRT_LIMIT, "run it with vkrt_plan_submit",
                         "%.100s: a buffer changes its shape between its steps", plan->plan->name);
    return vkrt_fail(error, VKRT_LIMIT, "run it with vkrt_plan_submit",
                     "%.100s reads values back to the host between its steps", plan->plan->name);
}

static vkrt_status record(vkrt_recording *r, const vkrt_record_desc *desc, vkrt_error *error)
{
    vkrt_plan *plan = r->plan;
    const VkPipelineStageFlags all =
        VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT;
    r->segment.commands = desc->commands;
    r->segment.external = true;
    vkrt_plan_begin(plan);
    vkrt_status status = vkrt_plan_provide_all(plan, error);
    plan->resized = false;
    if (!status)
        status = vkrt_record_commands(plan, &r->segment, desc->before ? desc->before : all,
                                      desc->after ? desc->after : all, error);
    return status ? status : check_end(plan, error);
}

vkrt_status vkrt_plan_record(vkrt_plan *plan, const vkrt_record_desc *desc, vkrt_recording **out,
                             vkrt_error *error)
{
    vkrt_record_desc d;
    *out = NULL;
    vkrt_status status = vkrt_take_desc(&d, sizeof d, 0, desc, "vkrt_record_desc", error);
    if (!status && !d.commands)
        status = vkrt_fail(error, VKRT_BAD_ARGUMENT, "give a VkCommandBuffer",
                           "vkrt_record_desc.commands is NULL");
    if (!status) status = vkrt_plan_prepare(plan, error);
    if (status) return status;
    vkrt_recording *r = calloc(1, sizeof *r);
    if (!r) return vkrt_fail_memory(error);
    r->plan = plan;
    plan->recordings++;
    status = record(r, &d, error);
    if (status) {
        plan->prepared = false; // availability is unknown
        vkrt_recording_free(r);
        return status;
    }
    *out = r;
    return VKRT_OK;
}

void vkrt_recording_free(vkrt_recording *r)
{
    if (!r) return;
    r->segment.commands = VK_NULL_HANDLE; // the caller's
    vkrt_segment_destroy(r->plan, &r->segment);
    r->plan->recordings--;
    free(r);
}
