// SPDX-License-Identifier: MIT
// gather_length.c: how long do the programs that gather become?
//
//   v = tanh(v) * x[0];          if e == 0 { … all of it … }
//   v = tanh(v) * x[1];    →     if e == 1 { … all of it … }
//   …                            …
//
// Each walk copies the slice of what it adds, so the gathers of n additions along one chain of n
// operations have n²/2 instructions, although an invocation runs only what is for its own element
// (so gather_cost.c does not object).  All gathers together may be a few times as long as the
// reverse program.  The additions of a gather with which they would be longer stay atomic.
#include "autodiff/gather/gather_build.h"
#include "autodiff/gather/gather_slice.h"
#include "ir/core/flow.h"

#include <string.h>

enum {
    SHORT = 1000,      // instructions allowed in any case (of small systems), …
    TIMES = 8,         // … and so many times those of the reverse program, …
    TIMES_ALWAYS = 16, // … also where sums have to have an order
};

// Are x and y, which have the same parent construct, in the same arm of it?
static bool same_arm(const gather *g, uint32_t x, uint32_t y)
{
    const uint32_t around = g->s.parent[x];
    if (!around || g->r->insts.data[around].op != VY_OP_IF) return true;
    return vy_in_then(&g->s, around, x) == vy_in_then(&g->s, around, y);
}

bool gather_shares_walk(const gather *g, const gather_site *x, const gather_site *y)
{
    if (x->program != y->program || x->points != y->points) return false;
    return !x->single || (g->s.parent[x->id] == g->s.parent[y->id] && same_arm(g, x->id, y->id));
}

// Instructions of the walk whose first site is k, where isl makes one piece of its points.
static uint32_t walk_length(gather *g, uint32_t k)
{
    uint32_t n = 0;
    gather_slice_clear(g->counted, g->r->insts.count);
    for (uint32_t j = k; j < g->site_count; j++) {
        if (!gather_shares_walk(g, &g->sites[k], &g->sites[j])) continue;
        n += gather_slice_join(g->counted, g->sites[j].need, g->r->insts.count);
    }
    return n;
}

// Instructions of each program.
static void measure(gather *g)
{
    for (uint32_t k = 0; k < g->program_count; k++) g->programs[k].length = 0;
    for (uint32_t k = 0; k < g->site_count; k++) {
        uint32_t first = 0;
        if (!g->sites[k].program) continue;
        while (!gather_shares_walk(g, &g->sites[first], &g->sites[k])) first++;
        if (first == k) g->programs[g->sites[k].program - 1].length += walk_length(g, k);
    }
}

static void leave(gather *g, uint32_t program)
{
    for (uint32_t j = 0; j < g->site_count; j++) {
        if (g->sites[j].program != program + 1) continue;
        g->sites[j].gathered = false;
        g->sites[j].why = "would repeat too much of the program for each addition";
    }
}

bool gather_drop_long(gather *g)
{
    const double limit = SHORT + (double)(g->always ? TIMES_ALWAYS : TIMES) * g->r->insts.count;
    double total = 0;
    bool any = false;
    measure(g);
    for (uint32_t k = 0; k < g->program_count; k++) {
        const bool fits = total + g->programs[k].length <= limit;
        if (fits) total += g->programs[k].length;
        if (fits || !g->programs[k].sites) continue;
        leave(g, k);
        any = true;
    }
    return any;
}
