// SPDX-License-Identifier: MIT
// workgroup_planes.c: workgroups of three axes become planes of the last two where all lanes of a
// plane then load the same elements.
//
//   over(b: B, c: C, i: H, j: W)        4 × 4 × 4 invocations, c among them
//   for o in 0..O { s += w[o, c] * g[b, o, i, j]; }
//                                       →  8 × 8 × 1: w[o, c] is one element for all
//
// A workgroup of no stated shape has lanes along three axes.  A load in a loop whose indices follow
// the third (and those before it) alone, as weights do, is of several rows then, into a vector
// register for each lane; in a plane it is loaded once, into scalar registers, and so is its
// address computed.  What that gains: docs/performance.md, "Gradients compiled by AMD's compiler".
//
// A program that cannot observe the shape has the same results.  Only where options->uniform_starts
// (GPUs), and where both axes have room for a plane, or their lengths are not known.
#include "ir/check/uniform.h"
#include "ir/core/flow.h"
#include "ir/facts/domain_dependence.h"
#include "ir/pass/pass.h"

// Does some load in a loop have indices that differ along the third axis only?
static bool loads_planes(const vy_program *p, const uint32_t *along[3])
{
    uint32_t loops = 0;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        loops += vy_is_loop((vy_op)i->op);
        loops -= i->op == VY_OP_ENDLOOP;
        if (!loops || i->op != VY_OP_LOAD || !vy_is_global(p->buffers.data[i->aux].cls)) continue;
        if (along[2][id] && !along[0][id] && !along[1][id]) return true;
    }
    return false;
}

static bool find(const vy_program *p, const vy_structure *s, vy_arena *arena, bool *planes)
{
    const uint32_t *along[3];
    if (!vy_differences_by_axis(p, s, arena, along)) return false;
    *planes = loads_planes(p, along);
    return true;
}

static bool has_room(const vy_program *p, const vy_opt_options *o, uint32_t axis, uint32_t size)
{
    const uint32_t variable = p->overs.count - 1 - axis;
    const uint32_t constant = vy_axis_constant(p, variable);
    const int64_t n = constant ? constant : o->extent ? o->extent(o->user, p, variable) : -1;
    return n < 0 || n >= size;
}

static void make_planes(vy_program *p, uint32_t x, uint32_t y)
{
    p->workgroup[0] = x, p->workgroup[1] = y, p->workgroup[2] = 1;
    p->has_workgroup = true;
}

bool vy_pass_workgroup_planes(vy_program *p, vy_pass_context *context)
{
    const vy_opt_options *o = context->options;
    if (!o || !o->uniform_starts || p->has_workgroup || p->workgroup[2] < 2) return true;
    if (vy_sees_workgroup(p)) return true;
    const uint32_t all = p->workgroup[0] * p->workgroup[1] * p->workgroup[2];
    uint32_t x = 1, y = 1;
    while (x * y * 2 <= all) *(x > y ? &y : &x) *= 2;
    if (x * y != all || !has_room(p, o, 0, x) || !has_room(p, o, 1, y)) return true;
    vy_structure s;
    vy_arena arena = {0};
    bool planes = false, ok = vy_structure_make(p, &s);
    if (ok) {
        ok = find(p, &s, &arena, &planes);
        vy_structure_free(&s);
    }
    vy_arena_free(&arena);
    if (!ok) vy_fail_oom(p->module);
    if (planes) make_planes(p, x, y);
    context->changed |= planes;
    return ok;
}
