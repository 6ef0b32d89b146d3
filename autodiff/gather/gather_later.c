// SPDX-License-Identifier: MIT
// gather_later.c: of what a gather needs and the reverse program keeps, the latest value.
//
//   for k { v += w[o, k] · h[n, k] }             a gather of gw[o, k] needs δ, and for it the loop:
//   y = tanh(b[o] + v);                          v is kept.  But y and δ would be computed again
//   δ = grad_y[n, o] · (1 − y²);                 for each k, for each element of gh, and so on.
//   for k { atomic_add(gw[o, k], δ · h[n, k]) }  δ takes as much memory: it is kept instead.
//
// A later value replaces a kept one where all that any place needs of the kept one goes through it:
// it is a cut of their backward slices.  Both are of one size and in the same construct, so one is
// stored where, and as often as, the other would be; so what a choice and its operands come to
// replaces all of them.  The slices are found again after that: were a
// later value no cut, the earlier one would be kept beside it.
#include "autodiff/gather/gather_build.h"
#include "autodiff/gather/gather_slice.h"

#include <string.h>

#define BEYOND UINT32_MAX

// The slice behind a kept value: what is computed from it without leaving its construct.
typedef struct slice {
    const gather *g;
    uint32_t from;
    uint32_t *last; // by instruction: its last user, itself if none, BEYOND if that is no member;
                    // 0: not in the slice
} slice;

static bool joins(const slice *s, uint32_t id)
{
    const vy_program *p = s->g->r;
    return vy_op_infos[p->insts.data[id].op].effect == VY_PURE &&
           s->g->s.parent[id] == s->g->s.parent[s->from];
}

// Marks what the programs that gather have, and the additions, which use it.
static void mark(const gather *g, uint8_t *needed)
{
    memset(needed, 0, g->r->insts.count);
    for (uint32_t k = 0; k < g->site_count; k++) {
        if (!g->sites[k].gathered) continue;
        for (uint32_t id = 0; (id = gather_slice_after(g->sites[k].need, id, g->r->insts.count)) <
                              g->r->insts.count;)
            needed[id] = 1;
        needed[g->sites[k].id] = 1;
    }
}

// Enters `id`, which is needed, if it uses a member and may be one.
static void enter(slice *s, uint32_t id)
{
    const vy_program *p = s->g->r;
    const bool joined = joins(s, id);
    bool uses = false;
    for (uint32_t k = 0; k < p->insts.data[id].nargs; k++) {
        const uint32_t a = vy_arg(p, id, k);
        if (VY_IS_LEAF(a) || !s->last[a]) continue;
        uses = true;
        s->last[a] = joined && s->last[a] != BEYOND ? id : BEYOND;
    }
    if (uses && joined) s->last[id] = id;
}

// The last member beyond which nothing before it is used, and that takes as much memory.
static uint32_t last_cut(const slice *s)
{
    const uint32_t bytes = vy_type_size(vy_id_type(s->g->r, s->from));
    uint32_t reach = s->last[s->from], cut = s->from;
    for (uint32_t id = s->from + 1; id < s->g->r->insts.count && reach != BEYOND; id++) {
        if (!s->last[id]) continue;
        if (reach <= id && vy_type_size(vy_id_type(s->g->r, id)) == bytes) cut = id;
        if (s->last[id] > reach) reach = s->last[id];
    }
    return cut;
}

// needed: by instruction.
static uint32_t latest(gather *g, const uint8_t *needed, uint32_t from)
{
    const size_t size = (size_t)g->r->insts.count * sizeof(uint32_t);
    slice s = {.g = g, .from = from, .last = vy_realloc(NULL, size)};
    if (!s.last) {
        g->failed = true;
        return from;
    }
    memset(s.last, 0, size);
    s.last[from] = from;
    for (uint32_t id = from + 1; id < g->r->insts.count; id++)
        if (needed[id]) enter(&s, id);
    const uint32_t cut = last_cut(&s);
    vy_free(s.last);
    return cut;
}

static bool keep_instead(gather *g, uint32_t later) { return gather_keep(g, later); }

bool gather_keep_later(gather *g)
{
    uint8_t *needed = vy_realloc(NULL, g->r->insts.count);
    bool any = false;
    if (!needed) {
        g->failed = true;
        return false;
    }
    mark(g, needed);
    for (uint32_t k = 0, n = g->kept.count; k < n && !g->failed; k++) {
        const uint32_t id = g->kept.data[k].id;
        if (!needed[id] || gather_array(g, id)) continue;
        const uint32_t later = latest(g, needed, id);
        if (later != id) any |= keep_instead(g, later);
    }
    vy_free(needed);
    return any;
}
