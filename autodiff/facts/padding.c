// SPDX-License-Identifier: MIT
// padding.c: lanes of the last workgroups that are outside the domain.
#include "autodiff/facts/padding.h"

uint32_t vy_launch_axis(const vy_program *p, uint32_t variable) // 0: x
{
    return p->overs.count - 1 - variable;
}

static bool is_multiple(const vy_program *p, uint32_t dim, uint32_t size)
{
    const vy_dim_node *d = &p->dims.data[dim];
    return d->op == VY_DIM_CONST && d->value % size == 0;
}

bool vy_axis_is_full(const vy_program *p, uint32_t variable)
{
    uint32_t extent = p->overs.data[variable].extent.id,
             size = p->workgroup[vy_launch_axis(p, variable)];
    const vy_dim_node *d = &p->dims.data[extent];
    if (size == 1 || is_multiple(p, extent, size)) return true;
    return d->op == VY_DIM_MUL && (is_multiple(p, d->a, size) || is_multiple(p, d->b, size));
}

uint32_t vy_spare_axes(const vy_program *p)
{
    uint32_t rank = p->overs.count;
    for (uint32_t axis = rank; p->overs.count && axis < VY_LAUNCH_AXES; axis++)
        if (p->workgroup[axis] > 1) rank = axis + 1;
    return rank - p->overs.count;
}

bool vy_has_padding(const vy_program *p)
{
    if (p->overs.count > VY_LAUNCH_AXES || vy_spare_axes(p)) return true;
    bool any = false;
    for (uint32_t k = 0; k < p->overs.count; k++) any |= !vy_axis_is_full(p, k);
    return any;
}
