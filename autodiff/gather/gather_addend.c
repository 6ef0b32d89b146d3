// SPDX-License-Identifier: MIT
// gather_addend.c: what a place adds, kept, where computing it again would cost more than adding.
//
//   s = Σ_z q[z, i] · w[z, j];                  f_reverse: s = …; kept[j, i] = s · adj;
//   atomic_add(gd[j], s · adj);      →          f_gather_d over(j: J) {
//                                                   for i in 0..I { v += kept[j, i]; }
//                                                   gd[j] = v;
//                                               }
//
// A gather of gd[j] would repeat the sum over z at each point.  The reverse program has its result,
// and what it adds is all that a gather needs: one number for each invocation and addition, stored
// where it is computed, and read at the points whose construct is the addition's.  So each number
// that is read has been stored: a point of the walk is one at which the reverse program adds, and
// what it adds is defined before, in the same construct or further out.
//
// Only of additions in no loop, or whose number is computed outside: of others there would be a
// number for every iteration.  At most sixteen of a program.  And only where nothing adds
// atomically then, as that is what the memory is for; it is not always faster: the positions of
// examples/hashgrid, each of which eight neighbours add to, take 1.15 times as long in that way
// (lavapipe).
#include "autodiff/gather/gather_addend.h"
#include "autodiff/gather/gather_slice.h"

#include "ir/facts/price.h"

#include <string.h>

// What the site adds.
static uint32_t addend(const gather *g, const gather_site *site)
{
    return vy_arg(g->r, site->id, g->r->buffers.data[site->access.buffer].rank);
}

// Does nothing add atomically?
static bool is_all_gathered(const gather *g)
{
    bool all = true;
    for (uint32_t k = 0; k < g->site_count; k++) all &= g->sites[k].gathered;
    for (uint32_t i = 1; i < g->r->buffers.count; i++) all &= !g->left[i];
    return all;
}

// Would computing the number again at each point cost no more than keeping it?
static bool is_cheap(const gather *g, const gather_site *site)
{
    gather_slice_clear(g->counted, g->r->insts.count);
    const double again = gather_cost(g, site, g->counted);
    return again <= vy_prices[VY_WORK_LOAD].again + VY_PRICE_KEPT_WRITE;
}

static bool can_keep(const gather *g, const gather_site *site)
{
    uint32_t loops[VY_MAX_RANK];
    return gather_loops(g, addend(g, site), loops) == 0;
}

void gather_need_again(gather *g)
{
    for (uint32_t k = 0; k < g->site_count && g->kept.count && !g->failed; k++)
        if (g->sites[k].gathered) g->sites[k].gathered = gather_need(g, &g->sites[k]);
}

bool gather_keep_addends(gather *g, uint32_t program)
{
    enum { MOST = 16 }; // as many as a tile of four by four results
    const uint32_t before = g->kept.count;
    if (!is_all_gathered(g)) return false;
    for (uint32_t k = 0; k < g->site_count && !g->failed; k++) {
        const gather_site *site = &g->sites[k];
        const uint32_t id = addend(g, site);
        if (site->program != program + 1 || is_cheap(g, site)) continue;
        if (VY_IS_LEAF(id) || !can_keep(g, site) || !gather_keep(g, id)) return false;
    }
    if (g->kept.count == before || g->kept.count > before + MOST) return false;
    gather_need_again(g);
    return !g->failed;
}

void gather_addends_pay(gather *g, uint32_t before)
{
    if (!g->addends) g->addends = 1 + before;
}

void gather_keep_less(gather *g, uint32_t count)
{
    if (g->kept.count == count) return;
    while (g->kept.count > count) g->keep[g->kept.data[--g->kept.count].id] = 0;
    for (uint32_t k = 0; k < g->site_count && !g->failed; k++)
        if (g->sites[k].gathered) g->sites[k].gathered = gather_need(g, &g->sites[k]);
}
