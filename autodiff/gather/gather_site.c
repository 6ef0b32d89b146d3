// SPDX-License-Identifier: MIT
// gather_site.c: one atomic addition: can a program over the elements make it, and which of the
// loops around it does the nest of that program have?
//
//   over(i: N) for j in 0..N {
//       s = Σ_d q[i,d] k[j,d];
//       for d in 0..D { atomic_add(gk[j,d], f(s) · q[i,d]); }
//   }
//
//   all of them     over(j, d): Σ_i f(Σ_d …) q[i,d]         s is computed D times as often
//   down to j       over(j): for i { s = …; for d { gk[j,d] += f(s) · q[i,d] } }
//
// All of them is right unless the value needs a costly loop from further out.  The results of a
// loop outside all loops are stored instead, one number per invocation.
#include "autodiff/gather/gather_build.h"
#include "autodiff/gather/gather_slice.h"
#include "ir/core/flow.h"

#include <string.h>

enum { CHEAP = 24, SMALL = 256, MANY = 1024 };

// --------------------------------------------------------------------------------------- the level
static bool encloses(const gather *g, uint32_t opener, uint32_t id)
{
    return opener < id && id < vy_closer(g->r, &g->s, opener);
}

static uint32_t depth_of(const gather *g, const gather_site *site, uint32_t id)
{
    const vy_nest *n = &site->access.nest;
    uint32_t d = 0;
    for (uint32_t k = n->overs; k < n->count; k++) d += encloses(g, n->loop[k], id);
    return d;
}

static double loop_cost(const gather *g, uint32_t opener)
{
    double sum = 0;
    for (uint32_t id = opener + 1; id < vy_closer(g->r, &g->s, opener); id++)
        sum += gather_repeated(g, id, gather_weight(g, id), opener, NULL);
    return sum;
}

// The first loop that the value needs whole although it is further out than the site, and that is
// not cheap; 0: none.
static uint32_t costly_loop(const gather *g, const gather_site *site)
{
    const vy_nest *n = &site->access.nest;
    for (uint32_t id = 0;
         (id = gather_slice_after(site->need, id, g->r->insts.count)) < g->r->insts.count;) {
        if (!vy_is_loop((vy_op)g->r->insts.data[id].op)) continue;
        if (encloses(g, id, site->id)) continue;
        if (depth_of(g, site, id) < n->count - n->overs && loop_cost(g, id) > CHEAP) return id;
    }
    return 0;
}

// Keeps the results of `loop` that the site needs.
static bool keep_results(gather *g, const gather_site *site, uint32_t loop)
{
    uint32_t n = vy_slot_count(g->r, &g->s, loop), end = vy_closer(g->r, &g->s, loop);
    bool any = false;
    for (uint32_t k = 0; k < n; k++) {
        if (!gather_slice_has(site->need, end + 1 + k)) continue;
        if (!gather_keep(g, end + 1 + k)) return false;
        any = true;
    }
    return any;
}

// Axes that are constants in all places add nothing to the domain: an invocation has p[i, 0] and
// p[i, 1].
static void choose_axes(const gather *g, gather_site *site)
{
    const vy_affine_access *x = &site->access;
    uint32_t all = x->rank == 32 ? UINT32_MAX : (1u << x->rank) - 1;
    uint32_t fixed = 0;
    site->axes = 0;
    for (uint32_t k = 0; k < x->rank; k++)
        fixed |= (g->fixed[x->buffer] >> vy_buffer_axis(x, k) & 1) << k;
    for (uint32_t k = 0; k < x->rank; k++)
        if (x->index[k] && !(fixed >> k & 1)) site->axes |= 1u << k;
    site->cells = fixed != 0;
    site->single = (site->axes | fixed) == all && !x->nest.inner;
}

// Can a program over these elements not have its domain?  If the first axis is as long as the
// buffer it is given the length (autodiff/stages/stages_groups.c).
static bool lacks_domain(const gather *g, const gather_site *site)
{
    const vy_affine_access *x = &site->access;
    for (uint32_t k = 0; k < x->rank; k++) {
        if (!(site->axes >> k & 1) || !gather_is_open(g->r, x->dim[k].id)) continue;
        if (k || x->flat || g->r->dims.data[x->dim[k].id].op != VY_DIM_UNKNOWN) return true;
    }
    return false;
}

bool gather_is_beside(const gather *g, uint32_t x, uint32_t y)
{
    const uint32_t up = g->s.parent[x];
    if (up != g->s.parent[y]) return false;
    return !up || g->r->insts.data[up].op != VY_OP_IF ||
           vy_in_then(&g->s, up, x) == vy_in_then(&g->s, up, y);
}

// The access of the site; rather than anew from that of a component of the same vector, which is
// one of the sites before it.
static bool make_access(gather *g, gather_site *site, uint32_t levels)
{
    enum { NEAR = 16 };
    const uint32_t at = (uint32_t)(site - g->sites);
    site->levels = levels;
    for (uint32_t back = 1; back <= NEAR && back <= at; back++) {
        const gather_site *like = &g->sites[at - back];
        if (like->access.buffer == site->access.buffer && like->levels == levels &&
            like->access.nest.domain && gather_is_beside(g, like->id, site->id) &&
            vy_arg(g->r, like->id, 0) == vy_arg(g->r, site->id, 0))
            return vy_access_make_like(&site->access, &like->access, site->id);
    }
    return vy_access_make(&site->access, &g->a, site->id, levels);
}

// A limit of isl's is used up, often by cases of wrapping around.
static void give_up(gather_site *site, const char *why)
{
    site->why = why;
    site->wraps = site->involved = true;
}

// Analyses the site with the outermost `levels` loops in the nest.  False: site->why.
static bool at_level(gather *g, gather_site *site, uint32_t levels)
{
    vy_access_free(&site->access);
    if (!make_access(g, site, levels)) {
        give_up(site, "is too involved");
        return false;
    }
    const vy_affine_access *x = &site->access;
    choose_axes(g, site);
    if (lacks_domain(g, site)) {
        site->why = "is to a buffer of open length";
        return false;
    }
    for (uint32_t k = 0; k < x->rank; k++) {
        if (x->index[k] || (x->nest.inner && site->axes)) continue;
        site->why = vy_affine_why_text(x->why[k]);
        site->wraps = x->why[k] == VY_AFFINE_WRAP || x->why[k] == VY_AFFINE_PRODUCT;
        site->divides = x->why[k] == VY_AFFINE_DIVISION;
        site->factors = site->divides || x->why[k] == VY_AFFINE_PRODUCT;
        return false;
    }
    return true;
}

static bool choose_level(gather *g, gather_site *site)
{
    if (!at_level(g, site, UINT32_MAX)) return false;
    for (int round = 0; round < 16; round++) {
        if (!gather_need(g, site)) return false;
        uint32_t loop = costly_loop(g, site), depth = loop ? depth_of(g, site, loop) : 0;
        if (!loop) return true;
        if (depth && at_level(g, site, depth)) continue;
        site->why = NULL;
        site->wraps = site->divides = site->factors = false;
        if (depth && !at_level(g, site, UINT32_MAX)) return false;
        if (!keep_results(g, site, loop)) {
            site->why = "would repeat a loop for every iteration of its own";
            return false;
        }
    }
    site->why = "is too involved";
    return false;
}

// ------------------------------------------------------------------------------------- parallelism
static bool constant_extent(const vy_program *p, vy_dim d, double *product)
{
    const vy_dim_node *n = &p->dims.data[d.id];
    *product *= n->op == VY_DIM_CONST ? (double)n->value : 1;
    return n->op == VY_DIM_CONST;
}

// A handful of elements that thousands of points add to: a program over the elements would have
// nothing to do in parallel.
static bool is_small(const gather *g, const gather_site *site)
{
    const vy_affine_access *x = &site->access;
    const vy_nest *n = &x->nest;
    double elements = 1, points = 1;
    for (uint32_t k = 0; k < x->rank; k++)
        if ((site->axes >> k & 1) && !constant_extent(g->r, x->dim[k], &elements)) return false;
    for (uint32_t k = 0; k < n->count; k++) {
        double of = 1;
        if (k >= n->overs)
            of = vy_expected_trips(g->r, n->loop[k]);
        else if (!constant_extent(g->r, g->r->overs.data[k].extent, &of))
            of = 4096;
        points *= of;
    }
    return elements <= SMALL && points > MANY * elements;
}

// The site's relation; false: isl gave up, or memory, or numbers that are clamped could wrap around
// before, which multiplies cases, and an attempt with calm scalars has few.
static bool make_map(gather *g, gather_site *site)
{
    bool wraps = false;
    vy_clamps *c = vy_arena_alloc(&g->arena, sizeof *c);
    g->failed |= !c;
    if (!c) return false;
    if (vy_access_unclamp(&site->access, site->axes, c, &wraps))
        site->clamps = c;
    else
        vy_clamps_free(c);
    if (site->clamps)
        site->map = vy_unclamped_map(&site->access, site->axes, c);
    else if (!wraps || g->calm.scalar)
        site->map = vy_access_map(&site->access, site->axes);
    return site->map != NULL;
}

void gather_decide(gather *g, uint32_t k)
{
    gather_site *site = &g->sites[k];
    uint32_t kept = g->kept.count;
    vy_affine_reset(&g->a);
    if (vy_affine_spent(&g->a)) {
        give_up(site, "is beyond a limit of the analysis");
        return;
    }
    site->need =
        vy_arena_alloc(&g->arena, gather_slice_words(g->r->insts.count) * sizeof *site->need);
    if (!site->need) {
        g->failed = true;
        return;
    }
    bool chosen = choose_level(g, site);
    g->failed |= g->a.failed || !vy_module_ok(g->m);
    if (chosen && !g->failed) {
        site->small = is_small(g, site);
        if (!site->single && g->r->buffers.data[site->access.buffer].type == VY_F16)
            site->why = "would add half floats up in memory, which loses digits";
        else if (site->small && !g->allow_small && !gather_is_partial(g, site))
            site->why = "is to a small buffer, with many additions to each element";
        else if (!make_map(g, site))
            give_up(site, "is too involved");
        else
            site->gathered = true;
    }
    if (site->gathered) gather_fill_holes(g, site);
    if (site->gathered) gather_classify(g, site);
    if (site->gathered) return;
    while (g->kept.count > kept) g->keep[g->kept.data[--g->kept.count].id] = 0;
}

// ----------------------------------------------------------------------------------------- singles
static uint32_t ones(uint32_t bits)
{
    uint32_t n = 0;
    for (; bits; bits &= bits - 1) n++;
    return n;
}

void gather_leave_singles(gather *g)
{
    for (uint32_t k = 0; k < g->site_count; k++) {
        gather_site *site = &g->sites[k];
        bool beside = false;
        for (uint32_t j = 0; j < g->site_count; j++)
            beside |= !g->sites[j].gathered && !g->sites[j].joins &&
                      g->sites[j].access.buffer == site->access.buffer;
        site->joins = site->gathered && beside && site->access.nest.count <= ones(site->axes);
    }
    for (uint32_t k = 0; k < g->site_count; k++) {
        if (!g->sites[k].joins) continue;
        g->sites[k].gathered = false;
        g->sites[k].why = "adds one term to each element, to which other atomics add as well";
    }
}
