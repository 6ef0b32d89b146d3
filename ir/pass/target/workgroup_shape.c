// SPDX-License-Identifier: MIT
// workgroup_shape.c: makes rows of workgroups fill the lanes of the device, where the program
// cannot observe it.
//
// lavapipe runs rows of a workgroup in vectors (8 lanes with AVX2).  Lanes beyond the row take part
// in loops: they load 0, a `while` that 0 satisfies never ends for them, and the driver's limit on
// iterations then silently ends the loops of the real invocations too.
#include "ir/pass/pass.h"

bool vy_sees_workgroup(const vy_program *p)
{
    if (p->overs.count == 0) return true;
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (vy_op_infos[p->insts.data[id].op].effect == VY_CONV) return true;
    for (uint32_t k = 0; k < p->leaves.count; k++)
        if (p->leaves.data[k].kind == VY_LEAF_BUILTIN) return true;
    for (uint32_t i = 1; i < p->buffers.count; i++)
        if (p->buffers.data[i].cls == VY_SHARED) return true;
    return false;
}

bool vy_program_row_fills(const vy_program *p, uint32_t lanes)
{
    return !lanes || p->workgroup[0] % lanes == 0;
}

void vy_reshape(vy_program *p, uint32_t lanes)
{
    enum { EVERY_DEVICE_HAS = 128 };
    if (vy_program_row_fills(p, lanes) || vy_sees_workgroup(p)) return;
    uint32_t w[3] = {p->workgroup[0], p->workgroup[1], p->workgroup[2]};
    for (int axis = 1; axis < 3; axis++)
        while (w[0] % lanes && w[axis] % 2 == 0) {
            w[0] *= 2;
            w[axis] /= 2;
        }
    w[0] = (w[0] + lanes - 1) / lanes * lanes;
    if (w[0] * w[1] * w[2] > EVERY_DEVICE_HAS) return;
    for (int axis = 0; axis < 3; axis++) p->workgroup[axis] = w[axis];
    p->has_workgroup = true;
}
