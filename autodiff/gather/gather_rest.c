// SPDX-License-Identifier: MIT
// gather_rest.c: the reverse program without the additions that are gathered, but with stores of
// the values that the gathers cannot recompute.  Dead-code removal leaves what is still used.
#include "autodiff/gather/gather_build.h"

#include "autodiff/reverse/sweeps.h"
#include "ir/build/rewrite.h"
#include "ir/check/check.h"
#include "ir/pass/pass.h"

#include <string.h>

// The indices of what is kept of `id`: `within` the invocation, n, and its place.  Returns how many
// there are.
static uint32_t add_place(const gather *g, vy_builder *b, uint32_t id, const uint32_t *within,
                          uint32_t n, uint32_t *args)
{
    uint32_t value[VY_MAX_RANK];
    for (uint32_t k = 0; k < g->r->overs.count; k++)
        value[k] = vy_leaf_other(b, VY_LEAF_OVER, VY_U32, k, 0);
    gather_place(g, b, value);
    return gather_kept_indices(g, id, within, n, value, args);
}

// Stores kept value `id`, just copied; a CARRY or RESULT once all of its construct are copied.
static void store_kept(gather *g, vy_builder *b, uint32_t id, const uint32_t *map)
{
    const vy_program *p = g->r;
    uint32_t loops[VY_MAX_RANK], args[VY_MAX_RANK + 1], n = gather_loops(g, id, loops);
    uint32_t buffer = gather_kept_buffer(g, b, g->keep[id] - 1);
    if (!buffer) return;
    vy_value v = {vy_map(map, id)};
    for (uint32_t k = 0; k < n; k++) loops[k] = vy_map(map, loops[k]);
    const uint32_t rank = add_place(g, b, id, loops, n, args);
    if (vy_id_type(p, id) == VY_BOOL) v = vy_cast(b, VY_U32, v);
    args[rank] = v.id;
    vy_pass_at(b, p, id);
    vy_emit(b, VY_OP_STORE, VY_VOID, buffer, rank + 1, args);
}

// Stores a local array that has its final contents.
static void store_array(gather *g, vy_builder *b, uint32_t id)
{
    uint32_t buffer = gather_kept_buffer(g, b, g->keep[id] - 1);
    uint32_t array = g->r->insts.data[id].aux, rank = g->r->buffers.data[array].rank;
    uint32_t own[VY_MAX_RANK], args[VY_MAX_RANK + 1];
    uint32_t zero = vy_int(b, VY_U32, 0).id, one = vy_int(b, VY_U32, 1).id;
    if (!buffer) return;
    vy_pass_at(b, g->r, id);
    for (uint32_t k = 0; k < rank; k++)
        own[k] =
            vy_begin_loop(b, VY_U32, false, zero, vy_extent_leaf(b, array, k), one, 0, NULL, NULL);
    uint32_t v = vy_emit(b, VY_OP_LOAD, g->r->buffers.data[array].type, array, rank, own);
    const uint32_t n = add_place(g, b, id, own, rank, args);
    args[n] = v;
    vy_emit(b, VY_OP_STORE, VY_VOID, buffer, n + 1, args);
    for (uint32_t k = 0; k < rank; k++) vy_end_loop(b, 0, 0, NULL, NULL);
}

// Stores the arrays whose last write, or the outermost construct around it, ends with instruction
// `id`.
static void store_arrays(gather *g, vy_builder *b, uint32_t id)
{
    for (uint32_t k = 0; k < g->kept.count; k++) {
        uint32_t last = g->kept.data[k].id, top = last;
        if (!g->kept.data[k].used || !gather_array(g, last)) continue;
        while (g->s.parent[top]) top = g->s.parent[top];
        uint32_t end = top == last ? last : vy_last_result(g->r, &g->s, top);
        if (id == end) store_array(g, b, last);
    }
}

static bool is_slot(const vy_program *p, uint32_t id)
{
    return id < p->insts.count && vy_is_slot((vy_op)p->insts.data[id].op);
}

typedef struct rest {
    vy_rewrite w;
    gather *g;
    uint8_t *removed; // by instruction: it is an addition that is gathered
    uint32_t waiting; // first slot of a construct whose slots are not all copied; 0: none
} rest;

static uint32_t leave_out_gathered(void *pass, uint32_t id)
{
    rest *t = pass;
    gather *g = t->g;
    const vy_program *p = t->w.p;
    if (t->removed[id]) return id; // never the last write to an array
    vy_rewrite_copy(&t->w, id);
    bool slot = is_slot(p, id);
    if (slot && !t->waiting) t->waiting = id;
    if (slot && is_slot(p, id + 1) && vy_arg(p, id, 0) == vy_arg(p, id + 1, 0)) return id;
    for (uint32_t k = t->waiting ? t->waiting : id; k <= id; k++)
        if (g->keep[k] && g->kept.data[g->keep[k] - 1].used && !gather_array(g, k))
            store_kept(g, t->w.b, k, t->w.map);
    store_arrays(g, t->w.b, id);
    t->waiting = 0;
    return id;
}

// Its elements belong to one invocation each, as those of tapes do.
static void declare_kept(gather *g, vy_builder *b, uint32_t k)
{
    const uint32_t buffer = gather_kept_buffer(g, b, k);
    if (buffer) vy_builder_program(b)->buffers.data[buffer].owned = true;
}

static vy_program *copy_rest(gather *g)
{
    rest t = {.g = g};
    bool ok = vy_rewrite_begin(&t.w, g->r);
    t.removed = vy_rewrite_bytes(&t.w);
    for (uint32_t k = 0; t.removed && k < g->site_count; k++)
        t.removed[g->sites[k].id] = g->sites[k].gathered;
    if (ok && t.removed && vy_rewrite_open(&t.w)) {
        for (uint32_t k = 0; k < g->kept.count; k++)
            if (g->kept.data[k].used) declare_kept(g, t.w.b, k);
        vy_rewrite_range(&t.w, 1, g->r->insts.count, leave_out_gathered, &t);
    }
    return vy_rewrite_take(&t.w, ok);
}

enum { USED = 1, WRITTEN = 2 };

// The buffer of p of a value that is kept; 0: p has none.
static uint32_t same_kept(const gather *g, const vy_program *p, uint32_t link)
{
    uint32_t i = g->r->buffers.count;
    while (i < p->buffers.count && p->buffers.data[i].link != link) i++;
    return i < p->buffers.count ? i : 0;
}

// How the stages use each buffer of p; both number the buffers of the reverse program as it does.
static uint8_t *find_uses(gather *g, const vy_program *p, vy_program *const *stages, uint32_t count)
{
    uint8_t *use = vy_arena_alloc(&g->arena, p->buffers.count);
    for (uint32_t k = 0; use && k < count; k++)
        for (uint32_t id = 1; id < stages[k]->insts.count; id++) {
            const vy_inst *i = &stages[k]->insts.data[id];
            uint32_t at = i->aux;
            if (!vy_op_is_memory((vy_op)i->op)) continue;
            if (at >= g->r->buffers.count) at = same_kept(g, p, stages[k]->buffers.data[at].link);
            use[at] |= vy_op_infos[i->op].effect == VY_WRITE ? USED | WRITTEN : USED;
        }
    return use;
}

vy_program *gather_rest(gather *g, vy_program *const *stages, uint32_t count, bool *empty)
{
    vy_program *p = copy_rest(g);
    vy_pass_context c = {0};
    // Buffers that other stages use are results here, not scratch memory whose stores are dead.
    const uint8_t *use = p ? find_uses(g, p, stages, count) : NULL;
    if (!use) {
        g->failed = true;
        vy_program_free(p);
        return NULL;
    }
    bool ok = true;
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        vy_buf *b = &p->buffers.data[i];
        if (!vy_is_global(b->cls)) continue;
        if (b->workspace && use[i]) ok = ok && vy_share_workspace(p, i);
    }
    ok = ok && vy_pass_cleanup(p, &c) && vy_pass_dce(p, &c) && vy_pass_dse(p, &c) &&
         vy_pass_dce(p, &c);
    *empty = true;
    for (uint32_t id = 1; ok && id < p->insts.count; id++)
        *empty &= vy_op_infos[p->insts.data[id].op].effect != VY_WRITE;
    // A result that no stage writes starts as zero with the pipeline; as something else only with a
    // stage that has it as a result.
    bool begins = false;
    for (uint32_t i = 1; ok && i < p->buffers.count; i++) {
        const vy_buf *b = &p->buffers.data[i];
        begins |= b->cls == VY_OUT && b->init != VY_INIT_NONE && !(use[i] & WRITTEN);
    }
    *empty &= !begins;
    ok = ok && vy_drop_unused(p, begins ? VY_DROP_MADE : VY_DROP_ALL) && vy_drop_unused_scalars(p);
    if (ok && vy_check_program(p)) return p;
    g->failed = true;
    vy_program_free(p);
    return NULL;
}
