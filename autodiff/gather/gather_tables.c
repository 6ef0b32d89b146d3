// SPDX-License-Identifier: MIT
// gather_tables.c: what each attempt to gather begins with, and its end.
#include "autodiff/gather/gather_build.h"
#include "autodiff/gather/gather_slice.h"

#include "ir/core/flow.h"

bool gather_make_tables(gather *g)
{
    const vy_program *p = g->r;
    g->last_write = vy_arena_alloc(&g->arena, p->buffers.count * sizeof *g->last_write);
    g->outer = vy_arena_alloc(&g->arena, (size_t)p->insts.count * sizeof *g->outer);
    g->keep = vy_arena_alloc(&g->arena, (size_t)p->insts.count * sizeof *g->keep);
    g->bounded = vy_arena_alloc(&g->arena, p->insts.count);
    g->counted = vy_arena_alloc(&g->arena, gather_slice_words(p->insts.count) * sizeof *g->counted);
    if (!g->last_write || !g->outer || !g->keep || !g->counted || !g->bounded ||
        !vy_structure_make(p, &g->s) || !vy_lows_make(&g->lows, p, &g->s, &g->arena))
        return false;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        uint32_t up = g->s.parent[id];
        g->outer[id] = up ? g->outer[up] : 0;
        if (up && !g->outer[up] && vy_is_loop((vy_op)p->insts.data[up].op)) g->outer[id] = up;
        if (vy_op_is_memory((vy_op)i->op) && i->op != VY_OP_LOAD) g->last_write[i->aux] = id;
    }
    return true;
}

bool gather_clean_up(gather *g)
{
    bool ok = true;
    for (uint32_t k = 0; k < g->site_count; k++) {
        vy_access_free(&g->sites[k].access);
        isl_map_free(g->sites[k].map);
        if (g->sites[k].clamps) vy_clamps_free(g->sites[k].clamps);
    }
    if (g->affine) ok = vy_affine_end(&g->a);
    vy_structure_free(&g->s);
    vy_vec_free(&g->kept);
    vy_arena_free(&g->arena);
    return ok;
}
