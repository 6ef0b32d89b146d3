// SPDX-License-Identifier: MIT
// emit_if.c: `if`, as a selection, whose results are phis at its merge block.  An arm without
// instructions gets no block, and of an `if` without any only selects are left.
#include "spirv/emit/emit.h"

static bool empty_arm(vy_fn *f, uint32_t marker) { return f->facts->partner[marker] == marker + 1; }

bool vy_emit_if(vy_fn *f, uint32_t i)
{
    uint32_t closer = f->facts->partner[i], cond = vy_val(f, vy_arg(f->p, i, 0));
    bool no_then = empty_arm(f, i), no_else = empty_arm(f, closer);
    vy_emit_frame frame = {.opener = i, .closer = closer, .header = f->block, .cond = cond};
    if (no_then && no_else) return vy_push_frame(f, frame);
    vy_spv *m = f->m;
    frame.merge = vy_spv_id(m);
    vy_nest(f, 1, 0);
    uint32_t then_label = no_then ? frame.merge : vy_spv_id(m);
    frame.other = no_else ? frame.merge : vy_spv_id(m);
    VY_PUT(m, &f->code, SpvOpSelectionMerge, frame.merge, SpvSelectionControlMaskNone);
    vy_branch_if(f, cond, then_label, frame.other);
    if (!no_then) vy_label(f, then_label);
    return vy_push_frame(f, frame);
}

void vy_emit_else(vy_fn *f, uint32_t i)
{
    vy_emit_frame *frame = &f->frames.data[f->frames.count - 1];
    if (!frame->merge) return;
    frame->first_end = frame->header;
    if (!empty_arm(f, frame->opener)) {
        frame->first_end = f->block;
        vy_branch(f, frame->merge);
    }
    if (!empty_arm(f, i)) vy_label(f, frame->other);
}

void vy_emit_endif(vy_fn *f)
{
    vy_emit_frame frame = f->frames.data[--f->frames.count];
    f->closed_end = frame.header;
    if (frame.merge) {
        vy_unnest(f, 1, 0);
        if (!empty_arm(f, frame.closer)) {
            f->closed_end = f->block;
            vy_branch(f, frame.merge);
        }
        vy_label(f, frame.merge);
    }
    f->closed = frame;
}

uint32_t vy_emit_if_result(vy_fn *f, uint32_t i, uint32_t end, uint32_t k)
{
    const vy_emit_frame *frame = &f->closed;
    uint32_t type = vy_spv_type(f->m, (vy_type)f->p->insts.data[i].type);
    uint32_t yes = vy_val(f, vy_arg(f->p, frame->closer, k)), no = vy_val(f, vy_arg(f->p, end, k));
    if (yes == no) return yes;
    if (!frame->merge) return VY_DO(f, SpvOpSelect, type, frame->cond, yes, no);
    return VY_DO(f, SpvOpPhi, type, yes, frame->first_end, no, f->closed_end);
}
