// SPDX-License-Identifier: MIT
// element_groups.c: which accesses to one memory may ever touch the same element, whatever
// invocations execute them?
//
//   atomic_add(acc[0], e);  atomic_max(acc[1], e);     two groups: 0 and 1 are different elements
//   best[2 * c[i]]          best[2 * c[i] + 1]         two groups: even and odd
//   y[i]                    y[i + 1]                   one group: that of invocation i + 1 is also
//                                                      the second one of invocation i
//
// What holds of an element, that only one kind of atomic changes it, or that one invocation owns
// it, is then asked of a group and not of everything in a buffer.  Two accesses are separate if on
// some axis their indices cannot be equal: by their lowest bits (ir/facts/low_bits.h), by constant
// bounds, or, together on all affine axes, as isl finds.  Groups are the transitive closure of the
// pairs that are not separate.
#include "autodiff/affine/access.h"
#include "autodiff/facts/facts.h"
#include "ir/core/access.h"
#include "ir/facts/low_bits.h"

enum { MOST_SITES = 32 }; // of one buffer that are compared in pairs

typedef struct grouping {
    const vy_program *p;
    const vy_structure *s;
    uint32_t *group; // by access: an earlier one of its group, or itself
    vy_apart cheap;
    vy_affine isl;
    vy_arena arena;
    bool begun, ok;
    uint32_t site[MOST_SITES], count; // of the current buffer; each index once
} grouping;

static uint32_t first_of(const grouping *g, uint32_t id)
{
    while (g->group[id] != id) id = g->group[id];
    return id;
}

static void join(grouping *g, uint32_t x, uint32_t y)
{
    const uint32_t a = first_of(g, x), b = first_of(g, y);
    g->group[a > b ? a : b] = a > b ? b : a;
}

// ---------------------------------------------------------------------------------- without isl
static bool bounds_differ(const vy_apart *g, uint32_t a, uint32_t b)
{
    const vy_interval x = vy_interval_of(&g->bounds, a), y = vy_interval_of(&g->bounds, b);
    if (vy_id_type(g->p, a) == VY_U64 && x.lo < 0) return false; // it has no bounds
    if (vy_id_type(g->p, b) == VY_U64 && y.lo < 0) return false;
    return x.hi < y.lo || y.hi < x.lo;
}

static bool axis_differs(const vy_apart *g, uint32_t a, uint32_t b)
{
    if (a == b) return false;
    return bounds_differ(g, a, b) ||
           vy_low_bits_differ(vy_low_bits_of(g->p, g->s, a), vy_low_bits_of(g->p, g->s, b));
}

bool vy_apart_make(vy_apart *g, const vy_program *p, const vy_structure *s, vy_arena *arena)
{
    *g = (vy_apart){.p = p, .s = s};
    return vy_intervals_make(&g->bounds, p, s, arena);
}

bool vy_surely_apart(const vy_apart *g, uint32_t x, uint32_t y)
{
    const uint32_t rank = vy_rank_of(g->p, x);
    for (uint32_t k = 0; k < rank; k++)
        if (axis_differs(g, vy_arg(g->p, x, k), vy_arg(g->p, y, k))) return true;
    return false;
}

// -------------------------------------------------------------------------------------- with isl
// The axes that are affine in both, if both have the same axes.
static uint32_t common_axes(const vy_affine_access *x, const vy_affine_access *y)
{
    uint32_t axes = 0;
    bool same = x->rank == y->rank && x->rank < 32 && x->flat == y->flat;
    for (uint32_t k = 0; same && k < x->rank; k++) {
        if (x->index[k] && y->index[k]) axes |= 1u << k;
        same = !x->flat || (x->extent[k].base == y->extent[k].base &&
                            x->extent[k].offset == y->extent[k].offset);
    }
    return same ? axes : 0;
}

static bool is_disjoint(const vy_affine_access *x, const vy_affine_access *y)
{
    const uint32_t axes = common_axes(x, y);
    if (!axes) return false;
    isl_set *a = vy_isl_map_range(vy_access_map(x, axes)),
            *b = vy_isl_map_range(vy_access_map(y, axes));
    const bool none = vy_isl_set_is_disjoint(a, b) == isl_bool_true;
    isl_set_free(a);
    isl_set_free(b);
    return none;
}

static bool begin_isl(grouping *g)
{
    if (g->begun) return g->ok;
    g->begun = true;
    g->ok &= vy_affine_begin(&g->isl, g->p, g->s);
    g->isl.thrifty = true;
    if (g->ok) vy_affine_begin_round(&g->isl);
    return g->ok;
}

static bool differ_by_isl(grouping *g, uint32_t x, uint32_t y)
{
    vy_affine_access a = {0}, b = {0};
    if (!g->p->overs.count || !begin_isl(g)) return false;
    vy_affine_reset(&g->isl);
    bool made = vy_access_make(&a, &g->isl, x, UINT32_MAX);
    made = vy_access_make(&b, &g->isl, y, UINT32_MAX) && made;
    const bool none = made && is_disjoint(&a, &b) && !vy_affine_spent(&g->isl);
    vy_access_free(&a);
    vy_access_free(&b);
    g->ok &= !g->isl.failed;
    return none && vy_affine_ok(&g->isl);
}

// ---------------------------------------------------------------------------------- one buffer
// Adds an access to the sites, unless one of them has the same index.
static void add_site(grouping *g, uint32_t id)
{
    g->group[id] = id;
    for (uint32_t k = 0; k < g->count; k++)
        if (vy_same_element(g->p, g->site[k], id)) {
            join(g, g->site[k], id);
            return;
        }
    if (g->count < MOST_SITES)
        g->site[g->count++] = id;
    else
        join(g, g->site[0], id); // all are one group, see below
}

static void compare(grouping *g)
{
    const bool many = g->count == MOST_SITES;
    for (uint32_t k = 1; k < g->count; k++)
        for (uint32_t j = 0; j < k; j++) {
            const uint32_t x = g->site[j], y = g->site[k];
            if (!many && (first_of(g, x) == first_of(g, y) || vy_surely_apart(&g->cheap, x, y)))
                continue;
            if (many || !differ_by_isl(g, x, y)) join(g, x, y);
        }
}

static bool is_access(const vy_program *p, uint32_t id, uint32_t buffer)
{
    const vy_inst *i = &p->insts.data[id];
    return vy_op_is_memory((vy_op)i->op) && i->op != VY_OP_ZERO && i->aux == buffer;
}

static void group_buffer(grouping *g, uint32_t buffer)
{
    g->count = 0;
    for (uint32_t id = 1; id < g->p->insts.count; id++)
        if (is_access(g->p, id, buffer)) add_site(g, id);
    compare(g);
    for (uint32_t id = 1; id < g->p->insts.count; id++)
        if (is_access(g->p, id, buffer)) g->group[id] = first_of(g, id);
}

bool vy_element_groups(const vy_program *p, const vy_structure *s, const uint8_t *chosen,
                       uint32_t *group)
{
    grouping g = {.p = p, .s = s, .group = group, .ok = true};
    bool any = false;
    for (uint32_t i = 1; i < p->buffers.count; i++) any |= chosen[i];
    g.ok = !any || vy_apart_make(&g.cheap, p, s, &g.arena);
    for (uint32_t i = 1; g.ok && i < p->buffers.count; i++)
        if (chosen[i]) group_buffer(&g, i);
    if (g.begun) g.ok &= vy_affine_end(&g.isl);
    vy_arena_free(&g.arena);
    return g.ok;
}
