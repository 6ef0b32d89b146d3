// SPDX-License-Identifier: MIT
// workgroup_shape.c: sizes of workgroups that suit the device, where the program cannot observe it.
//
// A GPU starts so many workgroups in a time, whatever their size: with 64 invocations that each
// copy an element, an H100 waits for workgroups, at 40 % of its bandwidth, and with 256 for memory.
// A short domain keeps small workgroups, of which every core then gets some.
//
// lavapipe runs rows of a workgroup in vectors (8 lanes with AVX2).  Lanes beyond the row take part
// in loops: they load 0, a `while` that 0 satisfies never ends for them, and the driver's limit on
// iterations then silently ends the loops of the real invocations too.
#include "ir/pass/pass.h"
#include "ir/facts/domain_dependence.h"

bool vy_sees_workgroup(const vy_program *p)
{
    if (p->overs.count == 0) return true;
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (vy_op_infos[p->insts.data[id].op].effect == VY_CONV) return true;
    if (vy_uses_leaf(p, VY_LEAF_BUILTIN)) return true;
    for (uint32_t i = 1; i < p->buffers.count; i++)
        if (p->buffers.data[i].cls == VY_SHARED) return true;
    return false;
}

bool vy_program_row_fills(const vy_program *p, uint32_t lanes)
{
    return !lanes || p->workgroup[0] % lanes == 0;
}

// Workgroups of the larger size that there must be: H100 has 132 cores that hold 8 of 256 each.
#define ENOUGH 1024

static bool is_large(const vy_program *p, const vy_opt_options *o)
{
    double n = 1;
    for (uint32_t axis = 0; axis < p->overs.count; axis++) {
        const int64_t extent = o->extent ? o->extent(o->user, p, axis) : -1;
        if (extent >= 0) n *= (double)extent;
        if (extent < 0) return true;
    }
    return n >= (double)o->workgroup * ENOUGH;
}

static uint32_t invocations(const vy_program *p)
{
    return p->workgroup[0] * p->workgroup[1] * p->workgroup[2];
}

void vy_enlarge_workgroup(vy_program *p, const vy_opt_options *o)
{
    if (p->has_workgroup || !o->workgroup || vy_sees_workgroup(p) || !is_large(p, o)) return;
    const uint32_t axes = p->overs.count < 3 ? p->overs.count : 3;
    while (invocations(p) * 2 <= o->workgroup) {
        uint32_t least = 0;
        for (uint32_t axis = 1; axis < axes; axis++)
            if (p->workgroup[axis] < p->workgroup[least]) least = axis;
        p->workgroup[least] *= 2;
    }
}

// Of the second last axis; -1: not known.
static int64_t rows_of(const vy_program *p, const vy_opt_options *o)
{
    const uint32_t axis = p->overs.count - 2, constant = vy_axis_constant(p, axis);
    if (constant) return constant;
    return o->extent ? o->extent(o->user, p, axis) : -1;
}

// The last two of several axes are tiled as two axes are, 8 x 8; the axes before fill up what short
// ones leave.  A workgroup of 4 x 4 x 4 works on four images at once, whose memory the caches of a
// CPU must then hold.
static void tile_last_axes(vy_program *p, const vy_opt_options *o)
{
    const uint32_t all = invocations(p);
    const int64_t rows = rows_of(p, o);
    if (rows == 1) return; // 1: also what only the run decides
    uint32_t w[3] = {o->lanes, 1, 1};
    while (w[0] * w[1] < all && (rows < 0 || w[1] < rows)) w[1] *= 2;
    while (w[0] * w[1] * w[2] < all) w[2] *= 2;
    if (w[0] * w[1] * w[2] != all) return;
    for (int axis = 0; axis < 3; axis++) p->workgroup[axis] = w[axis];
    p->has_workgroup = true;
}

// Does some loop run to, or from, a number that depends on the last variable, as in
// `for j in 0..i + 1`?  False also where memory is out.
static bool trips_follow_row(const vy_program *p)
{
    uint8_t *follows = vy_realloc(NULL, p->insts.count);
    bool found = false;
    for (uint32_t id = 1; follows && id < p->insts.count && !found; id++) {
        const vy_inst *i = &p->insts.data[id];
        const bool pure = vy_op_infos[i->op].effect == VY_PURE;
        follows[id] = 0;
        for (uint32_t k = 0; k < (i->op == VY_OP_LOOP ? 2 : pure ? i->nargs : 0); k++) {
            const uint32_t a = vy_arg(p, id, k);
            const vy_leaf *l = VY_IS_LEAF(a) ? &p->leaves.data[VY_LEAF_INDEX(a)] : NULL;
            follows[id] |= l ? l->kind == VY_LEAF_OVER && l->index + 1 == p->overs.count
                             : a < id && follows[a];
        }
        found = i->op == VY_OP_LOOP && follows[id];
    }
    vy_free(follows);
    return found;
}

// lavapipe gives each core a contiguous part of the workgroups, x fastest.  Where invocations work
// the longer the farther they are along x, tiles of 8 x 8 over a few rows are one row of
// workgroups, whose second half has three quarters of the work.  Rows of 64 give each core whole
// rows.
static void take_whole_rows(vy_program *p, const vy_opt_options *o)
{
    enum { LEAST_ROWS = 2 };
    const uint32_t all = invocations(p);
    const int64_t rows = rows_of(p, o), n = o->extent ? o->extent(o->user, p, 1) : -1;
    if ((rows >= 0 && rows < LEAST_ROWS) || (n >= 0 && n < all) || !trips_follow_row(p)) return;
    p->workgroup[0] = all;
    p->workgroup[1] = 1;
    p->has_workgroup = true;
}

void vy_reshape(vy_program *p, const vy_opt_options *o)
{
    enum { EVERY_DEVICE_HAS = 128 };
    const uint32_t lanes = o->lanes;
    if (!lanes || vy_sees_workgroup(p)) return;
    if (!p->has_workgroup && p->overs.count == 2) take_whole_rows(p, o);
    if (!p->has_workgroup && p->overs.count > 2) tile_last_axes(p, o);
    if (vy_program_row_fills(p, lanes)) return;
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
