// SPDX-License-Identifier: MIT
// gather_find.c: the additions that a gather may have, and which of them happen at the same points.
//
// One pass over the program finds them.  What follows queries isl for each and compares each with
// each, so their number is limited: 512 places are more than fully unrolled stencils and
// convolutions have, and take isl about a second.  A buffer whose additions no longer fit is added
// to atomically.
#include "autodiff/gather/gather_build.h"
#include "ir/facts/addition.h"

#include <isl/map.h>
#include <string.h>

enum {
    MOST_SITES = 512,
    MAX_WORK = 1 << 25,        // places × instructions
    MOST_COMPARED_CLASSES = 48 // up to this many, isl compares maps of different form, too
};

// What all accesses to a buffer have in common.
typedef struct finding {
    gather *g;
    vy_addition_facts added;
    uint32_t *axes;  // by buffer and domain variable: axes indexed by it in every addition
    uint32_t *count; // by buffer: additions
} finding;

static bool is_kind(const gather *g, const vy_buf *b)
{
    const bool result =
        g->gradients ? vy_is_global(b->cls) && vy_is_gradient(b->role.kind) : b->cls == VY_OUT;
    return result && !b->workspace && !b->view_of && vy_type_is_float(b->type);
}

static void see_addition(finding *f, uint32_t id, uint32_t *here)
{
    const vy_program *p = f->g->r;
    const vy_inst *i = &p->insts.data[id];
    uint32_t overs = p->overs.count, *axes = f->axes + (size_t)i->aux * overs;
    memset(here, 0, overs * sizeof *here);
    for (uint32_t k = 0; k < p->buffers.data[i->aux].rank; k++) {
        uint32_t a = vy_arg(p, id, k);
        const vy_leaf *l = VY_IS_LEAF(a) ? &p->leaves.data[VY_LEAF_INDEX(a)] : NULL;
        if (l && l->kind == VY_LEAF_OVER) here[l->index] |= 1u << k;
    }
    for (uint32_t v = 0; v < overs; v++) axes[v] = f->count[i->aux] ? axes[v] & here[v] : here[v];
    f->count[i->aux]++;
}

static bool see(finding *f)
{
    const vy_program *p = f->g->r;
    vy_arena *arena = &f->g->arena;
    uint32_t overs = p->overs.count;
    uint32_t *here = vy_arena_alloc(arena, overs * sizeof *here);
    f->axes = vy_arena_alloc(arena, ((size_t)p->buffers.count * overs + 1) * sizeof *f->axes);
    f->count = vy_arena_alloc(arena, p->buffers.count * sizeof *f->count);
    if (!here || !f->axes || !f->count) return false;
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (p->insts.data[id].op == VY_OP_ATOMIC_ADD) see_addition(f, id, here);
    return vy_addition_facts_make(&f->added, p, NULL, arena);
}

// Different invocations name different elements, whatever else they do: see
// ir/pass/sums/mark_owned.c.
static bool is_owned(const finding *f, uint32_t buffer)
{
    uint32_t overs = f->g->r->overs.count;
    for (uint32_t v = 0; v < overs; v++)
        if (!f->axes[(size_t)buffer * overs + v]) return false;
    return true;
}

// Finds for each buffer the axes on which all its places have constants.
static void find_fixed(gather *g)
{
    for (uint32_t k = 0; k < g->site_count; k++) {
        uint32_t buffer = g->sites[k].access.buffer, rank = g->r->buffers.data[buffer].rank;
        for (uint32_t j = 0; j < rank; j++)
            if (!vy_id_const(g->r, vy_arg(g->r, g->sites[k].id, j))) g->fixed[buffer] &= ~(1u << j);
    }
}

static uint32_t all_axes(const gather *g, uint32_t buffer)
{
    uint32_t rank = g->r->buffers.data[buffer].rank;
    return rank == 32 ? UINT32_MAX : (1u << rank) - 1;
}

bool gather_find(gather *g)
{
    const vy_program *p = g->r;
    finding f = {.g = g};
    g->left = vy_arena_alloc(&g->arena, p->buffers.count * sizeof *g->left);
    g->fixed = vy_arena_alloc(&g->arena, p->buffers.count * sizeof *g->fixed);
    if (!g->left || !g->fixed || !see(&f)) return false;
    uint32_t room = MAX_WORK / p->insts.count, n = 0;
    if (room > MOST_SITES) room = MOST_SITES;
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        bool is = f.count[i] && is_kind(g, &p->buffers.data[i]) && !is_owned(&f, i) &&
                  vy_only_added_ever(&f.added, i);
        if (is && f.count[i] > room - n) g->left[i] = f.count[i];
        if (!is || g->left[i]) f.count[i] = 0;
        n += f.count[i];
        g->fixed[i] = all_axes(g, i);
    }
    g->sites = vy_arena_alloc(&g->arena, (n + 1) * sizeof *g->sites);
    g->classes = vy_arena_alloc(&g->arena, (n + 1) * sizeof *g->classes);
    if (!g->sites || !g->classes) return false;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (i->op != VY_OP_ATOMIC_ADD || !f.count[i->aux]) continue;
        g->sites[g->site_count].id = id;
        g->sites[g->site_count++].access.buffer = i->aux;
    }
    find_fixed(g);
    for (uint32_t i = 1; i < p->buffers.count; i++)
        if (g->fixed[i] == all_axes(g, i) && !gather_has_cells(g, i)) g->fixed[i] = 0;
    return true;
}

// ----------------------------------------------------------------------------------------- classes
bool gather_same_extents(const gather *g, const gather_site *x, const gather_site *y)
{
    uint32_t a = 0, b = 0;
    if (x->access.strided != y->access.strided) return false;
    if (x->access.rows != y->access.rows) return false;
    for (;; a++, b++) {
        while (a < x->access.rank && !(x->axes >> a & 1)) a++;
        while (b < y->access.rank && !(y->axes >> b & 1)) b++;
        if (a == x->access.rank || b == y->access.rank)
            return a == x->access.rank && b == y->access.rank;
        vy_extent e = g->a.facts.form[x->access.dim[a].id],
                  f = g->a.facts.form[y->access.dim[b].id];
        if (e.base != f.base || e.offset != f.offset) return false;
    }
}

static bool comparable(const gather *g, const gather_site *x, const gather_site *y)
{
    const vy_nest *n = &x->access.nest, *m = &y->access.nest;
    if (x->single != y->single || n->count != m->count) return false;
    if (!vy_same_clamps(x->clamps, y->clamps, x->axes)) return false;
    for (uint32_t j = 0; j < n->count; j++)
        if (n->loop[j] != m->loop[j]) return false;
    return gather_same_extents(g, x, y);
}

// Most equal maps have the same form, and the same hash.  While classes are few, isl compares the
// others too.
void gather_classify(gather *g, gather_site *site)
{
    site->hash = isl_map_get_hash(site->map);
    for (uint32_t c = 0; c < g->class_count; c++) {
        const gather_site *x = g->classes[c];
        site->points = c;
        if (x->hash == site->hash && comparable(g, x, site) &&
            vy_isl_map_plain_is_equal(x->map, site->map) == isl_bool_true)
            return;
    }
    for (uint32_t c = 0; c < g->class_count && g->class_count <= MOST_COMPARED_CLASSES; c++) {
        const gather_site *x = g->classes[c];
        site->points = c;
        if (comparable(g, x, site) && vy_isl_map_is_equal(x->map, site->map) == isl_bool_true)
            return;
    }
    site->points = g->class_count;
    g->classes[g->class_count++] = site;
}

bool gather_has_additions(const vy_program *p)
{
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (p->insts.data[id].op == VY_OP_ATOMIC_ADD) return true;
    return false;
}
