// SPDX-License-Identifier: MIT
// gather_cost.c: is a program that gathers worth what it saves?
//
// Costs are operations of one invocation, by weights (gather_need.c) and expected trip counts.  A
// gather recomputes what the reverse program has anyway, and saves its atomic additions, and the
// whole reverse program if nothing of it stays.  A first estimate adds up the walks.  Walks over
// the same points share what they compute once their loops are fused
// (ir/pass/scalar/fuse_loops.c).  The passes know best how much that is, so a candidate up to 3×
// over budget that has the domain of the reverse program is built, optimised and measured.
#include "autodiff/gather/gather_addend.h"
#include "autodiff/gather/gather_slice.h"
#include "ir/facts/price.h"
#include "ir/pass/pass.h"
#include "ir/core/flow.h"

#include <string.h>

// Operations of one invocation of the reverse program but for atomic additions.
static double whole_cost(const gather *g)
{
    double sum = 0;
    for (uint32_t id = 1; id < g->r->insts.count; id++) {
        double w = g->r->insts.data[id].op == VY_OP_ATOMIC_ADD ? 0 : gather_weight(g, id);
        sum += gather_repeated(g, id, w, 0, NULL);
    }
    return sum;
}

// Do the first `dims` dimensions of the points decide which element it is?
static bool depends_on(const vy_affine_access *x, unsigned dims)
{
    bool any = false;
    for (uint32_t a = 0; a < x->rank && !any; a++)
        any = x->index[a] &&
              isl_pw_aff_involves_dims(x->index[a], isl_dim_in, 0, dims) == isl_bool_true;
    return any;
}

// Does a loop of the nest begin at another number in each lane, as `for j in lid.x..n step 64`?
static bool begins_apart(gather_site *site)
{
    vy_nest *n = &site->access.nest;
    bool any = false;
    for (uint32_t k = n->overs; k < n->count && !any; k++) {
        vy_affine_why why;
        const vy_number from = vy_affine_number(n, vy_arg(n->a->p, n->loop[k], 0), &why);
        any = isl_pw_aff_involves_dims(from.pa, isl_dim_in, 0, n->overs) == isl_bool_true;
        isl_pw_aff_free(from.pa);
    }
    return any;
}

// Where the index is the same in all invocations a subgroup adds up first
// (ir/pass/sums/subgroup_reduce.c); else lanes add one by one.  So they do to a constant element in
// a shader's derivative, which others launch: of subgroups nothing is known there.
double gather_adding(const gather *g, gather_site *site)
{
    const vy_affine_access *x = &site->access;
    const bool spread = depends_on(x, x->nest.overs) || begins_apart(site);
    const bool one_by_one = spread || (g->r->shader && !depends_on(x, x->nest.count));
    const double w = one_by_one ? VY_PRICE_ADD_SPREAD : VY_PRICE_ADD_ALIKE;
    return gather_repeated(g, site->id, w, 0, NULL);
}

// Sites with the same nest share a walk, and what it computes.
static bool same_walk(const gather_site *x, const gather_site *y)
{
    const vy_nest *n = &x->access.nest, *m = &y->access.nest;
    if (x->program != y->program || n->count != m->count) return false;
    for (uint32_t k = n->overs; k < n->count; k++)
        if (n->loop[k] != m->loop[k]) return false;
    return true;
}

// The cost of the walk whose first site is k, for all its points.
static double walk_cost(gather *g, uint32_t k)
{
    const vy_nest *n = &g->sites[k].access.nest;
    double w = 0;
    gather_slice_clear(g->counted, g->r->insts.count);
    for (uint32_t j = k; j < g->site_count; j++)
        if (same_walk(&g->sites[j], &g->sites[k]))
            w += gather_cost(g, &g->sites[j], g->counted) + 1;
    for (uint32_t j = n->overs; j < n->count; j++) w *= vy_expected_trips(g->r, n->loop[j]);
    return w;
}

static void sum_walks(gather *g)
{
    for (uint32_t k = 0; k < g->program_count; k++) g->programs[k].walking = 0;
    for (uint32_t k = 0; k < g->site_count; k++) {
        const gather_site *site = &g->sites[k];
        uint32_t first = 0;
        if (!site->program) continue;
        while (!same_walk(&g->sites[first], site)) first++;
        if (first == k) g->programs[site->program - 1].walking += walk_cost(g, k);
    }
    g->walked = true;
}

// Both costs of each program.  This is asked for each program that is dropped; only what has been
// kept since makes walks cost something else.
static void sum_costs(gather *g)
{
    for (uint32_t k = 0; k < g->program_count; k++) g->programs[k].adding = 0;
    for (uint32_t k = 0; k < g->site_count; k++)
        if (g->sites[k].program) g->programs[g->sites[k].program - 1].adding += g->sites[k].adding;
    if (!g->walked) sum_walks(g);
}

// Are additions all that the reverse program writes, and all of them gathered?  Then nothing of it
// is left.
static bool nothing_stays(const gather *g)
{
    uint32_t gathered = 0, writes = 0;
    for (uint32_t k = 0; k < g->site_count; k++) gathered += g->sites[k].gathered;
    for (uint32_t id = 1; id < g->r->insts.count; id++)
        writes += vy_op_infos[g->r->insts.data[id].op].effect == VY_WRITE;
    return gathered == writes;
}

// Operations of an existing program.
static double count(vy_program *p)
{
    vy_structure s;
    double sum = 0;
    if (!vy_structure_make(p, &s)) return -1;
    const gather all = {.r = p, .s = s};
    for (uint32_t id = 1; id < p->insts.count; id++)
        sum += gather_repeated(&all, id, gather_weight(&all, id), 0, NULL);
    vy_structure_free(&s);
    return sum;
}

// The same for program k as it will be; negative: memory.  What cannot be made costs nothing: the
// reason is reported when all are made.
static double built_cost(gather *g, uint32_t k)
{
    static bool (*const passes[])(vy_program *, vy_pass_context *) = {
        vy_pass_licm,      vy_pass_fuse_loops, vy_pass_fuse_ifs,
        vy_pass_ifconvert, vy_pass_dce,        vy_pass_cleanup,
    };
    vy_program *p = gather_make(g, k, GATHER_WHOLE, NULL);
    if (!p) return g->failed ? -1 : 0;
    bool ok = true;
    for (size_t j = 0; j < sizeof passes / sizeof *passes && ok; j++)
        ok = passes[j](p, &(vy_pass_context){0});
    double sum = ok ? count(p) : -1;
    vy_program_free(p);
    return sum;
}

// Has the program as many invocations as the reverse program?  Else the operations of one cannot be
// compared.
static bool same_domain(const gather *g, uint32_t program)
{
    const vy_affine_access *x = &g->sites[g->programs[program].first].access;
    uint32_t axes = g->sites[g->programs[program].first].axes, n = 0;
    for (uint32_t k = 0; k < x->rank; k++) {
        if (!(axes >> k & 1)) continue;
        if (n == g->r->overs.count) return false;
        vy_extent e = g->a.facts.form[x->dim[k].id],
                  f = g->a.facts.form[g->r->overs.data[n++].extent.id];
        if (e.base != f.base || e.offset != f.offset) return false;
    }
    return n == g->r->overs.count;
}

static bool is_expensive(gather *g, uint32_t k, double limit)
{
    enum { HOPELESS = 3 }; // times the limit
    double cost = g->programs[k].walking;
    if (cost <= limit || g->always || cost > HOPELESS * limit) return cost > limit;
    if (g->kept.count || !same_domain(g, k)) return true; // kept values cost elsewhere
    cost = built_cost(g, k);
    g->failed |= cost < 0;
    return cost > limit;
}

// ------------------------------------------------------------------------------------ what is kept
enum { MOST_KEPT = 28 }; // with the parameters no more storage buffers than lavapipe binds, 32

// How many values the program needs kept; 0: all programs together.
static uint32_t kept_by(const gather *g, uint32_t program)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < g->kept.count; k++) {
        bool used = false;
        for (uint32_t j = 0; j < g->site_count && !used; j++)
            used = g->sites[j].gathered && (!program || g->sites[j].program == program) &&
                   gather_slice_has(g->sites[j].need, g->kept.data[k].id);
        n += used;
    }
    return n;
}

// Does program k pay, with at most so many values kept for `program` (0: all together), if the
// reverse program keeps what it adds?  Then it does.
static bool pays_if_kept(gather *g, uint32_t k, uint32_t program, uint32_t most)
{
    const uint32_t kept = g->kept.count;
    if (g->always) return false;
    if (gather_keep_addends(g, k)) {
        sum_costs(g);
        if (g->programs[k].walking <= g->programs[k].adding && kept_by(g, program) <= most) {
            gather_addends_pay(g, kept);
            return true;
        }
    }
    gather_keep_less(g, kept);
    sum_costs(g);
    return false;
}

// Drops the program.  What others add is kept in vain then: something adds atomically.
static void drop(gather *g, uint32_t k, const char *why)
{
    for (uint32_t j = 0; j < g->site_count; j++) {
        if (g->sites[j].program != k + 1) continue;
        g->sites[j].gathered = false;
        g->sites[j].why = why;
    }
    if (g->addends) gather_keep_less(g, g->addends - 1);
    g->addends = 0;
}

// A shader's derivative is best one module, which is launched as the shader is.  Once another
// program of it pays, that it is not, and each lane's addition has its price: are there such?
static bool price_lanes(gather *g, uint32_t k)
{
    bool other = false, any = false;
    for (uint32_t j = 0; j < g->program_count; j++)
        other |= j != k && g->programs[j].sites && g->programs[j].walking <= g->programs[j].adding;
    for (uint32_t j = 0; other && g->r->shader && j < g->site_count; j++) {
        gather_site *site = &g->sites[j];
        const double w = gather_repeated(g, site->id, VY_PRICE_ADD_SPREAD, 0, NULL);
        if (site->program != k + 1 || w <= site->adding) continue;
        site->adding = w;
        any = true;
    }
    return any;
}

// -------------------------------------------------------------------------------------- what drops
bool gather_drop_expensive(gather *g)
{
    enum { TOO_MUCH = 64 }; // times the whole, where sums have to have an order
    // Kept values are computed as before.
    double whole = whole_cost(g), saved = nothing_stays(g) && !g->kept.count ? whole : 0;
    // Without atomics sums have an order, and loops no obstacle.
    double worth = saved > 0 ? 1.25 : 1;
    bool any = false;
    g->walked = false;
    sum_costs(g);
    for (uint32_t k = 0; k < g->program_count && !g->failed; k++) {
        const gather_program *q = &g->programs[k];
        double limit = g->always ? TOO_MUCH * whole : worth * (q->adding + saved);
        if (!q->sites || !is_expensive(g, k, limit)) continue;
        any = true;
        if (price_lanes(g, k)) continue;
        if (!pays_if_kept(g, k, 0, MOST_KEPT)) drop(g, k, "would cost more to gather than to add");
    }
    return any;
}

bool gather_drop_wide(gather *g)
{
    uint32_t widest = 0, most = 0;
    if (g->always || g->kept.count <= MOST_KEPT || kept_by(g, 0) <= MOST_KEPT) return false;
    for (uint32_t k = 1; k <= g->program_count; k++) {
        const uint32_t n = g->programs[k - 1].sites ? kept_by(g, k) : 0;
        if (n > most) widest = k, most = n;
    }
    // Others may need fewer then, one after the other.
    if (widest && !pays_if_kept(g, widest - 1, widest, most - 1))
        drop(g, widest - 1, "needs more values kept than a device binds buffers");
    return widest != 0;
}
