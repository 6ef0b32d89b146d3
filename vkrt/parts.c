// SPDX-License-Identifier: MIT
// parts.c: how much of a dispatch goes into one submission, so that no submission takes long.
//
// Drivers end submissions that run for seconds (watchdogs), and a display freezes meanwhile.  The
// time of a kernel cannot be known in advance, so it is measured: a small number of workgroups of
// an unknown kernel run alone; from then on submissions are filled up to the target time, with
// entire dispatches where they fit and else with boxes of workgroups.  The last measurement counts.
#include "vkrt/plan_internal.h"

#define FIRST_GROUPS 512 // of an unmeasured kernel: about as many as a device runs at once
#define GROWTH 16        // a part has at most this many times the groups that were measured

// --- What is known of a kernel -------------------------------------------------------------------

// The largest integer among the kernel's scalars: loops may grow with it, so that a measurement at
// a much smaller one is worthless.
static int64_t scale_of(const vkrt_dispatch *d)
{
    int64_t most = 1;
    for (uint32_t i = 0; i < d->kernel->symbol_count; i++) {
        const int64_t v = d->plan->kernel_symbols[i];
        if (!vkrt_type_is_float(d->kernel->symbols[i].type) && v > most) most = v;
    }
    return most;
}

static bool is_known(const vkrt_dispatch *d)
{
    const vkrt_pipeline *p = d->pipeline;
    return p->ns_per_group > 0 && scale_of(d) / 8 <= p->measured_scale;
}

static bool has_base(const vy_kernel *k, uint32_t axis)
{
    for (uint32_t i = 0; i < k->param_count; i++)
        if (k->params[i].kind == VY_PARAM_GROUP_BASE && k->params[i].index == axis) return true;
    return false;
}

bool vkrt_splits(const vkrt_dispatch *d, uint32_t axis)
{
    return d->kernel->splits || d->groups[axis] <= 1 || has_base(d->kernel, axis);
}

// --- How much ------------------------------------------------------------------------------------

static uint64_t at_most(double x, uint64_t limit)
{
    return x < 1 ? 1 : x < (double)limit ? (uint64_t)x : limit;
}

uint64_t vkrt_part_take(const vkrt_dispatch *d, uint64_t left, bool *alone)
{
    const vkrt_device *device = d->plan->device;
    const vkrt_segment *s = d->segment;
    const bool empty = s->pieces == 0;
    const double wanted = (double)device->part_ns, rate = d->pipeline->ns_per_group;
    bool splits = true;
    for (uint32_t axis = 0; axis < 3; axis++) splits = splits && vkrt_splits(d, axis);
    uint64_t most = splits && device->part_groups ? device->part_groups : UINT64_MAX;
    *alone = false;
    if (s->external) return left;
    if (device->part_ns != UINT64_MAX) {
        *alone = !is_known(d);
        if (*alone && !empty) return 0;
        if (*alone && splits && most > FIRST_GROUPS) most = FIRST_GROUPS;
        if (!*alone && !empty && s->planned_ns + rate * (double)left > wanted) return 0;
        if (!*alone && splits) {
            const uint64_t fit = at_most(wanted / rate, UINT64_MAX / 2),
                           grown = at_most((double)d->pipeline->measured_groups * GROWTH,
                                           UINT64_MAX / 2);
            if (fit < most) most = fit;
            if (grown < most) most = grown;
        }
    }
    // A part of a dispatch begins a submission: it may be as large as one allows.
    if (most < left && !empty) return 0;
    return most < left ? most : left;
}

void vkrt_part_plan(const vkrt_dispatch *d, uint64_t taken)
{
    vkrt_segment *s = d->segment;
    s->planned_ns += d->pipeline->ns_per_group * (double)taken;
    s->sole = s->pieces++ == 0 ? d->pipeline : NULL;
    s->sole_groups = taken;
    s->sole_scale = scale_of(d);
    if (s->pieces == 1) s->first_kernel = d->kernel->name;
    s->last_kernel = d->kernel->name;
}

void vkrt_part_measured(vkrt_plan *plan, const vkrt_segment *s, uint64_t ns)
{
    const uint64_t wanted = plan->device->part_ns;
    if (wanted == UINT64_MAX || s->pieces == 0) return;
    if (ns == 0) ns = 1;
    if (s->sole) {
        plan->remeasured |= s->sole->ns_per_group == 0 || ns > 2 * wanted;
        s->sole->ns_per_group = (double)ns / (double)s->sole_groups;
        s->sole->measured_groups = s->sole_groups;
        s->sole->measured_scale = s->sole_scale;
    } else if ((double)ns > 2 * s->planned_ns && ns > 2 * wanted) { // one of them is slower now
        for (uint32_t i = 0; i < plan->plan->kernel_count; i++)
            if (plan->pipelines[i]) plan->pipelines[i]->ns_per_group = 0;
        plan->remeasured = true;
    }
}

// --- Where ---------------------------------------------------------------------------------------

// Workgroups are counted box by box, boxes being what the device takes in one dispatch; within a
// box by x, then y, then z.
void vkrt_part_box(const uint32_t groups[3], const uint32_t limit[3], uint64_t from, uint64_t want,
                   uint32_t base[3], uint32_t count[3])
{
    uint64_t size[3] = {groups[0], groups[1], groups[2]}; // of what the box is looked for in
    for (int i = 3; i-- > 0;) {
        uint64_t layer = 1; // groups in one step along axis i
        for (int k = 0; k < 3; k++)
            if (k != i) layer *= size[k];
        const uint64_t most = groups[i] < limit[i] ? groups[i] : limit[i];
        const uint64_t first = from / (layer * most) * most;
        from -= first * layer;
        base[i] = (uint32_t)first;
        size[i] = groups[i] - first < most ? groups[i] - first : most;
    }
    const uint64_t row = size[0], plane = size[0] * size[1];
    const uint64_t x = from % row, y = from / row % size[1], z = from / plane;
    for (int i = 0; i < 3; i++) count[i] = 1;
    if (x || want < row)
        count[0] = (uint32_t)(want < row - x ? want : row - x);
    else if (y || want < plane)
        count[0] = (uint32_t)row,
        count[1] = (uint32_t)(want / row < size[1] - y ? want / row : size[1] - y);
    else
        count[0] = (uint32_t)row, count[1] = (uint32_t)size[1],
        count[2] = (uint32_t)(want / plane < size[2] - z ? want / plane : size[2] - z);
    base[0] += (uint32_t)x;
    base[1] += (uint32_t)y;
    base[2] += (uint32_t)z;
}
