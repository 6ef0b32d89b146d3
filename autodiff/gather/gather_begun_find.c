// SPDX-License-Identifier: MIT
// gather_begun_find.c: which buffers are loaded as they began (gather_begun.c), and the proof.
#include "autodiff/gather/gather_begun.h"
#include "ir/core/access.h"
#include "ir/core/flow.h"

#include <string.h>

enum { MOST_STORES = 256 }; // with which a load is compared: components, elements of a tile

typedef struct finding {
    uint32_t *last;   // by buffer: the last store so far, or 0
    uint32_t *before; // by store: the one before it to its buffer, or 0
} finding;

// ------------------------------------------------------------------------------------------ places
// Are the indices the same but for constants, which may be other components?
static bool is_same_place(const gather *g, uint32_t x, uint32_t y)
{
    bool same = gather_is_beside(g, x, y);
    for (uint32_t k = 0; same && k < vy_rank_of(g->r, x); k++) {
        const uint32_t a = vy_arg(g->r, x, k), b = vy_arg(g->r, y, k);
        same = a == b || (vy_id_const(g->r, a) && vy_id_const(g->r, b));
    }
    return same;
}

static bool is_same_element(const gather *g, uint32_t x, uint32_t y)
{
    bool same = true;
    for (uint32_t k = 0; same && k < vy_rank_of(g->r, x); k++) {
        const vy_scalar *a = vy_id_const(g->r, vy_arg(g->r, x, k)),
                        *b = vy_id_const(g->r, vy_arg(g->r, y, k));
        same = !a || !b || a->u == b->u;
    }
    return same;
}

// Is access `id` a load before all stores to its element, or a store?
static bool fits(const gather *g, const finding *f, const gather_begun *x, uint32_t id)
{
    const vy_inst *i = &g->r->insts.data[id];
    if (i->op != VY_OP_LOAD && i->op != VY_OP_STORE) return false;
    if (!is_same_place(g, x->place, id)) return false;
    uint32_t steps = 0;
    for (uint32_t k = i->op == VY_OP_LOAD ? f->last[i->aux] : 0; k; k = f->before[k])
        if (is_same_element(g, k, id) || ++steps > MOST_STORES) return false;
    return true;
}

static void add_store(finding *f, const vy_inst *i, uint32_t id)
{
    if (i->op != VY_OP_STORE) return;
    f->before[id] = f->last[i->aux];
    f->last[i->aux] = id;
}

// How many buffers there are whose places may be such.
static uint32_t find_places(gather *g)
{
    const vy_program *p = g->r;
    uint32_t n = 0;
    finding f = {.last = vy_arena_alloc(&g->arena, p->buffers.count * sizeof *f.last),
                 .before = vy_arena_alloc(&g->arena, p->insts.count * sizeof *f.before)};
    g->failed |= !f.last || !f.before;
    for (uint32_t id = 1; id < p->insts.count && !g->failed; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (!vy_op_is_memory((vy_op)i->op) || !gather_start_of(g, i->aux).init) continue;
        gather_begun *x = &g->begun[i->aux];
        if (!x->place && !x->others) x->place = id, n++;
        const bool fit = x->place && fits(g, &f, x, id);
        add_store(&f, i, id);
        if (!x->place || fit) continue;
        x->place = 0;
        x->others = true;
        n--;
    }
    return n;
}

// ------------------------------------------------------------------------------------------- proof
static bool take(gather *g, gather_begun *x, const vy_assumption *within, const char *condition)
{
    if (!condition) return true;
    x->within[x->count] = *within;
    x->condition[x->count] = vy_arena_strdup(&g->arena, condition, strlen(condition));
    g->failed |= !x->condition[x->count];
    x->count++;
    return !g->failed;
}

static void take_rows(gather *g, gather_begun *x, const vy_affine_rows *r)
{
    x->holds = r->holds;
    for (uint32_t k = 0; k < r->signs; k++)
        if (!take(g, x, &r->sign[k].natural, r->sign[k].condition)) return;
    for (uint32_t k = 0; k < r->axes; k++)
        if (!take(g, x, &r->axis[k].within, r->axis[k].condition)) return;
}

static bool is_own_of_iterations(gather *second, gather_site *site)
{
    vy_affine_access *x = &site->access;
    vy_affine_reset(&second->a);
    if (vy_affine_spent(&second->a) || !vy_access_make(x, &second->a, site->id, UINT32_MAX) ||
        x->nest.inner)
        return false;
    for (uint32_t k = 0; k < x->rank; k++)
        if (!x->index[k]) return false;
    isl_map *m = vy_access_map(x, UINT32_MAX);
    const bool is = m && vy_isl_map_is_injective(m) == isl_bool_true;
    isl_map_free(m);
    return is;
}

bool gather_find_begun(gather *g)
{
    const uint32_t buffers = g->r->buffers.count;
    g->begun = vy_arena_alloc(&g->arena, buffers * sizeof *g->begun);
    if (!g->begun) return false;
    const uint32_t n = find_places(g);
    if (!n) return !g->failed;
    gather second = *g->begin;
    second.begin = g->begin;
    second.split = g->split;
    second.calm = g->calm;
    second.affine = true;
    bool ok = gather_make_tables(&second);
    second.sites = ok ? vy_arena_alloc(&second.arena, n * sizeof *second.sites) : NULL;
    ok = ok && second.sites;
    for (uint32_t i = 1; ok && i < buffers; i++)
        if (g->begun[i].place)
            second.sites[second.site_count++] =
                (gather_site){.id = g->begun[i].place, .access = {.buffer = i}};
    ok = ok && gather_begin(&second, g->source);
    if (ok) vy_affine_begin_round(&second.a);
    for (uint32_t k = 0; ok && k < second.site_count; k++) {
        gather_site *site = &second.sites[k];
        gather_begun *x = &g->begun[site->access.buffer];
        x->proved = is_own_of_iterations(&second, site);
        if (x->proved && site->access.rows) take_rows(g, x, site->access.rows);
    }
    return gather_clean_up(&second) && ok && !second.failed && !g->failed;
}
