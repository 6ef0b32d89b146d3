// SPDX-License-Identifier: MIT
// gather_vain.c: may additions be to elements of one invocation each?  What can be said of that
// without isl, and which places isl has to be asked about (gather_own.c).
//
// Of a buffer that is only added to the places are its additions.  Of one that is read and stored
// to as well, as are the adjoint of a shared array and the gradient of what a program updates in
// place, they are all accesses.
#include "autodiff/facts/facts.h"
#include "autodiff/gather/gather_owning.h"
#include "ir/core/access.h"
#include "ir/core/flow.h"

#include <string.h>

enum { MOST_PLACES = 64 }; // of one buffer: unions of many maps are slow

// ------------------------------------------------------------------------------------- dependences
// What distinguishes invocations, and what each instruction depends on of that.
typedef struct telling {
    const gather *g;
    bool most;    // what loops carry and branches choose depends on all
    bool groups;  // those of one workgroup are taken for one
    uint32_t *on; // by instruction: domain variables, as bits
} telling;

// The variables along which a workgroup has several invocations, as bits.
static uint32_t lanes_of(const vy_program *p)
{
    const uint32_t n = p->overs.count;
    uint32_t bits = 0;
    for (uint32_t axis = 0; axis < 3; axis++)
        if (p->workgroup[axis] > 1) bits |= axis < n ? 1u << (n - 1 - axis) : UINT32_MAX;
    return n > 3 ? UINT32_MAX : bits;
}

// The domain variables that a leaf may depend on, as bits.
static uint32_t variables_of(const telling *t, uint32_t id)
{
    const vy_program *p = t->g->r;
    const vy_leaf *l = &p->leaves.data[VY_LEAF_INDEX(id)];
    const uint32_t n = p->overs.count, axis = l->axis;
    if (l->kind == VY_LEAF_OVER) return 1u << l->index;
    if (l->kind != VY_LEAF_BUILTIN) return 0;
    if (l->index == VY_NUM_GROUPS || (t->groups && l->index == VY_LID)) return 0;
    if (l->index != VY_GID && l->index != VY_LID && l->index != VY_WID) return lanes_of(p);
    return axis < n && (axis < 2 || n == 3) ? 1u << (n - 1 - axis) : axis < n ? UINT32_MAX : 0;
}

static uint32_t operands_of(const telling *t, uint32_t id, uint32_t count)
{
    const vy_program *p = t->g->r;
    uint32_t bits = 0;
    for (uint32_t k = 0; k < count; k++) {
        const uint32_t a = vy_arg(p, id, k);
        bits |= VY_IS_LEAF(a) ? variables_of(t, a) : t->on[a];
    }
    return bits;
}

static uint32_t slot_of(const telling *t, uint32_t id)
{
    const gather *g = t->g;
    uint32_t arm[3];
    if (t->most) return UINT32_MAX;
    const uint32_t opener = vy_choice(g->r, &g->s, id, &arm[1], &arm[2]);
    uint32_t bits = opener ? operands_of(t, opener, 1) : 0;
    for (uint32_t k = 1; k < 3 && opener; k++)
        bits |= VY_IS_LEAF(arm[k]) ? variables_of(t, arm[k]) : t->on[arm[k]];
    return bits;
}

// By instruction: the domain variables that its value depends on, of which there may be others if
// loops carry it.
static bool find_dependences(telling *t, vy_arena *arena)
{
    const vy_program *p = t->g->r;
    t->on = vy_arena_alloc(arena, p->insts.count * sizeof *t->on);
    for (uint32_t id = 1; t->on && id < p->insts.count; id++)
        t->on[id] = vy_is_slot((vy_op)p->insts.data[id].op)
                        ? slot_of(t, id)
                        : operands_of(t, id, p->insts.data[id].nargs);
    return t->on != NULL;
}

// May the place be reached by, or be another element in, invocations that differ in these variables
// alone?
static uint32_t may_differ(const telling *t, uint32_t id)
{
    const gather *g = t->g;
    uint32_t bits = operands_of(t, id, vy_rank_of(g->r, id));
    for (uint32_t up = g->s.parent[id]; up; up = g->s.parent[up])
        bits |= t->on[up] | operands_of(t, up, g->r->insts.data[up].nargs);
    return bits;
}

// By buffer: the variables by which invocations differ in its places, as bits.  NULL: memory.
static uint32_t *find_apart(gather *g, bool most, bool groups)
{
    telling t = {.g = g, .most = most, .groups = groups};
    uint32_t *apart = vy_arena_alloc(&g->arena, g->r->buffers.count * sizeof *apart);
    g->failed |= !apart || !find_dependences(&t, &g->arena);
    if (g->failed) return NULL;
    for (uint32_t k = 0; k < g->site_count; k++)
        apart[g->sites[k].access.buffer] |= may_differ(&t, g->sites[k].id);
    return apart;
}

// The variables by which those of different workgroups do in all buffers.
static uint32_t groups_apart(gather *g)
{
    const uint32_t *apart = find_apart(g, false, true);
    uint32_t common = UINT32_MAX;
    for (uint32_t k = 0; apart && k < g->site_count; k++)
        common &= apart[g->sites[k].access.buffer];
    return common;
}

// The variables along which there are several invocations, or (`groups`) workgroups.
static uint32_t several(const vy_program *p, bool groups)
{
    const uint32_t n = p->overs.count;
    uint32_t all = 0;
    if (groups && n > 3) return 0; // of which axes has another order
    for (uint32_t v = 0; v < n; v++) {
        const vy_dim_node *d = &p->dims.data[p->overs.data[v].extent.id];
        const int64_t one = groups ? p->workgroup[n - 1 - v] : 1;
        all |= (uint32_t)(d->op != VY_DIM_CONST || d->value > one) << v;
    }
    return all;
}

// Are there invocations, or (`groups`) those of different workgroups, that share an element of each
// place of a buffer?
static bool shares(gather *g, bool groups)
{
    const uint32_t all = several(g->r, groups), *apart = find_apart(g, true, groups);
    bool any = !apart;
    for (uint32_t k = 0; apart && k < g->site_count; k++) {
        const uint32_t i = g->sites[k].access.buffer;
        if ((apart[i] & all) == all) continue;
        g->owners->why[i] = "is to one element in several invocations";
        any = true;
    }
    return any;
}

// ------------------------------------------------------------------------------------------ places
// An `or` says which cotangents have been seen.
bool gather_can_own(vy_op op) { return op == VY_OP_ATOMIC_ADD || op == VY_OP_ATOMIC_OR; }

static bool is_of(const vy_program *p, uint32_t id, const uint8_t *buffers)
{
    const vy_inst *i = &p->insts.data[id];
    return vy_op_is_memory((vy_op)i->op) && buffers[i->aux];
}

bool gather_add_places(gather *g)
{
    const vy_program *p = g->r;
    uint32_t more = 0;
    for (uint32_t id = 1; id < p->insts.count; id++) more += is_of(p, id, g->owners->placed);
    gather_site *all = vy_arena_alloc(&g->arena, (g->site_count + more + 1) * sizeof *all);
    if (!all) return false;
    memcpy(all, g->sites, g->site_count * sizeof *all);
    g->sites = all;
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (is_of(p, id, g->owners->placed))
            g->sites[g->site_count++] =
                (gather_site){.id = id, .access = {.buffer = p->insts.data[id].aux}};
    return true;
}

// Takes away the places of buffers that need no more proof.
static void drop_places(gather *g, const uint8_t *proved)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < g->site_count; k++) {
        const uint32_t buffer = g->sites[k].access.buffer;
        if (!g->owners->placed[buffer] || !proved[buffer]) g->sites[n++] = g->sites[k];
    }
    g->site_count = n;
    for (uint32_t i = 1; i < g->r->buffers.count; i++) g->owners->placed[i] &= !proved[i];
}

// What keeps atomic `id` atomic in any case; NULL: nothing does.
static const char *stays(const vy_program *p, uint32_t id)
{
    const vy_buf *b = &p->buffers.data[p->insts.data[id].aux];
    return b->type == VY_F16 ? "adds to halves, of which sums are made in 32 bits"
           : !gather_can_own((vy_op)p->insts.data[id].op) ? "is of an atomic that is no addition"
           : b->view_of ? "is to memory that has another name, too"
                        : NULL;
}

// Marks the buffers that are added to, and of those the ones that are not only added to.  False:
// some addition stays atomic in any case.
static bool mark(gather *g)
{
    const vy_program *p = g->r;
    gather_owners *o = g->owners;
    bool all = true;
    o->alone = vy_arena_alloc(&g->arena, p->buffers.count);
    o->placed = vy_arena_alloc(&g->arena, p->buffers.count);
    g->failed |= !o->alone || !o->placed;
    if (g->failed) return false;
    for (uint32_t k = 0; k < g->site_count; k++) o->alone[g->sites[k].access.buffer] = 1;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const uint32_t i = p->insts.data[id].aux;
        if (!vy_op_is_memory((vy_op)p->insts.data[id].op) ||
            !vy_is_global(p->buffers.data[i].cls) || vy_strength_of(p, id) != VY_STRENGTH_ATOMIC)
            continue;
        const char *why = stays(p, id);
        if (why) o->why[i] = why;
        all &= !why;
        if (!o->alone[i]) o->placed[i] = 1;
    }
    for (uint32_t id = 1; id < p->insts.count; id++)
        all &= p->insts.data[id].op != VY_OP_ZERO || !is_of(p, id, o->placed); // all elements
    return all;
}

// Is there no invocation that shares elements in any case?  Of buffers that are not only added to
// that may be plain to see.
static bool prove_plain(gather *g)
{
    const vy_program *p = g->r;
    uint8_t *sites = vy_arena_alloc(&g->arena, p->insts.count);
    uint8_t *proved = vy_arena_alloc(&g->arena, p->buffers.count);
    bool any = false;
    g->failed |= !sites || !proved;
    for (uint32_t id = 1; !g->failed && id < p->insts.count; id++)
        any |= sites[id] = is_of(p, id, g->owners->placed);
    if (!any || g->failed) return !g->failed;
    for (uint32_t i = 1; i < p->buffers.count; i++) g->owners->alone[i] |= g->owners->placed[i];
    g->failed |= !vy_injective(p, &g->s, sites, true, proved);
    if (!g->failed) drop_places(g, proved);
    return !g->failed;
}

// Has a buffer so many places that it is not tried?
static bool has_too_many(gather *g)
{
    uint32_t *places = vy_arena_alloc(&g->arena, g->r->buffers.count * sizeof *places);
    bool any = !places;
    g->failed |= !places;
    for (uint32_t k = 0; places && k < g->site_count; k++) {
        const uint32_t i = g->sites[k].access.buffer;
        if (++places[i] <= MOST_PLACES) continue;
        g->owners->why[i] = "is one of too many to its buffer";
        any = true;
    }
    return any;
}

bool gather_owns_in_vain(gather *g)
{
    if (!mark(g) || !gather_add_places(g) || !g->site_count || has_too_many(g)) return true;
    if (g->grid) gather_narrow_grid(g, groups_apart(g));
    if (shares(g, false) || shares(g, true) || !prove_plain(g)) return true;
    return !g->site_count && !g->launch.count; // ir/pass/sums/mark_owned.c finds that, too
}
