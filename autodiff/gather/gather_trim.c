// SPDX-License-Identifier: MIT
// gather_trim.c: reduces the parameters of a gathering program, which began as a copy of the
// reverse program's, to those that it needs, and as it needs them: `in` where it only reads, no
// scratch memory of the sweep.
#include "autodiff/gather/gather_build.h"

#include "autodiff/reverse/sweeps.h"
#include "ir/build/rewrite.h"
#include "ir/check/check.h"
#include "ir/pass/pass.h"

// What this program only reads it takes as `in`: a dispatch clears what is `out`, and earlier
// stages fill what was scratch memory of the whole.
static bool take_as_in(const gather *g, uint32_t k, vy_program *p, bool whole)
{
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        vy_buf *b = &p->buffers.data[i];
        bool own = b->workspace && i < g->r->buffers.count && !g->last_write[i];
        if (!vy_is_global(b->cls) || own || (whole && !b->workspace)) continue;
        if (b->workspace && !vy_share_workspace(p, i)) return false;
        b->cls = VY_IN;
    }
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (vy_op_infos[i->op].effect != VY_WRITE || p->buffers.data[i->aux].cls != VY_IN) continue;
        const bool part = i->aux >= g->r->buffers.count; // partial sums, which another reads
        p->buffers.data[i->aux].cls =
            part || g->programs[k].adds ? VY_INOUT : g->r->buffers.data[i->aux].cls;
    }
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        vy_buf *b = &p->buffers.data[i];
        if (b->cls == VY_IN) b->init = VY_INIT_NONE, b->init_from = NULL;
    }
    return true;
}

// Through the builder once more: buffers that are only read now are loaded once, as in the program
// that is parsed from its text.
static bool share_loads(vy_program *p)
{
    vy_pass_context c = {0};
    vy_rewrite w;
    bool ok = vy_rewrite_begin(&w, p);
    if (ok) vy_rewrite_run(&w, NULL, NULL);
    return vy_rewrite_end(&w, ok, &c.changed) && vy_pass_dce(p, &c);
}

// The program is the whole result: drops scratch memory of the sweep that it no longer reads.
static bool drop_scratch(vy_program *p, const uint8_t *scratch)
{
    if (!share_loads(p)) return false;
    for (uint32_t i = 1; i < p->buffers.count; i++) p->buffers.data[i].workspace = scratch[i];
    if (!vy_drop_unused(p, VY_DROP_MADE)) return false;
    for (uint32_t i = 1; i < p->buffers.count; i++)
        if (p->buffers.data[i].cls == VY_IN) p->buffers.data[i].workspace = false;
    return true;
}

static bool trim_whole(gather *g, uint32_t k, vy_program *p)
{
    uint8_t *scratch = vy_realloc(NULL, p->buffers.count);
    if (!scratch) {
        vy_fail_oom(g->m);
        return false;
    }
    for (uint32_t i = 0; i < p->buffers.count; i++) scratch[i] = p->buffers.data[i].workspace;
    const bool ok = take_as_in(g, k, p, true) && drop_scratch(p, scratch);
    vy_free(scratch);
    return ok;
}

static bool trim_part(gather *g, uint32_t k, vy_program *p)
{
    return take_as_in(g, k, p, false) && share_loads(p) && vy_drop_stage(p);
}

bool gather_trim(gather *g, const gather_stage *stage, vy_program *p, bool whole)
{
    const uint32_t k = stage->program;
    if (!(whole ? trim_whole(g, k, p) : trim_part(g, k, p))) return false;
    p->gathers = true;
    p->name = whole                           ? g->r->name
              : stage->form == GATHER_TREE    ? g->programs[k].tree
              : stage->form == GATHER_PARTIAL ? g->programs[k].partial
                                              : g->programs[k].name;
    return gather_has_no_place(g, p) && vy_check_program(p);
}
