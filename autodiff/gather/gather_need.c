// SPDX-License-Identifier: MIT
// gather_need.c: the backward slice of an addition's operands.
//
//   over(i) for j { s = Σ_k q[i,k] · w[j,k];  atomic_add(g[j], s · adj) }
//
// A gather knows the domain variables and the counters of the loops around the addition.  From
// these it recomputes the value: arithmetic, loads of memory that has its final contents, whole
// inner loops.  It cannot recompute what a loop around the addition carries, nor load what was in
// memory that changed later: the reverse program keeps such values (`kept_…`, one element per
// iteration and invocation).  A local array that has its final contents there (a row of adjoints)
// is kept whole, once for each invocation.
#include "autodiff/gather/gather_build.h"
#include "autodiff/gather/gather_slice.h"

#include "ir/build/edit.h"
#include "ir/core/flow.h"
#include "ir/facts/price.h"

#include <string.h>

typedef struct needing {
    gather *g;
    gather_site *site;
    uint32_t *stack;
    uint32_t count;
    bool lacks; // a leaf that is not known at a point
} needing;

// ------------------------------------------------------------------------------------------- costs
double gather_weight(const gather *g, uint32_t id)
{
    return vy_price_of((vy_op)g->r->insts.data[id].op)->again;
}

// ------------------------------------------------------------------------------------------- marks
static void demand(needing *n, uint32_t id)
{
    if (VY_IS_LEAF(id)) {
        n->lacks |= !gather_has_leaf(n->g, id);
        return;
    }
    if (gather_slice_has(n->site->need, id)) return;
    gather_slice_add(n->site->need, id);
    n->stack[n->count++] = id;
}

static void demand_args(needing *n, uint32_t id)
{
    for (uint32_t k = 0; k < n->g->r->insts.data[id].nargs; k++) demand(n, vy_arg(n->g->r, id, k));
}

// Is `loop` in the nest?
static bool is_level(const gather_site *site, uint32_t loop)
{
    const vy_nest *n = &site->access.nest;
    for (uint32_t k = n->overs; k < n->count; k++)
        if (n->loop[k] == loop) return true;
    return false;
}

static void demand_bounds(needing *n, uint32_t opener)
{
    const vy_program *p = n->g->r;
    const vy_structure *s = &n->g->s;
    uint32_t deciders[4], count = vy_deciders(p, s, opener, deciders);
    demand(n, opener);
    for (uint32_t k = 0; k < count; k++) demand(n, deciders[k]);
}

// Value k that a construct carries or yields.
static void demand_slot(needing *n, uint32_t opener, uint32_t k)
{
    const vy_program *p = n->g->r;
    const vy_structure *s = &n->g->s;
    uint32_t result = vy_result(p, s, opener, k), sources[3];
    uint32_t count = vy_slot_sources(p, s, result, sources);
    bool loop = vy_is_loop((vy_op)p->insts.data[opener].op);
    demand(n, result);
    if (loop)
        demand(n, vy_carry(opener, k));
    else
        demand_bounds(n, opener);
    for (uint32_t j = 0; j < count; j++) demand(n, sources[j]);
    if (loop) demand_bounds(n, opener);
}

// Has the memory that `load` reads its final contents there?
static bool is_final(const gather *g, uint32_t load)
{
    uint32_t buffer = g->r->insts.data[load].aux, from = g->outer[load] ? g->outer[load] : load;
    if (!vy_is_global(g->r->buffers.data[buffer].cls)) return false;
    return g->last_write[buffer] < from;
}

// Memory that the reverse program fills, of a shape that no other stage can have as a parameter?
static bool is_hidden(const gather *g, uint32_t buffer)
{
    const vy_buf *b = &g->r->buffers.data[buffer];
    bool open = false;
    for (uint32_t k = 0; k < b->rank; k++) open |= gather_is_open(g->r, b->dims[k].id);
    return b->workspace && g->last_write[buffer] && open;
}

static bool refuse(needing *n, const char *why)
{
    n->site->why = why;
    return false;
}

// What a loop carries is kept as on a tape.  Anything else only if that takes less than one number
// for every point; in one loop it may take that, but not of a tile, which every workgroup that
// reads an element has in shared memory once more.
static bool keep(needing *n, uint32_t id)
{
    uint32_t loops[VY_MAX_RANK], own = gather_loops(n->g, id, loops);
    uint32_t all = gather_loops(n->g, n->site->id, loops);
    const uint32_t most = n->g->meets ? 0 : 1;
    if (own > most && own >= all && n->g->r->insts.data[id].op != VY_OP_CARRY)
        return refuse(n, "would have to store a number for every iteration of its loops");
    if (gather_keep(n->g, id)) return true;
    if (own && n->g->lean)
        return refuse(n, "would have to store a number for every iteration of its loops");
    return refuse(n, "needs a value from inside a loop whose trip count depends on data");
}

// A load is repeated where the memory has its final contents.
static bool visit_load(needing *n, uint32_t id)
{
    gather *g = n->g;
    uint32_t array = gather_array_at(g, id);
    if (array && gather_keep(g, array)) {
        demand(n, array);
        demand_args(n, id);
        return true;
    }
    if (!is_final(g, id)) {
        const uint32_t buffer = g->r->insts.data[id].aux;
        if (gather_is_begun(g, buffer)) {
            // Of a version, which has conditions: a number for each invocation needs none.
            if (g->start_count && !g->outer[id] && gather_keep(g, id)) return true;
            demand_args(n, id);
            return true;
        }
        n->site->wraps |= gather_may_be_begun(g, buffer);
        return keep(n, id);
    }
    if (is_hidden(g, g->r->insts.data[id].aux))
        return refuse(n, "needs a tape as long as a buffer of open length");
    demand_args(n, id);
    return true;
}

// Markers, and what they carry and yield.
static bool visit_marker(needing *n, uint32_t id)
{
    gather *g = n->g;
    const vy_inst *i = &g->r->insts.data[id];
    uint32_t opener;
    switch ((vy_op)i->op) {
    case VY_OP_LOOP:
        if (!is_level(n->site, id)) demand_bounds(n, id);
        return true;
    case VY_OP_CARRY:
        opener = vy_arg(g->r, id, 0);
        if (is_level(n->site, opener)) return keep(n, id);
        demand_slot(n, opener, i->aux);
        return true;
    case VY_OP_RESULT: demand_slot(n, vy_opener(g->r, &g->s, id), i->aux); return true;
    case VY_OP_IF:
    case VY_OP_WHILE:
    case VY_OP_CHECKPOINT: return true; // demanded with their slots
    default: return refuse(n, "needs a value that cannot be recomputed");
    }
}

// Does the value depend on a built-in that only its own invocation has?
static bool is_local(const needing *n, uint32_t id)
{
    bool local = false;
    for (uint32_t k = 0; k < n->g->r->insts.data[id].nargs; k++) {
        uint32_t a = vy_arg(n->g->r, id, k);
        local |= VY_IS_LEAF(a) && !gather_has_leaf(n->g, a);
    }
    return local;
}

// Every operation has one of these effects (ir/core/ops.h); what is copied depends on its operands
// alone, or on memory.
static bool visit(needing *n, uint32_t id)
{
    gather *g = n->g;
    const vy_op op = (vy_op)g->r->insts.data[id].op;
    if (g->keep[id]) return true;
    switch (vy_op_infos[op].effect) {
    case VY_PURE:
        if (is_local(n, id)) return keep(n, id);
        demand_args(n, id);
        return true;
    case VY_READ: return op == VY_OP_LOAD && !is_local(n, id) ? visit_load(n, id) : keep(n, id);
    case VY_WRITE: // an atomic's old value
    case VY_CONV: return keep(n, id);
    case VY_CTRL: return visit_marker(n, id);
    }
    return false;
}

// Constructs around the site that are copied, not implied by the point.
static void demand_around(needing *n)
{
    const vy_nest *nest = &n->site->access.nest;
    const vy_program *p = n->g->r;
    for (uint32_t k = 0; k < nest->inexact_count; k++) {
        uint32_t opener = nest->inexact[k];
        if (p->insts.data[opener].op == VY_OP_IF)
            demand(n, vy_arg(p, opener, 0));
        else
            demand_bounds(n, opener);
    }
}

// What a kept value costs for each point: a load from memory and, if there is one for every point,
// a store.
static double kept_cost(const gather *g, const gather_site *site, uint32_t id)
{
    const double read = vy_prices[VY_WORK_LOAD].again;
    uint32_t loops[VY_MAX_RANK];
    if (gather_array(g, id)) return 0; // its loads are counted
    const vy_nest *n = &site->access.nest;
    return gather_loops(g, id, loops) < n->count - n->overs ? read : read + VY_PRICE_KEPT_WRITE;
}

double gather_repeated(const gather *g, uint32_t id, double w, uint32_t outermost,
                       const gather_site *site)
{
    for (uint32_t up = g->s.parent[id]; up && up >= outermost && w > 0; up = g->s.parent[up])
        if (vy_is_loop((vy_op)g->r->insts.data[up].op) && !(site && is_level(site, up)))
            w *= vy_expected_trips(g->r, up);
    return w;
}

double gather_cost(const gather *g, const gather_site *site, uint64_t *counted)
{
    const uint32_t all = g->r->insts.count;
    double sum = 0;
    for (uint32_t id = 0; (id = gather_slice_next(site->need, counted, id, all)) < all;) {
        gather_slice_add(counted, id);
        double w = g->keep[id] ? kept_cost(g, site, id) : gather_weight(g, id);
        sum += gather_repeated(g, id, w, 0, site);
    }
    return sum;
}

bool gather_need(gather *g, gather_site *site)
{
    const vy_program *p = g->r;
    g->walked = false;
    gather_slice_clear(site->need, p->insts.count);
    needing n = {.g = g, .site = site};
    n.stack = vy_realloc(NULL, (size_t)p->insts.count * sizeof *n.stack);
    if (!n.stack) {
        g->failed = true;
        return false;
    }
    uint32_t rank = p->buffers.data[p->insts.data[site->id].aux].rank;
    demand(&n, vy_arg(p, site->id, rank));
    for (uint32_t k = 0; k < rank && !site->single; k++) demand(&n, vy_arg(p, site->id, k));
    demand_around(&n);
    bool ok = true;
    while (n.count && ok) ok = visit(&n, n.stack[--n.count]);
    vy_free(n.stack);
    if (ok && n.lacks) ok = refuse(&n, "needs a lane or subgroup of the device");
    return ok && !g->failed;
}
