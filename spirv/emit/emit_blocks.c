// SPDX-License-Identifier: MIT
// emit_blocks.c: basic blocks.  The helpers own merge labels and phis, so none can be forgotten:
// the value of a guarded block is only available by closing the guard, which makes the phi.
#include "spirv/emit/emit.h"

void vy_label(vy_fn *f, uint32_t id)
{
    VY_PUT(f->m, f->out, SpvOpLabel, id);
    f->block = id;
    f->last_line = f->last_column = 0; // a line holds until the end of its block
}

void vy_branch(vy_fn *f, uint32_t label) { VY_PUT(f->m, f->out, SpvOpBranch, label); }

void vy_branch_if(vy_fn *f, uint32_t cond, uint32_t yes, uint32_t no)
{
    VY_PUT(f->m, f->out, SpvOpBranchConditional, cond, yes, no);
}

void vy_nest(vy_fn *f, uint32_t ifs, uint32_t loops)
{
    f->ifs += ifs;
    f->loops += loops;
    const uint32_t most = f->ifs > f->loops ? f->ifs : f->loops;
    if (most <= f->nesting) return;
    f->nesting = most;
    f->at = f->line;
}

void vy_unnest(vy_fn *f, uint32_t ifs, uint32_t loops)
{
    f->ifs -= ifs;
    f->loops -= loops;
}

vy_guard vy_guard_begin(vy_fn *f, uint32_t cond)
{
    if (!cond) return (vy_guard){0};
    vy_guard g = {f->block, vy_spv_id(f->m)};
    uint32_t body = vy_spv_id(f->m);
    vy_nest(f, 1, 0);
    VY_PUT(f->m, f->out, SpvOpSelectionMerge, g.merge, SpvSelectionControlMaskNone);
    vy_branch_if(f, cond, body, g.merge);
    vy_label(f, body);
    return g;
}

uint32_t vy_guard_end(vy_fn *f, vy_guard g, uint32_t type, uint32_t value, uint32_t otherwise)
{
    if (!g.merge) return value;
    vy_unnest(f, 1, 0);
    uint32_t end = f->block;
    vy_branch(f, g.merge);
    vy_label(f, g.merge);
    return type ? VY_DO(f, SpvOpPhi, type, value, end, otherwise, g.header) : 0;
}

uint32_t vy_spin_begin(vy_fn *f, vy_spin *s, uint32_t type, uint32_t initial)
{
    uint32_t before = f->block;
    f->spins = true;
    *s = (vy_spin){vy_spv_id(f->m), vy_spv_id(f->m), vy_spv_id(f->m), 0};
    vy_branch(f, s->header);
    vy_label(f, s->header);
    s->patch = f->out->count + 5; // op, type, id, initial, before, NEXT, label
    uint32_t state = VY_DO(f, SpvOpPhi, type, initial, before, 0, s->next_label);
    uint32_t body = vy_spv_id(f->m);
    vy_nest(f, 1, 1); // its exit is an `if`
    VY_PUT(f->m, f->out, SpvOpLoopMerge, s->merge, s->next_label, SpvLoopControlMaskNone);
    vy_branch(f, body);
    vy_label(f, body);
    return state;
}

void vy_spin_end(vy_fn *f, vy_spin *s, uint32_t done, uint32_t next)
{
    vy_unnest(f, 1, 1);
    vy_branch_if(f, done, s->merge, s->next_label);
    vy_label(f, s->next_label);
    vy_branch(f, s->header);
    if (!f->m->oom) f->out->data[s->patch] = next;
    vy_label(f, s->merge);
}

bool vy_push_frame(vy_fn *f, vy_emit_frame frame)
{
    if (vy_vec_push(&f->frames, frame)) return true;
    f->m->oom = true;
    return false;
}
