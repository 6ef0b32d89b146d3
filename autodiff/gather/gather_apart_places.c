// SPDX-License-Identifier: MIT
// gather_apart_places.c: do all accesses of an adjoint name different elements?
//
//   v = load adj_y[y * w + x], store it 0;   u = load adj_y[y * w + x + 1], store it 0
//
// Accesses at one index in the same arms and loops are one place.  What an invocation has at
// different places, and in different iterations at one, are to be different elements.  isl is asked
// with the rows that gather_assume.c makes under conditions of the launch.  Other invocations do
// not matter: accesses are those of the primal's stores, which would be a race.
#include "autodiff/gather/gather_apart.h"
#include "ir/core/access.h"
#include "ir/core/flow.h"

enum { MOST_ACCESSES = 512, MOST_PLACES = 64 }; // compared in pairs

// ----------------------------------------------------------------------------------- which buffers
static bool is_zero(const vy_program *p, uint32_t id)
{
    const vy_scalar *c = vy_id_const(p, id);
    const vy_type t = vy_id_type(p, id);
    return c && (vy_type_is_float(t) ? c->f == 0 : c->u == 0);
}

// Is it an adjoint that begins as the caller's cotangent, or the bits of what has one?
static bool is_adjoint(const vy_buf *b)
{
    return b->workspace && vy_is_global(b->cls) && !b->view_of &&
           (b->init == VY_INIT_ONES || b->init == VY_INIT_COPY);
}

// Marks the adjoints of which elements are only loaded and cleared.
static bool mark(const gather *g, gather_apart *x)
{
    const vy_program *p = g->r;
    bool any = false;
    for (uint32_t i = 1; i < p->buffers.count; i++) x->cleared[i] = is_adjoint(&p->buffers.data[i]);
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (!vy_op_is_memory((vy_op)i->op) || !x->cleared[i->aux]) continue;
        const bool clears = i->op == VY_OP_STORE && is_zero(p, vy_arg(p, id, i->nargs - 1u));
        x->cleared[i->aux] = clears || i->op == VY_OP_LOAD;
    }
    for (uint32_t i = 1; i < p->buffers.count; i++) any |= x->cleared[i];
    return any;
}

static bool is_of(const gather_apart *x, const vy_program *p, uint32_t id)
{
    return vy_op_is_memory((vy_op)p->insts.data[id].op) && x->cleared[p->insts.data[id].aux];
}

// The axes on which all accesses of a buffer have constants: components of vectors.
static void find_skipped(const gather *g, gather_apart *x)
{
    const vy_program *p = g->r;
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        const uint32_t rank = p->buffers.data[i].rank;
        x->skip[i] = rank < 32 ? (1u << rank) - 1 : 0;
        x->skip[i] &= ~1u;
    }
    for (uint32_t id = 1; id < p->insts.count; id++)
        for (uint32_t k = 0; is_of(x, p, id) && k < vy_rank_of(p, id) && k < 32; k++)
            if (!vy_id_const(p, vy_arg(p, id, k))) x->skip[p->insts.data[id].aux] &= ~(1u << k);
}

// -------------------------------------------------------------------------------------- the places
// Have both the same index, but for the axes in `skip`, in the same arms and loops?
static bool is_at(const gather *g, uint32_t x, uint32_t y, uint32_t skip)
{
    bool same = gather_is_beside(g, x, y) && vy_rank_of(g->r, x) == vy_rank_of(g->r, y);
    for (uint32_t k = 0; k < vy_rank_of(g->r, x) && same; k++)
        same = (k < 32 && skip >> k & 1) || vy_arg(g->r, x, k) == vy_arg(g->r, y, k);
    return same;
}

// Is the element that `load` has cleared behind it, at the same place, and not before?
static bool is_cleared_behind(const gather *g, uint32_t load, uint32_t skip)
{
    const vy_program *p = g->r;
    bool any = false, before = false;
    for (uint32_t id = g->s.parent[load] + 1; id < p->insts.count && !before; id++) {
        if (p->insts.data[id].op != VY_OP_STORE || p->insts.data[id].aux != p->insts.data[load].aux)
            continue;
        // Constants may be one component as numbers of two types.
        if (!is_at(g, id, load, skip) || vy_different_elements(p, id, load)) continue;
        any |= id > load;
        before = id < load;
    }
    return any && !before;
}

// Adds the places of the buffer; false: it has too many.
static bool add_places(gather *g, const gather_apart *x, uint32_t buffer)
{
    const vy_program *p = g->r;
    const uint32_t first = g->site_count;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        uint32_t k = first;
        if (!is_of(x, p, id) || p->insts.data[id].aux != buffer) continue;
        if (p->insts.data[id].op == VY_OP_LOAD && !is_cleared_behind(g, id, x->skip[buffer]))
            return false;
        while (k < g->site_count && !is_at(g, g->sites[k].id, id, x->skip[buffer])) k++;
        if (k < g->site_count) continue;
        if (k - first == MOST_PLACES) return false;
        g->sites[g->site_count++] = (gather_site){.id = id, .access = {.buffer = buffer}};
    }
    return true;
}

static bool has_same_shape(const vy_program *p, uint32_t x, uint32_t y)
{
    const vy_buf *a = &p->buffers.data[x], *b = &p->buffers.data[y];
    bool same = a->rank == b->rank;
    for (uint32_t k = 0; k < a->rank && same; k++) same = vy_equal_dims(p, a->dims[k], b->dims[k]);
    return same;
}

// Are all places of the buffer, which are the last ones, also those of one before it?  Then that is
// all there is to prove.
static bool is_beside_another(gather *g, const gather_apart *x, uint32_t buffer)
{
    const vy_program *p = g->r;
    uint32_t first = g->site_count;
    while (first && g->sites[first - 1].access.buffer == buffer) first--;
    for (uint32_t other = 1; other < buffer; other++) {
        bool all = x->cleared[other] && x->skip[other] == x->skip[buffer] &&
                   has_same_shape(p, other, buffer);
        for (uint32_t k = first; k < g->site_count && all; k++) {
            all = false;
            for (uint32_t j = 0; j < first && !all; j++)
                all = g->sites[j].access.buffer == other &&
                      is_at(g, g->sites[j].id, g->sites[k].id, x->skip[buffer]);
        }
        if (all) {
            g->site_count = first;
            return true;
        }
    }
    return false;
}

// Makes the places of all buffers; where one has none that are of use, nothing is known of it.
static bool make_places(gather *g, gather_apart *x)
{
    const vy_program *p = g->r;
    uint32_t n = 0;
    for (uint32_t id = 1; id < p->insts.count; id++) n += is_of(x, p, id);
    g->sites = vy_arena_alloc(&g->arena, (n + 1) * sizeof *g->sites);
    g->failed |= !g->sites;
    for (uint32_t i = 1; i < p->buffers.count && !g->failed; i++) {
        const uint32_t first = g->site_count;
        if (!x->cleared[i]) continue;
        x->cleared[i] = n <= MOST_ACCESSES && add_places(g, x, i) && g->site_count > first;
        if (!x->cleared[i])
            g->site_count = first;
        else
            is_beside_another(g, x, i);
    }
    return !g->failed;
}

bool gather_find_cleared(gather *g, gather_apart *x)
{
    x->cleared = vy_arena_alloc(&g->arena, g->r->buffers.count);
    x->skip = vy_arena_alloc(&g->arena, g->r->buffers.count * sizeof *x->skip);
    g->failed |= !x->cleared || !x->skip;
    if (g->failed || !mark(g, x)) return false;
    find_skipped(g, x);
    return make_places(g, x) && g->site_count;
}

bool gather_find_places(gather *g, bool *vain)
{
    const bool ok = make_places(g, gather_apart_of(g));
    *vain = ok && !g->site_count;
    return ok;
}

bool gather_find_places_again(gather *g) { return make_places(g, gather_apart_of(g)); }

// ------------------------------------------------------------------------------------------- proof
// { iteration → invocation, element }: is it injective?
static bool is_once(isl_map *all, uint32_t overs, uint32_t loops)
{
    isl_map *invocation = vy_isl_set_identity(vy_isl_map_domain(isl_map_copy(all)));
    invocation = vy_isl_map_project_out(invocation, isl_dim_out, overs, loops);
    isl_map *both = vy_isl_map_flat_range_product(invocation, isl_map_copy(all));
    const bool once = vy_isl_map_is_injective(both) == isl_bool_true;
    isl_map_free(both);
    return once;
}

// { invocation → elements } of place k, if each iteration has another one.  NULL: sites[k].why.
static isl_map *elements_of(gather *g, uint32_t k, uint32_t skip)
{
    gather_site *site = &g->sites[k];
    vy_access_free(&site->access);
    isl_map *m = gather_elements(g, site, skip, true);
    if (!m) return NULL;
    const uint32_t overs = site->access.nest.overs, loops = site->access.nest.count - overs;
    site->why = "may be to one element in several iterations";
    if (site->access.nest.inner || (loops && !is_once(m, overs, loops))) {
        isl_map_free(m);
        return NULL;
    }
    return vy_isl_map_project_out(m, isl_dim_in, overs, loops);
}

// Are the elements of the buffer's places apart, if those that differ on the axes in `skip` alone
// are taken for one?
static bool are_apart(gather *g, uint32_t buffer, uint32_t skip)
{
    isl_map *all = NULL;
    const gather_site *first = NULL;
    bool ok = true;
    for (uint32_t k = 0; k < g->site_count && ok; k++) {
        gather_site *site = &g->sites[k];
        if (site->access.buffer != buffer) continue;
        isl_map *m = elements_of(g, k, skip);
        if (!first) first = site;
        ok = m && gather_same_axes(&first->access, &site->access);
        ok = ok && (!all || vy_isl_map_is_disjoint(all, m) == isl_bool_true);
        all = all && ok ? vy_isl_map_union(all, m) : all ? (isl_map_free(m), all) : m;
    }
    isl_map_free(all);
    g->failed |= g->a.failed;
    return ok && !g->failed;
}

bool gather_places_apart(gather *g)
{
    const gather_apart *x = gather_apart_of(g);
    vy_affine_begin_round(&g->a);
    for (uint32_t i = 1; i < g->r->buffers.count && !g->failed; i++) {
        bool any = false;
        for (uint32_t k = 0; k < g->site_count; k++) any |= g->sites[k].access.buffer == i;
        if (any && !are_apart(g, i, x->skip[i])) return false;
    }
    return !g->failed;
}
