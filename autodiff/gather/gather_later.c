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

// Found once for all kept values, as each has only few members in a large program.
typedef struct slices {
    const gather *g;
    // By instruction, 0: it is not needed.  Its last user among those that are, itself if there is
    // none, BEYOND if one of them is no member of any slice that it is in.
    uint32_t *last;
    uint32_t *of; // by instruction: the kept value whose slice it was last found in
} slices;

// What is computed from a kept value without leaving its construct: its slice.  Would `user`, which
// has the operand a, be in one with it?
static bool joins(const gather *g, uint32_t user, uint32_t a)
{
    return vy_op_infos[g->r->insts.data[user].op].effect == VY_PURE &&
           g->s.parent[user] == g->s.parent[a];
}

// Marks what the programs that gather have, and the additions, which use it.
static void mark(const gather *g, uint32_t *last)
{
    for (uint32_t k = 0; k < g->site_count; k++) {
        const uint64_t *need = g->sites[k].need;
        const uint32_t all = g->r->insts.count;
        if (!g->sites[k].gathered) continue;
        for (uint32_t id = 0; (id = gather_slice_after(need, id, all)) < all;) last[id] = id;
        last[g->sites[k].id] = g->sites[k].id;
    }
}

static bool make_slices(slices *s, const gather *g)
{
    const vy_program *p = g->r;
    const size_t size = (size_t)p->insts.count * sizeof(uint32_t);
    *s = (slices){g, vy_zeroed(size), vy_zeroed(size)};
    if (!s->last || !s->of) return false;
    mark(g, s->last);
    for (uint32_t id = 1; id < p->insts.count; id++) {
        if (!s->last[id]) continue;
        for (uint32_t k = 0; k < p->insts.data[id].nargs; k++) {
            const uint32_t a = vy_arg(p, id, k);
            if (VY_IS_LEAF(a) || !s->last[a] || s->last[a] == BEYOND) continue;
            s->last[a] = joins(g, id, a) ? id : BEYOND;
        }
    }
    return true;
}

static bool is_member(const slices *s, uint32_t from, uint32_t id)
{
    const vy_program *p = s->g->r;
    bool uses = false;
    for (uint32_t k = 0; k < p->insts.data[id].nargs && s->last[id]; k++) {
        const uint32_t a = vy_arg(p, id, k);
        uses |= !VY_IS_LEAF(a) && s->of[a] == from && joins(s->g, id, a);
    }
    return uses;
}

// The last member beyond which nothing before it is used, and that takes as much memory.
static uint32_t latest(const slices *s, uint32_t from)
{
    const vy_program *p = s->g->r;
    const uint32_t bytes = vy_type_size(vy_id_type(p, from));
    uint32_t reach = s->last[from], cut = from;
    s->of[from] = from;
    for (uint32_t id = from + 1; id <= reach && reach != BEYOND; id++) {
        if (!is_member(s, from, id)) continue;
        s->of[id] = from;
        if (reach <= id && vy_type_size(vy_id_type(p, id)) == bytes) cut = id;
        if (s->last[id] > reach) reach = s->last[id];
    }
    return cut;
}

static bool keep_instead(gather *g, uint32_t later) { return gather_keep(g, later); }

bool gather_keep_later(gather *g)
{
    slices s;
    bool any = false;
    g->failed |= !make_slices(&s, g);
    for (uint32_t k = 0, n = g->kept.count; k < n && !g->failed; k++) {
        const uint32_t id = g->kept.data[k].id;
        if (!s.last[id] || gather_array(g, id)) continue;
        const uint32_t later = latest(&s, id);
        if (later != id) any |= keep_instead(g, later);
    }
    vy_free(s.last);
    vy_free(s.of);
    return any;
}
